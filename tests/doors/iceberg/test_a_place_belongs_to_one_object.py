"""A place belongs to one object for ever: neither a drop, nor a move, nor another's uuid leads to another's files."""

import shutil
import uuid
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from headgate.catalogs.iceberg.storage import Storage
from headgate.decide import Op
from headgate.model.errors import ConnectionFailed
from headgate.model.objects import ObjectRef, ObjectType
from headgate.model.principals import Identity
from headgate.steward import Steward
from headgate.store import labels, places
from tests.conftest import Api
from tests.doors.governed import applied
from tests.doors.iceberg.conftest import ICE, SCHEMA, create
from tests.doors.lake import LAKE, id_of
from tests.people import People

TABLES = f"{ICE}/namespaces/s/tables"
MAKES = "USE_CATALOG USE_SCHEMA CREATE_TABLE"
HIDE = """\
policy: hide-name
on: lake.cat.s.t
to: [user:ann]
hide: [name]
"""


@pytest.fixture
def former(api: Api, people: People) -> dict[str, Any]:
    """`s.t`, made and dropped without purge; bob makes tables beside it."""
    made: dict[str, Any] = create(api).json()
    assert api("admin", "DELETE", f"{TABLES}/t").status_code == 204
    people.may("bob", MAKES, "metalake", "lake")
    return made


def commit(api: Api, user: str, name: str, *updates: dict[str, Any]) -> Any:
    return api(user, "POST", f"{TABLES}/{name}", {"requirements": [], "updates": list(updates)})


def register(api: Api, user: str, name: str, file: str) -> Any:
    return api(user, "POST", f"{ICE}/namespaces/s/register", {"name": name, "metadata-location": file})


def made_at(location: str) -> dict[str, Any]:
    """A create request as a client sends it for a table that it staged by itself."""
    return {
        "requirements": [{"type": "assert-create"}],
        "updates": [
            {"action": "assign-uuid", "uuid": str(uuid.uuid4())},
            {"action": "set-location", "location": location},
            {"action": "add-schema", "schema": {**SCHEMA, "schema-id": 0}},
            {"action": "set-current-schema", "schema-id": -1},
            {"action": "add-spec", "spec": {"spec-id": 0, "fields": []}},
            {"action": "set-default-spec", "spec-id": -1},
            {"action": "add-sort-order", "sort-order": {"order-id": 0, "fields": []}},
            {"action": "set-default-sort-order", "sort-order-id": -1},
        ],
    }


def test_the_folder_of_a_dropped_table_is_claimed_by_nobody(
    api: Api, people: People, former: dict[str, Any]
) -> None:
    """Not by the catalog's owner either; the metalake's has a test of their own."""
    people.may("carl", "USE_CATALOG", "metalake", "lake")
    owner = {"name": "carl", "type": "user"}
    assert api("admin", "PUT", f"{LAKE}/owners/catalog/cat", owner).status_code == 200
    place = former["metadata"]["location"]
    above, path = place.rpartition("/")[0], urlsplit(place).path
    for user in ("bob", "carl"):
        assert create(api, "mine", user).status_code == 200
        for location in (place, f"{place}/data", f"file:{path}", path, f"{place}/"):
            for how in ({}, {"stage-create": True}):
                refused = create(api, "u", user, location=location, **how)
                assert refused.status_code in (400, 403), (user, location, refused.text)
            assert api(user, "POST", f"{TABLES}/u", made_at(location)).status_code in (400, 403)
            moved = commit(api, user, "mine", {"action": "set-location", "location": location})
            assert moved.status_code in (400, 403), (user, location)
            inner = {"action": "set-properties", "updates": {"write.data.path": location}}
            assert commit(api, user, "mine", inner).status_code in (400, 403)
        assert create(api, "u", user, location=above).status_code in (400, 403), "nor what holds it"
        assert api("admin", "DELETE", f"{TABLES}/mine").status_code == 204


def test_nothing_dropped_above_the_table_opens_its_folder(api: Api, people: People, tmp_path: Path) -> None:
    made = create(api, location=f"file://{tmp_path}/forged/t").json()
    place = made["metadata"]["location"]
    for path in (f"{LAKE}/catalogs/cat/schemas/s?cascade=true", f"{LAKE}/catalogs/cat?force=true"):
        assert api("admin", "DELETE", path).json()["dropped"] is True
    assert api("admin", "DELETE", f"{LAKE}?force=true").json()["dropped"] is True
    assert api("admin", "POST", "/api/metalakes", {"name": "other"}).status_code == 200
    catalog = {
        "name": "cat",
        "type": "relational",
        "provider": "lakehouse-iceberg",
        "properties": {"allowed-locations": place.rpartition("/")[0]},
    }
    assert api("admin", "POST", "/api/metalakes/other/catalogs", catalog).status_code == 200
    other = "/iceberg/v1/other.cat/namespaces"
    assert api("admin", "POST", other, {"namespace": ["s"]}).status_code == 200
    body = {"name": "t", "schema": SCHEMA, "location": place}
    assert api("admin", "POST", f"{other}/s/tables", body).status_code == 400
    body = {"name": "t", "metadata-location": made["metadata-location"]}
    assert api("admin", "POST", f"{other}/s/register", body).status_code == 400, "of another metalake"


