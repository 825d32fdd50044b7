"""Groups through the Gravitino door, and the members that Headgate keeps."""

import pytest

from tests.conftest import Api
from tests.doors.settled import BAD_NAMES, LAKE, done, failed, give, refused, securable, settle

GROUPS = f"{LAKE}/groups"


@pytest.fixture(autouse=True)
def _lake(api: Api) -> None:
    settle(api, "ann", "bob")
    for group in ("devs", "leads"):
        done(api("admin", "POST", GROUPS, {"name": group}))


def members(api: Api, group: str, users: list[str], groups: list[str], by: str = "admin") -> object:
    return api(by, "PUT", f"{GROUPS}/{group}/members", {"users": users, "groups": groups})


def test_groups_are_added_listed_and_removed_by_those_who_manage_them(api: Api) -> None:
    give(api, "ann", "people", securable("metalake", "lake", "manage_groups"))
    assert done(api("ann", "POST", GROUPS, {"name": "ops"}))["group"]["roles"] == []
    assert failed(api("ann", "POST", GROUPS, {"name": "ops"})) == (409, "GroupAlreadyExistsException")
    assert done(api("ann", "GET", GROUPS))["names"] == ["devs", "leads", "ops"]
    assert done(api("ann", "GET", f"{GROUPS}?details=true"))["groups"][0]["name"] == "devs"
    assert done(api("ann", "DELETE", f"{GROUPS}/ops"))["removed"] is True
    assert done(api("ann", "DELETE", f"{GROUPS}/ops"))["removed"] is False
    assert failed(api("ann", "GET", f"{GROUPS}/ops")) == (404, "NoSuchGroupException")
    for name in BAD_NAMES:
        assert failed(api("ann", "POST", GROUPS, {"name": name})) == (400, "IllegalArgumentException")


def test_everyone_else_sees_the_groups_they_are_in_and_changes_none(api: Api) -> None:
    done(members(api, "leads", ["bob"], []))
    done(members(api, "devs", ["ann"], ["leads"]))
    assert done(api("bob", "GET", GROUPS))["names"] == ["devs", "leads"]
    assert done(api("ann", "GET", GROUPS))["names"] == ["devs"]
    assert done(api("ann", "GET", f"{GROUPS}/devs"))["group"]["name"] == "devs"
    assert done(api("ann", "GET", f"{GROUPS}/devs/members"))["groups"] == ["leads"]
    assert refused(api("ann", "GET", f"{GROUPS}/leads"))
    assert refused(api("ann", "GET", f"{GROUPS}/nothing"))
    assert refused(api("ann", "GET", f"{GROUPS}/leads/members"))
    assert refused(api("ann", "POST", GROUPS, {"name": "mine"}))
    assert refused(api("ann", "DELETE", f"{GROUPS}/devs"))
    assert refused(members(api, "devs", ["ann"], [], by="ann"))
    assert done(api("admin", "GET", f"{GROUPS}/devs/members")) == {
        "code": 0,
        "users": ["ann"],
        "groups": ["leads"],
    }


def test_a_role_of_a_group_reaches_members_of_its_groups_until_they_leave(api: Api) -> None:
    role = {"name": "makers", "securableObjects": [securable("metalake", "lake", "create_role")]}
    done(api("admin", "POST", f"{LAKE}/roles", role))
    group = done(api("admin", "PUT", f"{LAKE}/permissions/groups/devs/grant", {"roleNames": ["makers"]}))
    assert group["group"]["roles"] == ["makers"]
    assert refused(api("bob", "POST", f"{LAKE}/roles", {"name": "r1"}))
    done(members(api, "leads", ["bob"], []))
    done(members(api, "devs", [], ["leads"]))
    done(api("bob", "POST", f"{LAKE}/roles", {"name": "r1"}))
    done(members(api, "leads", [], []))
    assert refused(api("bob", "POST", f"{LAKE}/roles", {"name": "r2"}))


def test_groups_that_would_contain_each_other_are_refused(api: Api) -> None:
    assert failed(members(api, "devs", [], ["devs"])) == (400, "IllegalArgumentException")
    done(members(api, "devs", [], ["leads"]))
    assert failed(members(api, "leads", [], ["devs"])) == (400, "IllegalArgumentException")
    assert failed(members(api, "devs", ["nobody"], [])) == (404, "NoSuchUserException")
    assert failed(members(api, "devs", [], ["nobody"])) == (404, "NoSuchGroupException")
    assert failed(members(api, "nobody", [], [])) == (404, "NoSuchGroupException")
    for body in ({}, {"users": ["ann"]}, {"users": "ann", "groups": []}, []):
        assert failed(api("admin", "PUT", f"{GROUPS}/devs/members", body)) == (
            400,
            "IllegalArgumentException",
        )
    assert done(api("admin", "GET", f"{GROUPS}/devs/members"))["groups"] == ["leads"]


def test_managing_groups_is_not_enough_to_join_one_that_carries_rights(api: Api) -> None:
    give(api, "ann", "people", securable("metalake", "lake", "manage_groups"))
    done(members(api, "devs", ["ann"], [], by="ann"))
    # A role of the group, also of one that contains it, is given only by whoever grants roles.
    done(api("admin", "PUT", f"{LAKE}/permissions/groups/leads/grant", {"roleNames": ["people"]}))
    assert refused(members(api, "leads", ["ann"], [], by="ann"))
    done(members(api, "leads", [], ["devs"]))
    assert refused(members(api, "devs", ["ann", "bob"], [], by="ann"))
    done(api("admin", "PUT", f"{LAKE}/permissions/groups/leads/revoke", {"roleNames": ["people"]}))
    done(members(api, "devs", ["ann", "bob"], [], by="ann"))
    # What the group owns is given only by whoever may set its owner, whatever roles they may grant.
    give(api, "ann", "grants", securable("metalake", "lake", "manage_grants"))
    done(members(api, "devs", ["bob"], []))
    done(api("admin", "PUT", f"{LAKE}/owners/metalake/lake", {"name": "leads", "type": "group"}))
    assert refused(members(api, "leads", ["ann"], [], by="ann"))
    assert refused(members(api, "devs", ["ann"], [], by="ann"))
    assert failed(api("ann", "DELETE", f"{GROUPS}/leads")) == (400, "IllegalArgumentException")
