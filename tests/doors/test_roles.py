"""Roles through the Gravitino door: what may be written into one, who sees it, and that making one gives nothing."""

from typing import Any

import pytest

from tests.conftest import Api
from tests.doors.settled import BAD_NAMES, LAKE, done, failed, give, refused, securable, settle

ROLES = f"{LAKE}/roles"


@pytest.fixture(autouse=True)
def _lake(api: Api) -> None:
    settle(api, "ann", "bob")


def create(api: Api, name: str, *securables: Any, by: str = "admin") -> Any:
    return api(by, "POST", ROLES, {"name": name, "properties": None, "securableObjects": list(securables)})


def test_a_role_is_created_read_and_deleted(api: Api) -> None:
    said = [
        securable("metalake", "lake", "create_catalog"),
        securable("catalog", "cat", "use_catalog", "!create_schema"),
        securable("schema", "cat.s", "select_table"),
    ]
    made = done(create(api, "reader", *said))["role"]
    assert (made["name"], made["properties"], made["securableObjects"]) == ("reader", {}, said)
    assert done(api("admin", "GET", f"{ROLES}/reader"))["role"] == made
    assert failed(create(api, "reader")) == (409, "RoleAlreadyExistsException")
    assert done(create(api, "empty"))["role"]["securableObjects"] == []
    assert done(api("admin", "GET", ROLES))["names"] == ["empty", "reader"]
    assert done(api("admin", "DELETE", f"{ROLES}/reader")) == {"code": 0, "dropped": True, "deleted": True}
    assert done(api("admin", "DELETE", f"{ROLES}/reader")) == {"code": 0, "dropped": False, "deleted": False}
    assert failed(api("admin", "GET", f"{ROLES}/reader")) == (404, "NoSuchRoleException")


def test_privileges_are_read_in_any_case_and_answered_under_the_name_they_were_given(api: Api) -> None:
    for role, name in enumerate(
        ("CREATE_MODEL", "REGISTER_MODEL", "CREATE_MODEL_VERSION", "LINK_MODEL_VERSION", "!CREATE_MODEL")
    ):
        said = securable("metalake", "lake", name.lower())
        condition = "DENY" if name.startswith("!") else "ALLOW"
        body = {
            "fullName": "lake",
            "type": "METALAKE",
            "privileges": [{"name": name.strip("!"), "condition": condition}],
        }
        assert done(create(api, f"r{role}", body))["role"]["securableObjects"] == [said]
        assert done(api("admin", "GET", f"{ROLES}/r{role}"))["role"]["securableObjects"] == [said]
    both = securable("metalake", "lake", "create_model", "register_model")
    assert failed(create(api, "both", both)) == (400, "IllegalPrivilegeException")


@pytest.mark.parametrize(
    ("given", "taken"), [("create_model", "register_model"), ("register_model", "create_model")]
)
def test_a_privilege_taken_away_is_gone_under_every_name(api: Api, given: str, taken: str) -> None:
    done(create(api, "r", securable("metalake", "lake", given, "create_tag")))
    path = f"{LAKE}/permissions/roles/r/metalake/lake/revoke"
    told = done(api("admin", "PUT", path, {"privileges": securable("metalake", "lake", taken)["privileges"]}))
    assert told["role"]["securableObjects"] == [securable("metalake", "lake", "create_tag")]


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ([securable("catalog", "cat", "use_catalog", "use_catalog")], "IllegalPrivilegeException"),
        ([securable("catalog", "cat", "use_catalog", "!use_catalog")], "IllegalPrivilegeException"),
        ([securable("catalog", "cat", "fly")], "IllegalPrivilegeException"),
        ([securable("catalog", "cat", "create_catalog")], "IllegalPrivilegeException"),
        ([securable("schema", "cat.s", "use_catalog")], "IllegalPrivilegeException"),
        ([securable("column", "cat.s.t.c", "select_table")], "IllegalPrivilegeException"),
        ([securable("catalog", "cat", "consume_topic")], "IllegalPrivilegeException"),
        ([securable("schema", "cat.s", "create_fileset")], "IllegalPrivilegeException"),
        ([securable("schema", "cat.s", "use_model")], "IllegalPrivilegeException"),
        ([securable("catalog", "cat")], "IllegalPrivilegeException"),
        ([securable("catalog", "none", "use_catalog")], "IllegalMetadataObjectException"),
        ([securable("table", "cat.s.none", "select_table")], "IllegalMetadataObjectException"),
        ([securable("catalog", "cat", "use_catalog"), securable("catalog", "cat", "use_schema")], "IllegalArgumentException"),
        ([securable("metalake", "sea", "use_catalog")], "IllegalArgumentException"),
        ([securable("planet", "cat", "use_catalog")], "IllegalArgumentException"),
        ([securable("schema", "cat", "use_schema")], "IllegalArgumentException"),
        ([securable("schema", "cat..s", "use_schema")], "IllegalMetadataObjectException"),
        ([securable("catalog", "x" * 1_000_000, "use_catalog")], "IllegalMetadataObjectException"),
        ([{**securable("catalog", "cat"), "privileges": [{"name": "use_catalog", "condition": "maybe"}]}], "IllegalPrivilegeException"),
        ([{"fullName": "cat", "type": "catalog"}], "IllegalArgumentException"),
        ("cat", "IllegalArgumentException"),
    ],
)  # fmt: skip
def test_what_does_not_belong_into_a_role_is_refused_and_no_role_is_made(
    api: Api, wrong: Any, error: str
) -> None:
    answer = api("admin", "POST", ROLES, {"name": "r", "securableObjects": wrong})
    assert failed(answer) == (400, error)
    assert answer.json()["code"] == 1001
    assert done(api("admin", "GET", ROLES))["names"] == []


