"""A plan that is asked for again is found again, for the same caller under the same rights and the same table only."""

from collections.abc import Callable
from typing import Any

import pytest

from headgate import planning
from headgate.doors.observe import Metrics
from headgate.steward import Steward
from headgate.steward.reads.planning.evaluations import LARGEST, Evaluated, Evaluations
from tests.conftest import Api
from tests.doors.governed import applied
from tests.doors.iceberg.conftest import ICE, Register
from tests.people import People

TABLE = f"{ICE}/namespaces/s/tables/t"
BODY = {"filter": {"type": "lt", "term": "id", "value": 2}}
READ = "USE_CATALOG USE_SCHEMA SELECT_TABLE"


class Lookups(list[bool]):
    """Whether each plan was found again."""


@pytest.fixture
def lookups(steward: Steward) -> Lookups:
    found = Lookups()
    steward.answering.evaluations.on_lookup = found.append
    return found


@pytest.fixture
def evaluated(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The plans that were evaluated."""
    made: list[Any] = []
    plan: Callable[..., Any] = planning.plan

    def counted(*args: Any, **more: Any) -> Any:
        made.append(args)
        return plan(*args, **more)

    monkeypatch.setattr(planning, "plan", counted)
    return made


def asked(api: Api, user: str = "admin", body: Any = None) -> Any:
    answer = api(user, "POST", f"{TABLE}/plan", BODY if body is None else body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_the_same_question_is_evaluated_once(
    api: Api, register: Register, lookups: Lookups, evaluated: list[Any]
) -> None:
    register()
    first = asked(api)
    assert asked(api) == first
    assert (lookups, len(evaluated)) == ([False, True], 1)
    query = "/api/headgate/audit?metalake=lake&action=read_table&object=cat.s.t"
    events = api("admin", "GET", query).json()["events"]
    assert [event["details"]["files"] for event in events] == [2, 2], "each is audited"


def test_another_question_is_evaluated(api: Api, register: Register, lookups: Lookups) -> None:
    register()
    for body in (BODY, {}, {"select": ["id"]}, {"min-rows-requested": 1}, {"case-sensitive": False}):
        asked(api, body=body)
    assert lookups == [False] * 5


def test_another_caller_is_evaluated_for(
    api: Api, register: Register, people: People, lookups: Lookups
) -> None:
    register()
    asked(api)
    for user in ("ann", "bob"):
        people.may(user, READ, "metalake", "lake")
    lookups.clear()
    assert asked(api, "ann") == asked(api, "bob")
    assert lookups == [False, False]


def test_who_lost_the_right_gets_nothing(api: Api, register: Register, people: People) -> None:
    register()
    people.may("ann", READ, "metalake", "lake")
    asked(api, "ann")
    asked(api, "ann")
    applied(api, "policy: d\non: lake.cat.s.t\nto: [user:ann]\ndeny: true\n")
    assert api("ann", "POST", f"{TABLE}/plan", BODY).status_code == 403


def test_a_policy_that_is_made_is_obeyed(
    api: Api, register: Register, people: People, evaluated: list[Any]
) -> None:
    register()
    people.may("ann", READ, "metalake", "lake")
    names = {
        task["data-file"]["file-path"].rpartition("/")[2] for task in asked(api, "ann")["file-scan-tasks"]
    }
    assert names == {"f0.parquet", "f1.parquet"}
    asked(api, "ann")
    assert len(evaluated) == 1
    applied(api, "policy: r\non: lake\nto: [user:ann]\nrows: id < 1\n")
    answer = api("ann", "POST", f"{TABLE}/plan", BODY)
    assert "f1.parquet" not in answer.text


def test_a_commit_is_seen(api: Api, register: Register, lookups: Lookups) -> None:
    register()
    asked(api)
    change = {"requirements": [], "updates": [{"action": "set-properties", "updates": {"a": "b"}}]}
    assert api("admin", "POST", TABLE, change).status_code == 200
    asked(api)
    assert lookups == [False, False]


def test_a_change_of_anything_governed_is_evaluated_for(
    api: Api, register: Register, lookups: Lookups
) -> None:
    register()
    asked(api)
    assert api("admin", "POST", "/api/metalakes/lake/tags", {"name": "pii"}).status_code == 200
    asked(api)
    assert lookups == [False, False]


def test_a_request_under_another_purpose_is_evaluated_for(steward: Steward) -> None:
    from headgate.model.principals import ActiveRoles, Identity

    names = set(Identity.__struct_fields__)
    assert names == {
        "user",
        "groups",
        "active_roles",
        "address",
        "engine",
        "purpose",
        "groups_known",
        "made",
    }, "what a lens may depend on is part of the fingerprint"
    assert set(ActiveRoles.__struct_fields__) == {"all", "names"}


def test_what_is_kept_is_bounded() -> None:
    kept = Evaluations(most_bytes=100_000)
    for number in range(1000):
        kept.answer(str(number).encode(), lambda: Evaluated(b"x" * 5000, {}))
        assert kept.nbytes <= 100_000
    large = Evaluations()
    for _ in range(2):
        large.answer(b"large", lambda: Evaluated(b"x" * (LARGEST + 1), {}))
    assert large.nbytes == 0


def test_errors_are_not_kept() -> None:
    kept, calls = Evaluations(), []

    def broken() -> Evaluated:
        calls.append(1)
        raise ValueError("broken")

    for _ in range(2):
        with pytest.raises(ValueError, match="broken"):
            kept.answer(b"k", broken)
    assert len(calls) == 2


def test_hits_and_misses_are_counted() -> None:
    metrics, kept = Metrics(), Evaluations()
    assert b'headgate_plan_evaluations_total{cache="hit"} 0.0' in metrics.text()
    kept.on_lookup = metrics.evaluated
    for _ in range(3):
        kept.answer(b"k", lambda: Evaluated(b"", {}))
    assert b'headgate_plan_evaluations_total{cache="hit"} 2.0' in metrics.text()
    assert b'headgate_plan_evaluations_total{cache="miss"} 1.0' in metrics.text()
