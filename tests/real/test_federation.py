"""Tables of another REST catalog appear here, are governed, planned, committed to and audited: Apache's own and Nessie."""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.types import IntegerType, StringType

from headgate.catalogs.openings import Openings
from headgate.catalogs.rest_client import RestClient
from headgate.steward import Steward
from tests.conftest import Api
from tests.doors.lake import LAKE
from tests.openings import opened
from tests.people import People
from tests.planning.forge import simple_schema
from tests.real.iceberg_kit import fixture_server

pytestmark = [pytest.mark.real, pytest.mark.slow]

ICE = "/iceberg/v1/lake.fed"
TABLE = f"{ICE}/namespaces/remote/tables/t"
FIELDS = [{"id": 1, "name": "a", "type": "int", "required": False}]


Properties = dict[str, str]


@pytest.fixture(scope="module")
def apache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Properties]:
    with fixture_server(tmp_path_factory.mktemp("remote")) as url:
        yield {"uri": url, "token": "not-to-be-told"}


@pytest.fixture(scope="module", params=["apache", "nessie"])
def remote(request: pytest.FixtureRequest) -> Iterator[Properties]:
    """A catalog with the table `remote.t` of two files, made by a client of its own; what it takes to federate it."""
    properties: Properties = request.getfixturevalue(request.param)
    files = {key.replace("s3-", "s3."): value for key, value in properties.items() if key.startswith("s3-")}
    where = {key: properties[key] for key in ("uri", "warehouse") if key in properties}
    client = RestCatalog("remote", **where, **files, **{"py-io-impl": "pyiceberg.io.pyarrow.PyArrowFileIO"})
    client.create_namespace("remote")
    table = client.create_table("remote.t", simple_schema(("id", IntegerType()), ("v", StringType())))
    arrow = pa.schema([("id", pa.int32()), ("v", pa.string())])
    for n in range(2):
        table.append(pa.Table.from_pylist([{"id": n, "v": "x"}], arrow))
    yield properties
    client.drop_table("remote.t")
    client.drop_namespace("remote")


@pytest.fixture
def openings(tmp_path_factory: pytest.TempPathFactory) -> Openings:
    """The other catalogs keep their tables in the session's folder, and in a bucket."""
    return opened(tmp_path_factory.getbasetemp(), "s3://nessie")


