"""A restricted view holds while policies, trust and schemas change: no plan outlives the view that it was made under."""

import threading
from typing import Any

import pytest

from headgate import planning
from headgate.steward import Steward
from headgate.store import ledger
from tests.conftest import Api
from tests.doors.governed import applied
from tests.doors.iceberg.conftest import Register, failed
from tests.doors.iceberg.test_scans_are_planned import HIDE, ROWS, TABLE, enforce, ids
from tests.doors.lake import LAKE
from tests.doors.scans import scanned

TABLES = f"{LAKE}/catalogs/cat/schemas/s/tables"


@pytest.fixture(autouse=True)
def hurried(steward: Steward) -> None:
    steward.waiting.patience = 0.1
    steward.scans.patience = 0.1


class Gate:
    """Holds every plan up until it is opened; `reached` is set when one stands before it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.open, self.reached = threading.Event(), threading.Event()
        quick = planning.plan

        def plan(*args: Any, **more: Any) -> Any:
            self.reached.set()
            assert self.open.wait(60)
            return quick(*args, **more)

        monkeypatch.setattr(planning, "plan", plan)


def test_a_plan_made_while_more_was_seen_is_gone_when_less_is_seen_again(
    api: Api, register: Register, monkeypatch: pytest.MonkeyPatch
) -> None:
    register()
    applied(api, ROWS.format("id < 1"))
    applied(api, ROWS.format("id + id < 2"))
    submitted = api("admin", "POST", f"{TABLE}/plan", {}).json()
    assert submitted["status"] == "submitted", "copies would have to be made"
    path = f"{TABLE}/plan/{submitted['plan-id']}"
    # While it waits for them there is no policy, and all files may be given.
    gate = Gate(monkeypatch)
    applied(api)
    assert gate.reached.wait(60)
    gate.open.set()
    wait_for(lambda: api("admin", "GET", path).json().get("status") == "completed")
    assert len(ids(api("admin", "GET", path).json())) == 3
    applied(api, ROWS.format("id + id < 2"))
    assert failed(api("admin", "GET", path)) == (404, "NoSuchPlanIdException")


def test_a_plan_for_a_trusted_engine_is_gone_when_it_is_trusted_no_more(
    api: Api, register: Register, monkeypatch: pytest.MonkeyPatch
) -> None:
    register()
    applied(api, "policy: m\non: lake\nto: [everyone]\nmask: {name: show_last_4(name)}\n")
    trust = {"@type": "setProperty", "property": "headgate.trusted-engines", "value": "admin"}
    assert api("admin", "PUT", LAKE, {"updates": [trust]}).status_code == 200
    enforce(api, "delegate")
    gate = Gate(monkeypatch)
    path = f"{TABLE}/plan/" + api("admin", "POST", f"{TABLE}/plan", {}).json()["plan-id"]
    gate.open.set()
    wait_for(lambda: api("admin", "GET", path).json().get("status") == "completed")
    enforce(api, "materialise")
    assert failed(api("admin", "GET", path)) == (404, "NoSuchPlanIdException")
    enforce(api, "refuse")
    assert failed(api("admin", "GET", path)) == (403, "ForbiddenException")


def test_files_with_a_column_that_was_dropped_are_not_given_as_they_are(api: Api, register: Register) -> None:
    register()
    applied(api, ROWS.format("id < 2"))
    assert len(ids(scanned(api, "admin", TABLE))) == 2
    applied(api)
    drop = {"@type": "deleteColumn", "fieldName": ["name"], "ifExists": False}
    assert api("admin", "PUT", f"{TABLES}/t", {"updates": [drop]}).status_code == 200
    applied(api, ROWS.format("id < 2"))
    assert api("admin", "POST", f"{TABLE}/plan", {}).json().keys() == {"status", "plan-id"}


def test_a_column_that_no_schema_knows_any_more_was_dropped_all_the_same(
    api: Api, register: Register, steward: Steward
) -> None:
    """Its schema was removed before there was any policy; files still hold it."""
    register()
    drop = {"@type": "deleteColumn", "fieldName": ["name"], "ifExists": False}
    assert api("admin", "PUT", f"{TABLES}/t", {"updates": [drop]}).status_code == 200
    first = api("admin", "GET", TABLE).json()["metadata"]["snapshots"][0]
    later = {**first, "snapshot-id": 2, "sequence-number": first["sequence-number"] + 1, "schema-id": 1}
    updates = [
        {"action": "add-snapshot", "snapshot": later},
        {"action": "set-snapshot-ref", "ref-name": "main", "type": "branch", "snapshot-id": 2},
        {"action": "remove-snapshots", "snapshot-ids": [1]},
        {"action": "remove-schemas", "schema-ids": [0]},
    ]
    removed = api("admin", "POST", TABLE, {"requirements": [], "updates": updates})
    assert removed.status_code == 200, removed.text
    known = [field["name"] for s in removed.json()["metadata"]["schemas"] for field in s["fields"]]
    assert known == ["id"]
    applied(api, ROWS.format("id < 2"))
    assert api("admin", "POST", f"{TABLE}/plan", {}).json().keys() == {"status", "plan-id"}
    wait_for(lambda: ledger.take(steward.kernel.store, "worker", 10) is not None)
    loaded = api("admin", "GET", TABLE)
    assert loaded.status_code == 503, "nothing is given before it is copied"


@pytest.mark.parametrize(
    ("rows", "left"),
    [
        ("id IN (0, 2)", ["f0.parquet", "f2.parquet"]),
        ("name IN ('n1', 'n2')", ["f1.parquet", "f2.parquet"]),
    ],
)
def test_a_filter_with_a_list_is_planned(api: Api, register: Register, rows: str, left: list[str]) -> None:
    register()
    applied(api, ROWS.format(rows))
    assert ids(scanned(api, "admin", TABLE)) == left


@pytest.mark.parametrize("asked", ["select", "stats-fields", "filter"])
def test_names_of_former_schemas_mean_nothing_under_a_view(api: Api, register: Register, asked: str) -> None:
    register()
    rename = {"@type": "renameColumn", "oldFieldName": ["name"], "newFieldName": "called"}
    drop = {"@type": "deleteColumn", "fieldName": ["name"], "ifExists": False}
    for update, hide in ((rename, HIDE), (drop, ROWS.format("id < 2"))):
        assert api("admin", "PUT", f"{TABLES}/t", {"updates": [update]}).status_code == 200
        applied(api, hide)
        for name in ("name", "called", "never"):
            body = {"filter": {"type": "not-null", "term": name}} if asked == "filter" else {asked: [name]}
            answer = api(
                "admin", "POST", f"{TABLE}/plan", {"snapshot-id": 1, "use-snapshot-schema": True, **body}
            )
            assert failed(answer) == (400, "IllegalArgumentException"), (update, name)
            assert answer.text.replace(name, "never").count("never") == answer.text.count(name)
        applied(api)
        back = {"@type": "renameColumn", "oldFieldName": ["called"], "newFieldName": "name"}
        if update is rename:
            assert api("admin", "PUT", f"{TABLES}/t", {"updates": [back]}).status_code == 200


def wait_for(done: Any) -> None:
    for _ in range(600):
        if done():
            return
        threading.Event().wait(0.05)
    raise AssertionError("it never came to be")
