"""Where a catalog over a database or Glue says that its tables lie, no table of another server claims the place of all."""

import json
import uuid
from typing import Any

import pyarrow as pa
import pytest

from headgate.catalogs.openings import Openings
from tests.catalogs import jdbc
from tests.catalogs.any_rest import any_rest
from tests.conftest import Api
from tests.doors.iceberg.conftest import SCHEMA
from tests.doors.iceberg.test_tables_behind_pointers_are_governed_like_all_others import (
    FED,
    LAKE,
    declare,
    openings,
)
from tests.people import People

__all__ = ["openings"]


@pytest.mark.parametrize("below", ["", "/s", "/s/old"])
def test_by_a_server_that_names_any_place(
    api: Api, tmp_path: Any, people: People, openings: Openings, below: str
) -> None:
    """`old` is in bob's database since before Headgate, and nobody has loaded it here yet."""
    properties = jdbc.on_sqlite(tmp_path)
    theirs = jdbc.pyiceberg_catalog(properties)
    theirs.create_namespace("s")
    place = f"{properties['warehouse']}/s/old"
    theirs.create_table("s.old", pa.schema([("a", pa.int32())]), location=place)
    jdbc.close_all()
    declare(api, properties)
    people.may("mallory", "CREATE_CATALOG", "metalake", "lake")
    with any_rest() as hostile:
        hostile.put("t", properties["warehouse"] + below)
        body = {"catalog-backend": "rest", "uri": hostile.url}
        made = {"name": "mine", "type": "relational", "provider": "lakehouse-iceberg", "properties": body}
        assert api("mallory", "POST", f"{LAKE}/catalogs", made).status_code == 200
        taken = api("mallory", "GET", "/iceberg/v1/lake.mine/namespaces/r/tables/t")
        assert api("admin", "GET", f"{FED}/old").status_code == 200, "bob's own table is still there"
        assert api("admin", "POST", FED, {"name": "new", "schema": SCHEMA}).status_code == 200
        assert taken.status_code == 403, "nor is it given to a server that only claims it"


def test_nor_is_a_table_read_that_nobody_has_loaded_yet(
    api: Api, tmp_path: Any, people: People, openings: Openings
) -> None:
    """The hostile server hands out bob's own document, under another uuid: all its files lie within its place."""
    properties = jdbc.on_sqlite(tmp_path)
    theirs = jdbc.pyiceberg_catalog(properties)
    theirs.create_namespace("s")
    rows = pa.table({"a": pa.array([4711], pa.int32())})
    old = theirs.create_table("s.old", rows.schema, location=f"{properties['warehouse']}/s/old")
    old.append(rows)
    document = json.loads(old.metadata.model_dump_json())
    jdbc.close_all()
    declare(api, properties)
    people.may("mallory", "CREATE_CATALOG", "metalake", "lake")
    with any_rest() as hostile:
        hostile.tables["t"] = {**document, "table-uuid": str(uuid.uuid4())}
        body = {"catalog-backend": "rest", "uri": hostile.url}
        made = {"name": "mine", "type": "relational", "provider": "lakehouse-iceberg", "properties": body}
        assert api("mallory", "POST", f"{LAKE}/catalogs", made).status_code == 200
        where = "/iceberg/v1/lake.mine/namespaces/r/tables/t"
        planned = api("mallory", "POST", f"{where}/plan", {"stats-fields": ["a"]})
        assert "lower-bounds" not in planned.text, "the values of bob's rows"
        assert "data-file" not in planned.text


@pytest.mark.parametrize("below", ["", "/s", "/.."])
def test_nor_is_it_declared_again_but_by_the_owner_of_the_metalake(
    api: Api, tmp_path: Any, people: People, openings: Openings, below: str
) -> None:
    (outer := tmp_path / "outer").mkdir()
    properties = jdbc.on_sqlite(outer)
    declare(api, properties)
    people.may("mallory", "CREATE_CATALOG", "metalake", "lake")
    folder = f"{properties['warehouse']}{below}" if below != "/.." else f"file://{outer}"
    with any_rest() as hostile:
        body = {"catalog-backend": "rest", "uri": hostile.url, "allowed-locations": folder}
        made = {"name": "mine", "type": "relational", "provider": "lakehouse-iceberg", "properties": body}
        refused = api("mallory", "POST", f"{LAKE}/catalogs", made)
        assert (refused.status_code, "taken by another catalog" in refused.text) == (403, True), refused.text
        assert (
            "taken by another catalog" in api("mallory", "POST", f"{LAKE}/catalogs/testConnection", made).text
        )
        assert api("admin", "POST", f"{LAKE}/catalogs", made).status_code == 200
        for name in ("db", "mine"):
            assert api("admin", "PATCH", f"{LAKE}/catalogs/{name}", {"inUse": False}).status_code == 200
            assert api("admin", "DELETE", f"{LAKE}/catalogs/{name}?force=true").status_code == 200
        assert api("mallory", "POST", f"{LAKE}/catalogs", made).status_code == 200, "it is free again"


def test_nor_is_a_table_of_ones_own_made_there(
    api: Api, tmp_path: Any, people: People, openings: Openings
) -> None:
    properties = jdbc.on_sqlite(tmp_path)
    declare(api, properties)
    chosen = {"allowed-locations": f"file://{tmp_path}/other"}
    made = {"name": "own", "type": "relational", "provider": "lakehouse-iceberg", "properties": chosen}
    assert api("admin", "POST", f"{LAKE}/catalogs", made).status_code == 200
    assert api("admin", "POST", f"{LAKE}/catalogs/own/schemas", {"name": "s"}).status_code == 200
    there = f"{properties['warehouse']}/s/t"
    taken = api(
        "admin",
        "POST",
        "/iceberg/v1/lake.own/namespaces/s/tables",
        {"name": "t", "schema": SCHEMA, "location": there},
    )
    assert taken.status_code in (400, 403), taken.text
