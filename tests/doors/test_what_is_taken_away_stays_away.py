"""What somebody is kept from by others is not given back by what they may change themselves."""

import pytest

from tests.conftest import Api
from tests.doors.governed import MASK, TABLES, applied, govern, sent
from tests.doors.settled import LAKE, done, give, refused, securable

APPLY = "/api/headgate/policies/apply?metalake=lake"
TABLE = f"{TABLES}/customers"


@pytest.fixture(autouse=True)
def lake(api: Api) -> None:
    govern(api)


def own(api: Api, kind: str, name: str, user: str) -> None:
    done(api("admin", "PUT", f"{LAKE}/owners/{kind}/{name}", {"name": user, "type": "user"}))


def test_a_deny_is_not_lifted_by_deleting_the_role_that_says_it(api: Api) -> None:
    give(api, "bob", "maker", securable("metalake", "lake", "create_role"))
    done(api("bob", "POST", f"{LAKE}/roles", {"name": "mine", "securableObjects": []}))
    deny = {"privileges": [{"name": "select_table", "condition": "deny"}]}
    done(api("admin", "PUT", f"{LAKE}/permissions/roles/mine/table/cat.s.customers/grant", deny))
    done(api("admin", "PUT", f"{LAKE}/permissions/users/bob/grant", {"roleNames": ["mine"]}))
    assert refused(api("bob", "GET", TABLE))
    api("bob", "DELETE", f"{LAKE}/roles/mine")
    assert refused(api("bob", "GET", TABLE))
    done(api("admin", "DELETE", f"{LAKE}/roles/mine"))
    done(api("bob", "GET", TABLE))


def test_a_catalog_is_not_renamed_away_by_who_sees_a_part_of_it(api: Api) -> None:
    """A catalog made under its name would take what others load into theirs, in the clear."""
    applied(api, MASK)
    give(api, "ann", "maker", securable("metalake", "lake", "create_catalog"))
    own(api, "catalog", "cat", "ann")
    rename = {"updates": [{"@type": "rename", "newName": "old"}]}
    assert refused(api("ann", "PUT", f"{LAKE}/catalogs/cat", rename))
    done(
        api(
            "ann", "PUT", f"{LAKE}/catalogs/cat", {"updates": [{"@type": "updateComment", "newComment": "x"}]}
        )
    )
    applied(api, MASK.replace("[everyone]", "[user:bob]"))
    done(api("ann", "PUT", f"{LAKE}/catalogs/cat", rename))


@pytest.mark.parametrize(
    ("key", "value"), [("headgate.originals", "statistics"), ("headgate.lazy", "statistics")]
)
def test_who_sees_a_part_does_not_choose_to_be_told_more_of_the_rest(api: Api, key: str, value: str) -> None:
    """By statistics, a reader learns which files hold hidden rows."""
    applied(api, MASK.replace("[everyone]", "[user:ann]"))
    own(api, "catalog", "cat", "ann")
    change = {"updates": [{"@type": "setProperty", "property": key, "value": value}]}
    assert refused(api("ann", "PUT", f"{LAKE}/catalogs/cat", change))
    done(api("admin", "PUT", f"{LAKE}/catalogs/cat", change))
    back = {"updates": [{"@type": "removeProperty", "property": key}]}
    done(api("ann", "PUT", f"{LAKE}/catalogs/cat", back))


def test_a_policy_is_not_enabled_on_what_is_its_owners_no_more(api: Api) -> None:
    own(api, "table", "cat.s.customers", "ann")
    give(api, "ann", "author", securable("metalake", "lake", "create_policy"))
    text = "policy: mine\non: lake.cat.s.customers\nto: [everyone]\ndeny: true\nenabled: false\n"
    applied(api, text, user="ann", whole=False)
    own(api, "table", "cat.s.customers", "admin")
    assert refused(api("ann", "POST", APPLY, sent(text.replace("false", "true"), whole=False)))
    assert refused(api("ann", "PATCH", f"{LAKE}/policies/mine", {"enable": True}))
    done(api("bob", "GET", TABLE))
