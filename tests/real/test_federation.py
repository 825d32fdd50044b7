"""Tables of another REST catalog appear here, are governed, planned, committed to and audited."""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.types import IntegerType, StringType

from headgate.steward import Steward
from tests.conftest import Api
from tests.doors.lake import LAKE
from tests.people import People
from tests.planning.forge import simple_schema
from tests.real.iceberg_kit import fixture_server

pytestmark = [pytest.mark.real, pytest.mark.slow]

ICE = "/iceberg/v1/lake.fed"
TABLE = f"{ICE}/namespaces/remote/tables/t"


@pytest.fixture(scope="module")
def remote(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Apache's own server with the table `remote.t` of two files, made by a client of its own."""
    with fixture_server(tmp_path_factory.mktemp("remote")) as url:
        client = RestCatalog("remote", uri=url, **{"py-io-impl": "pyiceberg.io.pyarrow.PyArrowFileIO"})
        client.create_namespace("remote")
        table = client.create_table("remote.t", simple_schema(("id", IntegerType()), ("v", StringType())))
        arrow = pa.schema([("id", pa.int32()), ("v", pa.string())])
        for n in range(2):
            table.append(pa.Table.from_pylist([{"id": n, "v": "x"}], arrow))
        yield url


@pytest.fixture(autouse=True)
def lake(api: Api, remote: str, people: People, steward: Steward) -> None:
    steward.scans.patience = 60
    api("admin", "POST", "/api/metalakes", {"name": "lake"})
    catalog = {
        "name": "fed",
        "type": "relational",
        "provider": "lakehouse-iceberg",
        "properties": {"catalog-backend": "rest", "uri": remote, "token": "not-to-be-told"},
    }
    made = api("admin", "POST", f"{LAKE}/catalogs", catalog)
    assert made.status_code == 200, made.text
    assert "not-to-be-told" not in made.text
    people.join("ann")


def names(answer: Any) -> list[str]:
    return [entry["name"] for entry in answer.json()["identifiers"]]


def test_what_the_other_catalog_holds_is_listed_loaded_and_planned(api: Api) -> None:
    assert ["remote"] in api("admin", "GET", f"{ICE}/namespaces").json()["namespaces"]
    assert names(api("admin", "GET", f"{ICE}/namespaces/remote/tables")) == ["t"]
    loaded = api("admin", "GET", TABLE)
    assert loaded.status_code == 200, loaded.text
    assert loaded.json()["config"] == {}, "nothing of the other server's settings is passed on"
    body = {"filter": {"type": "eq", "term": "id", "value": 1}}
    planned = api("admin", "POST", f"{TABLE}/plan", body)
    assert planned.status_code == 200, planned.text
    assert len(planned.json()["file-scan-tasks"]) == 1
    there = api("admin", "GET", f"{LAKE}/catalogs/fed/schemas/remote/tables/t").json()["table"]
    assert [column["name"] for column in there["columns"]] == ["id", "v"]
    events = api("admin", "GET", "/api/headgate/audit?metalake=lake&action=read_table").json()["events"]
    assert events[-1]["details"]["files"] == 1


def test_a_table_is_found_by_its_name_before_anything_was_listed(api: Api) -> None:
    assert api("admin", "GET", TABLE).status_code == 200
    assert api("admin", "GET", f"{ICE}/namespaces/remote/tables/nope").status_code == 404
    assert api("admin", "GET", f"{ICE}/namespaces/nope/tables/t").status_code == 404


def test_it_is_governed_here(api: Api, people: People) -> None:
    assert api("ann", "GET", TABLE).status_code == 404
    people.may("ann", "USE_CATALOG USE_SCHEMA", "metalake", "lake")
    assert api("ann", "GET", TABLE).status_code == 404
    assert names(api("ann", "GET", f"{ICE}/namespaces/remote/tables")) == []
    people.may("ann", "SELECT_TABLE", "table", "fed.remote.t")
    assert api("ann", "GET", TABLE).status_code == 200
    assert names(api("ann", "GET", f"{ICE}/namespaces/remote/tables")) == ["t"]
    commit = {"requirements": [], "updates": [{"action": "set-properties", "updates": {"a": "b"}}]}
    assert api("ann", "POST", TABLE, commit).status_code == 403
    assert "a" not in api("admin", "GET", TABLE).json()["metadata"]["properties"]


def test_changes_go_through_and_conflicts_come_back(api: Api) -> None:
    made = {
        "name": "u",
        "schema": {
            "type": "struct",
            "fields": [{"id": 1, "name": "a", "type": "int", "required": False}],
        },
    }
    created = api("admin", "POST", f"{ICE}/namespaces/remote/tables", made)
    assert created.status_code == 200, created.text
    path = f"{ICE}/namespaces/remote/tables/u"
    commit = {"requirements": [], "updates": [{"action": "set-properties", "updates": {"k": "v"}}]}
    assert api("admin", "POST", path, commit).status_code == 200
    stale = [{"type": "assert-current-schema-id", "current-schema-id": 9}]
    assert api("admin", "POST", path, {**commit, "requirements": stale}).status_code == 409
    assert api("admin", "POST", f"{ICE}/namespaces/remote/tables", made).status_code == 409
    both = [{**commit, "identifier": {"namespace": ["remote"], "name": name}} for name in ("t", "u")]
    assert api("admin", "POST", f"{ICE}/transactions/commit", {"table-changes": both}).status_code == 406
    rename = {
        "source": {"namespace": ["remote"], "name": "u"},
        "destination": {"namespace": ["remote"], "name": "w"},
    }
    assert api("admin", "POST", f"{ICE}/tables/rename", rename).status_code == 204
    assert api("admin", "GET", f"{ICE}/namespaces/remote/tables/w").status_code == 200
    assert api("admin", "DELETE", f"{ICE}/namespaces/remote/tables/w").status_code == 204
    assert names(api("admin", "GET", f"{ICE}/namespaces/remote/tables")) == ["t"]


def test_views_of_the_other_catalog_are_there_too(api: Api) -> None:
    view = {
        "name": "v",
        "schema": {"type": "struct", "fields": []},
        "view-version": {
            "version-id": 1,
            "timestamp-ms": 1,
            "schema-id": 0,
            "summary": {},
            "representations": [{"type": "sql", "sql": "select 1", "dialect": "spark"}],
            "default-namespace": ["remote"],
        },
        "properties": {},
    }
    made = api("admin", "POST", f"{ICE}/namespaces/remote/views", view)
    assert made.status_code == 200, made.text
    assert names(api("admin", "GET", f"{ICE}/namespaces/remote/views")) == ["v"]
    there = api("admin", "GET", f"{LAKE}/catalogs/fed/schemas/remote/views/v").json()["view"]
    assert there["representations"][0]["sql"] == "select 1"
    assert api("admin", "DELETE", f"{ICE}/namespaces/remote/views/v").status_code == 204
    assert names(api("admin", "GET", f"{ICE}/namespaces/remote/views")) == []
