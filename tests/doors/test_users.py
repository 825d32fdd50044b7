"""Users through the Gravitino door."""

import pytest

from tests.conftest import Api
from tests.doors.settled import BAD_NAMES, LAKE, done, failed, give, refused, securable, settle

USERS = f"{LAKE}/users"
BULK = "/api/bulk/metalakes/lake/users"


@pytest.fixture(autouse=True)
def _lake(api: Api) -> None:
    settle(api, "ann", "bob")


def test_users_are_added_listed_and_removed_by_those_who_manage_them(api: Api) -> None:
    give(api, "ann", "people", securable("metalake", "lake", "manage_users"))
    added = done(api("ann", "POST", USERS, {"name": "eve@example.com", "externalId": "42"}))["user"]
    assert (added["name"], added["roles"], added["externalId"]) == ("eve@example.com", [], "42")
    assert added["audit"]["creator"] == "ann"
    assert failed(api("ann", "POST", USERS, {"name": "bob"})) == (409, "UserAlreadyExistsException")
    assert done(api("ann", "GET", USERS))["names"] == ["admin", "ann", "bob", "eve@example.com"]
    details = done(api("ann", "GET", f"{USERS}?details=true"))["users"]
    assert {user["name"]: user["roles"] for user in details}["ann"] == ["people"]
    assert done(api("ann", "GET", f"{USERS}/eve%40example.com"))["user"] == added
    assert done(api("ann", "DELETE", f"{USERS}/eve%40example.com")) == {"code": 0, "removed": True}
    assert done(api("ann", "DELETE", f"{USERS}/eve%40example.com")) == {"code": 0, "removed": False}
    assert failed(api("ann", "GET", f"{USERS}/eve%40example.com")) == (404, "NoSuchUserException")


def test_everyone_else_sees_themselves_and_changes_nobody(api: Api) -> None:
    assert refused(api("bob", "POST", USERS, {"name": "eve"}))
    assert refused(api("bob", "DELETE", f"{USERS}/ann"))
    assert refused(api("bob", "DELETE", f"{USERS}/nobody"))
    assert refused(api("bob", "GET", f"{USERS}/ann"))
    assert refused(api("bob", "GET", f"{USERS}/nobody"))
    assert refused(api("bob", "POST", f"{BULK}/add", {"users": [{"name": "eve"}]}))
    assert refused(api("bob", "POST", f"{BULK}/remove", {"names": ["ann"]}))
    assert done(api("bob", "GET", USERS))["names"] == ["bob"]
    assert done(api("bob", "GET", f"{USERS}/bob"))["user"]["name"] == "bob"
    for method, path in (("GET", USERS), ("GET", f"{USERS}/stranger"), ("POST", USERS)):
        assert refused(api("stranger", method, path, {"name": "x"} if method == "POST" else None))
    assert done(api("admin", "GET", USERS))["names"] == ["admin", "ann", "bob"]


def test_a_removed_user_comes_back_without_what_they_had(api: Api) -> None:
    give(api, "ann", "people", securable("metalake", "lake", "manage_users"))
    done(api("admin", "DELETE", f"{USERS}/ann"))
    assert refused(api("ann", "GET", LAKE))
    done(api("admin", "POST", USERS, {"name": "ann"}))
    assert done(api("ann", "GET", f"{USERS}/ann"))["user"]["roles"] == []
    assert refused(api("ann", "POST", USERS, {"name": "eve"}))


def test_managing_users_is_not_enough_to_remove_the_owner_of_the_metalake(api: Api) -> None:
    give(api, "ann", "people", securable("metalake", "lake", "manage_users"))
    answer = api("ann", "DELETE", f"{USERS}/admin")
    assert failed(answer) == (400, "IllegalArgumentException")
    assert "set another owner" in answer.json()["message"]
    assert done(api("admin", "GET", f"{LAKE}/owners/metalake/lake"))["owner"]["name"] == "admin"


def test_a_disabled_user_is_a_stranger(api: Api) -> None:
    done(api("admin", "POST", USERS, {"name": "eve", "enabled": False}))
    assert refused(api("eve", "GET", LAKE))
    assert refused(api("eve", "GET", f"{USERS}/eve"))


