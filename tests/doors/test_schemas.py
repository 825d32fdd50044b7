"""Schemas through the Gravitino door."""

import re

import pytest

from tests.conftest import Api
from tests.people import People

CATALOG = "/api/metalakes/lake/catalogs/cat"
SCHEMAS = CATALOG + "/schemas"


@pytest.fixture(autouse=True)
def _lake(api: Api) -> None:
    api("admin", "POST", "/api/metalakes", {"name": "lake"})
    body = {"name": "cat", "type": "relational", "provider": "lakehouse-iceberg"}
    assert api("admin", "POST", "/api/metalakes/lake/catalogs", body).status_code == 200


def names(api: Api, user: str, query: str = "") -> list[str]:
    return [i["name"] for i in api(user, "GET", SCHEMAS + query).json()["identifiers"]]


def test_a_schema_is_created_listed_loaded_altered_and_dropped(api: Api) -> None:
    made = api("admin", "POST", SCHEMAS, {"name": "s", "comment": "c", "properties": {"k": "v"}})
    schema = made.json()["schema"]
    assert (schema["name"], schema["comment"], schema["properties"]) == ("s", "c", {"k": "v"})
    assert api("admin", "POST", SCHEMAS, {"name": "s"}).json()["type"] == "SchemaAlreadyExistsException"
    assert names(api, "admin") == ["s"]
    updates = [
        {"@type": "setProperty", "property": "a", "value": "b"},
        {"@type": "removeProperty", "property": "k"},
    ]
    altered = api("admin", "PUT", f"{SCHEMAS}/s", {"updates": updates}).json()["schema"]
    assert altered["properties"] == {"a": "b"}
    assert api("admin", "GET", f"{SCHEMAS}/s").json()["schema"] == altered
    rename = {"updates": [{"@type": "rename", "newName": "t"}]}
    assert api("admin", "PUT", f"{SCHEMAS}/s", rename).status_code == 400
    missing = api("admin", "GET", f"{SCHEMAS}/none")
    assert (missing.status_code, missing.json()["type"]) == (404, "NoSuchSchemaException")
    assert api("admin", "DELETE", f"{SCHEMAS}/none").json() == {"code": 0, "dropped": False}
    assert api("admin", "DELETE", f"{SCHEMAS}/s").json() == {"code": 0, "dropped": True}
    assert names(api, "admin") == []
    nowhere = api("admin", "GET", "/api/metalakes/lake/catalogs/none/schemas")
    assert nowhere.json()["type"] == "NoSuchCatalogException"


def test_nested_schemas_lie_in_their_parents(api: Api) -> None:
    for name in ("A", "A:B", "A:B:C", "Z"):
        assert api("admin", "POST", SCHEMAS, {"name": name}).json()["schema"]["name"] == name
    assert names(api, "admin") == ["A", "Z"]
    assert names(api, "admin", "?parentSchema=A") == ["A:B"]
    assert names(api, "admin", "?parentSchema=A%3AB") == ["A:B:C"]
    assert names(api, "admin", "?parentSchema=A:B:C") == []
    assert api("admin", "GET", f"{SCHEMAS}/A%3AB%3AC").json()["schema"]["name"] == "A:B:C"
    full = api("admin", "DELETE", f"{SCHEMAS}/A")
    assert (full.status_code, full.json()["type"]) == (409, "NonEmptySchemaException")
    assert api("admin", "DELETE", f"{SCHEMAS}/A?cascade=True").json()["dropped"] is True
    assert names(api, "admin") == ["Z"]
    assert api("admin", "GET", f"{SCHEMAS}/A%3AB").status_code == 404


def test_privileges_and_ownership_are_inherited_along_nested_schemas(api: Api, people: People) -> None:
    for name in ("A", "A:B", "Z"):
        api("admin", "POST", SCHEMAS, {"name": name})
    people.may("ann", "USE_CATALOG", "catalog", "cat")
    assert names(api, "ann") == []
    assert api("ann", "GET", f"{SCHEMAS}/A").status_code == 403
    assert api("ann", "GET", f"{SCHEMAS}?parentSchema=A").status_code == 403
    people.may("ann", "USE_SCHEMA", "schema", "cat.A")
    assert names(api, "ann") == ["A"]
    assert names(api, "ann", "?parentSchema=A") == ["A:B"]
    assert api("ann", "POST", SCHEMAS, {"name": "A:B:mine"}).status_code == 403
    people.may("ann", "CREATE_SCHEMA", "catalog", "cat")
    assert api("ann", "POST", SCHEMAS, {"name": "A:B:mine"}).status_code == 200
    assert api("ann", "PUT", f"{SCHEMAS}/A%3AB", {"updates": []}).status_code == 403
    assert api("ann", "DELETE", f"{SCHEMAS}/A%3AB").status_code == 403
    assert api("ann", "POST", SCHEMAS, {"name": "A:B:mine:inner"}).status_code == 200
    assert api("ann", "DELETE", f"{SCHEMAS}/A%3AB%3Amine?cascade=true").json()["dropped"] is True
    people.may("ann", "USE_SCHEMA", "schema", "cat.A:B", deny=True)
    assert api("ann", "GET", f"{SCHEMAS}/A%3AB").status_code == 403
    assert names(api, "ann", "?parentSchema=A") == []


def test_a_name_that_the_python_client_encoded_is_the_name_it_meant(api: Api) -> None:
    api("admin", "POST", SCHEMAS, {"name": "A"})
    assert api("admin", "POST", SCHEMAS, {"name": "A%3AB"}).json()["schema"]["name"] == "A:B"
    assert names(api, "admin", "?parentSchema=A") == ["A:B"]
    for name in ("a%2F%2Fb", "%2E%2E", "a%252Fb", "a%00b", "a%"):
        assert api("admin", "POST", SCHEMAS, {"name": name}).status_code == 400, name


def test_tables_lie_in_nested_schemas(api: Api) -> None:
    for name in ("A", "A:B"):
        api("admin", "POST", SCHEMAS, {"name": name})
    body = {"name": "t", "columns": [{"name": "a", "type": "long"}]}
    assert api("admin", "POST", f"{SCHEMAS}/A%3AB/tables", body).status_code == 200
    made = api("admin", "GET", f"{SCHEMAS}/A%3AB/tables/t").json()["table"]
    assert re.search(r"/lake/cat-[0-9a-f]{12}/A/B/t-", made["properties"]["location"])
    found = api("admin", "GET", f"{SCHEMAS}/A%3AB/tables").json()["identifiers"]
    assert found == [{"namespace": ["lake", "cat", "A:B"], "name": "t"}]
    assert api("admin", "GET", f"{SCHEMAS}/A/tables").json()["identifiers"] == []
    assert api("admin", "DELETE", f"{SCHEMAS}/A?cascade=true").json()["dropped"] is True
    assert api("admin", "GET", f"{SCHEMAS}/A%3AB/tables/t").json()["type"] == "NoSuchTableException"


def test_bad_schema_names_are_refused(api: Api) -> None:
    for name in ("", ":", "A:", ":A", "a..b", "a//b", "..", "a*", "x" * 200, 7):
        assert api("admin", "POST", SCHEMAS, {"name": name}).status_code in (400, 404), name
    assert api("admin", "POST", SCHEMAS, content=b"{").status_code == 400
    assert names(api, "admin") == []
