"""Permissions through the Gravitino door: roles to people, privileges to roles."""

from typing import Any

import pytest

from tests.conftest import Api
from tests.doors.settled import LAKE, done, failed, give, refused, securable, settle

GRANTS = f"{LAKE}/permissions"


@pytest.fixture(autouse=True)
def _lake(api: Api) -> None:
    settle(api, "ann", "bob", "eve")
    done(api("admin", "POST", f"{LAKE}/roles", {"name": "r"}))


def change(api: Api, by: str, verb: str, type: str, name: str, *privileges: str, role: str = "r") -> Any:
    body = {"privileges": securable(type, name, *privileges)["privileges"]}
    return api(by, "PUT", f"{GRANTS}/roles/{role}/{type}/{name}/{verb}", body)


def said(answer: Any) -> Any:
    return done(answer)["role"]["securableObjects"]


def test_roles_are_granted_and_revoked_by_those_who_manage_grants(api: Api) -> None:
    give(api, "ann", "granting", securable("metalake", "lake", "manage_grants"))
    body = {"roleNames": ["r"]}
    assert done(api("ann", "PUT", f"{GRANTS}/users/bob/grant", body))["user"]["roles"] == ["r"]
    assert done(api("ann", "PUT", f"{GRANTS}/users/bob/grant/", body))["user"]["roles"] == ["r"]
    assert done(api("ann", "PUT", f"{GRANTS}/users/bob/revoke", body))["user"]["roles"] == []
    assert done(api("ann", "PUT", f"{GRANTS}/users/bob/revoke", body))["user"]["roles"] == []
    for verb in ("grant", "revoke"):
        unknown = api("ann", "PUT", f"{GRANTS}/users/bob/{verb}", {"roleNames": ["r", "none"]})
        assert failed(unknown) == (400, "IllegalRoleException")
        assert failed(api("ann", "PUT", f"{GRANTS}/users/no/{verb}", body)) == (404, "NoSuchUserException")
        assert failed(api("ann", "PUT", f"{GRANTS}/groups/no/{verb}", body)) == (404, "NoSuchGroupException")
        assert refused(api("bob", "PUT", f"{GRANTS}/users/bob/{verb}", body))
        assert refused(api("bob", "PUT", f"{GRANTS}/groups/no/{verb}", body))
        for bad in ({}, {"roleNames": "r"}, {"roleNames": [1]}):
            assert api("ann", "PUT", f"{GRANTS}/users/bob/{verb}", bad).status_code == 400
    assert done(api("bob", "GET", f"{LAKE}/users/bob"))["user"]["roles"] == []


def test_a_grant_of_one_unknown_role_among_others_grants_none(api: Api) -> None:
    failed(api("admin", "PUT", f"{GRANTS}/users/bob/grant", {"roleNames": ["r", "none"]}))
    assert done(api("admin", "GET", f"{LAKE}/users/bob"))["user"]["roles"] == []


def test_privileges_are_granted_and_revoked_one_by_one(api: Api) -> None:
    assert said(change(api, "admin", "grant", "catalog", "cat", "use_catalog")) == [
        securable("catalog", "cat", "use_catalog")
    ]
    assert said(change(api, "admin", "grant", "catalog", "cat", "use_schema", "use_catalog")) == [
        securable("catalog", "cat", "use_catalog", "use_schema")
    ]
    assert said(change(api, "admin", "revoke", "catalog", "cat", "create_schema")) == [
        securable("catalog", "cat", "use_catalog", "use_schema")
    ]
    assert said(change(api, "admin", "revoke", "catalog", "cat", "use_schema")) == [
        securable("catalog", "cat", "use_catalog")
    ]
    assert said(change(api, "admin", "revoke", "catalog", "cat", "use_catalog")) == []
    assert said(change(api, "admin", "revoke", "catalog", "cat", "use_catalog")) == []


