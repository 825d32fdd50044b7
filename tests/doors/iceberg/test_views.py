"""Views are the same ones through both doors, and share their names with tables."""

from typing import Any

import pytest

from tests.conftest import Api
from tests.doors.iceberg.conftest import ICE, SCHEMA, create, failed
from tests.doors.lake import LAKE

VIEWS = f"{ICE}/namespaces/s/views"
THERE = f"{LAKE}/catalogs/cat/schemas/s/views"
SPARK = {"type": "sql", "sql": "select id from t", "dialect": "spark"}
TRINO = {"type": "sql", "sql": "select id from t", "dialect": "trino"}


def version(*representations: dict[str, str]) -> dict[str, Any]:
    return {
        "version-id": 1,
        "timestamp-ms": 1,
        "schema-id": 0,
        "summary": {},
        "representations": list(representations),
        "default-catalog": "cat",
        "default-namespace": ["s"],
    }


def make(api: Api, name: str = "v", *representations: dict[str, str]) -> Any:
    body = {
        "name": name,
        "schema": SCHEMA,
        "view-version": version(*(representations or (SPARK,))),
        "properties": {"comment": "mine"},
    }
    return api("admin", "POST", VIEWS, body)


def test_a_view_made_by_an_iceberg_client_is_seen_by_gravitinos(api: Api) -> None:
    assert make(api).status_code == 200
    view = api("admin", "GET", f"{THERE}/v").json()["view"]
    assert view["representations"] == [{"type": "sql", "sql": "select id from t", "dialect": "spark"}]
    assert [(c["name"], c["type"]) for c in view["columns"]] == [("id", "long"), ("name", "string")]
    assert (view["comment"], view["defaultCatalog"], view["defaultSchema"]) == ("mine", "cat", "s")


def test_a_view_made_and_replaced_by_a_gravitino_client_is_seen_by_icebergs(api: Api) -> None:
    body = {
        "name": "v",
        "columns": [{"name": "a", "type": "long"}],
        "representations": [SPARK, TRINO],
        "defaultCatalog": "cat",
        "defaultSchema": "s",
        "comment": "theirs",
    }
    assert api("admin", "POST", THERE, body).status_code == 200
    loaded = api("admin", "GET", f"{VIEWS}/v").json()["metadata"]
    assert loaded["versions"][0]["representations"] == [SPARK, TRINO]
    assert loaded["versions"][0]["default-namespace"] == ["s"]
    assert loaded["properties"] == {"comment": "theirs"}
    replace = [{"@type": "replaceView", "representations": [TRINO], "columns": []}]
    assert api("admin", "PUT", f"{THERE}/v", {"updates": replace}).status_code == 200
    loaded = api("admin", "GET", f"{VIEWS}/v").json()["metadata"]
    assert loaded["current-version-id"] == 2
    assert loaded["versions"][-1]["representations"] == [TRINO]
    assert loaded["properties"] == {}


def test_views_and_tables_share_their_names(api: Api) -> None:
    create(api, "t")
    make(api, "v")
    assert failed(make(api, "t")) == (409, "AlreadyExistsException")
    assert failed(create(api, "v")) == (409, "AlreadyExistsException")
    names = ({"namespace": ["s"], "name": "t"}, {"namespace": ["s"], "name": "v"})
    for kind, (source, destination) in (("tables", names), ("views", names[::-1])):
        body = {"source": source, "destination": destination}
        assert failed(api("admin", "POST", f"{ICE}/{kind}/rename", body))[0] == 409
    table = {"name": "v", "columns": [{"name": "a", "type": "long"}]}
    assert api("admin", "POST", f"{LAKE}/catalogs/cat/schemas/s/tables", table).status_code == 409
    view = {"name": "t", "representations": [SPARK]}
    assert api("admin", "POST", THERE, view).status_code == 409


def test_a_view_is_replaced_renamed_registered_and_dropped(api: Api) -> None:
    first = make(api).json()
    updates = [
        {"action": "add-view-version", "view-version": version(SPARK, TRINO)},
        {"action": "set-current-view-version", "view-version-id": -1},
    ]
    uuid = {"type": "assert-view-uuid", "uuid": first["metadata"]["view-uuid"]}
    body = {"requirements": [uuid], "updates": updates}
    second = api("admin", "POST", f"{VIEWS}/v", body)
    assert second.status_code == 200, second.text
    wrong = {**body, "requirements": [{**uuid, "uuid": "0" * 32}]}
    assert failed(api("admin", "POST", f"{VIEWS}/v", wrong)) == (409, "CommitFailedException")
    rename = {
        "source": {"namespace": ["s"], "name": "v"},
        "destination": {"namespace": ["s"], "name": "w"},
    }
    assert api("admin", "POST", f"{ICE}/views/rename", rename).status_code == 204
    listed = api("admin", "GET", VIEWS).json()["identifiers"]
    assert listed == [{"namespace": ["s"], "name": "w"}]
    assert api("admin", "DELETE", f"{VIEWS}/w").status_code == 204
    assert api("admin", "HEAD", f"{VIEWS}/w").status_code == 404
    again = {"name": "x", "metadata-location": second.json()["metadata-location"]}
    assert api("admin", "POST", f"{ICE}/namespaces/s/register-view", again).status_code == 200
    assert api("admin", "GET", f"{VIEWS}/x").json()["metadata"] == second.json()["metadata"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"view-version": {}},
        {"view-version": version(SPARK, SPARK)},
        {"view-version": {**version(SPARK), "default-namespace": "s"}},
        {"schema": {"type": "struct"}},
        {"schema": []},
        {"location": "/etc"},
        {"properties": {"write.metadata.path": "/etc"}},
        {"name": "a*"},
    ],
)
def test_views_that_cannot_be_are_refused(api: Api, wrong: dict[str, Any]) -> None:
    body = {"name": "v", "schema": SCHEMA, "view-version": version(SPARK), **wrong}
    assert failed(api("admin", "POST", VIEWS, body))[0] == 400
    assert api("admin", "GET", VIEWS).json()["identifiers"] == []
