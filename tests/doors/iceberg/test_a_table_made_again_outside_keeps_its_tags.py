"""A federated table that its server makes again, renames or forgets parts of keeps what was said of its columns."""

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headgate.catalogs.iceberg import table_metadata
from headgate.catalogs.openings import Openings
from headgate.decide import Op
from headgate.model.errors import Conflict
from headgate.model.objects import ObjectRef, ObjectType
from headgate.model.principals import Identity
from headgate.steward import Steward
from tests.catalogs.any_rest import AnyRest, any_rest
from tests.conftest import Api
from tests.doors.governed import applied
from tests.doors.iceberg.test_federated_tables_keep_their_place import FED, GRAVITINO, declare
from tests.doors.lake import LAKE
from tests.openings import opened
from tests.people import People

BY_TAG = """\
policy: hide-pii
on: lake
to: [user:ann]
columns: {c: has_tag('pii')}
hide: [c]
"""
BY_NAME = """\
policy: hide-ssn
on: lake.fed.r.t
to: [user:ann]
hide: [ssn]
"""
OLD = "s3://theirs/t"
T = ObjectRef("lake", ObjectType.TABLE, ("fed", "r", "t"))


@pytest.fixture
def openings(tmp_path: Path) -> Openings:
    return opened(tmp_path, "s3://theirs")


@pytest.fixture
def remote(api: Api, people: People) -> Iterator[AnyRest]:
    with any_rest() as remote:
        declare(api, remote)
        people.may("ann", "USE_CATALOG USE_SCHEMA SELECT_TABLE", "metalake", "lake")
        api("admin", "POST", f"{LAKE}/tags", {"name": "pii"})
        make(remote, "ssn", "name")
        assert api("admin", "GET", f"{GRAVITINO}/t").status_code == 200
        yield remote


def make(remote: AnyRest, *names: str | dict[str, Any], at: str = OLD) -> dict[str, Any]:
    """Make the table, or make it again: a new uuid, and fields numbered from the first column on."""
    fields = [
        {"id": n, "name": name, "type": "string", "required": False} if isinstance(name, str) else name
        for n, name in enumerate(names, 1)
    ]
    definition = {"schema": {"type": "struct", "fields": fields}, "properties": {}}
    made: dict[str, Any] = table_metadata.create(at, definition, uuid.uuid4())
    remote.tables["t"] = made
    return made


def on(column: str) -> str:
    return f"{LAKE}/objects/column/fed.r.t.{column}/tags"


def tag(api: Api, column: str) -> None:
    answer = api("admin", "POST", on(column), {"tagsToAdd": ["pii"]})
    assert answer.status_code == 200, answer.text


def shown(api: Api, who: str = "ann") -> list[str] | int:
    """What somebody is shown of the table, or how they are refused; the same at both doors."""
    answer = api(who, "GET", f"{GRAVITINO}/t")
    if answer.status_code == 503:
        assert "ask again" in answer.text, answer.text
        answer = api(who, "GET", f"{GRAVITINO}/t")
    if answer.status_code != 200:
        assert api(who, "GET", f"{FED}/t").status_code == answer.status_code
        return int(answer.status_code)
    return [column["name"] for column in answer.json()["table"]["columns"]]


@pytest.mark.parametrize("place", [OLD, "s3://theirs/again"])
def test_tags_go_by_name_to_the_columns_of_the_new_table(api: Api, remote: AnyRest, place: str) -> None:
    tag(api, "ssn")
    applied(api, BY_TAG)
    assert shown(api) == ["name"]
    make(remote, "name", "ssn", at=place)
    assert shown(api) == ["name"], "the tag stood on the first field, which is another column now"
    make(remote, "id", "name", "zip", "ssn", at=place)
    assert shown(api) == ["id", "name", "zip"], "and so again and again"
    listed = api("admin", "GET", on("ssn")).json()
    assert listed["names"] == ["pii"]
    objects = api("admin", "GET", f"{LAKE}/tags/pii/objects").text
    assert "fed.r.t.ssn" in objects
    assert "fed.r.t.id" not in objects


