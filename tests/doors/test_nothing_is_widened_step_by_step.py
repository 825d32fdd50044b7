"""A view that is widened in several steps, each of which shows nothing more by itself, is widened all the same."""

from typing import Any

import pytest

from tests.conftest import Api
from tests.doors.governed import MASK, ROWS, TABLES, applied, govern, sent
from tests.doors.settled import LAKE, done, give, securable

APPLY = "/api/headgate/policies/apply?metalake=lake"
TABLE = f"{TABLES}/customers"
TAGS = f"{LAKE}/objects/column/cat.s.customers.email/tags"


@pytest.fixture(autouse=True)
def lake(api: Api) -> None:
    govern(api)
    done(api("admin", "PUT", f"{LAKE}/owners/table/cat.s.customers", {"name": "ann", "type": "user"}))


def sees(api: Api, user: str) -> Any:
    asked = {"metalake": "lake", "table": "cat.s.customers", "user": user}
    return done(api("admin", "POST", "/api/headgate/lens", asked))["explanation"].get("lens")


VEILS = [
    "hide: [email]",
    "rows: FALSE",
    "deny: true",
    "mask:\n  email: replace_with_null(email)",
]


@pytest.mark.parametrize("veil", VEILS)
def test_no_change_hides_behind_a_policy_that_its_actor_may_lift_again(api: Api, veil: str) -> None:
    applied(api, MASK)
    give(api, "ann", "author", securable("metalake", "lake", "create_policy", "apply_tag"))
    before = sees(api, "ann")
    own = f"policy: veil\non: lake.cat.s.customers\nto: [user:ann]\n{veil}\n"
    api("ann", "POST", APPLY, sent(own, whole=False))
    api("ann", "POST", TAGS, {"tagsToRemove": ["pii"]})
    api("ann", "DELETE", f"{LAKE}/policies/veil")
    assert sees(api, "ann") == before


@pytest.mark.parametrize("veil", VEILS)
def test_nobody_chooses_their_rows_behind_a_policy_of_their_own(api: Api, veil: str) -> None:
    applied(api, ROWS)
    give(
        api, "ann", "author", securable("metalake", "lake", "create_policy", "manage_users", "manage_grants")
    )
    before = sees(api, "ann")
    own = f"policy: veil\non: lake.cat.s.customers\nto: [user:ann]\n{veil}\n"
    applied(api, own, user="ann", whole=False)
    api("ann", "PUT", f"{LAKE}/users/ann/attributes", {"region": "US"})
    api("ann", "DELETE", f"{LAKE}/policies/veil")
    assert sees(api, "ann") == before


def test_no_tag_is_lost_while_the_table_is_denied(api: Api) -> None:
    done(api("admin", "POST", f"{LAKE}/objects/table/cat.s.customers/tags", {"tagsToAdd": ["pii"]}))
    tagged = "policy: of-tagged\non: lake\nto: [everyone]\nwhen: has_tag('pii')\nhide: [ssn]\n"
    applied(api, tagged)
    give(api, "ann", "author", securable("metalake", "lake", "create_policy", "apply_tag"))
    before = sees(api, "ann")
    for denied in ("ann", "admin"):
        deny = "policy: veil\non: lake.cat.s.customers\nto: [user:ann]\ndeny: true\n"
        applied(api, deny, user=denied, whole=False)
        api("ann", "POST", f"{LAKE}/objects/table/cat.s.customers/tags", {"tagsToRemove": ["pii"]})
        done(api(denied, "DELETE", f"{LAKE}/policies/veil"))
        assert sees(api, "ann") == before, f"denied by {denied}"
