"""A policy that waits for a tag, a column, a purpose or a day binds as one that applies: nobody sheds it before it comes."""

from typing import Any

import pytest

from headgate.decide import Op
from headgate.model.objects import ObjectRef, ObjectType
from headgate.model.principals import Identity
from headgate.steward import Steward
from tests.conftest import Api
from tests.doors.governed import TABLES, applied, govern
from tests.doors.settled import LAKE, done, give, refused, securable

TABLE = f"{TABLES}/customers"
SCOPED = """\
policy: scoped
on: lake
to: [everyone]
except: [group:privacy]
when: has_tag('scope')
columns:
  c: has_tag('pii')
hide: [c]
"""
"""Waits for the tag scope."""


@pytest.fixture(autouse=True)
def lake(api: Api) -> None:
    """ann owns the catalog and all in it, classifies and manages users; nothing bears the tag scope."""
    govern(api)
    done(api("admin", "POST", f"{LAKE}/catalogs/cat/schemas", {"name": "free"}))
    for tag in ("scope", "public", "tier"):
        done(api("admin", "POST", f"{LAKE}/tags", {"name": tag}))
    for kind, name in (
        ("catalog", "cat"),
        ("schema", "cat.s"),
        ("schema", "cat.free"),
        ("table", "cat.s.customers"),
    ):
        done(api("admin", "PUT", f"{LAKE}/owners/{kind}/{name}", {"name": "ann", "type": "user"}))
    give(
        api,
        "ann",
        "rights",
        securable("metalake", "lake", "apply_tag", "manage_users", "manage_grants", "create_policy"),
    )


def tags(kind: str, name: str) -> str:
    return f"{LAKE}/objects/{kind}/{name}/tags"


def column(name: str) -> str:
    return tags("column", f"cat.s.customers.{name}")


def put(api: Api, where: str, tag: str, user: str = "admin", value: str | None = None) -> Any:
    added = tag if value is None else {"name": tag, "value": value}
    return api(user, "POST", where, {"tagsToAdd": [added]})


def take(api: Api, where: str, tag: str, user: str = "ann") -> Any:
    return api(user, "POST", where, {"tagsToRemove": [tag]})


def change(api: Api, *updates: dict[str, Any], user: str = "ann") -> None:
    for update in updates:
        done(api(user, "PUT", TABLE, {"updates": [update]}))


def drop(*path: str) -> dict[str, Any]:
    return {"@type": "deleteColumn", "fieldName": list(path), "ifExists": False}


def add(*path: str) -> dict[str, Any]:
    return {"@type": "addColumn", "fieldName": list(path), "type": "string", "nullable": True}


def rename(new: str, *path: str) -> dict[str, Any]:
    return {"@type": "renameColumn", "oldFieldName": list(path), "newFieldName": new}


def move(api: Api, user: str = "ann") -> int:
    ends = {
        "source": {"namespace": ["s"], "name": "customers"},
        "destination": {"namespace": ["free"], "name": "customers"},
    }
    return int(api(user, "POST", "/iceberg/v1/lake.cat/tables/rename", ends).status_code)


def hidden(steward: Steward, user: str = "ann", **more: Any) -> set[str]:
    ref = ObjectRef("lake", ObjectType.TABLE, ("cat", "s", "customers"))
    seen = steward.lenses.of(steward.kernel.permit(Identity(user, **more), Op.LOAD_TABLE, ref))
    return {".".join(seen.shape.path(id)) for id in seen.lens.hidden}


# -- tags ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "waits",
    [
        "when: has_tag('scope')",
        "when: has_tag('scope') AND context.purpose = 'audit'",
        "when: has_tag('scope', 'eu') OR has_tag('tier', 'gold')",
        "when: has_tag('scope')\nfrom: 2999-01-01T00:00:00Z",
        "when: has_tag('scope')\npurpose: [audit]",
        "when: has_tag('scope') AND context.hour < 1",
        "when: has_tag('scope') AND current_date > DATE '2999-01-01'",
    ],
    ids=["tag", "purpose", "values", "later", "purposes", "hour", "day"],
)
def test_nobody_takes_off_a_tag_that_a_waiting_policy_finds_columns_by(
    api: Api, steward: Steward, waits: str
) -> None:
    applied(api, SCOPED.replace("when: has_tag('scope')", waits))
    assert hidden(steward) == set()
    assert refused(take(api, column("email"), "pii"))
    assert refused(take(api, column("email"), "pii", user="ann"))
    done(take(api, column("email"), "pii", user="admin"))


def test_nor_off_a_field_of_a_struct_or_the_struct(api: Api, steward: Steward) -> None:
    applied(api, SCOPED)
    for name in ("home.street", "home"):
        done(put(api, column(name), "pii"))
        assert refused(take(api, column(name), "pii"))
    done(put(api, tags("table", "cat.s.customers"), "scope"))
    assert hidden(steward) == {"email", "home"}


