"""A filter over what is hidden from its writer denies its reader, however the writer came by their groups, and after they left."""

from typing import Any

import pytest

from tests.conftest import Api
from tests.doors.claimed import NONE, UNKNOWN, claimed
from tests.doors.governed import HIDE, TABLES, agreed, applied, govern, sent
from tests.doors.settled import LAKE, done, give, refused, securable

__all__ = ["claimed"]

PROBE = """\
policy: probe
on: lake.cat.s.customers
to: [user:bob]
rows: starts_with(ssn, 'DE0')
"""
STAFF = """\
policy: hide-ssn
on: lake.cat.s
to: [group:staff]
hide: [ssn]
"""
WRITES = securable("metalake", "lake", "create_policy", "apply_policy", "apply_tag")


@pytest.fixture(autouse=True)
def lake(api: Api) -> None:
    """ann and eve write policies; the metalake keeps nobody in staff or office."""
    govern(api)
    give(api, "ann", "author", WRITES)
    done(api("admin", "PUT", f"{LAKE}/permissions/users/eve/grant", {"roleNames": ["author", "reader-ann"]}))
    for group in ("staff", "office"):
        done(api("admin", "POST", f"{LAKE}/groups", {"name": group}))


def table(call: Api, user: str, **more: str) -> Any:
    return call(user, "GET", f"{TABLES}/customers", **more)


def write(call: Api, user: str, text: str, **more: str) -> list[tuple[str, str]]:
    """What changed when somebody wrote a policy and agreed to what that does."""
    changes = done(agreed(call, user, sent(text, whole=False), **more))["changes"]
    return [(change["change"], change["policy"]) for change in changes]


# -- groups that only tokens tell ------------------------------------------------------------------------------------


@pytest.mark.parametrize("told", [NONE, UNKNOWN, "office", "staff"])
def test_a_group_that_a_column_is_hidden_from_later_may_have_the_writer_in_it(
    api: Api, claimed: Api, told: str
) -> None:
    write(claimed, "ann", PROBE, groups=told)
    applied(api, STAFF, whole=False)
    # Both are in the group by their tokens, and neither sees the column.
    assert "ssn" not in table(claimed, "ann", groups="staff").text
    assert refused(table(claimed, "bob", groups="staff"))


def test_as_those_that_the_metalake_keeps_do(api: Api, claimed: Api) -> None:
    done(api("admin", "PUT", f"{LAKE}/groups/staff/members", {"users": ["ann", "bob"], "groups": []}))
    applied(api, PROBE, user="ann", whole=False)
    applied(api, STAFF, whole=False)
    assert refused(table(claimed, "bob"))


def test_a_role_that_a_group_holds_may_be_the_writers(api: Api, claimed: Api) -> None:
    done(api("admin", "POST", f"{LAKE}/roles", {"name": "clerks", "securableObjects": []}))
    done(api("admin", "PUT", f"{LAKE}/permissions/groups/staff/grant", {"roleNames": ["clerks"]}))
    applied(api, PROBE, user="ann", whole=False)
    applied(api, STAFF.replace("group:staff", "role:clerks"), whole=False)
    assert "ssn" not in table(claimed, "ann", groups="staff").text
    assert refused(table(claimed, "bob", groups="staff"))


def test_a_role_that_only_people_hold_is_known(api: Api) -> None:
    done(api("admin", "POST", f"{LAKE}/roles", {"name": "clerks", "securableObjects": []}))
    done(api("admin", "PUT", f"{LAKE}/permissions/users/bob/grant", {"roleNames": ["clerks"]}))
    applied(api, PROBE, user="ann", whole=False)
    applied(api, STAFF.replace("group:staff", "role:clerks"), whole=False)
    done(table(api, "bob"))


@pytest.mark.parametrize("told", ["staff", UNKNOWN])
def test_a_filter_that_waits_for_a_tag_is_no_way_round(api: Api, claimed: Api, told: str) -> None:
    """The column is hidden first; ann writes for columns of a tag, which somebody puts on the hidden one later."""
    done(api("admin", "POST", f"{LAKE}/tags", {"name": "x"}))
    applied(api, STAFF, whole=False)
    text = PROBE.replace("rows: starts_with(ssn", "columns:\n  c: has_tag('x')\nrows: starts_with(c")
    write(claimed, "ann", text, groups=told)
    done(api("admin", "POST", f"{LAKE}/objects/column/cat.s.customers.ssn/tags", {"tagsToAdd": ["x"]}))
    assert refused(table(claimed, "bob", groups="staff"))


