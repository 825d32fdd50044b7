"""What readers were given, and when they lost the right to it, can be told later: for the owner of the metalake."""

import base64
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select

from headgate.planning.fingerprints import fingerprints
from headgate.store import Store, given_files, tables
from headgate.store.database import now
from tests.conftest import Api
from tests.doors.iceberg.conftest import ICE, Register
from tests.doors.scans import scanned
from tests.doors.settled import LAKE, done, give, securable

TABLE = f"{ICE}/namespaces/s/tables/t"
READ = ("use_catalog", "use_schema", "select_table")
POLICY = "policy: few\non: lake.cat.s.t\nto: [user:ann]\nrows: id < 2\n"


@pytest.fixture(autouse=True)
def reader(api: Api, register: Register) -> None:
    register()
    give(api, "ann", "reader", securable("catalog", "cat", *READ))


def events(api: Api, user: str, action: str) -> list[dict[str, Any]]:
    path = f"/api/headgate/audit?metalake=lake&user={user}&action={action}&allowed=true"
    return [event["details"] for event in done(api("admin", "GET", path))["events"]]


def governed(api: Api) -> None:
    body = {"files": [{"file": "p.yaml", "text": POLICY}], "whole": True}
    done(api("admin", "POST", "/api/headgate/policies/apply?metalake=lake", body))


def files(api: Api, view: str) -> bytes:
    return base64.b64decode(
        done(api("admin", "GET", f"/api/headgate/audit/files?metalake=lake&view={view}"))["files"]
    )


def test_who_sees_all_is_given_the_tables_folders(api: Api, tmp_path: Path) -> None:
    assert api("ann", "GET", TABLE).status_code == 200
    assert api("ann", "POST", f"{TABLE}/plan", {}).status_code == 200
    own = [f"file://{tmp_path}/forged/t"]
    for (told,) in (events(api, "ann", "load_table"), events(api, "ann", "read_table")):
        assert told["folders"] == own
        assert told.keys().isdisjoint({"view", "given"})


def test_who_sees_a_part_is_given_the_originals_that_conform_and_the_views_folder(
    api: Api, store: Store, tmp_path: Path
) -> None:
    governed(api)
    for _ in range(3):
        planned = scanned(api, "ann", TABLE)
    paths = [task["data-file"]["file-path"] for task in planned["file-scan-tasks"]]
    assert sorted(path.rpartition("/")[2] for path in paths) == ["f0.parquet", "f1.parquet"]
    told = next(event for event in events(api, "ann", "read_table") if "folders" in event)
    assert (told["step"], told["outcome"]) == ("plan", "completed")
    assert told["folders"] == [f"file://{tmp_path}/forged/t"]
    assert told["view"][:40] in told["given"][0]
    assert files(api, told["view"]) == fingerprints(paths)
    assert len(fingerprints(paths)) == 16
    assert api("ann", "GET", TABLE).status_code == 200
    (loaded,) = events(api, "ann", "load_table")
    assert (loaded["view"], loaded["given"]) == (told["view"], told["given"])
    assert set(_parts(files(api, told["view"]))) == set(_parts(fingerprints(paths)))
    with store.read() as read:
        assert read.execute(select(func.count()).select_from(tables.given_files)).scalar() == 1, "kept once"
    assert files(api, "no-such-view") == b""


def _parts(prints: bytes) -> list[bytes]:
    return [prints[n : n + 8] for n in range(0, len(prints), 8)]


def test_a_hundred_thousand_files_are_one_row(store: Store) -> None:
    paths = [f"s3://lake/t/data/{n}.parquet" for n in range(100_000)]
    given_files.keep(store, 1, "v", fingerprints(paths))
    given_files.keep(store, 1, "v", fingerprints(reversed(paths)))
    ((object, kept),) = given_files.find(store, "v")
    assert (object, len(kept)) == (1, 800_000)
    assert fingerprints(["s3a://lake/t/x"]) == fingerprints(["s3://lake/t/x"])


def losses(api: Api, since: str, *users: str) -> list[tuple[str, bool]]:
    body = {"readers": [{"user": user, "object": "cat.s.t"} for user in users]}
    told = done(api("admin", "POST", f"/api/headgate/audit/losses?metalake=lake&since={since}", body))
    assert told["complete"] is True
    return [(loss["user"], loss.get("until") is not None) for loss in told["losses"]]


def test_rights_that_were_lost_and_regained_are_told_with_their_times(api: Api) -> None:
    before = now()
    assert losses(api, before, "ann", "bob") == []
    done(api("admin", "PUT", f"{LAKE}/permissions/users/ann/revoke", {"roleNames": ["reader"]}))
    assert losses(api, before, "ann", "bob") == [("ann", False)]
    done(api("admin", "PUT", f"{LAKE}/permissions/users/ann/grant", {"roleNames": ["reader"]}))
    done(api("admin", "POST", f"{LAKE}/tags", {"name": "unrelated"}))
    assert losses(api, before, "ann", "bob") == [("ann", True)]
    done(api("admin", "DELETE", f"{LAKE}/users/ann"))
    assert losses(api, before, "ann", "bob") == [("ann", True), ("ann", False)]
    assert losses(api, "2999-01-01T00:00:00Z", "ann") == []
    # What was never there to lose is no loss.
    assert losses(api, "2000-01-01T00:00:00Z", "bob") == []


def test_a_dropped_table_is_lost_to_its_readers(api: Api) -> None:
    before = now()
    assert api("admin", "DELETE", TABLE).status_code == 204
    assert losses(api, before, "ann") == [("ann", False)]


def test_only_the_owner_of_the_metalake_may_ask(api: Api) -> None:
    body = {"readers": [{"user": "ann", "object": "cat.s.t"}]}
    path = "/api/headgate/audit"
    assert api("ann", "GET", f"{path}/files?metalake=lake&view=x").status_code == 403
    assert api("ann", "POST", f"{path}/losses?metalake=lake&since=2026-01-01", body).status_code == 403
    assert api("admin", "POST", f"{path}/losses?metalake=lake", body).status_code == 400
    many = {"readers": body["readers"] * 1001}
    assert api("admin", "POST", f"{path}/losses?metalake=lake&since=2026-01-01", many).status_code == 400
    bad = {"readers": [{"user": "ann", "object": "t"}]}
    assert api("admin", "POST", f"{path}/losses?metalake=lake&since=2026-01-01", bad).status_code == 400
