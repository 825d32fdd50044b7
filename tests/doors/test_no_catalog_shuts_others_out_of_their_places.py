"""Who declares a catalog takes no folder in which others keep their tables or filesets already, nor one of the server's own."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog

from headgate.catalogs.openings import Openings
from tests.catalogs.any_rest import any_rest
from tests.conftest import Api
from tests.doors.settled import LAKE, done
from tests.openings import opened
from tests.people import People


@pytest.fixture
def openings(tmp_path: Path) -> Openings:
    return opened(tmp_path)


@pytest.fixture(autouse=True)
def lake(api: Api, people: People) -> None:
    done(api("admin", "POST", "/api/metalakes", {"name": "lake"}))
    people.may("mallory", "CREATE_CATALOG", "metalake", "lake")


def declared(api: Api, allowed: str) -> Any:
    with any_rest() as hostile:
        properties = {"catalog-backend": "rest", "uri": hostile.url, "allowed-locations": allowed}
        body = {
            "name": "mine",
            "type": "relational",
            "provider": "lakehouse-iceberg",
            "properties": properties,
        }
        return api("mallory", "POST", f"{LAKE}/catalogs", body)


@pytest.mark.parametrize("own", [False, True])
def test_filesets_can_still_be_made_where_a_catalog_keeps_them(api: Api, tmp_path: Path, own: bool) -> None:
    """mallory names as an allowed location of a catalog of hers the folder in which another catalog keeps its filesets, or
    the server's own warehouse. After that nobody can make a fileset there. It should be refused, or change nothing."""
    properties = {"location": f"file://{tmp_path}/kept"} if own else {}
    done(
        api(
            "admin",
            "POST",
            f"{LAKE}/catalogs",
            {"name": "files", "type": "fileset", "properties": properties},
        )
    )
    done(api("admin", "POST", f"{LAKE}/catalogs/files/schemas", {"name": "s"}))
    path = f"{LAKE}/catalogs/files/schemas/s/filesets"
    done(api("admin", "POST", path, {"name": "before"}))
    declared(api, f"file://{tmp_path}/kept" if own else f"file://{tmp_path}/warehouse")
    after = api("admin", "POST", path, {"name": "after"})
    assert after.status_code == 200, after.text


def test_tables_can_still_be_made_where_a_catalog_allows_them(api: Api, tmp_path: Path) -> None:
    """The same with a native catalog, one of whose allowed locations mallory names for a catalog of hers."""
    place = f"file://{tmp_path}/shared"
    body = {
        "name": "cat",
        "type": "relational",
        "provider": "lakehouse-iceberg",
        "properties": {"allowed-locations": place},
    }
    done(api("admin", "POST", f"{LAKE}/catalogs", body))
    done(api("admin", "POST", f"{LAKE}/catalogs/cat/schemas", {"name": "s"}))
    schema = {"type": "struct", "fields": [{"id": 1, "name": "id", "type": "long", "required": False}]}
    tables = "/iceberg/v1/lake.cat/namespaces/s/tables"
    first = api("admin", "POST", tables, {"name": "t", "schema": schema, "location": f"{place}/t"})
    assert first.status_code == 200, first.text
    made = declared(api, place)
    second = api("admin", "POST", tables, {"name": "u", "schema": schema, "location": f"{place}/u"})
    assert second.status_code == 200, second.text
    assert made.status_code == 403, made.text


def test_what_lies_in_an_allowed_location_of_a_native_catalog_is_registered_there_only(
    api: Api, tmp_path: Path
) -> None:
    """An engine has written a table into an allowed location of admin's native catalog `cat`, and admin has not registered it
    yet. mallory names the same folder for a native catalog of her own and registers it: she should be refused, as the
    folder belongs to the first catalog that names it."""
    place = f"file://{tmp_path}/shared"
    native = {
        "type": "relational",
        "provider": "lakehouse-iceberg",
        "properties": {"allowed-locations": place},
    }
    done(api("admin", "POST", f"{LAKE}/catalogs", {"name": "cat", **native}))
    engine = SqlCatalog("e", uri=f"sqlite:///{tmp_path}/engine.db", warehouse=place)
    engine.create_namespace("s")
    rows = pa.table({"a": pa.array([4711], pa.int32())})
    table = engine.create_table("s.t", rows.schema)
    table.append(rows)
    where = table.metadata_location
    engine.engine.dispose()
    made = api("mallory", "POST", f"{LAKE}/catalogs", {"name": "mine", **native})
    api("mallory", "POST", f"{LAKE}/catalogs/mine/schemas", {"name": "s"})
    body = {"name": "t", "metadata-location": where}
    taken = api("mallory", "POST", "/iceberg/v1/lake.mine/namespaces/s/register", body)
    planned = api(
        "mallory", "POST", "/iceberg/v1/lake.mine/namespaces/s/tables/t/plan", {"stats-fields": ["a"]}
    )
    assert "data-file" not in planned.text
    assert 403 in (made.status_code, taken.status_code), (made.text, taken.text)
