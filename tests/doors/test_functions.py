"""Functions through the Gravitino door: definitions and implementations."""

from typing import Any

import pytest

from tests.conftest import Api
from tests.doors.lake import LAKE
from tests.people import People

FUNCTIONS = f"{LAKE}/catalogs/cat/schemas/s/functions"
SPARK = {"language": "SQL", "runtime": "SPARK", "sql": "SELECT x + 1"}
TRINO = {"language": "SQL", "runtime": "TRINO", "sql": "x + 1"}
X = {"name": "x", "dataType": "integer"}
Y = {"name": "y", "dataType": "string"}
DEFAULT = {"type": "literal", "dataType": "string", "value": "a"}
ONE = {"parameters": [X], "returnType": "integer", "impls": [SPARK]}


@pytest.fixture(autouse=True)
def lake(api: Api, people: People) -> None:
    api("admin", "POST", "/api/metalakes", {"name": "lake"})
    catalog = {"name": "cat", "type": "relational", "provider": "lakehouse-iceberg"}
    assert api("admin", "POST", f"{LAKE}/catalogs", catalog).status_code == 200
    assert api("admin", "POST", f"{LAKE}/catalogs/cat/schemas", {"name": "s"}).status_code == 200
    people.join("ann")


def register(api: Api, name: str = "f", user: str = "admin", **more: Any) -> Any:
    body = {"name": name, "functionType": "SCALAR", "deterministic": True, "definitions": [ONE], **more}
    return api(user, "POST", FUNCTIONS, body)


def alter(api: Api, *updates: Any, user: str = "admin") -> Any:
    return api(user, "PUT", f"{FUNCTIONS}/f", {"updates": list(updates)})


def test_functions_are_registered_listed_and_dropped(api: Api) -> None:
    made = register(api, comment="c")
    assert made.status_code == 200, made.text
    function = made.json()["function"]
    assert (function["functionType"], function["deterministic"], function["comment"]) == ("scalar", True, "c")
    assert function["definitions"] == [ONE]
    python = {
        "language": "python",
        "runtime": "spark",
        "handler": "h",
        "codeBlock": "def h(): ...",
        "resources": {"jars": ["a.jar"], "files": None, "archives": None},
        "properties": {"k": "v"},
    }
    table = {"parameters": None, "returnColumns": [{"name": "a", "dataType": "long"}], "impls": [python]}
    other = register(api, "g", functionType="table", definitions=[table]).json()["function"]
    assert other["definitions"] == [
        {
            "parameters": [],
            "returnColumns": [{"name": "a", "dataType": "long"}],
            "impls": [{**python, "language": "PYTHON", "runtime": "SPARK"}],
        }
    ]
    names = api("admin", "GET", FUNCTIONS).json()["identifiers"]
    assert [name["name"] for name in names] == ["f", "g"]
    listed = api("admin", "GET", f"{FUNCTIONS}?details=true").json()["functions"]
    assert [entry["name"] for entry in listed] == ["f", "g"]
    again = register(api)
    assert (again.status_code, again.json()["type"]) == (409, "FunctionAlreadyExistsException")
    assert api("admin", "DELETE", f"{FUNCTIONS}/f").json()["dropped"] is True
    assert api("admin", "DELETE", f"{FUNCTIONS}/f").json()["dropped"] is False
    assert api("admin", "GET", f"{FUNCTIONS}/f").json()["type"] == "NoSuchFunctionException"


def test_every_kind_of_update_changes_a_function(api: Api) -> None:
    register(api)
    two = {"parameters": [X, Y], "returnType": "string", "impls": [SPARK]}
    done = alter(
        api,
        {"@type": "updateComment", "newComment": "d"},
        {"@type": "addDefinition", "definition": two},
        {"@type": "addImpl", "parameters": [X], "implementation": TRINO},
        {
            "@type": "updateImpl",
            "parameters": [X],
            "runtime": "SPARK",
            "implementation": {**SPARK, "sql": "9"},
        },
    ).json()["function"]
    assert done["comment"] == "d"
    assert done["definitions"] == [{**ONE, "impls": [{**SPARK, "sql": "9"}, TRINO]}, two]
    less = alter(
        api,
        {"@type": "removeImpl", "parameters": [X], "runtime": "trino"},
        {"@type": "removeDefinition", "parameters": [X, Y]},
    ).json()["function"]
    assert less["definitions"] == [{**ONE, "impls": [{**SPARK, "sql": "9"}]}]


