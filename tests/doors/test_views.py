"""Views through the Gravitino door."""

from typing import Any

import pytest

from tests.conftest import Api
from tests.doors.lake import LAKE
from tests.people import People

SCHEMA = f"{LAKE}/catalogs/cat/schemas/s"
VIEWS = f"{SCHEMA}/views"
SQL = {"type": "sql", "dialect": "spark", "sql": "SELECT 1"}


@pytest.fixture(autouse=True)
def lake(api: Api, people: People) -> None:
    api("admin", "POST", "/api/metalakes", {"name": "lake"})
    catalog = {"name": "cat", "type": "relational", "provider": "lakehouse-iceberg"}
    assert api("admin", "POST", f"{LAKE}/catalogs", catalog).status_code == 200
    assert api("admin", "POST", f"{LAKE}/catalogs/cat/schemas", {"name": "s"}).status_code == 200
    people.join("ann")


def create(api: Api, name: str = "v", user: str = "admin", **more: Any) -> Any:
    return api(user, "POST", VIEWS, {"name": name, "representations": [SQL], **more})


def test_views_are_created_listed_replaced_and_dropped(api: Api) -> None:
    column = {
        "name": "a",
        "type": {"type": "list", "elementType": "long", "containsNull": True},
        "comment": "x",
    }
    made = create(
        api, comment="c", columns=[column], defaultCatalog="cat", defaultSchema="s", properties={"k": "v"}
    )
    assert made.status_code == 200, made.text
    view = made.json()["view"]
    assert view["representations"] == [SQL]
    assert view["columns"] == [{**column, "nullable": True, "autoIncrement": False}]
    assert (view["comment"], view["defaultCatalog"], view["defaultSchema"]) == ("c", "cat", "s")
    assert api("admin", "GET", f"{VIEWS}/v").json()["view"] == view
    assert api("admin", "GET", VIEWS).json()["identifiers"] == [
        {"namespace": ["lake", "cat", "s"], "name": "v"}
    ]
    trino = {"type": "sql", "dialect": "trino", "sql": "SELECT 2"}
    updates = [
        {"@type": "rename", "newName": "w"},
        {"@type": "setProperty", "property": "l", "value": "m"},
        {"@type": "removeProperty", "property": "k"},
        {"@type": "replaceView", "columns": [], "representations": [SQL, trino], "comment": "d"},
    ]
    replaced = api("admin", "PUT", f"{VIEWS}/v", {"updates": updates}).json()["view"]
    assert (replaced["name"], replaced["comment"], replaced["properties"]) == ("w", "d", {"l": "m"})
    assert (replaced["columns"], replaced["representations"]) == ([], [SQL, trino])
    assert "defaultCatalog" not in replaced
    assert api("admin", "GET", f"{VIEWS}/v").json()["type"] == "NoSuchViewException"
    assert api("admin", "DELETE", f"{VIEWS}/w").json()["dropped"] is True
    assert api("admin", "DELETE", f"{VIEWS}/w").json()["dropped"] is False


def test_views_that_cannot_be_are_refused(api: Api) -> None:
    wrong: list[dict[str, Any]] = [
        {"representations": []},
        {"representations": None},
        {"representations": [SQL, SQL]},
        {"representations": [{**SQL, "type": "substrait"}]},
        {"representations": [{**SQL, "sql": " "}]},
        {"representations": [{"dialect": "spark"}]},
        {"columns": [{"name": "a", "type": "long"}, {"name": "a", "type": "long"}]},
        {"columns": [{"name": "a"}]},
        {"name": "v*"},
        {"name": ""},
    ]
    for body in wrong:
        assert create(api, **body).json()["code"] == 1001, body
    assert create(api).status_code == 200
    again = create(api)
    assert (again.status_code, again.json()["type"]) == (409, "ViewAlreadyExistsException")
    table = {"name": "t", "columns": [{"name": "a", "type": "long"}]}
    assert api("admin", "POST", f"{SCHEMA}/tables", table).status_code == 200
    assert create(api, "t").status_code == 409
    empty = [{"@type": "replaceView", "representations": []}]
    assert api("admin", "PUT", f"{VIEWS}/v", {"updates": empty}).json()["code"] == 1001


def test_only_those_with_the_privilege_reach_a_view(api: Api, people: People) -> None:
    create(api)
    people.may("ann", "USE_CATALOG USE_SCHEMA SELECT_TABLE", "metalake", "lake")
    for method, path, body in (
        ("POST", "", {"name": "w", "representations": [SQL]}),
        ("GET", "/v", None),
        ("PUT", "/v", {"updates": []}),
        ("DELETE", "/v", None),
    ):
        assert api("ann", method, VIEWS + path, body).status_code == 403, path
    assert api("ann", "GET", VIEWS).json()["identifiers"] == []
    people.may("ann", "SELECT_VIEW", "view", "cat.s.v")
    assert api("ann", "GET", f"{VIEWS}/v").status_code == 200
    assert api("ann", "PUT", f"{VIEWS}/v", {"updates": []}).status_code == 403
    people.may("ann", "CREATE_VIEW", "schema", "cat.s")
    assert create(api, "w", "ann").status_code == 200
    assert api("ann", "DELETE", f"{VIEWS}/v").status_code == 403
    assert api("ann", "DELETE", f"{VIEWS}/w").json()["dropped"] is True


def test_views_live_in_relational_catalogs_that_are_in_use(api: Api) -> None:
    api("admin", "POST", f"{LAKE}/catalogs", {"name": "m", "type": "model"})
    api("admin", "POST", f"{LAKE}/catalogs/m/schemas", {"name": "s"})
    body = {"name": "v", "representations": [SQL]}
    wrong = api("admin", "POST", f"{LAKE}/catalogs/m/schemas/s/views", body)
    assert (wrong.status_code, wrong.json()["code"]) == (405, 1006)
    api("admin", "PATCH", f"{LAKE}/catalogs/cat", {"inUse": False})
    assert create(api).json()["type"] == "CatalogNotInUseException"