@pytest.fixture(autouse=True)
def lake(api: Api, remote: Properties, people: People, steward: Steward) -> None:
    steward.scans.patience = 60
    api("admin", "POST", "/api/metalakes", {"name": "lake"})
    catalog = {
        "name": "fed",
        "type": "relational",
        "provider": "lakehouse-iceberg",
        "properties": {"catalog-backend": "rest", **remote},
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
    # What ann may not see is not looked for on her behalf: it is known here once somebody looked who may.
    assert api("admin", "GET", TABLE).status_code == 200
    people.may("ann", "SELECT_TABLE", "table", "fed.remote.t")
    assert api("ann", "GET", TABLE).status_code == 200
    assert names(api("ann", "GET", f"{ICE}/namespaces/remote/tables")) == ["t"]
    commit = {"requirements": [], "updates": [{"action": "set-properties", "updates": {"a": "b"}}]}
    assert api("ann", "POST", TABLE, commit).status_code == 403
    assert "a" not in api("admin", "GET", TABLE).json()["metadata"]["properties"]


def test_changes_go_through_and_conflicts_come_back(api: Api) -> None:
    made = {"name": "u", "schema": {"type": "struct", "fields": FIELDS}}
    created = api("admin", "POST", f"{ICE}/namespaces/remote/tables", made)
    assert created.status_code == 200, created.text
    path = f"{ICE}/namespaces/remote/tables/u"
    commit = {"requirements": [], "updates": [{"action": "set-properties", "updates": {"k": "v"}}]}
    assert api("admin", "POST", path, commit).status_code == 200
    stale = [{"type": "assert-current-schema-id", "current-schema-id": 9}]
    assert api("admin", "POST", path, {**commit, "requirements": stale}).status_code == 409
    assert api("admin", "POST", f"{ICE}/namespaces/remote/tables", made).status_code == 409
    rename = {
        "source": {"namespace": ["remote"], "name": "u"},
        "destination": {"namespace": ["remote"], "name": "w"},
    }
    assert api("admin", "POST", f"{ICE}/tables/rename", rename).status_code == 204
    assert api("admin", "GET", f"{ICE}/namespaces/remote/tables/w").status_code == 200
    assert api("admin", "DELETE", f"{ICE}/namespaces/remote/tables/w").status_code == 204
    assert names(api("admin", "GET", f"{ICE}/namespaces/remote/tables")) == ["t"]


def test_several_tables_change_together_or_not_at_all(api: Api, people: People) -> None:
    made = {"name": "u", "schema": {"type": "struct", "fields": FIELDS}}
    assert api("admin", "POST", f"{ICE}/namespaces/remote/tables", made).status_code == 200

    def change(word: str, *requirements: dict[str, Any]) -> dict[str, Any]:
        updates = [{"action": "set-properties", "updates": {"together": word}}]
        bodies = [
            {"requirements": [], "updates": updates},
            {"requirements": [*requirements], "updates": updates},
        ]
        names = [{"namespace": ["remote"], "name": name} for name in ("t", "u")]
        return {"table-changes": [{**body, "identifier": n} for body, n in zip(bodies, names, strict=True)]}

    def words() -> set[str | None]:
        paths = (TABLE, f"{ICE}/namespaces/remote/tables/u")
        return {api("admin", "GET", p).json()["metadata"]["properties"].get("together") for p in paths}

    transaction = f"{ICE}/transactions/commit"
    answer = api("admin", "POST", transaction, change("one"))
    assert answer.status_code == 204, answer.text
    assert words() == {"one"}
    stale = {"type": "assert-current-schema-id", "current-schema-id": 9}
    assert api("admin", "POST", transaction, change("two", stale)).status_code == 409
    assert words() == {"one"}
    people.may("ann", "USE_CATALOG USE_SCHEMA", "metalake", "lake")
    people.may("ann", "SELECT_TABLE MODIFY_TABLE", "table", "fed.remote.t")
    people.may("ann", "SELECT_TABLE", "table", "fed.remote.u")
    assert api("ann", "POST", transaction, change("three")).status_code == 403
    assert words() == {"one"}
    assert api("admin", "DELETE", f"{ICE}/namespaces/remote/tables/u").status_code == 204


def test_a_server_that_offers_no_transactions_is_not_asked_for_them(
    api: Api, steward: Steward, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RestClient, "offers", lambda self, endpoint: False)
    change = {"requirements": [], "updates": [{"action": "set-properties", "updates": {"never": "x"}}]}
    made = {"name": "u", "schema": {"type": "struct", "fields": FIELDS}}
    assert api("admin", "POST", f"{ICE}/namespaces/remote/tables", made).status_code == 200
    both = [{**change, "identifier": {"namespace": ["remote"], "name": name}} for name in ("t", "u")]
    answer = api("admin", "POST", f"{ICE}/transactions/commit", {"table-changes": both})
    assert answer.status_code == 406
    assert "one by one" in answer.text
    assert "never" not in api("admin", "GET", TABLE).json()["metadata"]["properties"]
    assert api("admin", "DELETE", f"{ICE}/namespaces/remote/tables/u").status_code == 204


def test_a_schema_evolves_there_by_a_client_that_came_here(api: Api) -> None:
    """As newer clients send it: without the number of the last column, which older servers want."""
    now = api("admin", "GET", TABLE).json()["metadata"]
    fields = next(s["fields"] for s in now["schemas"] if s["schema-id"] == now["current-schema-id"])
    wider = {
        "type": "struct",
        "schema-id": now["current-schema-id"] + 1,
        "fields": [*fields, {"id": 3, "name": "w", "type": "int", "required": False}],
    }
    commit = {
        "requirements": [{"type": "assert-table-uuid", "uuid": now["table-uuid"]}],
        "updates": [
            {"action": "add-schema", "schema": wider},
            {"action": "set-current-schema", "schema-id": -1},
        ],
    }
    answer = api("admin", "POST", TABLE, commit)
    assert answer.status_code == 200, answer.text
    there = api("admin", "GET", f"{LAKE}/catalogs/fed/schemas/remote/tables/t").json()["table"]
    assert [column["name"] for column in there["columns"]] == ["id", "v", "w"]


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
