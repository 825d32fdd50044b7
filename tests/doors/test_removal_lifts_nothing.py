"""Removing a user or group takes the right to take away what it has, and lifts nothing that binds anybody."""

import pytest

from headgate.decide import Op
from headgate.doors.authentication import Authentication, SimpleScheme
from headgate.doors.authentication.own import OwnTokenScheme
from headgate.model.principals import Identity
from headgate.steward import Steward
from headgate.steward.access.tokens import SERVER
from tests.conftest import Api
from tests.doors.governed import DENY, HIDE, TABLES, applied, govern
from tests.doors.settled import LAKE, done, failed, give, refused, securable


@pytest.fixture(autouse=True)
def lake(api: Api) -> None:
    govern(api)
    give(api, "eve", "people", securable("metalake", "lake", "manage_users", "manage_groups"))


def users(name: str) -> str:
    return f"{LAKE}/users/{name}"


def test_managing_users_is_not_enough_to_take_away_roles_memberships_or_ownerships(api: Api) -> None:
    assert refused(api("eve", "DELETE", users("ann"))), "ann holds a role"
    done(api("admin", "POST", f"{LAKE}/users", {"name": "dan"}))
    done(api("admin", "PUT", f"{LAKE}/owners/table/cat.s.customers", {"name": "dan", "type": "user"}))
    assert refused(api("eve", "DELETE", users("dan"))), "dan owns a table"
    bulk = done(api("eve", "POST", "/api/bulk/metalakes/lake/users/remove", {"names": ["ann", "dan"]}))
    assert bulk["summary"] == {"total": 2, "succeeded": 0, "failed": 2}
    done(api("admin", "PUT", f"{LAKE}/owners/table/cat.s.customers", {"name": "admin", "type": "user"}))
    done(api("admin", "PUT", f"{LAKE}/permissions/groups/privacy/grant", {"roleNames": ["people"]}))
    done(api("admin", "PUT", f"{LAKE}/groups/privacy/members", {"users": ["dan"], "groups": []}))
    assert refused(api("eve", "DELETE", users("dan"))), "dan has a role by way of a group"
    assert refused(api("eve", "DELETE", f"{LAKE}/groups/privacy"))
    done(api("admin", "DELETE", f"{LAKE}/groups/privacy"))
    assert done(api("eve", "DELETE", users("dan")))["removed"] is True


def test_nor_what_is_known_of_them(api: Api) -> None:
    """Who comes back under the name would be bound by nothing that policies ask of them."""
    done(api("admin", "POST", f"{LAKE}/users", {"name": "dan"}))
    done(api("admin", "PUT", f"{users('dan')}/attributes", {"region": "EU"}))
    assert refused(api("eve", "PUT", f"{users('dan')}/attributes", {}))
    assert refused(api("eve", "DELETE", users("dan")))
    bulk = done(api("eve", "POST", "/api/bulk/metalakes/lake/users/remove", {"names": ["dan"]}))
    assert bulk["summary"]["failed"] == 1
    # It takes the right to change attributes: to manage users and grants.
    give(api, "eve", "grants", securable("metalake", "lake", "manage_grants"))
    done(api("eve", "DELETE", users("dan")))


def test_whom_a_policy_names_stays_while_it_does(api: Api) -> None:
    applied(api, DENY, HIDE)
    give(api, "eve", "grants", securable("metalake", "lake", "manage_grants"))
    for user in ("eve", "admin"):
        bob = api(user, "DELETE", users("bob"))
        assert failed(bob) == (409, "UserInUseException")
        group = api(user, "DELETE", f"{LAKE}/groups/privacy")
        assert failed(group) == (409, "GroupInUseException")
        # Only those who may see the policy are told its name.
        assert ("nobody" in bob.text, "hide-ssn" in group.text) == (user == "admin", user == "admin")
    applied(
        api,
        HIDE.replace("group:privacy", "user:ann").replace("hide:", "when: NOT is_member('privacy')\nhide:"),
    )
    assert failed(api("admin", "DELETE", f"{LAKE}/groups/privacy")) == (409, "GroupInUseException")
    assert failed(api("admin", "DELETE", users("ann"))) == (409, "UserInUseException")


def test_a_deny_is_not_lost_by_leaving_and_coming_back(api: Api) -> None:
    give(api, "bob", "barred", securable("table", "cat.s.customers", "!select_table"))
    assert refused(api("bob", "GET", f"{TABLES}/customers"))
    assert failed(api("admin", "DELETE", users("bob"))) == (409, "UserInUseException")
    done(api("admin", "PUT", f"{LAKE}/permissions/users/bob/revoke", {"roleNames": ["barred"]}))
    done(api("admin", "DELETE", users("bob")))


class Tokens:
    def __init__(self, steward: Steward) -> None:
        self.steward = steward
        self.permit = steward.kernel.permit(Identity("admin"), Op.MANAGE_TOKENS, SERVER)
        self.doors = Authentication([OwnTokenScheme(steward.tokens), SimpleScheme()])

    def make(self, user: str) -> str:
        return self.steward.tokens.create(self.permit, user).text

    def member(self, text: str) -> bool:
        who = self.doors.identify({"authorization": f"Bearer {text}"}, "127.0.0.1")
        authority = self.steward.kernel.authority()
        lake = authority.metalake("lake")
        assert lake is not None
        return authority.caller(who, lake.id).member is not None


def test_a_token_does_not_speak_for_a_successor_of_the_name(api: Api, steward: Steward) -> None:
    tokens = Tokens(steward)
    early = tokens.make("zoe")
    assert not tokens.member(early)
    done(api("admin", "POST", f"{LAKE}/users", {"name": "zoe"}))
    assert tokens.member(early), "a token may be made before its user is added"
    while_there = tokens.make("zoe")
    done(api("admin", "DELETE", users("zoe")))
    done(api("admin", "POST", f"{LAKE}/users", {"name": "zoe"}))
    assert [tokens.member(text) for text in (early, while_there)] == [False, False]
    late = tokens.make("zoe")
    assert tokens.member(late)
    # Also for a process that compiles everything anew.
    again = Tokens(Steward(steward.kernel.store, service_admins=frozenset({"admin"})))
    assert [again.member(text) for text in (early, while_there, late)] == [False, False, True]
    assert done(api("zoe", "GET", f"{LAKE}/users"))["names"] == ["zoe"], "other proofs are not concerned"
