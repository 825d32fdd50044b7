"""Every request about a plan leaves a line in the audit trail: answered, waiting, polled, cancelled, failed, malformed, refused."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from headgate import planning
from headgate.model.errors import Damaged
from headgate.steward import Steward
from tests.conftest import Api
from tests.doors.governed import applied
from tests.doors.iceberg.conftest import ICE, Register
from tests.doors.scans import polled
from tests.people import People

TABLE = f"{ICE}/namespaces/s/tables/t"
HIDE = "policy: h\non: lake\nto: [user:ann]\nhide: [name]\n"


def lines(api: Api, user: str = "admin") -> list[dict[str, Any]]:
    """What the trail says of a user's requests, the oldest first."""
    found = api(
        "admin", "GET", "/api/headgate/audit?metalake=lake&action=read_table&object=cat.s.t&limit=100"
    )
    assert found.status_code == 200, found.text
    events = sorted(found.json()["events"], key=lambda event: event["id"])
    return [event for event in events if event["user"] == user]


def ends(api: Api, user: str = "admin") -> list[tuple[Any, Any]]:
    return [(event["details"].get("step"), event["details"].get("outcome")) for event in lines(api, user)]


@pytest.fixture
def gate(steward: Steward, monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Plans wait until this is set, and their clients do not."""
    go = threading.Event()
    quick = planning.plan

    def plan(*args: Any, **more: Any) -> Any:
        assert go.wait(60)
        return quick(*args, **more)

    monkeypatch.setattr(planning, "plan", plan)
    monkeypatch.setattr(steward.scans, "patience", 0.05)
    yield go
    go.set()


def test_a_plan_that_is_there_at_once(api: Api, register: Register) -> None:
    register()
    assert api("admin", "POST", f"{TABLE}/plan", {}).status_code == 200
    assert ends(api) == [("plan", "completed")]


def test_a_plan_that_is_waited_for(api: Api, register: Register, gate: threading.Event) -> None:
    register()
    wanted = {"filter": {"type": "lt", "term": "id", "value": 2}}
    planned = api("admin", "POST", f"{TABLE}/plan", wanted).json()
    assert planned["status"] == "submitted"
    assert ends(api) == [("plan", "submitted")]
    assert "lt" in lines(api)[0]["details"]["predicate"]
    api("admin", "GET", f"{TABLE}/plan/{planned['plan-id']}")
    assert ends(api)[-1] == ("poll", "submitted")
    gate.set()
    assert polled(api, "admin", TABLE, planned)["status"] == "completed"
    assert ("plan", "completed") in ends(api)
    assert ends(api)[-1] == ("poll", "completed")


def test_a_plan_that_is_cancelled(api: Api, register: Register, gate: threading.Event) -> None:
    register()
    planned = api("admin", "POST", f"{TABLE}/plan", {}).json()
    at = f"{TABLE}/plan/{planned['plan-id']}"
    assert api("admin", "DELETE", at).status_code == 204
    assert ends(api)[-1] == ("cancel", "cancelled")
    assert api("admin", "DELETE", at).status_code == 404
    assert ends(api)[-1] == ("cancel", "missing")
    assert api("admin", "GET", at).status_code == 404
    assert ends(api)[-1] == ("poll", "missing")


def test_a_plan_that_fails_in_the_background(
    api: Api, register: Register, gate: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    register()

    def broken(*args: Any, **more: Any) -> Any:
        assert gate.wait(60)
        raise Damaged("the column 'salary' is broken")

    monkeypatch.setattr(planning, "plan", broken)
    planned = api("admin", "POST", f"{TABLE}/plan", {}).json()
    gate.set()
    assert polled(api, "admin", TABLE, planned)["status"] == "failed"
    assert ("plan", "failed") in ends(api)
    assert ends(api)[-1] == ("poll", "failed")
    failed = next(event for event in lines(api) if event["details"]["outcome"] == "failed")
    assert failed["details"]["error"] == "Damaged"
    assert "salary" not in str(lines(api))


@pytest.mark.parametrize(
    "body",
    [
        {"filter": {"type": "eq", "term": "salary", "value": 1}},
        {"filter": {"type": "salary"}},
        {"snapshot-id": "salary"},
        {"select": ["salary"]},
    ],
    ids=["unknown column", "no expression", "no number", "no such column"],
)
def test_a_request_that_makes_no_sense(api: Api, register: Register, body: Any) -> None:
    register()
    assert api("admin", "POST", f"{TABLE}/plan", body).status_code == 400
    assert ends(api) == [("plan", "malformed")]
    assert "salary" not in str(lines(api)), "what was sent is not repeated"


@pytest.mark.parametrize("body", [{"plan-task": "x"}, {"plan-task": 7}, {}], ids=str)
def test_a_task_that_is_none(api: Api, register: Register, body: Any) -> None:
    register()
    answer = api("admin", "POST", f"{TABLE}/tasks", body)
    assert answer.status_code in (400, 404)
    assert ends(api) == [("task", "missing" if answer.status_code == 404 else "malformed")]


def test_a_task_that_is_fetched(api: Api, register: Register) -> None:
    register(count=2001)
    token = api("admin", "POST", f"{TABLE}/plan", {}).json()["plan-tasks"][1]
    assert api("admin", "POST", f"{TABLE}/tasks", {"plan-task": token}).status_code == 200
    assert ends(api) == [("plan", "completed"), ("task", "completed")]


def test_a_request_that_is_refused(api: Api, register: Register, people: People) -> None:
    register()
    assert api("ann", "POST", f"{TABLE}/plan", {}).status_code == 404, "who may not know of it"
    (refused,) = lines(api, "ann")
    assert not refused["allowed"]
    people.may("ann", "USE_CATALOG USE_SCHEMA SELECT_TABLE", "metalake", "lake")
    applied(api, "policy: d\non: lake.cat.s.t\nto: [user:ann]\ndeny: true\n")
    assert api("ann", "POST", f"{TABLE}/plan", {}).status_code == 403
    last = lines(api, "ann")[-1]
    assert not last["allowed"]
    assert "outcome" not in last["details"] or last["details"]["outcome"] == "refused"


def test_what_is_hidden_from_the_caller_is_not_named(api: Api, register: Register, people: People) -> None:
    register()
    people.may("ann", "USE_CATALOG USE_SCHEMA SELECT_TABLE", "metalake", "lake")
    applied(api, HIDE)
    body = {"filter": {"type": "eq", "term": "name", "value": "n1"}}
    assert api("ann", "POST", f"{TABLE}/plan", body).status_code == 400
    assert ends(api, "ann") == [("plan", "malformed")]
    assert "name" not in str([event["details"] for event in lines(api, "ann")])
