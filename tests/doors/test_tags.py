"""Tags through the Gravitino door: governed, assigned, inherited."""

from typing import Any

import pytest

from headgate.decide import Authority
from headgate.steward import Steward
from headgate.store import Store, snapshot
from tests.conftest import Api
from tests.doors.lake import LAKE, id_of
from tests.people import People

V2 = {
    "Accept": "application/vnd.gravitino.v2+json",
    "Content-Type": "application/vnd.gravitino.v2+json",
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


def tag(api: Api, name: str, **more: Any) -> None:
    made = api("admin", "POST", f"{LAKE}/tags", {"name": name, **more})
    assert made.status_code == 200, made.text


def put(api: Api, user: str, place: str, *add: Any, remove: tuple[Any, ...] = (), **more: Any) -> Any:
    body = {"tagsToAdd": list(add), "tagsToRemove": list(remove)}
    return api(user, "POST", f"{LAKE}/objects/{place}/tags", body, **more)


def test_tags_are_created_listed_altered_and_dropped(api: Api, people: People) -> None:
    made = api(
        "admin", "POST", f"{LAKE}/tags", {"name": "pii", "comment": "c", "properties": {"k": "v"}}
    ).json()["tag"]
    assert (made["name"], made["comment"], made["properties"]) == ("pii", "c", {"k": "v"})
    assert made["audit"]["creator"] == "admin"
    assert "inherited" not in made
    tag(api, "geo", allowedValues=["eu", "us", "eu"])
    assert api("admin", "GET", f"{LAKE}/tags").json() == {"code": 0, "names": ["geo", "pii"]}
    details = api("admin", "GET", f"{LAKE}/tags?details=true").json()["tags"]
    assert [t.get("allowedValues") for t in details] == [["eu", "us"], None]
    page = api("admin", "GET", f"{LAKE}/tags?limit=1").json()
    assert page["names"] == ["geo"]
    rest = api("admin", "GET", f"{LAKE}/tags?limit=1&pageToken={page['nextPageToken']}").json()
    assert rest == {"code": 0, "names": ["pii"]}
    updates = [
        {"@type": "rename", "newName": "personal"},
        {"@type": "updateComment", "newComment": "d"},
        {"@type": "setProperty", "property": "l", "value": "w"},
        {"@type": "removeProperty", "property": "k"},
    ]
    altered = api("admin", "PUT", f"{LAKE}/tags/pii", {"updates": updates}).json()["tag"]
    assert (altered["name"], altered["comment"], altered["properties"]) == ("personal", "d", {"l": "w"})
    assert api("admin", "GET", f"{LAKE}/tags/pii").json()["type"] == "NoSuchTagException"
    assert api("admin", "DELETE", f"{LAKE}/tags/personal").json() == {"code": 0, "dropped": True}
    assert api("admin", "DELETE", f"{LAKE}/tags/personal").json() == {"code": 0, "dropped": False}


def test_a_tag_name_stands_for_one_tag_and_must_be_a_name(api: Api, people: People) -> None:
    tag(api, "pii")
    tag(api, "geo")
    again = api("admin", "POST", f"{LAKE}/tags", {"name": "pii"})
    assert (again.status_code, again.json()["type"]) == (409, "TagAlreadyExistsException")
    taken = api("admin", "PUT", f"{LAKE}/tags/geo", {"updates": [{"@type": "rename", "newName": "pii"}]})
    assert (taken.status_code, taken.json()["code"]) == (409, 1004)
    for body in ({"name": ""}, {"name": "a*"}, {}, {"name": "x", "allowedValues": [" "]}):
        assert api("admin", "POST", f"{LAKE}/tags", body).json()["code"] == 1001, body


def test_only_those_with_the_privilege_create_see_apply_and_change_tags(api: Api, people: People) -> None:
    tag(api, "pii")
    assert api("ann", "POST", f"{LAKE}/tags", {"name": "x"}).status_code == 403
    for method, path, body in (
        ("GET", "/tags/pii", None),
        ("PUT", "/tags/pii", {"updates": []}),
        ("DELETE", "/tags/pii", None),
        ("GET", "/tags/pii/objects", None),
        ("GET", "/objects/table/cat.s.t/tags", None),
        ("POST", "/objects/table/cat.s.t/tags", {"tagsToAdd": ["pii"]}),
    ):
        assert api("ann", method, LAKE + path, body).status_code == 403, path
        assert api("stranger", method, LAKE + path, body).status_code == 403, path
    assert api("ann", "GET", f"{LAKE}/tags").json()["names"] == []
    people.may("ann", "APPLY_TAG", "tag", "pii")
    assert api("ann", "GET", f"{LAKE}/tags").json()["names"] == ["pii"]
    assert api("ann", "GET", f"{LAKE}/tags/pii").status_code == 200
    # To apply the tag she must also be able to load what it goes on.
    assert put(api, "ann", "table/cat.s.t", "pii").status_code == 403
    people.may("ann", "USE_CATALOG USE_SCHEMA SELECT_TABLE CREATE_TAG", "metalake", "lake")
    assert put(api, "ann", "table/cat.s.t", "pii").json()["names"] == ["pii"]
    assert api("ann", "POST", f"{LAKE}/tags", {"name": "own"}).status_code == 200
    assert api("ann", "DELETE", f"{LAKE}/tags/pii").status_code == 403
    assert api("ann", "DELETE", f"{LAKE}/tags/own").json()["dropped"] is True


def test_an_object_has_its_own_tags_and_those_from_above_and_the_nearest_wins(
    api: Api, people: People
) -> None:
    for name in ("a", "b", "c", "d"):
        tag(api, name)
    assert put(api, "admin", "catalog/cat", {"name": "a", "value": "top"}, "b").json()["names"] == ["a", "b"]
    assert put(api, "admin", "schema/cat.s", {"name": "a", "value": "mid"}).status_code == 200
    assert put(api, "admin", "table/cat.s.t", "c").status_code == 200
    assert put(api, "admin", "column/cat.s.t.email", {"name": "d", "value": "mail"}).status_code == 200
    assert put(api, "admin", "metalake/lake", {"name": "b", "value": "lowest"}).status_code == 200

    def told(place: str) -> dict[str, Any]:
        found = api("admin", "GET", f"{LAKE}/objects/{place}/tags?details=true").json()["tags"]
        return {t["name"]: (t["inherited"], t.get("assignmentValues")) for t in found}

    assert told("column/cat.s.t.email") == {
        "a": (True, ["mid"]),
        "b": (True, None),
        "c": (True, None),
        "d": (False, ["mail"]),
    }
    assert told("column/cat.s.t.id") == {"a": (True, ["mid"]), "b": (True, None), "c": (True, None)}
    assert told("table/cat.s.u") == {"a": (True, ["mid"]), "b": (True, None)}
    assert told("catalog/cat") == {"a": (False, ["top"]), "b": (False, None)}
    assert api("admin", "GET", f"{LAKE}/objects/table/cat.s.t/tags").json()["names"] == ["a", "b", "c"]
    one = api("admin", "GET", f"{LAKE}/objects/table/cat.s.t/tags/b").json()["tag"]
    assert (one["name"], one["inherited"]) == ("b", True)
    missing = api("admin", "GET", f"{LAKE}/objects/table/cat.s.t/tags/d")
    assert (missing.status_code, missing.json()["type"]) == (404, "NoSuchTagException")


def test_associating_is_all_or_nothing(api: Api, people: People) -> None:
    for name in ("a", "b"):
        tag(api, name)
    people.may("ann", "USE_CATALOG USE_SCHEMA SELECT_TABLE", "metalake", "lake")
    people.may("ann", "APPLY_TAG", "tag", "a")
    names = lambda: api("admin", "GET", f"{LAKE}/objects/table/cat.s.t/tags").json()["names"]
    assert put(api, "ann", "table/cat.s.t", "a", "b").status_code == 403
    assert names() == []
    assert put(api, "ann", "table/cat.s.t", "a", "nope").status_code == 403
    assert names() == []
    assert put(api, "admin", "table/cat.s.t", "a").json()["names"] == ["a"]
    again = put(api, "admin", "table/cat.s.t", "b", "a")
    assert (again.status_code, again.json()["type"]) == (409, "TagAlreadyAssociatedException")
    assert names() == ["a"]
    assert put(api, "admin", "table/cat.s.t", "b", remove=("a",)).json()["names"] == ["b"]
    assert put(api, "admin", "table/cat.s.t", "b", remove=("b",)).json()["names"] == ["b"]
    assert put(api, "admin", "table/cat.s.t", remove=("a",)).json()["names"] == ["b"]
    assert put(api, "ann", "table/cat.s.t", remove=("b",)).status_code == 403
    assert names() == ["b"]


def test_a_value_is_one_of_those_the_tag_allows(api: Api, people: People) -> None:
    tag(api, "geo", allowedValues=["eu", "us"])
    wrong = put(api, "admin", "table/cat.s.t", {"name": "geo", "value": "mars"}, headers=V2)
    assert (wrong.status_code, wrong.json()["code"]) == (400, 1001)
    good = put(api, "admin", "table/cat.s.t", {"name": "geo", "value": "eu"}, headers=V2)
    assert good.json()["names"] == ["geo"]
    assert good.headers["content-type"] == V2["Accept"]
    swap = put(
        api,
        "admin",
        "table/cat.s.t",
        {"name": "geo", "value": "us"},
        remove=({"name": "geo", "value": "eu"},),
        headers=V2,
    )
    assert swap.status_code == 200, swap.text
    objects = lambda value: api("admin", "GET", f"{LAKE}/tags/geo/objects?value={value}").json()
    assert objects("us")["metadataObjects"] == [{"type": "table", "fullName": "cat.s.t"}]
    assert objects("eu")["metadataObjects"] == []
    assert put(api, "admin", "table/cat.s.u", {"name": "geo", "value": "x" * 300}).status_code == 400


def test_version_two_of_the_api_is_spoken_only_where_tags_have_values(api: Api, people: People) -> None:
    tag(api, "geo")
    assert put(api, "admin", "table/cat.s.t", {"name": "geo"}, headers=V2).status_code == 200
    assert api("admin", "GET", f"{LAKE}/tags", headers=V2).status_code == 406
    assert api("admin", "GET", f"{LAKE}/objects/table/cat.s.t/tags", headers=V2).status_code == 406


def test_where_a_tag_is_shows_only_what_the_caller_can_load(api: Api, people: People) -> None:
    tag(api, "pii")
    for place in ("table/cat.s.t", "table/cat.s.u", "column/cat.s.t.email", "catalog/cat"):
        assert put(api, "admin", place, "pii").status_code == 200
    whole = api("admin", "GET", f"{LAKE}/tags/pii/objects").json()["metadataObjects"]
    assert [(o["type"], o["fullName"]) for o in whole] == [
        ("catalog", "cat"),
        ("column", "cat.s.t.email"),
        ("table", "cat.s.t"),
        ("table", "cat.s.u"),
    ]
    people.may("ann", "APPLY_TAG USE_CATALOG USE_SCHEMA", "metalake", "lake")
    people.may("ann", "SELECT_TABLE", "table", "cat.s.t")
    seen = api("ann", "GET", f"{LAKE}/tags/pii/objects").json()["metadataObjects"]
    assert [o["fullName"] for o in seen] == ["cat", "cat.s.t.email", "cat.s.t"]


def test_tags_the_caller_may_not_load_are_not_told_of_an_object(api: Api, people: People) -> None:
    tag(api, "open")
    tag(api, "secret")
    put(api, "admin", "table/cat.s.t", "open", "secret")
    people.may("ann", "USE_CATALOG USE_SCHEMA SELECT_TABLE", "metalake", "lake")
    people.may("ann", "APPLY_TAG", "tag", "open")
    assert api("ann", "GET", f"{LAKE}/objects/table/cat.s.t/tags").json()["names"] == ["open"]
    assert api("ann", "GET", f"{LAKE}/objects/table/cat.s.t/tags/secret").status_code == 403


def test_a_tag_follows_the_column_and_not_its_name(api: Api) -> None:
    tag(api, "pii")
    put(api, "admin", "column/cat.s.t.email", "pii")
    rename = {"@type": "renameColumn", "oldFieldName": ["email"], "newFieldName": "mail"}
    add = {"@type": "addColumn", "fieldName": ["email"], "type": "string"}
    for update in (rename, add):
        assert api("admin", "PUT", f"{TABLES}/t", {"updates": [update]}).status_code == 200
    names = lambda column: api("admin", "GET", f"{LAKE}/objects/column/cat.s.t.{column}/tags").json()["names"]
    assert (names("mail"), names("email")) == (["pii"], [])
    where = lambda: api("admin", "GET", f"{LAKE}/tags/pii/objects").json()["metadataObjects"]
    assert where() == [{"type": "column", "fullName": "cat.s.t.mail"}]
    drop = {"@type": "deleteColumn", "fieldName": ["mail"], "ifExists": False}
    assert api("admin", "PUT", f"{TABLES}/t", {"updates": [drop]}).status_code == 200
    # The column that has the name of the one that is gone takes its tag over.
    assert where() == [{"type": "column", "fullName": "cat.s.t.email"}]
    gone = api("admin", "GET", f"{LAKE}/objects/column/cat.s.t.nope/tags")
    assert (gone.status_code, gone.json()["type"]) == (404, "NoSuchMetadataObjectException")


def test_what_cannot_be_tagged_is_refused(api: Api, people: People) -> None:
    tag(api, "pii")
    assert put(api, "admin", "tag/pii", "pii").json()["code"] == 1001
    assert put(api, "admin", "nonsense/pii", "pii").json()["code"] == 1001
    assert put(api, "admin", "table/cat.s", "pii").json()["code"] == 1001
    missing = put(api, "admin", "table/cat.s.none", "pii")
    assert (missing.status_code, missing.json()["type"]) == (404, "NoSuchMetadataObjectException")
    assert put(api, "admin", "table/cat.s.t", "").json()["code"] == 1001
    assert api("admin", "POST", f"{LAKE}/objects/table/cat.s.t/tags", {}).json()["code"] == 1001


def test_the_deprecated_paths_answer_the_same(api: Api, people: People) -> None:
    tag(api, "pii")
    body = {"tagsToAdd": ["pii"], "tagsToRemove": []}
    assert api("admin", "POST", f"{LAKE}/tags/table/cat.s.t", body).json()["names"] == ["pii"]
    assert api("admin", "GET", f"{LAKE}/tags/table/cat.s.t").json()["names"] == ["pii"]
    assert api("admin", "GET", f"{LAKE}/tags/table/cat.s.t/pii").json()["tag"]["inherited"] is False


def test_nothing_is_tagged_below_what_is_out_of_use(api: Api, people: People) -> None:
    tag(api, "pii")
    api("admin", "PATCH", f"{LAKE}/catalogs/cat", {"inUse": False})
    refused = put(api, "admin", "table/cat.s.t", "pii")
    assert (refused.status_code, refused.json()["code"]) == (409, 1009)
    assert refused.json()["type"] == "CatalogNotInUseException"
    api("admin", "PATCH", LAKE, {"inUse": False})
    refused = api("admin", "POST", f"{LAKE}/tags", {"name": "x"})
    assert (refused.json()["code"], refused.json()["type"]) == (1009, "MetalakeNotInUseException")


def test_the_authority_knows_labels_the_same_from_the_journal_and_from_scratch(
    api: Api, people: People, steward: Steward, store: Store
) -> None:
    def same() -> Authority:
        at, changes = snapshot.everything(store)
        scratch = Authority(at).applied(changes, at)
        now = steward.kernel.authority()
        assert now == scratch
        return now

    tag(api, "a")
    tag(api, "b", allowedValues=["x"])
    put(api, "admin", "table/cat.s.t", "a", {"name": "b", "value": "x"})
    put(api, "admin", "column/cat.s.t.email", "a")
    table = id_of(steward, "table", "cat.s.t")
    assert [(x.field, x.value) for x in same().labels[table]] == [(0, None), (0, "x"), (2, None)]
    put(api, "admin", "table/cat.s.t", remove=("b",))
    assert len(same().labels[table]) == 2
    api("admin", "DELETE", f"{LAKE}/tags/a")
    assert same().labels.get(table) is None
    put(api, "admin", "schema/cat.s", "b")
    with store.write("admin", "test") as tx:
        from headgate.store import objects

        objects.drop(tx, id_of(steward, "schema", "cat.s"))
    assert len(same().labels) == 0


def test_tags_stand_on_nested_columns_and_the_nearest_wins(api: Api, people: People) -> None:
    inner = {
        "type": "struct",
        "fields": [{"name": "zip", "type": "string"}, {"name": "city", "type": "string"}],
    }
    lists = {"type": "list", "elementType": "string", "containsNull": True}
    columns = [
        {"name": "home", "type": inner},
        {"name": "many", "type": lists},
    ]
    assert api("admin", "POST", TABLES, {"name": "n", "columns": columns}).status_code == 200
    tag(api, "pii")
    assert put(api, "admin", "column/cat.s.n.home", {"name": "pii", "value": "address"}).status_code == 200
    assert put(api, "admin", "column/cat.s.n.home.city", {"name": "pii", "value": "city"}).status_code == 200

    def held(column: str) -> list[Any]:
        found = api("admin", "GET", f"{LAKE}/objects/column/cat.s.n.{column}/tags?details=true").json()[
            "tags"
        ]
        return [(t["assignmentValues"], t["inherited"]) for t in found]

    assert held("home.city") == [(["city"], False)]
    assert held("home") == [(["address"], False)]
    assert held("home.zip") == [(["address"], True)]
    assert put(api, "admin", "column/cat.s.n.home.city", remove=("pii",)).status_code == 200
    assert held("home.city") == [(["address"], True)]
    for nowhere in ("home.street", "many.element", "home.city.x"):
        assert put(api, "admin", f"column/cat.s.n.{nowhere}", "pii").status_code == 404, nowhere
    places = api("admin", "GET", f"{LAKE}/tags/pii/objects").json()["metadataObjects"]
    assert [place["fullName"] for place in places] == ["cat.s.n.home"]
