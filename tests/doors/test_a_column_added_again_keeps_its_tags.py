"""A column added under the name of a dropped one takes over its tags, and so the policies that find columns by tags."""

from typing import Any

import pytest

from headgate.decide import Op
from headgate.model.objects import ObjectRef, ObjectType
from headgate.model.principals import Identity
from headgate.steward import Steward
from tests.conftest import Api
from tests.doors.governed import TABLES, applied, govern
from tests.doors.settled import LAKE, done

MASK = """\
policy: mask-pii
on: lake
to: [user:ann]
columns: {c: has_tag('pii')}
mask: {c: show_last_4(c)}
"""
ICE = "/iceberg/v1/lake.cat/namespaces/s/tables/customers"


@pytest.fixture(autouse=True)
def lake(api: Api) -> None:
    govern(api)
    applied(api, MASK)


def change(api: Api, *updates: dict[str, Any]) -> None:
    for update in updates:
        done(api("admin", "PUT", f"{TABLES}/customers", {"updates": [update]}))


def drop(*path: str) -> dict[str, Any]:
    return {"@type": "deleteColumn", "fieldName": list(path), "ifExists": False}


def add(*path: str, type: Any = "string") -> dict[str, Any]:
    return {"@type": "addColumn", "fieldName": list(path), "type": type, "nullable": True}


def rename(new: str, *path: str) -> dict[str, Any]:
    return {"@type": "renameColumn", "oldFieldName": list(path), "newFieldName": new}


def masked(steward: Steward) -> set[str]:
    """The columns that ann sees masked."""
    ref = ObjectRef("lake", ObjectType.TABLE, ("cat", "s", "customers"))
    seen = steward.lenses.of(steward.kernel.permit(Identity("ann"), Op.LOAD_TABLE, ref))
    return {".".join(seen.shape.path(id)) for id in seen.lens.masked}


def on(column: str) -> str:
    return f"{LAKE}/objects/column/cat.s.customers.{column}/tags"


def listed(api: Api, column: str) -> list[tuple[str, str | None, bool]]:
    tags = done(api("admin", "GET", f"{on(column)}?details=true"))["tags"]
    return [(tag["name"], (tag.get("assignmentValues") or [None])[0], tag["inherited"]) for tag in tags]


def test_dropped_and_added_again_it_is_masked_as_before(api: Api, steward: Steward) -> None:
    assert masked(steward) == {"email"}
    change(api, drop("email"), add("email"))
    assert masked(steward) == {"email"}
    change(api, drop("email"), add("email"), drop("email"), add("email"))
    assert masked(steward) == {"email"}


def test_another_column_that_gets_its_name_is_masked_too(api: Api, steward: Steward) -> None:
    change(api, drop("email"), add("x"))
    assert masked(steward) == set()
    change(api, rename("email", "x"))
    assert masked(steward) == {"email"}


def test_a_renamed_column_is_dropped_and_its_first_name_comes_back(api: Api, steward: Steward) -> None:
    change(api, rename("mail", "email"), drop("mail"), add("email"))
    assert masked(steward) == {"email"}


def test_so_it_is_with_fields_of_structs_whatever_happened_to_the_struct(api: Api, steward: Steward) -> None:
    done(api("admin", "POST", on("home.street"), {"tagsToAdd": ["pii"]}))
    change(api, drop("home", "street"), add("home", "street"))
    assert masked(steward) == {"email", "home.street"}
    change(api, rename("place", "home"), drop("place", "street"), add("place", "street"))
    assert masked(steward) == {"email", "place.street"}
    struct = {"type": "struct", "fields": [{"name": "street", "type": "string"}]}
    change(api, drop("place"), add("place", type=struct))
    assert masked(steward) == {"email", "place.street"}


def test_one_commit_that_does_it_all_is_no_way_around(api: Api, steward: Steward) -> None:
    done(api("admin", "POST", on("home.street"), {"tagsToAdd": ["pii"]}))
    now = api("admin", "GET", ICE).json()["metadata"]
    last, schema = now["last-column-id"], now["schemas"][-1]
    fields = []
    for field in schema["fields"]:
        if field["name"] == "email":
            field = {**field, "id": last + 1}
        if field["name"] == "home":
            inner = [{**f, "id": last + 2 + n} for n, f in enumerate(field["type"]["fields"])]
            field = {**field, "name": "place", "type": {"type": "struct", "fields": inner}}
        fields.append(field)
    updates = [
        {"action": "add-schema", "schema": {**schema, "fields": fields}},
        {"action": "set-current-schema", "schema-id": -1},
    ]
    answer = api("admin", "POST", ICE, {"requirements": [], "updates": updates})
    assert answer.status_code == 200, answer.text
    assert masked(steward) == {"email", "place.street"}


def test_the_listing_shows_what_was_taken_over_as_its_own_and_it_can_be_taken_off(
    api: Api, steward: Steward
) -> None:
    change(api, drop("email"), add("email"))
    assert listed(api, "email") == [("pii", None, False)]
    again = api("admin", "POST", on("email"), {"tagsToAdd": ["pii"]})
    assert again.status_code == 409, "it has it already"
    told = done(api("admin", "GET", f"{LAKE}/tags/pii/objects"))
    assert str(told).count("cat.s.customers.email") == 1
    done(api("admin", "POST", on("email"), {"tagsToRemove": ["pii"]}))
    assert listed(api, "email") == []
    assert masked(steward) == set()


def test_former_schemas_stay_while_tags_stand_on_former_columns(api: Api) -> None:
    applied(api)
    change(api, drop("email"), add("email"))
    forget = {"requirements": [], "updates": [{"action": "remove-schemas", "schema-ids": [0]}]}
    refused = api("admin", "POST", ICE, forget)
    assert refused.status_code == 403, refused.text
    done(api("admin", "POST", on("email"), {"tagsToRemove": ["pii"]}))
    assert api("admin", "POST", ICE, forget).status_code == 200


def test_its_own_value_of_a_tag_wins(api: Api) -> None:
    done(api("admin", "POST", f"{LAKE}/tags", {"name": "level"}))
    for column, value in (("email", "high"), ("ssn", "low")):
        done(api("admin", "POST", on(column), {"tagsToAdd": [{"name": "level", "value": value}]}))
    change(api, add("spare"))
    done(api("admin", "POST", on("spare"), {"tagsToAdd": [{"name": "level", "value": "own"}]}))
    change(api, drop("email"), rename("email", "spare"))
    assert ("level", "own", False) in listed(api, "email")
    places = done(api("admin", "GET", f"{LAKE}/tags/level/objects"))
    assert str(places).count("cat.s.customers.email") == 1