def test_the_condition_counts_when_a_privilege_is_revoked(api: Api) -> None:
    change(api, "admin", "grant", "catalog", "cat", "!use_catalog")
    denied = [securable("catalog", "cat", "!use_catalog")]
    assert said(change(api, "admin", "revoke", "catalog", "cat", "use_catalog")) == denied
    both = said(change(api, "admin", "grant", "catalog", "cat", "use_catalog"))
    assert both == [securable("catalog", "cat", "use_catalog", "!use_catalog")]
    assert said(change(api, "admin", "revoke", "catalog", "cat", "use_catalog")) == denied
    change(api, "admin", "grant", "catalog", "cat", "use_catalog")
    allowed = [securable("catalog", "cat", "use_catalog")]
    assert said(change(api, "admin", "revoke", "catalog", "cat", "!use_catalog")) == allowed


def test_a_revoked_privilege_is_gone_for_the_next_request(api: Api) -> None:
    give(api, "bob", "use", securable("catalog", "cat", "use_catalog"))
    for _ in range(3):
        done(api("bob", "GET", f"{LAKE}/catalogs/cat"))
        done(change(api, "admin", "revoke", "catalog", "cat", "use_catalog", role="use"))
        assert refused(api("bob", "GET", f"{LAKE}/catalogs/cat"))
        done(change(api, "admin", "grant", "catalog", "cat", "use_catalog", role="use"))
        done(change(api, "admin", "grant", "metalake", "lake", "!use_catalog", role="use"))
        assert refused(api("bob", "GET", f"{LAKE}/catalogs/cat"))
        done(change(api, "admin", "revoke", "metalake", "lake", "!use_catalog", role="use"))


def test_who_manages_grants_of_an_object_grants_there_and_nowhere_else(api: Api) -> None:
    give(api, "ann", "scoped", securable("catalog", "cat", "manage_grants", "use_catalog"))
    done(change(api, "ann", "grant", "catalog", "cat", "use_catalog"))
    done(change(api, "ann", "grant", "schema", "cat.s", "use_schema"))
    done(change(api, "ann", "revoke", "schema", "cat.s", "use_schema"))
    for verb in ("grant", "revoke"):
        assert refused(change(api, "ann", verb, "metalake", "lake", "use_catalog"))
        assert refused(change(api, "ann", verb, "catalog", "other", "use_catalog"))
        assert refused(change(api, "bob", verb, "catalog", "cat", "use_catalog"))
        assert refused(change(api, "bob", verb, "catalog", "cat", "use_catalog", role="none"))
    assert refused(api("ann", "PUT", f"{GRANTS}/users/ann/grant", {"roleNames": ["r"]}))
    assert refused(api("ann", "PUT", f"{GRANTS}/roles/r", {"overrides": []}))
    give(api, "ann", "stopped", securable("schema", "cat.s", "!manage_grants"))
    assert refused(change(api, "ann", "grant", "schema", "cat.s", "use_schema"))


def test_the_owner_of_an_object_grants_on_it(api: Api) -> None:
    done(api("admin", "PUT", f"{LAKE}/owners/catalog/cat", {"name": "bob", "type": "user"}))
    done(change(api, "bob", "grant", "catalog", "cat", "use_catalog"))
    done(change(api, "bob", "grant", "schema", "cat.s", "use_schema"))
    assert refused(change(api, "bob", "grant", "metalake", "lake", "use_catalog"))


def test_a_missing_object_looks_forbidden_to_who_could_not_grant_on_it(api: Api) -> None:
    give(
        api,
        "ann",
        "scoped",
        securable("schema", "cat.s", "use_schema"),
        securable("catalog", "cat", "use_catalog"),
    )
    give(api, "bob", "granting", securable("catalog", "cat", "manage_grants"))
    assert refused(change(api, "ann", "grant", "table", "cat.s.t", "select_table"))
    for user in ("admin", "bob"):
        assert failed(change(api, user, "grant", "table", "cat.s.t", "select_table")) == (
            404,
            "NoSuchMetadataObjectException",
        )
    assert failed(change(api, "admin", "grant", "catalog", "cat", "use_catalog", role="none")) == (
        404,
        "NoSuchRoleException",
    )


