"""Policies through the Gravitino door: stored, enabled, attached."""

from typing import Any

import pytest

from tests.conftest import Api
from tests.doors.lake import LAKE
from tests.people import People

CONTENT = {
    "customRules": {"r": {"deep": [1]}},
    "supportedObjectTypes": ["TABLE", "catalog"],
    "properties": {},
}

TABLES = f"{LAKE}/catalogs/cat/schemas/s/tables"


@pytest.fixture(autouse=True)
def lake(api: Api, people: People) -> None:
    api("admin", "POST", "/api/metalakes", {"name": "lake"})
    catalog = {"name": "cat", "type": "relational", "provider": "lakehouse-iceberg"}
    assert api("admin", "POST", f"{LAKE}/catalogs", catalog).status_code == 200
    assert api("admin", "POST", f"{LAKE}/catalogs/cat/schemas", {"name": "s"}).status_code == 200
    columns = [{"name": "id", "type": "long"}, {"name": "email", "type": "string"}]
    for table in ("t", "u"):
        made = api("admin", "POST", TABLES, {"name": table, "columns": columns})
        assert made.status_code == 200, made.text
    people.join("ann")


def define(api: Api, name: str = "p", user: str = "admin", **more: Any) -> Any:
    body = {"name": name, "policyType": "custom", "content": CONTENT, **more}
    return api(user, "POST", f"{LAKE}/policies", body)


def test_policies_are_created_listed_altered_enabled_and_dropped(api: Api, people: People) -> None:
    made = define(api, comment="c").json()["policy"]
    assert (made["policyType"], made["enabled"], made["comment"]) == ("custom", True, "c")
    assert made["content"] == {**CONTENT, "supportedObjectTypes": ["catalog", "table"]}
    assert define(api, "q", enabled=False).json()["policy"]["enabled"] is False
    assert api("admin", "GET", f"{LAKE}/policies").json()["names"] == ["p", "q"]
    listed = api("admin", "GET", f"{LAKE}/policies?details=true").json()["policies"]
    assert [p["name"] for p in listed] == ["p", "q"]
    new = {**CONTENT, "customRules": {"other": 1}}
    updates = [
        {"@type": "rename", "newName": "r"},
        {"@type": "updateComment", "newComment": "d"},
        {"@type": "updateContent", "policyType": "custom", "newContent": new},
    ]
    altered = api("admin", "PUT", f"{LAKE}/policies/p", {"updates": updates}).json()["policy"]
    assert (altered["name"], altered["comment"]) == ("r", "d")
    assert altered["content"]["customRules"] == {"other": 1}
    assert api("admin", "PATCH", f"{LAKE}/policies/r", {"enable": False}).json() == {"code": 0}
    assert api("admin", "GET", f"{LAKE}/policies/r").json()["policy"]["enabled"] is False
    assert api("admin", "DELETE", f"{LAKE}/policies/r").json()["dropped"] is True
    assert api("admin", "DELETE", f"{LAKE}/policies/r").json()["dropped"] is False
    assert api("admin", "GET", f"{LAKE}/policies/r").json()["type"] == "NoSuchPolicyException"


def test_the_content_must_be_what_the_type_prescribes(api: Api, people: People) -> None:
    wrong: list[dict[str, Any]] = [
        {"policyType": "row_filter"},
        {"content": {}},
        {"content": {"supportedObjectTypes": []}},
        {"content": {"supportedObjectTypes": ["planet"]}},
        {"content": {**CONTENT, "more": 1}},
        {"content": "text"},
        {"policyType": "system_iceberg_compaction", "content": {"maxPartitionNum": 0}},
        {"policyType": "system_iceberg_compaction", "content": {"minDataFileMse": -1}},
        {"policyType": "system_iceberg_compaction", "content": {"rewriteOptions": {"a b": "c"}}},
        {"policyType": "system_iceberg_compaction", "content": {"customRules": {}}},
    ]
    for more in wrong:
        answer = define(api, **more)
        assert (answer.status_code, answer.json()["code"]) == (400, 1001), more
    good = {"maxPartitionNum": 5, "rewriteOptions": {"target-file-size-bytes": "1"}}
    assert define(api, policyType="system_iceberg_compaction", content=good).status_code == 200
    assert define(api).json()["type"] == "PolicyAlreadyExistsException"
    assert define(api, "q").status_code == 200
    for type, content in (
        ("custom", {**CONTENT, "supportedObjectTypes": ["topic"]}),
        ("system_iceberg_compaction", good),
    ):
        update = {"@type": "updateContent", "policyType": type, "newContent": content}
        assert api("admin", "PUT", f"{LAKE}/policies/q", {"updates": [update]}).status_code == 400


def test_policies_hang_on_objects_and_are_inherited(api: Api, people: People) -> None:
    define(api, "p")
    define(api, "q")
    place = f"{LAKE}/objects/catalog/cat/policies"
    assert api("admin", "POST", place, {"policiesToAdd": ["p"]}).json()["names"] == ["p"]
    table = f"{LAKE}/objects/table/cat.s.t/policies"
    assert api("admin", "POST", table, {"policiesToAdd": ["q"]}).json()["names"] == ["q"]
    listed = api("admin", "GET", f"{table}?details=true").json()["policies"]
    assert [(p["name"], p["inherited"]) for p in listed] == [("p", True), ("q", False)]
    assert api("admin", "GET", f"{table}/p").json()["policy"]["inherited"] is True
    again = api("admin", "POST", table, {"policiesToAdd": ["q"]})
    assert (again.status_code, again.json()["type"]) == (409, "PolicyAlreadyAssociatedException")
    where = api("admin", "GET", f"{LAKE}/policies/q/objects").json()["metadataObjects"]
    assert where == [{"type": "table", "fullName": "cat.s.t"}]
    assert api("admin", "POST", table, {"policiesToRemove": ["q"]}).json()["names"] == []
    assert api("admin", "GET", table).json()["names"] == ["p"]
    assert api("admin", "POST", table, {}).json()["code"] == 1001


def test_only_those_with_the_privilege_touch_policies(api: Api, people: People) -> None:
    define(api)
    assert define(api, "x", user="ann").status_code == 403
    for method, path, body in (
        ("GET", "/policies/p", None),
        ("PUT", "/policies/p", {"updates": []}),
        ("PATCH", "/policies/p", {"enable": False}),
        ("DELETE", "/policies/p", None),
        ("GET", "/policies/p/objects", None),
        ("GET", "/objects/table/cat.s.t/policies", None),
        ("POST", "/objects/table/cat.s.t/policies", {"policiesToAdd": ["p"]}),
    ):
        assert api("ann", method, LAKE + path, body).status_code == 403, path
    assert api("ann", "GET", f"{LAKE}/policies").json()["names"] == []
    people.may("ann", "APPLY_POLICY USE_CATALOG", "metalake", "lake")
    assert api("ann", "GET", f"{LAKE}/policies").json()["names"] == ["p"]
    body = {"policiesToAdd": ["p"]}
    assert api("ann", "POST", f"{LAKE}/objects/catalog/cat/policies", body).status_code == 200
    assert api("ann", "POST", f"{LAKE}/objects/table/cat.s.t/policies", body).status_code == 403
    assert api("ann", "PATCH", f"{LAKE}/policies/p", {"enable": False}).status_code == 403
    api("admin", "PATCH", LAKE, {"inUse": False})
    assert define(api, "y").json()["code"] == 1009