def test_an_office_that_tokens_alone_tell_of_writes_policies_that_work(api: Api, claimed: Api) -> None:
    """Who was asked about a policy when they wrote, and was not in its groups, wrote about what they saw."""
    write(claimed, "eve", STAFF, groups="office")
    write(claimed, "ann", PROBE, groups="office")
    done(table(claimed, "bob", groups="staff"))
    # The same where the group is excepted, and where it owns what hides the column.
    write(
        claimed, "eve", STAFF.replace("[group:staff]", "[everyone]\nexcept: [group:office]"), groups="office"
    )
    assert refused(table(claimed, "bob", groups="staff")), "it says something else since"
    assert write(claimed, "ann", PROBE, groups="office") == [("renewed", "probe")]
    done(table(claimed, "bob", groups="staff"))
    write(claimed, "eve", STAFF.replace("[group:staff]", "[everyone]"), groups="office")
    done(claimed("eve", "PUT", f"{LAKE}/owners/policy/hide-ssn", {"name": "office", "type": "group"}))
    assert refused(table(claimed, "bob", groups="staff"))
    assert write(claimed, "ann", PROBE, groups="office") == [("renewed", "probe")]
    done(table(claimed, "bob", groups="staff"))
    assert write(claimed, "ann", PROBE, groups="office") == [], "once is enough"


def test_an_author_by_a_group_that_the_token_does_not_tell_is_the_worst_of_both(
    api: Api, claimed: Api
) -> None:
    everyone = "[everyone]\nexcept: [user:admin]"
    applied(api, PROBE.replace("[user:bob]", everyone), whole=False)
    applied(api, HIDE.replace("[everyone]\nexcept: [group:privacy]", everyone), whole=False)
    done(table(claimed, "bob", groups="staff"))
    done(api("admin", "PUT", f"{LAKE}/owners/policy/probe", {"name": "staff", "type": "group"}))
    assert refused(table(claimed, "bob", groups="staff"))
    assert refused(table(claimed, "bob", groups=UNKNOWN))
    done(table(claimed, "bob", groups="office"))


# -- writers who left ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("given", [True, False])
def test_a_filter_stays_the_word_of_a_writer_who_left(api: Api, given: bool) -> None:
    applied(api, PROBE, user="ann", whole=False)
    applied(api, HIDE, whole=False)
    assert refused(table(api, "bob"))
    if given:
        done(api("ann", "PUT", f"{LAKE}/owners/policy/probe", {"name": "admin", "type": "user"}))
        assert refused(table(api, "bob"))
    done(api("admin", "DELETE", f"{LAKE}/users/ann"))
    assert refused(table(api, "bob"))
    # Nor is it the word of somebody who comes under the name, whatever they see.
    done(api("admin", "POST", f"{LAKE}/users", {"name": "ann"}))
    applied(api, HIDE.replace("group:privacy", "user:ann"), whole=False)
    assert refused(table(api, "bob"))


def test_until_somebody_who_sees_what_it_uses_writes_it_again(api: Api) -> None:
    applied(api, PROBE, user="ann", whole=False)
    applied(api, HIDE.replace("group:privacy", "user:eve"), whole=False)
    done(api("admin", "DELETE", f"{LAKE}/users/ann"))
    # bob may write it, and does not see the column: his word changes nothing and stops nothing else.
    done(api("admin", "PUT", f"{LAKE}/owners/policy/probe", {"name": "bob", "type": "user"}))
    done(api("admin", "PUT", f"{LAKE}/permissions/users/bob/grant", {"roleNames": ["author"]}))
    assert write(api, "bob", PROBE) == []
    assert refused(table(api, "bob"))
    done(api("admin", "PUT", f"{LAKE}/owners/policy/probe", {"name": "eve", "type": "user"}))
    assert write(api, "eve", PROBE) == [("renewed", "probe")]
    assert done(table(api, "bob"))
    assert write(api, "eve", PROBE) == []
    history = done(api("eve", "GET", "/api/headgate/metalakes/lake/policies/probe/history"))["history"]
    assert [(one["action"], one["actor"]) for one in history] == [("create", "ann"), ("renew", "eve")]