def test_letter_case_of_a_name_is_no_way_around(api: Api, remote: AnyRest) -> None:
    tag(api, "ssn")
    applied(api, BY_TAG)
    assert shown(api) == ["name"]
    make(remote, "name", "SSN")
    assert shown(api) == ["name"]
    applied(api, BY_TAG, BY_NAME)
    assert shown(api) == ["name"]


def test_fields_of_structs_keep_theirs_by_their_whole_name(api: Api, remote: AnyRest) -> None:
    def home(first: int, *names: str) -> dict[str, Any]:
        inner = [
            {"id": first + n, "name": name, "type": "string", "required": False}
            for n, name in enumerate(names)
        ]
        type = {"type": "struct", "fields": inner}
        return {"id": first - 1, "name": "home", "type": type, "required": False}

    make(remote, home(10, "street", "town"), "name")
    assert shown(api, "admin") == ["home", "name"]
    tag(api, "home.street")
    applied(api, BY_TAG)
    api("ann", "GET", f"{GRAVITINO}/t")
    make(remote, "name", home(10, "town", "street"))
    assert shown(api) == ["name", "home"]
    answer = api("ann", "GET", f"{GRAVITINO}/t").text
    assert "town" in answer
    assert "street" not in answer


def test_a_tag_that_finds_no_column_denies_until_it_is_taken_off(api: Api, remote: AnyRest) -> None:
    tag(api, "ssn")
    applied(api, BY_TAG)
    assert shown(api) == ["name"]
    make(remote, "social", "name")
    assert shown(api) == 403, "nobody knows which column it is now"
    assert shown(api, "admin") == ["social", "name"]
    make(remote, "social", "name")
    assert shown(api) == 403, "whenever it is made again"
    make(remote, "name", "ssn")
    assert shown(api) == ["name"], "it is there again"
    make(remote, "social", "name")
    assert shown(api) == 403
    gone = api("admin", "POST", on("ssn"), {"tagsToRemove": ["pii"]})
    assert gone.status_code == 200, gone.text
    assert shown(api) == ["social", "name"], "an owner has decided"


def test_a_policy_that_names_a_column_denies_once_it_is_gone(api: Api, remote: AnyRest) -> None:
    applied(api, BY_NAME)
    assert shown(api) == ["name"]
    make(remote, "name", "social")
    assert shown(api) == 403
    make(remote, "name", "ssn")
    assert shown(api) == ["name"]


def test_a_rename_outside_is_followed_even_if_its_server_forgets_the_former_name(
    api: Api, remote: AnyRest
) -> None:
    applied(api, BY_NAME)
    assert shown(api) == ["name"]
    now = remote.tables["t"]
    fields = [{**field, "name": "x" if field["name"] == "ssn" else "name"} for field in fields_of(now)]
    now["schemas"] = [{**now["schemas"][0], "schema-id": 1, "fields": fields}]
    now["current-schema-id"] = 1
    assert shown(api) == ["name"], "the field goes by another name, which is known from before only here"
    assert shown(api) == ["name"]


def test_a_column_added_again_outside_keeps_its_tags_though_the_former_schema_is_not_listed(
    api: Api, remote: AnyRest
) -> None:
    tag(api, "ssn")
    applied(api, BY_TAG)
    assert shown(api) == ["name"]
    now = remote.tables["t"]
    fields = [{**field, "id": 3 if field["name"] == "ssn" else 2} for field in fields_of(now)]
    now["schemas"] = [{**now["schemas"][0], "schema-id": 1, "fields": fields}]
    now["current-schema-id"], now["last-column-id"] = 1, 3
    assert shown(api) == ["name"]