def test_a_field_keeps_what_the_struct_around_it_keeps(api: Api) -> None:
    """A tag with another value on the field would take it out of what is said of the struct."""
    applied(api, SCOPED.replace("has_tag('pii')", "has_tag('pii', 'high')"))
    done(put(api, column("home"), "pii", value="high"))
    # The whole struct is hidden all the same.
    done(put(api, column("home.street"), "pii", "ann", value="low"))
    assert refused(take(api, column("home"), "pii"))


def test_nor_off_a_column_that_took_over_the_name(api: Api, steward: Steward) -> None:
    applied(api, SCOPED)
    change(api, drop("email"), add("email"))
    assert refused(take(api, column("email"), "pii"))
    done(put(api, tags("table", "cat.s.customers"), "scope"))
    assert hidden(steward) == {"email"}


@pytest.mark.parametrize("kind", ["column", "table", "schema", "catalog"])
def test_nobody_puts_on_a_tag_that_excepts_from_a_waiting_policy(api: Api, kind: str) -> None:
    word = "columns:\n  c: has_tag('pii') AND NOT has_tag('public')"
    applied(api, SCOPED.replace("columns:\n  c: has_tag('pii')", word))
    name = {
        "column": "cat.s.customers.email",
        "table": "cat.s.customers",
        "schema": "cat.s",
        "catalog": "cat",
    }
    assert refused(put(api, tags(kind, name[kind]), "public", "ann"))
    done(put(api, tags(kind, name[kind]), "public"))


def test_tags_that_bring_a_policy_or_that_nothing_asks_for_go_on_as_before(api: Api) -> None:
    applied(api, SCOPED)
    done(put(api, column("region"), "pii", "ann"))
    done(put(api, tags("table", "cat.s.customers"), "tier", "ann", "gold"))
    done(take(api, tags("table", "cat.s.customers"), "tier"))
    done(put(api, tags("schema", "cat.s"), "scope", "ann"))


@pytest.mark.parametrize(
    "free",
    [
        SCOPED.replace("[everyone]", "[user:bob]"),
        SCOPED.replace("group:privacy", "user:ann"),
        SCOPED + "until: 2020-01-01T00:00:00Z\n",
        SCOPED + "enabled: false\n",
    ],
    ids=["for another", "excepted", "over", "disabled"],
)
def test_whom_a_policy_does_not_bind_is_not_kept_from_anything(api: Api, free: str) -> None:
    applied(api, free)
    done(take(api, column("email"), "pii"))
    assert move(api) == 204


def test_whoever_may_change_the_policy_may_shed_it(api: Api) -> None:
    applied(api, SCOPED)
    done(api("admin", "PUT", f"{LAKE}/owners/policy/scoped", {"name": "ann", "type": "user"}))
    done(take(api, column("email"), "pii"))


def test_no_weaker_mask_is_brought_in_while_both_wait(api: Api) -> None:
    strong = SCOPED.replace("hide: [c]", "mask:\n  c: replace_with_null(c)")
    weak = strong.replace("scoped", "weak").replace("'pii'", "'public'").replace("replace_with_null", "upper")
    applied(api, strong, weak + "priority: 5\n")
    assert refused(put(api, column("email"), "public", "ann"))
    done(put(api, column("email"), "public"))


# -- where a table lies, and what things are called ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "waits",
    [
        "when: has_tag('scope')\nhide: [ssn]",
        "hide: [salary]",
        "rows: owner = session_user()",
        "when: context.purpose = 'audit'\nhide: [ssn]",
        "purpose: [audit]\nhide: [ssn]",
        "from: 2999-01-01T00:00:00Z\nhide: [ssn]",
        "when: context.hour > 24\nhide: [ssn]",
        "columns:\n  c: has_tag('scope')\nhide: [c]",
    ],
    ids=["tag", "column", "rows", "purpose", "purposes", "later", "hour", "column tag"],
)
def test_nobody_moves_a_table_out_from_under_a_waiting_policy(api: Api, waits: str) -> None:
    applied(api, f"policy: w\non: lake.cat.s\nto: [user:ann, user:bob]\n{waits}\n")
    assert move(api) == 403
    body = {"updates": [{"@type": "rename", "newName": "customers", "newSchemaName": "free"}]}
    assert api("ann", "PUT", TABLE, body).status_code == 403
    assert move(api, "admin") == 204


def test_nobody_moves_a_table_away_from_tags_that_a_waiting_policy_asks_for(api: Api) -> None:
    done(put(api, tags("schema", "cat.s"), "tier"))
    applied(api, SCOPED.replace("has_tag('scope')", "has_tag('scope') AND has_tag('tier')"))
    assert move(api) == 403


