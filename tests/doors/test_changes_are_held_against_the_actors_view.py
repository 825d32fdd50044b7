"""Policies, members, attributes, tags, names, roles and owners: nobody makes a change that shows them more than they see."""

import datetime as dt
from typing import Any

import pytest

from tests.conftest import Api
from tests.doors.governed import HIDE, MASK, ROWS, TABLES, applied, govern, sent
from tests.doors.settled import LAKE, done, failed, give, refused, securable

APPLY = "/api/headgate/policies/apply?metalake=lake"
TABLE = f"{TABLES}/customers"
NOT_NOW = (dt.datetime.now(dt.UTC).hour + 12) % 24


@pytest.fixture(autouse=True)
def lake(api: Api) -> None:
    govern(api)


def own_table(api: Api, user: str) -> None:
    done(api("admin", "PUT", f"{LAKE}/owners/table/cat.s.customers", {"name": user, "type": "user"}))


def author(api: Api, user: str, *privileges: str) -> None:
    give(api, user, f"author-{user}", securable("metalake", "lake", *(privileges or ("create_policy",))))


def sees(api: Api, user: str, **more: Any) -> Any:
    asked = {"metalake": "lake", "table": "cat.s.customers", "user": user, **more}
    return done(api("admin", "POST", "/api/headgate/lens", asked))["explanation"].get("lens")


def why(answer: Any) -> str:
    assert refused(answer)
    return str(answer.json()["message"])


LIFT = """\
policy: lift-email
on: lake.cat.s.customers
to: [everyone]
mask:
  email: upper(email)
priority: 10
"""


def test_a_mask_does_not_yield_to_a_higher_priority_of_somebody_who_could_not_lift_it(api: Api) -> None:
    applied(api, MASK)
    own_table(api, "ann")
    author(api, "ann")
    assert "overrule" in why(api("ann", "POST", APPLY, sent(LIFT, whole=False)))
    assert sees(api, "ann")["masks"] == {"email": "show_last_4(email)"}
    # Nor for somebody else, nor disabled first and enabled later.
    others = LIFT.replace("[everyone]", "[user:bob]")
    assert refused(api("ann", "POST", APPLY, sent(others, whole=False)))
    assert refused(api("ann", "POST", APPLY, sent(LIFT + "enabled: false\n", whole=False)))
    # Whoever may change the mask may overrule it.
    applied(api, LIFT, whole=False)
    assert sees(api, "bob")["masks"] == {"email": "upper(email)"}


def test_a_mask_that_comes_into_reach_later_denies_rather_than_overrules(api: Api) -> None:
    own_table(api, "ann")
    author(api, "ann")
    applied(api, LIFT, user="ann", whole=False)
    assert refused(api("admin", "POST", APPLY, sent(MASK, whole=False))), "it would yield to ann's"
    done(api("admin", "POST", f"{LAKE}/tags", {"name": "secret"}))
    applied(api, MASK.replace("'pii'", "'secret'"), whole=False)
    assert sees(api, "bob")["masks"] == {"email": "upper(email)"}
    done(api("admin", "POST", f"{LAKE}/objects/column/cat.s.customers.email/tags", {"tagsToAdd": ["secret"]}))
    assert sees(api, "bob") is None
    assert "neither mask yields" in why(api("bob", "GET", TABLE))
    # A higher priority of somebody who may change ann's policy decides it.
    applied(api, MASK.replace("'pii'", "'secret'") + "priority: 20\n", whole=False)
    assert sees(api, "bob")["masks"] == {"email": "show_last_4(email)"}