def test_a_policy_that_is_sent_again_as_it_is_counts_as_written(api: Api) -> None:
    applied(api, PROBE, user="ann", whole=False)
    applied(api, HIDE, whole=False)
    done(api("admin", "DELETE", f"{LAKE}/users/ann"))
    assert refused(table(api, "bob"))
    content = done(api("admin", "GET", f"{LAKE}/policies/probe"))["policy"]["content"]
    update = {"@type": "updateContent", "policyType": "headgate", "newContent": content}
    done(api("admin", "PUT", f"{LAKE}/policies/probe", {"updates": [update]}))
    done(table(api, "bob"))


def test_a_plan_says_whose_view_comes_back(api: Api) -> None:
    applied(api, PROBE, user="ann", whole=False)
    applied(api, HIDE, whole=False)
    done(api("admin", "DELETE", f"{LAKE}/users/ann"))
    plan = done(api("admin", "POST", "/api/headgate/policies/plan?metalake=lake", sent(PROBE, whole=False)))
    assert [change["change"] for change in plan["changes"]] == ["renewed"]
    assert [effect["people"] for effect in plan["lenses"]] == [["bob"]]


def test_no_mask_overrules_in_words_of_a_writer_who_left(api: Api) -> None:
    strong = "policy: strong\non: lake.cat.s\nto: [everyone]\nmask:\n  email: replace_with_null(email)\n"
    weak = "policy: weak\non: lake.cat.s\nto: [user:bob]\npriority: 5\ncolumns:\n  c: has_tag('x')\nmask:\n  c: upper(c)\n"
    done(api("admin", "POST", f"{LAKE}/tags", {"name": "x"}))
    applied(api, weak, user="ann", whole=False)
    done(api("ann", "PUT", f"{LAKE}/owners/policy/weak", {"name": "eve", "type": "user"}))
    applied(api, strong, whole=False)
    done(api("admin", "DELETE", f"{LAKE}/users/ann"))
    assert refused(api("eve", "PUT", f"{LAKE}/owners/policy/weak", {"name": "admin", "type": "user"}))


STRONG = "policy: strong\non: lake.cat.s\nto: [everyone]\nmask:\n  email: replace_with_null(email)\n"
WEAK = "policy: weak\non: lake.cat.s\nto: [user:bob]\npriority: 5\nmask:\n  email: upper(email)\n"


def given_to_admin(api: Api) -> None:
    """ann wrote the weak mask while there was no other one, and admin, who may change every policy, owns it."""
    applied(api, WEAK, user="ann", whole=False)
    done(api("ann", "PUT", f"{LAKE}/owners/policy/weak", {"name": "admin", "type": "user"}))


@pytest.mark.parametrize("left", [False, True])
def test_a_mask_written_later_does_not_yield_to_words_of_somebody_who_may_not_change_it(
    api: Api, left: bool
) -> None:
    given_to_admin(api)
    if left:
        done(api("admin", "DELETE", f"{LAKE}/users/ann"))
    answer = agreed(api, "admin", sent(STRONG, whole=False))
    assert refused(answer)
    assert "would yield" in answer.json()["message"]
    # Whoever may change both says it in words of their own, and then it stands.
    applied(api, WEAK.replace("upper", "lower"), whole=False)
    applied(api, STRONG, whole=False)
    done(table(api, "bob"))


@pytest.mark.parametrize("left", [False, True])
def test_a_mask_that_comes_into_reach_later_does_not_yield_to_them_either(api: Api, left: bool) -> None:
    done(api("admin", "POST", f"{LAKE}/tags", {"name": "x"}))
    given_to_admin(api)
    if left:
        done(api("admin", "DELETE", f"{LAKE}/users/ann"))
    strong = STRONG.replace(
        "mask:\n  email: replace_with_null(email)",
        "columns:\n  c: has_tag('x')\nmask:\n  c: replace_with_null(c)",
    )
    applied(api, strong, whole=False)
    done(table(api, "bob"))
    done(api("admin", "POST", f"{LAKE}/objects/column/cat.s.customers.email/tags", {"tagsToAdd": ["x"]}))
    assert refused(table(api, "bob"))
    # The same text, said again by somebody who may change both.
    assert write(api, "admin", WEAK) == [("renewed", "weak")]
    done(table(api, "bob"))
    assert write(api, "admin", WEAK) == []


# -- the controls ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mask", ["ssn", "upper(ssn)", "region || ssn", "home.zip"])
def test_a_mask_shows_no_other_column_that_is_hidden(api: Api, mask: str) -> None:
    applied(api, HIDE, whole=False)
    text = f'policy: m\non: lake.cat.s.customers\nto: [user:bob]\nmask:\n  region: "{mask}"\n'
    assert refused(agreed(api, "ann", sent(text, whole=False)))