def test_bad_names_are_refused(api: Api) -> None:
    for name in BAD_NAMES:
        assert failed(create(api, name)) == (400, "IllegalArgumentException")
    assert done(api("admin", "GET", ROLES))["names"] == []


def test_who_makes_a_role_owns_it_but_does_not_hold_it(api: Api) -> None:
    """No self-escalation: CREATE_ROLE writes any privilege down, but neither takes nor gives it."""
    give(api, "ann", "makers", securable("metalake", "lake", "create_role"))
    everything = securable(
        "metalake", "lake", "create_catalog", "manage_grants", "manage_users", "use_catalog"
    )
    done(create(api, "mine", everything, by="ann"))
    assert done(api("ann", "GET", f"{LAKE}/owners/role/mine"))["owner"] == {"name": "ann", "type": "user"}
    assert done(api("ann", "GET", f"{LAKE}/users/ann"))["user"]["roles"] == ["makers"]
    assert refused(api("ann", "GET", f"{LAKE}/catalogs/cat"))
    grant = f"{LAKE}/permissions"
    assert refused(api("ann", "PUT", f"{grant}/users/ann/grant", {"roleNames": ["mine"]}))
    assert refused(api("ann", "PUT", f"{grant}/users/bob/grant", {"roleNames": ["mine"]}))
    assert refused(api("ann", "PUT", f"{grant}/roles/mine", {"overrides": []}))
    assert refused(api("ann", "PUT", f"{grant}/roles/makers", {"overrides": [everything]}))
    use = {"privileges": [{"name": "use_catalog", "condition": "allow"}]}
    assert refused(api("ann", "PUT", f"{grant}/roles/makers/catalog/cat/grant", use))
    assert refused(api("ann", "PUT", f"{LAKE}/owners/metalake/lake", {"name": "ann", "type": "user"}))
    active = {"X-Gravitino-Active-Roles": "mine"}
    assert refused(api("ann", "GET", f"{LAKE}/catalogs/cat", headers=active))


def test_a_role_made_again_under_its_name_is_not_held_by_those_who_held_it(api: Api) -> None:
    give(api, "ann", "makers", securable("metalake", "lake", "create_role"))
    done(create(api, "mine", securable("metalake", "lake", "create_tag"), by="ann"))
    done(api("admin", "PUT", f"{LAKE}/permissions/users/ann/grant", {"roleNames": ["mine"]}))
    done(api("ann", "DELETE", f"{ROLES}/mine"))
    done(create(api, "mine", securable("catalog", "cat", "use_catalog"), by="ann"))
    assert refused(api("ann", "GET", f"{LAKE}/catalogs/cat"))
    assert done(api("ann", "GET", f"{LAKE}/users/ann"))["user"]["roles"] == ["makers"]


def test_roles_are_shown_to_owners_holders_and_those_who_grant(api: Api) -> None:
    done(create(api, "secret", securable("catalog", "cat", "use_catalog")))
    give(api, "bob", "held", securable("catalog", "cat", "use_catalog"))
    on_catalog = f"{LAKE}/objects/catalog/cat/roles"
    assert done(api("admin", "GET", on_catalog))["names"] == ["held", "secret"]
    assert done(api("bob", "GET", ROLES))["names"] == ["held"]
    assert done(api("bob", "GET", on_catalog))["names"] == ["held"]
    assert done(api("bob", "GET", f"{ROLES}/held"))["role"]["name"] == "held"
    assert done(api("ann", "GET", ROLES))["names"] == []
    assert done(api("ann", "GET", on_catalog))["names"] == []
    for path in (f"{ROLES}/secret", f"{ROLES}/none"):
        assert refused(api("ann", "GET", path))
        assert refused(api("ann", "DELETE", path))
    assert refused(api("bob", "DELETE", f"{ROLES}/held"))
    assert refused(create(api, "mine", by="ann"))
    give(api, "ann", "granting", securable("metalake", "lake", "manage_grants"))
    assert done(api("ann", "GET", ROLES))["names"] == ["granting", "held", "secret"]


def test_the_roles_of_an_object_do_not_tell_whether_it_is_there(api: Api) -> None:
    there = api("ann", "GET", f"{LAKE}/objects/catalog/cat/roles")
    missing = api("ann", "GET", f"{LAKE}/objects/catalog/none/roles")
    assert (there.status_code, there.json()) == (missing.status_code, missing.json())
    path = f"{LAKE}/objects/catalog/none/roles"
    assert failed(api("admin", "GET", path)) == (404, "NoSuchMetadataObjectException")
    assert refused(api("stranger", "GET", path))


def test_what_is_dropped_disappears_from_roles_and_does_not_come_back(api: Api) -> None:
    done(
        create(
            api, "r", securable("schema", "cat.s", "use_schema"), securable("catalog", "cat", "use_catalog")
        )
    )
    done(api("admin", "DELETE", f"{LAKE}/catalogs/cat/schemas/s"))
    left = [securable("catalog", "cat", "use_catalog")]
    assert done(api("admin", "GET", f"{ROLES}/r"))["role"]["securableObjects"] == left
    done(api("admin", "POST", f"{LAKE}/catalogs/cat/schemas", {"name": "s"}))
    assert done(api("admin", "GET", f"{ROLES}/r"))["role"]["securableObjects"] == left