def test_a_new_owner_does_not_make_words_of_others_their_own(api: Api) -> None:
    """An administrator who wrote a policy, gave it away and gets it back gets back what was made of it meanwhile."""
    own_table(api, "ann")
    author(api, "ann")
    done(api("admin", "POST", f"{LAKE}/tags", {"name": "later"}))
    applied(api, MASK)
    weak = LIFT.replace(
        "mask:\n  email: upper(email)", "columns:\n  c: has_tag('later')\nmask:\n  c: show_first_4(c)"
    )
    applied(api, weak, whole=False)
    owner = f"{LAKE}/owners/policy/lift-email"
    done(api("admin", "PUT", owner, {"name": "ann", "type": "user"}))
    done(api("admin", "PUT", owner, {"name": "admin", "type": "user"}))
    done(api("admin", "PUT", owner, {"name": "ann", "type": "user"}))
    applied(api, weak.replace("show_first_4(c)", "upper(c)"), user="ann", whole=False)
    for giver in ("ann", "admin"):
        assert "overrule" in why(api(giver, "PUT", owner, {"name": "admin", "type": "user"}))
    # Whoever may change both says it in words of their own.
    applied(api, weak, whole=False)
    done(api("admin", "PUT", owner, {"name": "admin", "type": "user"}))
    done(api("admin", "POST", f"{LAKE}/objects/column/cat.s.customers.email/tags", {"tagsToAdd": ["later"]}))
    assert sees(api, "bob")["masks"] == {"email": "show_first_4(email)"}


def test_nobody_puts_themselves_or_others_into_a_group_that_a_policy_names(api: Api) -> None:
    applied(api, HIDE)
    give(api, "bob", "groups", securable("metalake", "lake", "manage_groups"))
    members = f"{LAKE}/groups/privacy/members"
    assert "names this group" in why(api("bob", "PUT", members, {"users": ["bob"], "groups": []}))
    assert refused(api("bob", "PUT", members, {"users": ["ann"], "groups": []}))
    done(api("bob", "POST", f"{LAKE}/groups", {"name": "mine"}))
    done(api("bob", "PUT", f"{LAKE}/groups/mine/members", {"users": ["bob"], "groups": []}))
    assert refused(api("bob", "PUT", members, {"users": [], "groups": ["mine"]})), (
        "nor by way of another group"
    )
    done(api("admin", "PUT", members, {"users": [], "groups": ["mine"]}))
    assert refused(api("bob", "PUT", f"{LAKE}/groups/mine/members", {"users": ["ann"], "groups": []}))
    assert refused(api("bob", "DELETE", f"{LAKE}/groups/mine"))


def test_roles_that_a_policy_names_are_held_by_leave_of_those_who_may_change_the_policy(api: Api) -> None:
    done(api("admin", "POST", f"{LAKE}/roles", {"name": "exempt", "securableObjects": []}))
    applied(api, HIDE.replace("group:privacy", "role:exempt"))
    give(api, "bob", "grants", securable("metalake", "lake", "manage_grants"))
    grant = f"{LAKE}/permissions/users/bob/grant"
    assert "names this role" in why(api("bob", "PUT", grant, {"roleNames": ["exempt"]}))
    assert failed(api("admin", "DELETE", f"{LAKE}/roles/exempt")) == (409, "RoleInUseException")
    done(api("admin", "PUT", grant, {"roleNames": ["exempt"]}))
    assert sees(api, "bob")["whole"] is True


def test_nobody_moves_a_table_out_from_under_a_policy(api: Api) -> None:
    applied(api, HIDE)
    done(api("admin", "POST", f"{LAKE}/catalogs/cat/schemas", {"name": "free"}))
    for schema in ("cat.s", "cat.free"):
        done(api("admin", "PUT", f"{LAKE}/owners/schema/{schema}", {"name": "ann", "type": "user"}))
    own_table(api, "ann")
    rename = {
        "source": {"namespace": ["s"], "name": "customers"},
        "destination": {"namespace": ["free"], "name": "customers"},
    }
    answer = api("ann", "POST", "/iceberg/v1/lake.cat/tables/rename", rename)
    assert answer.status_code == 403, answer.text
    assert "ssn" not in answer.text
    assert "zip" not in answer.text
    assert done(api("admin", "GET", TABLE)), "it is where it was"


def test_nobody_sets_their_own_attribute_to_see_other_rows(api: Api) -> None:
    applied(api, ROWS)
    author(api, "ann", "manage_users", "manage_grants")
    mine = f"{LAKE}/users/ann/attributes"
    assert "rows that are kept away" in why(api("ann", "PUT", mine, {"region": "US"}))
    done(api("ann", "PUT", mine, {"region": "EU", "team": "x"}))
    done(api("ann", "PUT", f"{LAKE}/users/bob/attributes", {"region": "EU"}))


