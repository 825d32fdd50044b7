"""A table that was dropped and made again is another one: nothing that opened the former opens it, nor the reverse."""

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headgate.catalogs.openings import Openings
from headgate.model.objects import ObjectRef, ObjectType
from headgate.model.principals import Identity
from headgate.steward import Steward
from tests.catalogs.any_rest import AnyRest, any_rest
from tests.conftest import Api
from tests.doors.governed import applied
from tests.doors.iceberg.test_federated_tables_keep_their_place import FED, GRAVITINO, declare
from tests.openings import opened
from tests.people import People

ROWS = "policy: few\non: lake.fed.r.t\nto: [user:ann]\nrows: a = 1\n"
POLLS = {"X-Client-Version": "Apache Iceberg 1.11.0"}


@pytest.fixture
def openings(tmp_path: Path) -> Openings:
    return opened(tmp_path, "s3://theirs", f"file://{tmp_path}/theirs")


@pytest.fixture
def remote(api: Api, people: People, tmp_path: Path) -> Iterator[AnyRest]:
    with any_rest() as remote:
        declare(api, remote)
        people.may("ann", "USE_CATALOG USE_SCHEMA SELECT_TABLE", "metalake", "lake")
        make(remote, tmp_path)
        assert api("admin", "GET", f"{GRAVITINO}/t").status_code == 200
        applied(api, ROWS)
        yield remote


def make(remote: AnyRest, tmp_path: Path) -> None:
    """The same table in all but its uuid: the same place, columns and snapshot."""
    made = remote.put("t", f"file://{tmp_path}/theirs/t", id=str(uuid.uuid4()))
    snapshot: dict[str, Any] = {
        "snapshot-id": 7,
        "sequence-number": 1,
        "timestamp-ms": made["last-updated-ms"],
        "manifest-list": f"{made['location']}/metadata/snap-7.avro",
        "summary": {"operation": "append"},
        "schema-id": 0,
    }
    made["snapshots"], made["current-snapshot-id"], made["last-sequence-number"] = [snapshot], 7, 1


def folder_of(steward: Steward) -> str:
    authority = steward.kernel.authority()
    node = authority.find(ObjectRef("lake", ObjectType.TABLE, ("fed", "r", "t")))
    assert node is not None
    sight = steward.reads.as_seen_by(authority, node, Identity("ann"))
    assert sight is not None
    return sight.folder


def test_its_copies_lie_in_another_folder(
    api: Api, remote: AnyRest, steward: Steward, tmp_path: Path
) -> None:
    before = folder_of(steward)
    assert folder_of(steward) == before
    make(remote, tmp_path)
    assert api("ann", "GET", f"{GRAVITINO}/t").status_code == 503
    after = folder_of(steward)
    assert not after.startswith(before)
    assert not before.startswith(after)


def test_a_plan_of_the_former_is_gone(api: Api, remote: AnyRest, tmp_path: Path) -> None:
    asked = api("ann", "POST", f"{FED}/t/plan", {}, headers=POLLS)
    assert asked.json()["status"] == "submitted", asked.text
    plan = f"{FED}/t/plan/{asked.json()['plan-id']}"
    assert api("ann", "GET", plan).status_code != 404
    make(remote, tmp_path)
    assert api("ann", "GET", plan).status_code == 503
    gone = api("ann", "GET", plan)
    assert (gone.status_code, gone.json()["error"]["type"]) == (404, "NoSuchPlanIdException"), gone.text