def test_a_table_moved_away_cannot_be_registered_beside_itself(api: Api, people: People) -> None:
    """Its former documents lie where it was: a copy of it without its tags and policies."""
    old = create(api).json()
    applied(api, HIDE)
    folder = old["metadata"]["location"].rpartition("/")[0]
    moved = commit(api, "admin", "t", {"action": "set-location", "location": f"{folder}/elsewhere"})
    assert moved.status_code == 200, moved.text
    people.may("bob", MAKES, "metalake", "lake")
    assert register(api, "bob", "copy", old["metadata-location"]).status_code == 403
    assert register(api, "admin", "copy", old["metadata-location"]).status_code == 400
    # A document of one's own that lies in the place of another, or says that it does.
    mine = create(api, "mine").json()
    for source, target in ((mine, old), (old, mine)):
        file = f"{urlsplit(target['metadata']['location']).path}/metadata/0-x.metadata.json"
        Path(file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(urlsplit(source["metadata-location"]).path, file)
        assert register(api, "admin", "copy", file).status_code == 400
    for location in (old["metadata"]["location"], f"{folder}/elsewhere"):
        assert create(api, "copy", location=location).status_code == 400
    back = commit(api, "admin", "t", {"action": "set-location", "location": old["metadata"]["location"]})
    assert back.status_code == 200, "it is still its own"


@pytest.mark.parametrize("route", ["register", "register-view"])
@pytest.mark.parametrize("owner", ["live", "dropped", "staged"])
def test_registering_tells_nobody_which_files_lie_in_the_place_of_another(
    api: Api, people: People, owner: str, route: str
) -> None:
    """Not the catalog's owner either, who may name any file of the catalog."""
    made = create(api, **({"stage-create": True} if owner == "staged" else {})).json()
    place = urlsplit(made["metadata"]["location"]).path
    if owner == "dropped":
        assert api("admin", "DELETE", f"{TABLES}/t").status_code == 204
    people.may("carl", "USE_CATALOG", "metalake", "lake")
    assert (
        api("admin", "PUT", f"{LAKE}/owners/catalog/cat", {"name": "carl", "type": "user"}).status_code == 200
    )
    files = [Path(place, "data", f"{name}.x") for name in ("x-none", "x-text", "x-other", "x-own")]
    files[0].parent.mkdir(parents=True, exist_ok=True)
    files[1].write_text("1,2")
    shutil.copy(urlsplit(create(api, "u").json()["metadata-location"]).path, files[2])
    if owner != "staged":
        shutil.copy(urlsplit(made["metadata-location"]).path, files[3])

    def told(file: str) -> tuple[int, str]:
        body = {"name": "found", "metadata-location": file}
        answer = api("carl", "POST", f"{ICE}/namespaces/s/{route}", body)
        return answer.status_code, answer.text.replace(Path(file).stem, "file")

    for spelling in ("", "file:", "file://"):
        answers = {told(f"{spelling}{file}") for file in files}
        assert len(answers) == 1, answers
        status, text = answers.pop()
        assert status == 400
        assert "belongs to another table" in text
    # What lies in nobody's place is looked for, and missed.
    status, text = told(str(Path(place).parent / "nobodys" / "x-none.x"))
    assert "cannot be registered" in text


def test_two_tables_never_share_a_governed_folder(api: Api, steward: Steward, people: People) -> None:
    """Whatever uuids they claim: the folder is named by the object."""
    folders = []
    for name in ("t", "u"):
        create(api, name)
        ref = ObjectRef.parse("lake", ObjectType.TABLE, f"cat.s.{name}")
        permit = steward.kernel.permit(Identity("admin"), Op.LOAD_TABLE, ref)
        adapter, document = steward.tables.documents_of(permit), steward.documents.load(permit)
        document.metadata["table-uuid"] = "5f8b1c1e-7c0a-4c55-9d0e-1f0a5a6a7b8c"
        folders.append(adapter.governed_folder(document, permit.node.id))
    assert folders[0] != folders[1]


def test_a_dropped_table_comes_back_with_all_that_restricts_it(
    api: Api, steward: Steward, people: People
) -> None:
    """Only for the catalog's owner, at the very place it had."""
    people.may("ann", "USE_CATALOG USE_SCHEMA SELECT_TABLE", "metalake", "lake")
    people.may("bob", MAKES, "metalake", "lake")
    made = create(api, user="bob").json()
    people.may("eve", "SELECT_TABLE", "table", "cat.s.t", deny=True)
    people.may("eve", "USE_CATALOG USE_SCHEMA SELECT_TABLE", "metalake", "lake")
    applied(api, HIDE)
    assert api("admin", "POST", f"{LAKE}/tags", {"name": "pii"}).status_code == 200
    tagging = f"{LAKE}/objects/column/cat.s.t.id/tags"
    assert api("admin", "POST", tagging, {"tagsToAdd": ["pii"]}).status_code == 200
    former = id_of(steward, "table", "cat.s.t")
    assert api("bob", "DELETE", f"{TABLES}/t").status_code == 204
    file = made["metadata-location"]
    assert register(api, "bob", "back", file).status_code == 403
    taken = register(api, "admin", "back", file)
    assert taken.status_code == 200, taken.text
    assert id_of(steward, "table", "cat.s.back") != former
    seen = api("ann", "GET", f"{LAKE}/catalogs/cat/schemas/s/tables/back").json()["table"]["columns"]
    assert [column["name"] for column in seen] == ["id"], "the policy is on it from the first moment"
    tags = api("admin", "GET", f"{LAKE}/objects/column/cat.s.back.id/tags").json()["names"]
    assert tags == ["pii"]
    owner = api("admin", "GET", f"{LAKE}/owners/table/cat.s.back").json()["owner"]
    assert owner["name"] == "bob"
    assert api("eve", "GET", f"{TABLES}/back").status_code in (403, 404)
    assert register(api, "admin", "again", file).status_code == 400, "it is there already"


@pytest.mark.parametrize("how", ["made", "staged", "moved"])
@pytest.mark.parametrize("policy", [None, HIDE, HIDE.replace("lake.cat.s.t", "lake.cat")])
def test_where_a_table_was_dropped_the_metalakes_owner_puts_another_unless_a_policy_stood_over_it(
    api: Api, people: People, how: str, policy: str | None
) -> None:
    place = create(api).json()["metadata"]["location"]
    people.may("eve", "SELECT_TABLE", "table", "cat.s.t", deny=True)
    people.may("eve", "USE_CATALOG USE_SCHEMA SELECT_TABLE", "metalake", "lake")
    assert api("admin", "POST", f"{LAKE}/tags", {"name": "pii"}).status_code == 200
    assert (
        api("admin", "POST", f"{LAKE}/objects/table/cat.s.t/tags", {"tagsToAdd": ["pii"]}).status_code == 200
    )
    people.may("ann", "USE_CATALOG", "metalake", "lake")
    if policy is not None:
        applied(api, policy)
    assert api("admin", "DELETE", f"{TABLES}/t").status_code == 204
    if how == "made":
        answer = create(api, "next", location=place)
    elif how == "staged":
        answer = api("admin", "POST", f"{TABLES}/next", made_at(place))
    else:
        assert create(api, "next").status_code == 200
        # What a role says of the table already stays said.
        people.may("eve", "MODIFY_TABLE", "table", "cat.s.next", deny=True)
        answer = commit(api, "admin", "next", {"action": "set-location", "location": place})
    if policy is not None:
        assert answer.status_code == 400, answer.text
        return
    assert answer.status_code == 200, answer.text
    assert api("admin", "GET", f"{LAKE}/objects/table/cat.s.next/tags").json()["names"] == ["pii"]
    assert api("eve", "GET", f"{TABLES}/next").status_code in (403, 404)
    owner = api("admin", "GET", f"{LAKE}/owners/table/cat.s.next").json()["owner"]
    assert owner["name"] == "admin"
    assert create(api, "third", location=place).status_code == 400, "it is the new table's now"


def test_where_a_policy_stands_now_no_table_takes_the_place_of_another(api: Api, people: People) -> None:
    place = create(api).json()["metadata"]["location"]
    assert api("admin", "DELETE", f"{TABLES}/t").status_code == 204
    people.may("ann", "USE_CATALOG", "metalake", "lake")
    applied(api, HIDE.replace("lake.cat.s.t", "lake.cat.s"))
    assert create(api, "next", location=place).status_code == 400


def test_a_table_is_not_moved_where_one_was_that_was_tagged_otherwise(api: Api, steward: Steward) -> None:
    place = create(api).json()["metadata"]["location"]
    assert create(api, "next").status_code == 200
    assert api("admin", "POST", f"{LAKE}/tags", {"name": "level"}).status_code == 200
    tag = id_of(steward, "tag", "level")
    with steward.kernel.store.write("admin", "tag") as tx:
        labels.put(tx, tag, id_of(steward, "table", "cat.s.t"), 0, "high")
        labels.put(tx, tag, id_of(steward, "table", "cat.s.next"), 0, "low")
    assert api("admin", "DELETE", f"{TABLES}/t").status_code == 204
    refused = commit(api, "admin", "next", {"action": "set-location", "location": place})
    assert refused.status_code == 400, refused.text
    assert "tagged otherwise" in refused.text
    assert create(api, "third", location=place).status_code == 200, "nothing of the refused one was kept"


def test_a_purged_place_is_free_only_once_the_files_are_gone(
    api: Api, steward: Steward, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = create(api).json()["metadata"]["location"]

    def broken(self: Storage, location: str) -> None:
        raise ConnectionFailed("the warehouse cannot be used")

    with monkeypatch.context() as patched:
        patched.setattr(Storage, "delete_folder", broken)
        assert api("admin", "DELETE", f"{TABLES}/t?purgeRequested=true").status_code == 503
    assert create(api, "u", location=place).status_code == 400
    gone = create(api, "v").json()["metadata"]["location"]
    assert api("admin", "DELETE", f"{TABLES}/v?purgeRequested=true").status_code == 204
    assert create(api, "v", location=gone).status_code == 200
    with steward.kernel.store.read() as read:
        assert [row.state for row in places.of(read, id_of(steward, "table", "cat.s.v"))] == [places.LIVE]


def test_a_staged_place_is_for_who_staged_it(api: Api, people: People) -> None:
    for user in ("ann", "bob"):
        people.may(user, MAKES, "metalake", "lake")
    staged = api("bob", "POST", TABLES, {"name": "t", "schema": SCHEMA, "stage-create": True}).json()
    place = staged["metadata"]["location"]
    for user in ("ann", "admin"):
        assert api(user, "POST", f"{TABLES}/t", made_at(place)).status_code == 400
        assert create(api, "u", user, location=place).status_code == 400
    assert api("bob", "POST", f"{TABLES}/t", made_at(place)).status_code == 200


def test_a_staged_place_is_for_a_user_and_not_for_a_name(api: Api, people: People) -> None:
    people.may("bob", MAKES, "metalake", "lake")
    staged = api("bob", "POST", TABLES, {"name": "t", "schema": SCHEMA, "stage-create": True}).json()
    place = staged["metadata"]["location"]
    roles = api("admin", "GET", f"{LAKE}/users/bob").json()["user"]["roles"]
    assert api("admin", "DELETE", f"{LAKE}/users/bob").status_code == 200
    assert api("admin", "POST", f"{LAKE}/users", {"name": "bob"}).status_code == 200
    assert api("admin", "PUT", f"{LAKE}/permissions/users/bob/grant", {"roleNames": roles}).status_code == 200
    assert create(api, "mine", "bob").status_code == 200, "who is bob now makes tables"
    assert api("bob", "POST", f"{TABLES}/t", made_at(place)).status_code == 400
    assert create(api, "u", "bob", location=place).status_code == 400


def test_places_in_the_schemas_folder_are_for_all_others_for_the_owner(
    api: Api, people: People, tmp_path: Path
) -> None:
    people.may("bob", MAKES, "metalake", "lake")
    folder = create(api).json()["metadata"]["location"].rpartition("/")[0]
    assert create(api, "a", "bob", location=f"{folder}/a").status_code == 200
    assert create(api, "b", "bob", location=folder).status_code == 403, "not the folder of all"
    beside = folder.rpartition("/")[0] + "/other/b"
    outside = f"file://{tmp_path}/forged/b"
    for place in (beside, outside):
        assert create(api, "b", "bob", location=place).status_code == 403
        assert api("bob", "POST", f"{TABLES}/b", made_at(place)).status_code == 403
        moved = commit(api, "bob", "a", {"action": "set-location", "location": place})
        assert moved.status_code == 403, moved.text
    lost = Path(urlsplit(f"{folder}/lost").path)
    lost.mkdir()
    (lost / "x.parquet").write_text("somebody's")
    assert create(api, "b", "bob", location=str(lost)).status_code == 403, "files of nobody knows whom"
    assert create(api, "b", location=outside).status_code == 200
