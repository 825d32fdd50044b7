"""Views are made ready before anybody waits, tell how far they are, and go when nobody can use them any more."""

import os
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from headgate.steward import Steward
from headgate.steward.reads.copies import collecting, governed
from headgate.store import ledger, plans
from headgate.store.database import now
from tests.conftest import Api
from tests.doors.governed import applied
from tests.doors.iceberg.conftest import ICE, Register
from tests.doors.lake import id_of
from tests.doors.settled import done, give, refused, securable
from tests.lenses.copyist import copy_all

TABLE = f"{ICE}/namespaces/s/tables/t"
LENSES = "/api/headgate/lenses"
HIDE = "policy: hide\non: lake\nto: [user:ann]\nhide: [name]\n"
OTHER = "policy: hide\non: lake\nto: [user:ann]\nhide: [id]\n"


@pytest.fixture(autouse=True)
def seen_in_part(api: Api, register: Register, steward: Steward) -> None:
    """ann may read s.t, of which she sees a part; her view is ready."""
    steward.waiting.patience = 0.05
    register()
    give(api, "ann", "reader", securable("catalog", "cat", "use_catalog", "use_schema", "select_table"))
    applied(api, HIDE)
    assert api("ann", "GET", TABLE).status_code == 503
    assert copy_all(steward) == 3


@pytest.fixture
def late(monkeypatch: pytest.MonkeyPatch) -> None:
    """Long after anybody used anything."""
    monkeypatch.setattr(collecting, "GRACE", timedelta(seconds=-1))


def views(api: Api) -> list[dict[str, Any]]:
    return list(done(api("admin", "GET", f"{LENSES}?metalake=lake"))["views"])


def collected(api: Api, **more: Any) -> list[dict[str, Any]]:
    return list(done(api("admin", "POST", f"{LENSES}/gc?metalake=lake", more))["collected"])


def files_of(steward: Steward) -> list[Path]:
    folders = [view.folder.removeprefix("file://") for view in ledger.views(steward.kernel.store)]
    return [path for folder in folders for path in Path(folder).rglob("*") if path.is_file()]


def test_a_ready_view_is_loaded_and_planned_over_its_own_folder_only(api: Api) -> None:
    loaded = api("ann", "GET", TABLE)
    assert loaded.status_code == 200
    tasks = api("ann", "POST", f"{TABLE}/plan", {}).json()["file-scan-tasks"]
    paths = [task["data-file"]["file-path"] for task in tasks]
    assert len(paths) == 3
    folder = loaded.json()["metadata"]["location"]
    assert all(path.startswith(f"{folder}/data/") for path in paths)
    for text in (loaded.text, str(tasks)):
        assert "/forged/" not in text, "no place of the table itself is told"


