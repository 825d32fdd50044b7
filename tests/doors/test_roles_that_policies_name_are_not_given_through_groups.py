"""Whom a policy is for, and whom it excepts, is decided by those who may change it, also where a group carries the role."""

from typing import Any

import pytest

from headgate.decide import Op
from headgate.model.objects import ObjectRef, ObjectType
from headgate.model.principals import Identity
from headgate.steward import Steward
from tests.conftest import Api
from tests.doors.governed import applied, govern
from tests.doors.settled import LAKE, done, give, refused, securable


@pytest.fixture(autouse=True)
def lake(api: Api) -> None:
    """eve manages users, groups and grants; the group g holds the role clerks."""
    govern(api)
    give(
        api, "eve", "powers", securable("metalake", "lake", "manage_groups", "manage_grants", "manage_users")
    )
    done(api("admin", "POST", f"{LAKE}/roles", {"name": "clerks", "securableObjects": []}))
    done(api("admin", "POST", f"{LAKE}/groups", {"name": "g"}))
    done(api("admin", "PUT", f"{LAKE}/permissions/groups/g/grant", {"roleNames": ["clerks"]}))


def hidden(steward: Steward, user: str) -> set[str]:
    ref = ObjectRef("lake", ObjectType.TABLE, ("cat", "s", "customers"))
    seen = steward.lenses.of(steward.kernel.permit(Identity(user), Op.LOAD_TABLE, ref))
    return {".".join(seen.shape.path(id)) for id in seen.lens.hidden}


def members(api: Api, *users: str, user: str = "eve") -> Any:
    return api(user, "PUT", f"{LAKE}/groups/g/members", {"users": list(users), "groups": []})


def test_given_directly_it_is_refused(api: Api) -> None:
    """The control."""
    applied(api, "policy: p\non: lake\nto: [everyone]\nexcept: [role:clerks]\nhide: [ssn]\n")
    assert refused(api("eve", "PUT", f"{LAKE}/permissions/users/bob/grant", {"roleNames": ["clerks"]}))


def test_who_is_put_into_a_group_is_not_excepted_by_its_role(api: Api, steward: Steward) -> None:
    applied(api, "policy: p\non: lake\nto: [everyone]\nexcept: [role:clerks]\nhide: [ssn]\n")
    assert hidden(steward, "bob") == {"ssn"}
    answer = members(api, "bob")
    assert refused(answer)


def test_who_is_taken_out_of_a_group_is_bound_as_before(api: Api, steward: Steward) -> None:
    done(members(api, "bob", "ann", user="admin"))
    applied(api, "policy: p\non: lake\nto: [role:clerks]\nhide: [ssn]\n")
    assert hidden(steward, "bob") == {"ssn"}
    answer = members(api, "ann")
    assert refused(answer)


def test_nor_by_being_removed(api: Api, steward: Steward) -> None:
    done(members(api, "bob", user="admin"))
    applied(api, "policy: p\non: lake\nto: [role:clerks]\nhide: [ssn]\n")
    answer = api("eve", "DELETE", f"{LAKE}/users/bob")
    assert refused(answer)


def test_nor_is_a_user_who_holds_the_role_removed(api: Api, steward: Steward) -> None:
    """By name it is refused already; a role that is held directly binds as much."""
    done(api("admin", "PUT", f"{LAKE}/permissions/users/bob/grant", {"roleNames": ["clerks"]}))
    applied(api, "policy: p\non: lake\nto: [role:clerks]\nhide: [ssn]\n")
    answer = api("eve", "DELETE", f"{LAKE}/users/bob")
    assert refused(answer)


def test_nor_is_a_group_removed_that_carries_it(api: Api, steward: Steward) -> None:
    done(members(api, "bob", user="admin"))
    applied(api, "policy: p\non: lake\nto: [role:clerks]\nhide: [ssn]\n")
    answer = api("eve", "DELETE", f"{LAKE}/groups/g")
    assert refused(answer)
    assert hidden(steward, "bob") == {"ssn"}


def test_nor_through_a_group_around_it(api: Api) -> None:
    for group, inner in (("outer", "g"), ("inner", None)):
        done(api("admin", "POST", f"{LAKE}/groups", {"name": group}))
        if inner:
            within = {"users": [], "groups": [inner]}
            done(api("admin", "PUT", f"{LAKE}/groups/{group}/members", within))
    done(api("admin", "PUT", f"{LAKE}/permissions/groups/g/revoke", {"roleNames": ["clerks"]}))
    done(api("admin", "PUT", f"{LAKE}/permissions/groups/outer/grant", {"roleNames": ["clerks"]}))
    applied(api, "policy: p\non: lake\nto: [everyone]\nexcept: [role:clerks]\nhide: [ssn]\n")
    assert refused(members(api, "bob"))
    done(api("eve", "PUT", f"{LAKE}/groups/inner/members", {"users": ["bob"], "groups": []}))
    # Whoever may change the policy decides whom it is for.
    done(members(api, "bob", user="admin"))
