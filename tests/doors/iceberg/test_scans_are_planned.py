"""Scan planning over the wire: at once, in tasks, in the background; bound to who asked."""

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headgate import planning
from headgate.planning import Veil
from headgate.steward import Steward
from tests.conftest import Api
from tests.doors.iceberg.conftest import ICE, Register, failed
from tests.people import People

TABLE = f"{ICE}/namespaces/s/tables/t"


def ids(answer: Any) -> list[str]:
    tasks = answer["file-scan-tasks"]
    assert all(task["residual-filter"] is True for task in tasks)
    return sorted(task["data-file"]["file-path"].rpartition("/")[2] for task in tasks)


def test_a_plan_names_the_files_that_may_match(api: Api, register: Register) -> None:
    register()
    whole = api("admin", "POST", f"{TABLE}/plan", {})
    assert whole.status_code == 200, whole.text
    assert whole.json()["status"] == "completed"
    assert "plan-id" not in whole.json(), "a client would come back to cancel it"
    assert ids(whole.json()) == ["f0.parquet", "f1.parquet", "f2.parquet"]
    some = {"filter": {"type": "eq", "term": "id", "value": 1}, "select": ["id"], "snapshot-id": 1}
    assert ids(api("admin", "POST", f"{TABLE}/plan", some).json()) == ["f1.parquet"]


def test_large_plans_come_in_tasks_that_only_who_planned_can_use(
    api: Api, register: Register, people: People
) -> None:
    register(count=4500)
    people.may("ann", "USE_CATALOG USE_SCHEMA SELECT_TABLE", "metalake", "lake")
    planned = api("admin", "POST", f"{TABLE}/plan", {}).json()
    tokens = planned["plan-tasks"]
    assert (planned["status"], len(tokens)) == ("completed", 3)
    assert "file-scan-tasks" not in planned
    found = [ids(api("admin", "POST", f"{TABLE}/tasks", {"plan-task": token}).json()) for token in tokens]
    assert [len(part) for part in found] == [2000, 2000, 500]
    assert len({name for part in found for name in part}) == 4500
    stolen = api("ann", "POST", f"{TABLE}/tasks", {"plan-task": tokens[0]})
    assert failed(stolen) == (404, "NoSuchPlanTaskException")
    for tampered in (tokens[0][:-1] + ("A" if tokens[0][-1] != "A" else "B"), tokens[0][1:], "", "x" * 50):
        answer = api("admin", "POST", f"{TABLE}/tasks", {"plan-task": tampered})
        assert failed(answer) == (404, "NoSuchPlanTaskException")


def test_tasks_of_one_table_are_not_tasks_of_another(api: Api, register: Register) -> None:
    register(count=2001)
    register("u", count=1)
    token = api("admin", "POST", f"{TABLE}/plan", {}).json()["plan-tasks"][0]
    other = f"{ICE}/namespaces/s/tables/u/tasks"
    assert failed(api("admin", "POST", other, {"plan-task": token})) == (404, "NoSuchPlanTaskException")