def test_an_override_replaces_everything_a_role_says(api: Api) -> None:
    done(change(api, "admin", "grant", "catalog", "cat", "use_catalog", "!use_schema"))
    wanted = [securable("metalake", "lake", "create_tag"), securable("schema", "cat.s", "use_schema")]
    assert said(api("admin", "PUT", f"{GRANTS}/roles/r", {"overrides": wanted})) == wanted
    wrong = [securable("catalog", "cat", "use_catalog"), securable("schema", "cat.s", "create_catalog")]
    assert failed(api("admin", "PUT", f"{GRANTS}/roles/r", {"overrides": wrong})) == (
        400,
        "IllegalPrivilegeException",
    )
    assert done(api("admin", "GET", f"{LAKE}/roles/r"))["role"]["securableObjects"] == wanted
    assert failed(api("admin", "PUT", f"{GRANTS}/roles/none", {"overrides": []}))[1] == "NoSuchRoleException"
    assert refused(api("eve", "PUT", f"{GRANTS}/roles/r", {"overrides": []}))
    assert said(api("admin", "PUT", f"{GRANTS}/roles/r", {"overrides": []})) == []


@pytest.mark.parametrize(
    ("path", "privileges", "error"),
    [
        ("catalog/cat", ["create_catalog"], "IllegalPrivilegeException"),
        ("catalog/cat", ["use_catalog", "use_catalog"], "IllegalPrivilegeException"),
        ("catalog/cat", ["fly"], "IllegalPrivilegeException"),
        ("catalog/cat", ["produce_topic"], "IllegalPrivilegeException"),
        ("schema/cat.s", ["write_fileset"], "IllegalPrivilegeException"),
        ("role/r", ["use_catalog"], "IllegalPrivilegeException"),
        ("catalog/cat", [], "IllegalPrivilegeException"),
        ("planet/cat", ["use_catalog"], "IllegalArgumentException"),
        ("metalake/sea", ["use_catalog"], "IllegalArgumentException"),
        ("schema/cat", ["use_schema"], "IllegalArgumentException"),
        ("schema/cat%2Fs", ["use_schema"], "IllegalArgumentException"),
        ("schema/..", ["use_schema"], "IllegalArgumentException"),
    ],
)
def test_bad_grants_are_refused_and_change_nothing(
    api: Api, path: str, privileges: list[str], error: str
) -> None:
    body = {"privileges": securable("", "", *privileges)["privileges"]}
    path = path.replace("..", "%2e%2e")
    assert failed(api("admin", "PUT", f"{GRANTS}/roles/r/{path}/grant", body)) == (400, error)
    assert done(api("admin", "GET", f"{LAKE}/roles/r"))["role"]["securableObjects"] == []


def test_names_in_paths_mean_only_themselves(api: Api) -> None:
    use = {"privileges": securable("", "", "use_catalog")["privileges"]}
    for name in ("x" * 60_000, "%2e%2e", "a%2Fgrant", "*", "%25", "%0a", "cat%2F..%2Fcat"):
        for method, path, body in (
            ("PUT", f"{GRANTS}/users/{name}/grant", {"roleNames": []}),
            ("PUT", f"{GRANTS}/groups/{name}/revoke", {"roleNames": []}),
            ("PUT", f"{GRANTS}/roles/{name}/catalog/cat/grant", use),
            ("PUT", f"{GRANTS}/roles/r/catalog/{name}/grant", use),
            ("PUT", f"{GRANTS}/roles/{name}", {"overrides": []}),
            ("GET", f"{LAKE}/roles/{name}", None),
            ("GET", f"{LAKE}/groups/{name}", None),
            ("GET", f"{LAKE}/owners/catalog/{name}", None),
            ("GET", f"{LAKE}/objects/catalog/{name}/roles", None),
        ):
            assert failed(api("admin", method, path, body))[0] == 404, (method, path[:80])
            if "/objects/" not in path:
                assert refused(api("eve", method, path, body))
    for name in ("%ff", "%00"):
        for user in ("admin", "eve"):
            refusal = failed(api(user, "GET", f"{LAKE}/roles/{name}"))
            assert refusal == (400, "IllegalArgumentException"), (user, name)
