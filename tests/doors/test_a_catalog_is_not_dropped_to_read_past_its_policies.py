"""Who sees a part of what a server holds does not drop its catalog to read the rest in another metalake."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from headgate.catalogs.openings import Openings
from headgate.steward import Steward
from tests.catalogs import jdbc
from tests.conftest import Api
from tests.doors.governed import applied
from tests.doors.settled import LAKE, done
from tests.openings import opened
from tests.people import People


@pytest.fixture
def openings(tmp_path: Path) -> Openings:
    return opened(tmp_path)


@pytest.mark.parametrize("how", ["drop", "let go"])
def test_tables_that_nobody_has_loaded_keep_a_restricted_owner_from_dropping_their_catalog(
    api: Api, steward: Steward, people: People, tmp_path: Path, how: str
) -> None:
    """A policy on the metalake `lake` keeps rows from mallory, who owns the catalog `db` in it. Nobody has loaded `db.s.old`
    here yet. She drops `db`, or takes an allowed location out of it, and takes what is free then in the metalake `other`,
    where she may declare catalogs and no policy is. She should be refused, as dropping is once the table was loaded."""
    for metalake in ("lake", "other"):
        done(api("admin", "POST", "/api/metalakes", {"name": metalake}))
    people.join("mallory")
    People(steward, "other").may("mallory", "CREATE_CATALOG", "metalake", "other")
    theirs = {**jdbc.on_sqlite(tmp_path), "allowed-locations": f"file://{tmp_path}/more"}
    body: dict[str, Any] = {"name": "db", "type": "relational", "provider": "lakehouse-iceberg"}
    done(api("admin", "POST", f"{LAKE}/catalogs", {**body, "properties": theirs}))
    outside = jdbc.pyiceberg_catalog(theirs)
    outside.create_namespace("s")
    rows = pa.table({"a": pa.array([1, 4711], pa.int32())})
    old = outside.create_table("s.old", rows.schema, location=f"file://{tmp_path}/more/old")
    old.append(rows)
    where = old.metadata_location
    jdbc.close_all()
    applied(api, "policy: p\non: lake\nto: [user:mallory]\nrows: a = 1\n")
    done(api("admin", "PUT", f"{LAKE}/owners/catalog/db", {"name": "mallory", "type": "user"}))
    there = "/iceberg/v1/other.mine/namespaces/s"
    if how == "drop":
        freed = api("mallory", "DELETE", f"{LAKE}/catalogs/db?force=true")
        api(
            "mallory", "POST", "/api/metalakes/other/catalogs", {**body, "name": "mine", "properties": theirs}
        )
        planned = api("mallory", "POST", f"{there}/tables/old/plan", {"stats-fields": ["a"]})
    else:
        gone = [{"@type": "removeProperty", "property": "allowed-locations"}]
        freed = api("mallory", "PUT", f"{LAKE}/catalogs/db", {"updates": gone})
        native = {"allowed-locations": f"file://{tmp_path}/more", "warehouse": f"file://{tmp_path}/own"}
        api(
            "mallory", "POST", "/api/metalakes/other/catalogs", {**body, "name": "mine", "properties": native}
        )
        api("mallory", "POST", "/api/metalakes/other/catalogs/mine/schemas", {"name": "s"})
        api("mallory", "POST", f"{there}/register", {"name": "old", "metadata-location": where})
        planned = api("mallory", "POST", f"{there}/tables/old/plan", {"stats-fields": ["a"]})
    assert "data-file" not in planned.text, "rows that the policy keeps from her"
    assert freed.status_code == 403, freed.text