@pytest.fixture
def slow(steward: Steward, monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Plans wait until this is set, longer than a client does."""
    go = threading.Event()
    quick = planning.plan

    def plan(*args: Any, **more: Any) -> Any:
        assert go.wait(60)
        return quick(*args, **more)

    monkeypatch.setattr(planning, "plan", plan)
    steward.scans.patience = 0.01
    yield go
    go.set()


def test_a_plan_that_takes_long_is_polled_and_only_by_who_asked(
    api: Api, register: Register, people: People, slow: threading.Event
) -> None:
    register()
    people.may("ann", "USE_CATALOG USE_SCHEMA SELECT_TABLE", "metalake", "lake")
    submitted = api("admin", "POST", f"{TABLE}/plan", {}).json()
    assert submitted["status"] == "submitted"
    path = f"{TABLE}/plan/{submitted['plan-id']}"
    for other in (f"{TABLE}/plan/nonsense", f"{ICE}/namespaces/s/tables/t/plan/%20"):
        assert failed(api("admin", "GET", other)) == (404, "NoSuchPlanIdException")
    assert failed(api("ann", "GET", path)) == (404, "NoSuchPlanIdException")
    assert failed(api("ann", "DELETE", path)) == (404, "NoSuchPlanIdException")
    assert api("admin", "GET", path).json() == submitted
    slow.set()
    done = _wait(api, path)
    assert (done["status"], ids(done)) == ("completed", ["f0.parquet", "f1.parquet", "f2.parquet"])
    assert api("admin", "DELETE", path).status_code == 204
    assert failed(api("admin", "GET", path)) == (404, "NoSuchPlanIdException")


def test_a_plan_that_fails_in_the_background_says_why(
    api: Api, register: Register, slow: threading.Event, tmp_path: Path
) -> None:
    register()
    for manifest in (tmp_path / "forged" / "t").glob("manifest-*.avro"):
        manifest.write_bytes(b"nonsense")
    submitted = api("admin", "POST", f"{TABLE}/plan", {}).json()
    slow.set()
    done = _wait(api, f"{TABLE}/plan/{submitted['plan-id']}")
    assert (done["status"], done["error"]["code"]) == ("failed", 422)


def test_a_plan_that_was_given_up_is_gone_whatever_becomes_of_it(
    api: Api, register: Register, slow: threading.Event
) -> None:
    register()
    path = f"{TABLE}/plan/" + api("admin", "POST", f"{TABLE}/plan", {}).json()["plan-id"]
    assert api("admin", "DELETE", path).status_code == 204
    slow.set()
    time.sleep(0.2)
    assert failed(api("admin", "GET", path)) == (404, "NoSuchPlanIdException")


def _wait(api: Api, path: str) -> Any:
    for _ in range(200):
        answer = api("admin", "GET", path).json()
        if answer["status"] != "submitted":
            return answer
        time.sleep(0.02)
    raise AssertionError("the plan was never done")


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"snapshot-id": 77}, 400),
        ({"filter": {"type": "eq", "term": "nope", "value": 1}}, 400),
        ({"filter": {"type": "eq", "term": "id", "value": "x"}}, 400),
        ({"filter": {"type": "bogus"}}, 400),
        ({"select": ["nope"]}, 400),
        ({"start-snapshot-id": 1}, 400),
        ({"snapshot-id": "x"}, 400),
        ([], 400),
    ],
)
def test_requests_that_make_no_sense_are_refused(
    api: Api, register: Register, body: object, status: int
) -> None:
    register()
    assert failed(api("admin", "POST", f"{TABLE}/plan", body)) == (status, "IllegalArgumentException")
    assert api("admin", "POST", f"{TABLE}/plan", {}).status_code == 200, "the next request is served"


@pytest.mark.parametrize("damage", ["truncated", "nonsense", "gone", "empty"])
def test_broken_manifests_are_told_plainly_and_not_retried(
    api: Api, register: Register, tmp_path: Path, damage: str
) -> None:
    register()
    manifest = next((tmp_path / "forged" / "t").glob("manifest-*.avro"))
    if damage == "gone":
        manifest.unlink()
    else:
        whole = manifest.read_bytes()
        manifest.write_bytes({"truncated": whole[:-20], "nonsense": b"x" * 500, "empty": b""}[damage])
    assert failed(api("admin", "POST", f"{TABLE}/plan", {})) == (422, "UnprocessableEntityException")
    assert api("admin", "GET", TABLE).status_code == 200


def test_files_of_another_table_are_not_planned(api: Api, register: Register, tmp_path: Path) -> None:
    register("victim")
    register("t", path=str(tmp_path / "forged" / "victim"))
    answer = api("admin", "POST", f"{TABLE}/plan", {})
    assert failed(answer) == (403, "ForbiddenException")
    assert "does not lie in the table's folder" in answer.text


def test_what_was_planned_is_audited(api: Api, register: Register) -> None:
    register()
    body = {"filter": {"type": "eq", "term": "id", "value": 1}, "select": ["id"]}
    headers = {"X-Iceberg-Access-Delegation": "vended-credentials"}
    api("admin", "POST", f"{TABLE}/plan?referenced-by=s.v", body, headers=headers)
    found = api("admin", "GET", "/api/headgate/audit?metalake=lake&action=read_table").json()["events"]
    details = found[-1]["details"]
    assert found[-1]["object"] == "cat.s.t"
    assert (details["snapshot"], details["files"], details["projection"]) == (1, 1, ["id"])
    assert json.loads(details["predicate"]) == body["filter"]
    assert details["delegation"] == "vended-credentials"
    assert details["referenced_by"] == "s.v"
    assert details["bytes"] > 0


class TestUnderAVeil:
    """What a caller sees of a table in part; `Reads.veil` is the one place that says so."""

    @pytest.fixture
    def veiled(self, steward: Steward, monkeypatch: pytest.MonkeyPatch) -> Any:
        def put(veil: Veil) -> None:
            monkeypatch.setattr(type(steward.reads), "veil", lambda self, permit, metadata: veil)

        return put

    def test_files_that_conform_are_planned_and_others_refused(
        self, api: Api, register: Register, veiled: Any
    ) -> None:
        register()
        within = {"type": "lt", "term": "id", "value": 2}
        veiled(Veil(row_filter=within, exact=True))
        assert ids(api("admin", "POST", f"{TABLE}/plan", {}).json()) == ["f0.parquet", "f1.parquet"]
        veiled(Veil(row_filter=within))
        assert api("admin", "POST", f"{TABLE}/plan", {}).status_code == 403, "nothing proves what it keeps"
        veiled(Veil(hidden_field_ids=frozenset({2})))
        answer = api("admin", "POST", f"{TABLE}/plan", {})
        assert failed(answer) == (403, "ForbiddenException")
        assert "hold rows or columns that you may not see" in answer.text

    def test_the_loaded_table_hides_columns_and_sends_clients_to_the_server(
        self, api: Api, register: Register, veiled: Any
    ) -> None:
        register()
        open_tag = api("admin", "GET", TABLE).headers["etag"]
        veiled(Veil(hidden_field_ids=frozenset({2})))
        answer = api("admin", "GET", TABLE, headers={"If-None-Match": open_tag})
        assert answer.status_code == 200, "a tag of another view is no tag of this one"
        assert answer.json()["config"] == {"scan-planning-mode": "server"}
        assert "name" not in {f["name"] for f in answer.json()["metadata"]["schemas"][0]["fields"]}
        assert "list-1.avro" not in answer.text

    def test_it_is_not_written(self, api: Api, register: Register, veiled: Any) -> None:
        register()
        veiled(Veil(row_filter={"type": "lt", "term": "id", "value": 2}))
        commit = {"requirements": [], "updates": [{"action": "set-properties", "updates": {"a": "b"}}]}
        assert failed(api("admin", "POST", TABLE, commit)) == (403, "ForbiddenException")

    def test_a_plan_of_another_view_is_gone(
        self, api: Api, register: Register, veiled: Any, slow: threading.Event, steward: Steward
    ) -> None:
        register(count=2001)
        slow.set()
        steward.scans.patience = 60
        token = api("admin", "POST", f"{TABLE}/plan", {}).json()["plan-tasks"][0]
        slow.clear()
        steward.scans.patience = 0.01
        plan = api("admin", "POST", f"{TABLE}/plan", {}).json()["plan-id"]
        veiled(Veil(row_filter={"type": "lt", "term": "id", "value": 9}))
        slow.set()
        assert failed(api("admin", "GET", f"{TABLE}/plan/{plan}")) == (404, "NoSuchPlanIdException")
        answer = api("admin", "POST", f"{TABLE}/tasks", {"plan-task": token})
        assert failed(answer) == (404, "NoSuchPlanTaskException")