def test_a_table_moves_where_the_same_policies_reach_it(api: Api) -> None:
    applied(api, SCOPED)
    assert move(api) == 204


@pytest.mark.parametrize("on", ["lake.cat", "lake.cat.s", "lake.cat.s.customers"])
def test_nobody_renames_what_a_policy_that_waits_for_them_names(api: Api, on: str) -> None:
    applied(api, SCOPED.replace("on: lake", f"on: {on}"))
    body = {"updates": [{"@type": "rename", "newName": "other"}]}
    assert refused(api("ann", "PUT", f"{LAKE}/catalogs/cat", body))
    if on.endswith("customers"):
        assert refused(api("ann", "PUT", TABLE, body))
    done(api("admin", "PUT", f"{LAKE}/catalogs/cat", body))


def test_what_no_policy_names_is_renamed(api: Api) -> None:
    applied(api, SCOPED)
    done(api("ann", "PUT", TABLE, {"updates": [{"@type": "rename", "newName": "clients"}]}))
    done(api("ann", "PUT", f"{LAKE}/catalogs/cat", {"updates": [{"@type": "rename", "newName": "other"}]}))


@pytest.mark.parametrize(
    "waits", ["when: has_tag('scope')\nhide: [ssn]", "hide: [salary]", "rows: owner = session_user()"]
)
def test_nobody_drops_what_a_policy_is_on_to_make_it_anew(api: Api, waits: str) -> None:
    policy = f"policy: w\non: lake.cat.s\nto: [user:ann, user:bob]\n{waits}\n"
    applied(api, policy)
    schema = f"{LAKE}/catalogs/cat/schemas/s"
    for path in (f"{schema}?cascade=true", f"{LAKE}/catalogs/cat?force=true"):
        assert refused(api("ann", "DELETE", path))
    assert api("ann", "DELETE", "/iceberg/v1/lake.cat/namespaces/s").status_code in (403, 409)
    done(api("ann", "GET", TABLE))
    done(api("admin", "DELETE", f"{schema}?cascade=true"))


def test_nor_a_table(api: Api) -> None:
    applied(api, SCOPED.replace("on: lake", "on: lake.cat.s.customers"))
    assert refused(api("ann", "DELETE", TABLE))
    assert api("ann", "DELETE", "/iceberg/v1/lake.cat/namespaces/s/tables/customers").status_code == 403
    done(api("admin", "DELETE", TABLE))


def test_nor_an_empty_schema(api: Api) -> None:
    applied(api, "policy: w\non: lake.cat.free\nto: [everyone]\nhide: [ssn]\n")
    assert refused(api("ann", "DELETE", f"{LAKE}/catalogs/cat/schemas/free"))
    assert api("ann", "DELETE", "/iceberg/v1/lake.cat/namespaces/free").status_code == 403


def test_nor_a_schema_whose_tags_a_policy_asks_for(api: Api) -> None:
    applied(api, SCOPED)
    done(put(api, tags("schema", "cat.free"), "scope"))
    assert refused(api("ann", "DELETE", f"{LAKE}/catalogs/cat/schemas/free"))
    done(api("admin", "DELETE", f"{LAKE}/catalogs/cat/schemas/free"))


@pytest.mark.parametrize(
    "asks", ["when: has_tag('scope')\nhide: [ssn]", "columns:\n  c: has_tag('scope')\nhide: [c]"]
)
@pytest.mark.parametrize("place", [("schema", "cat.free"), ("catalog", "cat")])
@pytest.mark.parametrize("on", ["lake", "lake.cat", "lake.cat.free"])
def test_nobody_takes_a_tag_off_what_no_table_lies_in_yet(
    api: Api, asks: str, place: tuple[str, str], on: str
) -> None:
    done(api("admin", "DELETE", TABLE))
    done(put(api, tags(*place), "scope"))
    applied(api, f"policy: w\non: {on}\nto: [everyone]\n{asks}\n")
    assert refused(take(api, tags(*place), "scope"))
    done(put(api, tags(*place), "public", user="ann"))
    done(take(api, tags(*place), "public"))
    done(take(api, tags(*place), "scope", user="admin"))


def test_nor_puts_one_there_that_excepts(api: Api) -> None:
    done(api("admin", "DELETE", TABLE))
    applied(api, "policy: w\non: lake\nto: [everyone]\nwhen: NOT has_tag('public')\nhide: [ssn]\n")
    assert refused(put(api, tags("schema", "cat.free"), "public", user="ann"))
    done(put(api, tags("schema", "cat.free"), "scope", user="ann"))


