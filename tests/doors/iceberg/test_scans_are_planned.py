"""Scan planning over the wire: at once, in tasks, in the background; bound to who asked."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from headgate import planning
from headgate.model.objects import ObjectRef, ObjectType
from headgate.steward import Steward
from headgate.store import ledger
from tests.conftest import Api
from tests.doors.governed import applied
from tests.doors.iceberg.conftest import ICE, Register, failed
from tests.doors.lake import LAKE
from tests.doors.scans import scanned
from tests.people import People

TABLE = f"{ICE}/namespaces/s/tables/t"


def ids(answer: Any, residual: Any = True) -> list[str]:
    tasks = answer["file-scan-tasks"]
    assert all(task["residual-filter"] == residual for task in tasks)
    return sorted(task["data-file"]["file-path"].rpartition("/")[2] for task in tasks)


def test_a_plan_names_the_files_that_may_match(api: Api, register: Register) -> None:
    register()
    whole = api("admin", "POST", f"{TABLE}/plan", {})
    assert whole.status_code == 200, whole.text
    assert whole.json()["status"] == "completed"
    assert "plan-id" not in whole.json(), "a client would come back to cancel it"
    assert ids(whole.json()) == ["f0.parquet", "f1.parquet", "f2.parquet"]
    some = {"filter": {"type": "eq", "term": "id", "value": 1}, "select": ["id"], "snapshot-id": 1}
    found = api("admin", "POST", f"{TABLE}/plan", some).json()
    assert ids(found, residual=some["filter"]) == ["f1.parquet"]


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


ROWS = "policy: rows\non: lake\nto: [everyone]\nrows: {}\n"
HIDE = "policy: hide\non: lake\nto: [everyone]\nhide: [name]\n"
OBEDIENT = {"X-Client-Version": "Apache Iceberg 1.12.0 (commit 0)"}


class TestARestrictedView:
    """What a caller sees of a table in part, before any worker has made a copy."""

    @pytest.fixture(autouse=True)
    def hurried(self, steward: Steward) -> None:
        steward.waiting.patience = 0.1

    def test_files_that_conform_are_planned_and_copies_of_others_are_waited_for(
        self, api: Api, register: Register, steward: Steward
    ) -> None:
        register()
        applied(api, ROWS.format("id < 2"))
        assert ids(scanned(api, "admin", TABLE)) == ["f0.parquet", "f1.parquet"]
        assert api("admin", "POST", f"{TABLE}/plan", {}).json()["status"] == "completed", "it is ready now"
        for policy in (ROWS.format("id + id < 3"), HIDE):
            applied(api, policy)
            answer = api("admin", "POST", f"{TABLE}/plan", {})
            assert answer.json().keys() == {"status", "plan-id"}
            assert answer.json()["status"] == "submitted"
            again = api("admin", "GET", f"{TABLE}/plan/{answer.json()['plan-id']}")
            assert again.json() == {"status": "submitted", "plan-id": answer.json()["plan-id"]}
            batch = None
            while batch is None:
                batch = ledger.take(steward.kernel.store, "worker", 10)
            assert wanted(batch) == {"f0.parquet", "f1.parquet", "f2.parquet"}

    @pytest.mark.parametrize(
        ("lazy", "copied"),
        [("partitions", {"f0", "f1", "f2"}), ("statistics", {"f1"}), ("off", {"f0", "f1", "f2"})],
    )
    def test_statistics_choose_what_is_copied_only_where_the_catalog_says_so(
        self, api: Api, register: Register, steward: Steward, lazy: str, copied: set[str]
    ) -> None:
        register()
        enforce(api, lazy, "headgate.lazy")
        applied(api, HIDE)
        asked = {"filter": {"type": "eq", "term": "id", "value": 1}}
        assert api("admin", "POST", f"{TABLE}/plan", asked).json()["status"] == "submitted"
        wait_for(lambda: ledger.progress(steward.kernel.store, [_table(steward)])[0].wanted > 0)
        batch = ledger.take(steward.kernel.store, "worker", 10)
        assert batch is not None
        assert wanted(batch) == {f"{name}.parquet" for name in copied}

    def test_a_table_that_is_not_ready_is_503_and_says_when_to_come_back(
        self, api: Api, register: Register
    ) -> None:
        register()
        applied(api, HIDE)
        answer = api("admin", "GET", TABLE)
        assert failed(answer) == (503, "ServiceUnavailableException")
        assert int(answer.headers["retry-after"]) > 0
        assert "headgate lens status" in answer.text

    def test_a_client_that_lets_the_server_plan_does_not_wait_and_learns_nothing(
        self, api: Api, register: Register
    ) -> None:
        register()
        open_tag = api("admin", "GET", TABLE).headers["etag"]
        applied(api, HIDE)
        answer = api("admin", "GET", TABLE, headers={"If-None-Match": open_tag, **OBEDIENT})
        assert answer.status_code == 200, "a tag of another view is no tag of this one"
        assert answer.json()["config"] == {"scan-planning-mode": "server"}
        metadata = answer.json()["metadata"]
        assert "name" not in {f["name"] for f in metadata["schemas"][0]["fields"]}
        assert "list-1.avro" not in answer.text
        for place in (metadata["location"], metadata["snapshots"][0]["manifest-list"]):
            assert "/_headgate/" in place

    def test_it_is_not_written(self, api: Api, register: Register) -> None:
        register()
        applied(api, ROWS.format("id < 2"))
        commit = {"requirements": [], "updates": [{"action": "set-properties", "updates": {"a": "b"}}]}
        assert failed(api("admin", "POST", TABLE, commit)) == (403, "ForbiddenException")

    def test_a_plan_of_another_view_is_gone(
        self, api: Api, register: Register, slow: threading.Event, steward: Steward
    ) -> None:
        register(count=2001)
        slow.set()
        steward.scans.patience = 60
        token = api("admin", "POST", f"{TABLE}/plan", {}).json()["plan-tasks"][0]
        slow.clear()
        steward.scans.patience = 0.01
        # Another question: the first one would be answered from what was evaluated before.
        plan = api("admin", "POST", f"{TABLE}/plan", {"select": ["id"]}).json()["plan-id"]
        applied(api, ROWS.format("id < 9"))
        slow.set()
        assert failed(api("admin", "GET", f"{TABLE}/plan/{plan}")) == (404, "NoSuchPlanIdException")
        answer = api("admin", "POST", f"{TABLE}/tasks", {"plan-task": token})
        assert failed(answer) == (404, "NoSuchPlanTaskException")

    def test_no_column_left_is_403(self, api: Api, register: Register) -> None:
        register()
        applied(api, "policy: none\non: lake\nto: [everyone]\nhide: [id, name]\n")
        for answer in (api("admin", "GET", TABLE), api("admin", "POST", f"{TABLE}/plan", {})):
            assert failed(answer) == (403, "ForbiddenException")

    def test_a_catalog_can_refuse_restricted_reads(self, api: Api, register: Register) -> None:
        register()
        applied(api, ROWS.format("id < 2"))
        enforce(api, "refuse")
        for answer in (api("admin", "GET", TABLE), api("admin", "POST", f"{TABLE}/plan", {})):
            assert failed(answer) == (403, "ForbiddenException")
            assert "headgate.enforce" in answer.text

    def test_only_an_engine_that_was_named_is_told_the_restrictions_instead(
        self, api: Api, register: Register, people: People
    ) -> None:
        register()
        applied(
            api,
            ROWS.format("id < 2"),
            "policy: m\non: lake\nto: [everyone]\nmask: {name: show_last_4(name)}\n",
        )
        enforce(api, "delegate")
        assert api("admin", "GET", TABLE).status_code == 503, "nobody is trusted yet"
        trust = {"@type": "setProperty", "property": "headgate.trusted-engines", "value": "trino, admin"}
        assert api("admin", "PUT", LAKE, {"updates": [trust]}).status_code == 200
        told = api("admin", "GET", TABLE).json()
        assert told["read-restrictions"] == {
            "required-row-filter": {
                "type": "lt",
                "left": {"type": "reference", "id": 1},
                "right": {"type": "literal", "value": 2, "data-type": "long"},
            },
            "required-column-projections": [{"field-id": 2, "action": "show-last-4"}],
        } or pytest.fail(str(told["read-restrictions"]))
        assert "_headgate" not in told["metadata"]["location"]
        planned = api("admin", "POST", f"{TABLE}/plan", {}).json()
        assert ids(planned) == ["f0.parquet", "f1.parquet"]

    @pytest.mark.parametrize("property", ["headgate.enforce", "headgate.originals", "headgate.lazy"])
    def test_an_unknown_way_to_enforce_is_refused(self, api: Api, property: str) -> None:
        update = {"@type": "setProperty", "property": property, "value": "none"}
        assert api("admin", "PUT", f"{LAKE}/catalogs/cat", {"updates": [update]}).status_code == 400


def wanted(batch: ledger.Batch) -> set[str]:
    """The names of the files that copies are wanted of."""
    sources = [json.loads(one.source) for one in batch.wanted]
    return {file["path"].rpartition("/")[2] for source in sources for file in source["files"]}


def wait_for(done: Callable[[], bool]) -> None:
    ends = time.monotonic() + 180
    while not done():
        assert time.monotonic() < ends
        time.sleep(0.02)


def _table(steward: Steward) -> int:
    node = steward.kernel.authority().find(ObjectRef.parse("lake", ObjectType.TABLE, "cat.s.t"))
    assert node is not None
    return node.id


def enforce(api: Api, mode: str, property: str = "headgate.enforce") -> None:
    update = {"@type": "setProperty", "property": property, "value": mode}
    assert api("admin", "PUT", f"{LAKE}/catalogs/cat", {"updates": [update]}).status_code == 200