def test_documents_that_an_older_version_wrote_are_written_anew(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their names were such that some clients refuse them."""
    with monkeypatch.context() as older:
        older.setattr(governed, "_FORM", 1)
        former = api("ann", "GET", TABLE).json()["metadata-location"]
        assert api("ann", "GET", TABLE).json()["metadata-location"] == former
    now = api("ann", "GET", TABLE).json()
    assert now["metadata-location"] != former
    assert api("ann", "GET", TABLE).json() == now


def test_status_is_for_the_owner_and_ones_own_for_everyone(api: Api) -> None:
    (view,) = views(api)
    assert (view["table"], view["made"], view["wanted"], view["failed"]) == ("cat.s.t", 3, 0, 0)
    assert refused(api("ann", "GET", f"{LENSES}?metalake=lake"))
    assert api("ann", "GET", TABLE).status_code == 200
    mine = done(api("ann", "GET", f"{LENSES}/mine?metalake=lake&table=cat.s.t"))["views"]
    assert mine == [{"table": "cat.s.t", "view": view["view"], "ready": True}], "and no number of copies"
    assert api("bob", "GET", f"{LENSES}/mine?metalake=lake&table=cat.s.t").status_code in (403, 404)


def test_warming_asks_for_copies_that_nobody_has_needed_yet(api: Api, steward: Steward) -> None:
    applied(api, OTHER)
    asked = {"tables": ["cat.s.t"], "users": ["ann", "bob"]}
    first = done(api("admin", "POST", f"{LENSES}/warm?metalake=lake", asked))["warmed"]
    assert [(one["user"], one["missing"]) for one in first] == [("ann", 3), ("bob", 0)]
    assert copy_all(steward) == 3
    again = done(api("admin", "POST", f"{LENSES}/warm?metalake=lake", asked))["warmed"]
    assert [one["missing"] for one in again] == [0, 0]
    assert refused(api("ann", "POST", f"{LENSES}/warm?metalake=lake", asked))


def test_a_commit_makes_the_views_ready_that_were_used_lately(api: Api, steward: Steward) -> None:
    assert api("ann", "GET", TABLE).status_code == 200
    documents = len(list((files_of(steward)[0].parents[2]).rglob("*.metadata.json")))
    commit = {"requirements": [], "updates": [{"action": "set-properties", "updates": {"a": "b"}}]}
    used = ledger.views(steward.kernel.store)[0].used_at
    assert api("admin", "POST", TABLE, commit).status_code == 200
    deadline = time.monotonic() + 180
    while len([p for p in files_of(steward) if p.name.endswith(".metadata.json")]) <= documents:
        assert time.monotonic() < deadline, "the governed document of the new table document is made ahead"
        time.sleep(0.05)
    assert ledger.views(steward.kernel.store)[0].used_at == used, "making ready is not using"


def test_what_is_in_use_is_left_alone(api: Api, steward: Steward, late: None) -> None:
    assert api("ann", "GET", TABLE).status_code == 200
    before = files_of(steward)
    assert collected(api, unusedDays=1) == []
    assert files_of(steward) == before
    assert api("ann", "GET", TABLE).status_code == 200


def test_nothing_goes_while_somebody_may_still_come_for_it(api: Api, steward: Steward) -> None:
    assert collected(api, unusedDays=0) == [], "it was used a moment ago"


def test_a_live_plan_keeps_its_files(api: Api, steward: Steward, late: None) -> None:
    table = id_of(steward, "table", "cat.s.t")
    ends = now().replace("2026", "2999").replace("2027", "2999")
    plans.begin(
        steward.kernel.store, plans.PlanRecord("p", table, "ann", "completed", ends, b"v", b"", b"", "r")
    )
    assert collected(api, unusedDays=0) == []
    plans.forget(steward.kernel.store, "p")
    assert [one["copies"] for one in collected(api, unusedDays=0)] == [3]


def test_a_view_that_nobody_can_have_goes_with_all_its_files(api: Api, steward: Steward, late: None) -> None:
    folder = Path(ledger.views(steward.kernel.store)[0].folder.removeprefix("file://"))
    (former,) = views(api)
    applied(api, OTHER)
    trial = collected(api, dryRun=True)
    assert [one["why"] for one in trial] == ["nobody can have it any more"]
    assert folder.exists()
    (gone,) = collected(api)
    assert gone["copies"] == 3
    assert not folder.exists()
    assert former["view"] not in [one["view"] for one in views(api)]
    applied(api, HIDE)
    assert api("ann", "GET", TABLE).status_code == 503, "it is made again, not taken for there"


def test_the_views_of_a_dropped_table_go(api: Api, steward: Steward, late: None) -> None:
    folder = Path(ledger.views(steward.kernel.store)[0].folder.removeprefix("file://"))
    assert api("admin", "DELETE", TABLE).status_code == 204
    assert [one["why"] for one in collected(api)] == ["its table is gone"]
    assert not folder.exists()


def test_long_unused_views_go(api: Api, steward: Steward, late: None) -> None:
    assert [one["why"] for one in collected(api, unusedDays=0)] == ["unused for 0 days"]
    assert files_of(steward) == []


def test_copies_of_files_that_left_the_table_go_and_others_stay(
    api: Api, steward: Steward, late: None
) -> None:
    assert api("ann", "GET", TABLE).status_code == 200
    kept = ledger.kept(steward.kernel.store, *_view(steward))
    assert len(kept.snapshots) == 1
    gone = {
        "requirements": [],
        "updates": [
            {"action": "remove-snapshot-ref", "ref-name": "main"},
            {"action": "remove-snapshots", "snapshot-ids": [1]},
        ],
    }
    assert api("admin", "POST", TABLE, gone).status_code == 200
    (told,) = collected(api, unusedDays=1)
    assert (told["why"], told["copies"]) == ("no longer in its table", 3)
    assert ledger.kept(steward.kernel.store, *_view(steward)).copies == {}
    assert not [path for path in files_of(steward) if path.suffix == ".parquet"]


def test_files_that_no_ledger_knows_go_once_they_are_old(api: Api, steward: Steward, late: None) -> None:
    folder = files_of(steward)[0].parent.parent
    young, old = folder / "dead" / "a.parquet", folder / "dead" / "b.parquet"
    young.parent.mkdir()
    for path in (young, old):
        path.write_bytes(b"half")
    os.utime(old, (time.time() - 2 * 86400,) * 2)
    (told,) = collected(api, unusedDays=1)
    assert (told["copies"], told["files"]) == (0, 1)
    assert young.exists()
    assert not old.exists()


def test_only_who_owns_the_metalake_collects(api: Api) -> None:
    assert refused(api("ann", "POST", f"{LENSES}/gc?metalake=lake", {}))
    assert api("admin", "POST", f"{LENSES}/gc?metalake=lake", {"unusedDays": -1}).status_code == 400


def _view(steward: Steward) -> tuple[int, str]:
    (found,) = ledger.views(steward.kernel.store)
    return found.object, found.view