def test_what_no_policy_is_on_is_dropped(api: Api) -> None:
    applied(api, SCOPED)
    done(api("ann", "DELETE", TABLE))
    done(api("ann", "DELETE", f"{LAKE}/catalogs/cat/schemas/free"))


@pytest.mark.parametrize(
    ("finds", "kept"),
    [
        ("columns:\n  c: has_tag('pii')\nhide: [c]", set[str]()),
        ("hide: [email]", {"email"}),
        ("columns:\n  c: has_tag('tier')\nhide: [c]", {"id", "email"}),
    ],
    ids=["tags of its own", "names", "tags above"],
)
def test_a_table_made_anew_is_under_what_is_said_of_its_place_and_not_under_tags_of_the_one_before(
    api: Api, steward: Steward, finds: str, kept: set[str]
) -> None:
    """The boundary that SECURITY.md states: a tag stands on a table, not on its name."""
    done(put(api, tags("schema", "cat.s"), "tier"))
    applied(api, SCOPED.replace("columns:\n  c: has_tag('pii')\nhide: [c]", finds))
    done(api("ann", "DELETE", TABLE))
    columns = [{"name": "id", "type": "long"}, {"name": "email", "type": "string"}]
    done(api("ann", "POST", TABLES, {"name": "customers", "columns": columns}))
    done(put(api, tags("table", "cat.s.customers"), "scope"))
    assert hidden(steward) == kept


# -- oneself ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "waits",
    [
        "when: has_tag('scope')\nrows: region = principal.region",
        "when: has_tag('scope') AND principal.region = 'EU'\nhide: [ssn]",
        "rows: area = principal.region",
    ],
    ids=["rows", "when", "column"],
)
def test_nobody_changes_what_a_waiting_policy_asks_of_them(api: Api, waits: str) -> None:
    applied(api, f"policy: w\non: lake\nto: [everyone]\n{waits}\n")
    mine = f"{LAKE}/users/ann/attributes"
    for attributes in ({"region": "US"}, {}, {"region": ["EU", "US"]}):
        assert refused(api("ann", "PUT", mine, attributes))
    done(api("ann", "PUT", mine, {"region": "EU", "team": "x"}))
    done(api("ann", "PUT", f"{LAKE}/users/bob/attributes", {"region": "EU"}))


def test_nor_where_no_table_is_yet(api: Api) -> None:
    applied(api, "policy: w\non: lake.cat.free\nto: [everyone]\nrows: region = principal.region\n")
    assert refused(api("ann", "PUT", f"{LAKE}/users/ann/attributes", {"region": "US"}))


# -- columns ------------------------------------------------------------------------------------------------------------


def test_a_new_column_under_the_name_of_a_renamed_one_goes_by_its_tags_too(
    api: Api, steward: Steward
) -> None:
    applied(api, SCOPED)
    change(api, rename("mail", "email"), add("email"))
    done(put(api, tags("table", "cat.s.customers"), "scope"))
    assert hidden(steward) == {"mail", "email"}


def test_so_it_is_inside_of_structs(api: Api, steward: Steward) -> None:
    applied(api, SCOPED)
    done(put(api, column("home.street"), "pii"))
    change(api, rename("road", "home", "street"), add("home", "street"), rename("place", "home"))
    done(put(api, tags("table", "cat.s.customers"), "scope"))
    assert hidden(steward) == {"email", "place.road", "place.street"}


@pytest.mark.parametrize("gone", [True, False], ids=["dropped", "renamed"])
def test_no_column_gets_out_of_a_policy_by_the_name_of_one_that_is_excepted(
    api: Api, steward: Steward, gone: bool
) -> None:
    change(api, add("note"))
    done(put(api, column("note"), "public"))
    word = "columns:\n  c: NOT has_tag('public')"
    applied(api, SCOPED.replace("columns:\n  c: has_tag('pii')", word))
    change(api, *([drop("note")] if gone else [rename("text", "note")]), rename("note", "email"))
    done(put(api, tags("table", "cat.s.customers"), "scope"))
    assert "note" in hidden(steward)


@pytest.mark.parametrize(
    ("steps", "kept"),
    [
        ([drop("email"), add("email"), rename("mail", "email")], {"mail"}),
        ([drop("email"), add("email"), rename("mail", "email"), drop("mail"), add("mail")], {"mail"}),
        ([rename("mail", "email"), add("email"), rename("contact", "email")], {"mail", "contact"}),
    ],
    ids=["renamed", "dropped once more", "beside the first"],
)
def test_a_column_that_took_over_tags_keeps_them_under_its_next_name(
    api: Api, steward: Steward, steps: list[dict[str, Any]], kept: set[str]
) -> None:
    applied(api, SCOPED)
    change(api, *steps)
    done(put(api, tags("table", "cat.s.customers"), "scope"))
    assert hidden(steward) == kept