def test_columns_that_are_left_out_count_as_lost(api: Api, remote: AnyRest, steward: Steward) -> None:
    """Files still hold them: none is handed out as it is."""
    make(remote, "name", "zip", "ssn")
    assert shown(api) == ["name", "zip", "ssn"]
    now = remote.tables["t"]
    now["schemas"] = [{**now["schemas"][0], "fields": fields_of(now)[:2]}]
    now["last-column-id"] = 2
    applied(api, "policy: few\non: lake.fed.r.t\nto: [user:ann]\nrows: zip = 'x'\n")
    permit = steward.kernel.permit(Identity("ann"), Op.LOAD_TABLE, T)
    assert steward.lenses.of(permit).shape.lost == {3}
    del now["last-column-id"]
    refused = api("ann", "GET", f"{FED}/t")
    assert refused.status_code == 403, "what does not tell how many columns there were is not believed"


def test_a_tag_does_not_end_in_a_list_where_no_tag_counts(api: Api, remote: AnyRest) -> None:
    """A field of a struct called `element` has the name that what is inside a list has."""
    inner = {
        "type": "struct",
        "fields": [
            {"id": 3, "name": "ssn", "type": "string", "required": False},
            {"id": 4, "name": "zip", "type": "string", "required": False},
        ],
    }
    struct = {
        "type": "struct",
        "fields": [{"id": 2, "name": "element", "required": False, "type": inner}],
    }
    listed = {"type": "list", "element-id": 2, "element-required": False, "element": inner}
    make(remote, {"id": 1, "name": "info", "required": False, "type": struct})
    assert shown(api, "admin") == ["info"]
    tag(api, "info.element.ssn")
    applied(api, BY_TAG)
    assert "ssn" not in api("ann", "GET", f"{GRAVITINO}/t").text
    make(remote, {"id": 1, "name": "info", "required": False, "type": listed})
    assert shown(api) == 403, "nobody knows which column it is now"
    assert api("admin", "POST", on("info.element.ssn"), {"tagsToRemove": ["pii"]}).status_code == 200
    assert shown(api) == ["info"], "an owner has decided"


def test_a_rename_that_was_made_is_not_answered_as_refused(api: Api, remote: AnyRest) -> None:
    """Its columns are read where the table lies since, and shown by the policies that reach it there."""
    applied(api, "policy: later\non: lake\nto: [user:ann]\nhide: [salary]\n")
    api("admin", "PUT", f"{LAKE}/owners/table/fed.r.t", {"name": "ann", "type": "user"})
    renamed = api("ann", "PUT", f"{GRAVITINO}/t", {"updates": [{"@type": "rename", "newName": "u"}]})
    assert list(remote.tables) == ["u"]
    assert renamed.status_code == 200, renamed.text
    assert [column["name"] for column in renamed.json()["table"]["columns"]] == ["ssn", "name"]


def fields_of(metadata: dict[str, Any]) -> list[dict[str, Any]]:
    return list(metadata["schemas"][0]["fields"])


def test_who_wrote_it_is_known_though_our_own_change_fails(
    api: Api, remote: AnyRest, steward: Steward, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other server has the commit by then."""
    api("admin", "PUT", f"{LAKE}/owners/table/fed.r.t", {"name": "ann", "type": "user"})
    node = steward.kernel.authority().find(T)
    assert node is not None

    def fails(*_: object, **__: object) -> None:
        raise Conflict("somebody else changed it", about="commit")

    monkeypatch.setattr(steward.documents, "_keeps_history", lambda _: None)
    monkeypatch.setattr(steward.documents.placing, "take_over", fails)
    commit = {"requirements": [], "updates": [{"action": "set-properties", "updates": {"x": "y"}}]}
    assert api("ann", "POST", "/iceberg/v1/lake.fed/namespaces/r/tables/t", commit).status_code == 504
    assert remote.tables["t"]["properties"]["x"] == "y"
    assert steward.kernel.authority().writers.get(node.id) == {"ann"}