def test_nobody_takes_off_a_tag_that_masks_a_column_from_them(api: Api) -> None:
    applied(api, MASK)
    author(api, "ann", "apply_tag")
    own_table(api, "ann")
    tags = f"{LAKE}/objects/column/cat.s.customers.email/tags"
    assert "email unmasked" in why(api("ann", "POST", tags, {"tagsToRemove": ["pii"]}))
    # On a column that is not masked it may go on; then it stays there.
    region = f"{LAKE}/objects/column/cat.s.customers.region/tags"
    done(api("ann", "POST", region, {"tagsToAdd": ["pii"]}))
    assert refused(api("ann", "POST", region, {"tagsToRemove": ["pii"]}))
    done(api("admin", "POST", region, {"tagsToRemove": ["pii"]}))


TAGGED = """\
policy: tagged
on: lake
to: [everyone]
columns:
  e: has_tag('pii')
hide: [e]
"""


@pytest.mark.parametrize(
    ("text", "free"),
    [
        (TAGGED + "purpose: [audit]\n", False),
        (TAGGED + "from: 2999-01-01T00:00:00Z\n", False),
        (TAGGED + "until: 2020-01-01T00:00:00Z\n", True),
        (TAGGED.replace("columns:", "when: context.engine = 'spark'\ncolumns:"), False),
        (TAGGED.replace("columns:", f"when: context.hour = {NOT_NOW}\ncolumns:"), False),
        (TAGGED.replace("columns:", "when: current_date > DATE '2999-01-01'\ncolumns:"), False),
        (TAGGED.replace("has_tag('pii')", "has_tag('pii') AND context.engine = 'spark'"), False),
    ],
    ids=["purpose", "later", "over", "engine", "hour", "date", "columns"],
)
def test_circumstances_that_one_chooses_do_not_hide_a_wider_view(api: Api, text: str, free: bool) -> None:
    author(api, "ann", "apply_tag")
    own_table(api, "ann")
    applied(api, text)
    tags = f"{LAKE}/objects/column/cat.s.customers.email/tags"
    other = {"Headgate-Purpose": "other", "Headgate-Engine": "trino"}
    answer = api("ann", "POST", tags, {"tagsToRemove": ["pii"]}, headers=other)
    assert answer.status_code == (200 if free else 403), answer.text


def test_whoever_may_change_the_policies_that_restrict_them_may_widen(api: Api) -> None:
    applied(api, HIDE, MASK)
    own_table(api, "ann")
    author(api, "ann")
    mine = ROWS.replace("[user:ann, user:bob]", "[user:ann]").replace("lake.cat", "lake.cat.s.customers")
    applied(api, mine, user="ann", whole=False)
    assert sees(api, "ann")["rows"] == "region = 'EU'"
    done(api("ann", "DELETE", f"{LAKE}/policies/by-region"))
    assert "rows" not in sees(api, "ann")
    assert refused(api("ann", "DELETE", f"{LAKE}/policies/hide-ssn"))
    done(api("admin", "PUT", f"{LAKE}/owners/policy/hide-ssn", {"name": "ann", "type": "user"}))
    done(api("ann", "DELETE", f"{LAKE}/policies/hide-ssn"))
    assert sees(api, "ann")["masks"] == {"email": "show_last_4(email)"}


def test_a_refusal_is_in_the_audit_trail_and_nothing_is_changed(api: Api) -> None:
    applied(api, MASK)
    author(api, "ann", "apply_tag")
    own_table(api, "ann")
    tags = f"{LAKE}/objects/column/cat.s.customers.email/tags"
    assert refused(api("ann", "POST", tags, {"tagsToRemove": ["pii"]}))
    assert [t["name"] for t in done(api("admin", "GET", f"{tags}?details=true"))["tags"]] == ["pii"]
    trail = done(api("admin", "GET", "/api/headgate/audit?metalake=lake&user=ann&allowed=false"))["events"]
    assert "would see more of table 'cat.s.customers'" in trail[-1]["details"]["reason"]