def test_an_update_that_leaves_no_function_changes_nothing(api: Api) -> None:
    register(api)
    before = api("admin", "GET", f"{FUNCTIONS}/f").json()
    for update in (
        {"@type": "addDefinition", "definition": ONE},
        {"@type": "removeDefinition", "parameters": [X]},
        {"@type": "removeDefinition", "parameters": [Y]},
        {"@type": "addImpl", "parameters": [X], "implementation": SPARK},
        {"@type": "addImpl", "parameters": [Y], "implementation": TRINO},
        {"@type": "updateImpl", "parameters": [X], "runtime": "TRINO", "implementation": TRINO},
        {"@type": "updateImpl", "parameters": [X], "runtime": "SPARK", "implementation": TRINO},
        {"@type": "removeImpl", "parameters": [X], "runtime": "SPARK"},
        {"@type": "removeImpl", "parameters": [X], "runtime": "TRINO"},
        {"@type": "rename", "newName": "g"},
    ):
        comment = {"@type": "updateComment", "newComment": "never"}
        answer = alter(api, comment, update)
        assert (answer.status_code, answer.json()["code"]) == (400, 1001), update
    assert api("admin", "GET", f"{FUNCTIONS}/f").json() == before


def test_no_call_could_mean_two_definitions(api: Api) -> None:
    optional = {**ONE, "parameters": [X, {**Y, "defaultValue": DEFAULT}]}
    assert register(api, definitions=[ONE, optional]).json()["code"] == 1001
    renamed = {**ONE, "parameters": [{**X, "name": "other"}]}
    assert register(api, definitions=[ONE, renamed]).json()["code"] == 1001
    misplaced = {**ONE, "parameters": [{**Y, "defaultValue": DEFAULT}, X]}
    assert register(api, definitions=[misplaced]).json()["code"] == 1001
    assert (
        register(api, definitions=[{**ONE, "parameters": []}, optional | {"parameters": [X, X]}]).status_code
        == 200
    )


def test_functions_that_cannot_be_are_refused(api: Api) -> None:
    deep: Any = "long"
    for _ in range(60):
        deep = {"type": "list", "elementType": deep, "containsNull": True}
    wrong: list[dict[str, Any]] = [
        {"functionType": "magic"},
        {"definitions": []},
        {"definitions": [{**ONE, "impls": []}]},
        {"definitions": [{**ONE, "impls": [SPARK, SPARK]}]},
        {"definitions": [{**ONE, "returnType": None}]},
        {"functionType": "table"},
        {"definitions": [{**ONE, "impls": [{**SPARK, "language": "COBOL"}]}]},
        {"definitions": [{**ONE, "impls": [{**SPARK, "runtime": "ABACUS"}]}]},
        {"definitions": [{**ONE, "impls": [{**SPARK, "language": "JAVA"}]}]},
        {"definitions": [{**ONE, "parameters": [{**X, "dataType": deep}]}]},
        {"name": "f*"},
    ]
    for body in wrong:
        assert register(api, **body).json()["code"] == 1001, body
    assert api("admin", "GET", FUNCTIONS).json()["identifiers"] == []


def test_only_those_with_the_privilege_reach_a_function(api: Api, people: People) -> None:
    register(api)
    people.may("ann", "USE_CATALOG USE_SCHEMA", "metalake", "lake")
    assert register(api, "g", "ann").status_code == 403
    assert api("ann", "GET", f"{FUNCTIONS}/f").status_code == 403
    assert api("ann", "GET", f"{FUNCTIONS}?details=true").json()["functions"] == []
    people.may("ann", "EXECUTE_FUNCTION", "function", "cat.s.f")
    assert api("ann", "GET", f"{FUNCTIONS}/f").status_code == 200
    comment = {"@type": "updateComment", "newComment": "d"}
    assert alter(api, comment, user="ann").status_code == 403
    people.may("ann", "MODIFY_FUNCTION REGISTER_FUNCTION", "catalog", "cat")
    assert alter(api, comment, user="ann").status_code == 200
    assert api("ann", "DELETE", f"{FUNCTIONS}/f").status_code == 403
    assert register(api, "g", "ann").status_code == 200
    assert api("ann", "DELETE", f"{FUNCTIONS}/g").json()["dropped"] is True
    api("admin", "PATCH", f"{LAKE}/catalogs/cat", {"inUse": False})
    assert register(api, "h").json()["type"] == "CatalogNotInUseException"