def test_lists_of_users_come_in_pages(api: Api) -> None:
    first = done(api("admin", "GET", f"{USERS}?limit=2"))
    assert first["names"] == ["admin", "ann"]
    second = done(api("admin", "GET", f"{USERS}?limit=2&pageToken={first['nextPageToken']}"))
    assert (second["names"], "nextPageToken" in second) == (["bob"], False)


def test_bulk_does_what_can_be_done_and_tells_the_rest(api: Api) -> None:
    added = done(
        api("admin", "POST", f"{BULK}/add", {"users": [{"name": "c"}, {"name": "ann"}, {"name": "a*"}]})
    )
    assert [user["name"] for user in added["users"]] == ["c"]
    assert [(e["index"], e["name"], e["code"]) for e in added["errors"]] == [
        (1, "ann", 1004),
        (2, "a*", 1001),
    ]
    assert added["summary"] == {"total": 3, "succeeded": 1, "failed": 2}
    removed = done(api("admin", "POST", f"{BULK}/remove", {"names": ["c", "nobody", "admin"]}))
    assert removed["names"] == ["c"]
    assert [e["type"] for e in removed["errors"]] == ["NoSuchUserException", "IllegalArgumentException"]
    many = {"users": [{"name": f"u{n}"} for n in range(101)]}
    assert failed(api("admin", "POST", f"{BULK}/add", many)) == (400, "IllegalArgumentException")
    assert done(api("admin", "GET", USERS))["names"] == ["admin", "ann", "bob"]


def test_attributes_are_set_by_who_may_grant_and_reach_the_decision_point(api: Api, steward: object) -> None:
    from headgate.model.principals import PrincipalKind
    from headgate.steward import Steward

    assert isinstance(steward, Steward)
    path = f"{USERS}/bob/attributes"
    give(api, "ann", "people", securable("metalake", "lake", "manage_users"))
    assert refused(api("ann", "PUT", path, {"region": "eu"}))
    assert refused(api("bob", "PUT", path, {"region": "eu"}))
    give(api, "ann", "grants", securable("metalake", "lake", "manage_grants"))
    told = done(api("ann", "PUT", path, {"region": "eu", "teams": ["a", "b"]}))
    assert told["attributes"] == {"region": "eu", "teams": ["a", "b"]}
    assert done(api("bob", "GET", path))["attributes"] == told["attributes"]
    authority = steward.kernel.authority()
    lake = authority.metalake("lake")
    assert lake is not None
    member = authority.member(lake.id, PrincipalKind.USER, "bob")
    assert member is not None
    assert member.attributes == {"region": "eu", "teams": ("a", "b")}
    fresh = Steward(steward.kernel.store).kernel.authority()
    assert fresh.members[member.id] == member
    assert failed(api("ann", "PUT", f"{USERS}/nobody/attributes", {})) == (404, "NoSuchUserException")
    for bad in ({"a": {"b": "c"}}, {"a": 1}, {"a": ["b", 1]}, {"a*": "b"}, {"a": "x" * 1001}, ["a"], "a"):
        assert api("ann", "PUT", path, bad).status_code == 400
    assert done(api("bob", "GET", path))["attributes"] == told["attributes"]


def test_bad_names_are_refused_and_change_nothing(api: Api) -> None:
    for name in BAD_NAMES:
        assert failed(api("admin", "POST", USERS, {"name": name})) == (400, "IllegalArgumentException")
    for body in ({}, {"name": 1}, {"name": None}, [], {"name": "x", "enabled": "yes"}):
        assert failed(api("admin", "POST", USERS, body)) == (400, "IllegalArgumentException")
    assert failed(api("admin", "GET", f"{USERS}/a%2Fb")) == (404, "NoSuchUserException")
    assert failed(api("admin", "GET", f"{USERS}/%2e%2e%2f")) == (404, "NoSuchUserException")
    assert failed(api("admin", "GET", f"{USERS}?details=maybe")) == (400, "IllegalArgumentException")
    assert done(api("admin", "GET", USERS))["names"] == ["admin", "ann", "bob"]
