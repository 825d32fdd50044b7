"""Whoever grants, revokes or passes on: the door answers as the reference does, and so does everything asked afterwards."""

from random import Random
from typing import Any

import pytest

from headgate.decide import Op, allowed
from headgate.model.objects import ObjectRef, ObjectType
from headgate.model.principals import Identity
from headgate.model.privileges import CURRENT
from headgate.steward import Steward
from tests.conftest import Api
from tests.decide.naive import Key, Who, World, kind, may
from tests.decide.worlds import asked_of

LAKE = "/api/metalakes/m"
TOP: Key = ("m", "metalake")
USERS = ("admin", "ann", "bob", "cat", "stranger")
OBJECTS: list[Key] = [
    TOP,
    ("m", "catalog", "c"),
    ("m", "schema", "c", "s"),
    ("m", "schema", "c", "t"),
    ("m", "table", "c", "s", "x"),
    ("m", "table", "c", "s", "y"),
    ("m", "table", "c", "t", "z"),
]
ROLES: list[Key] = [("m", "role", name) for name in ("r", "q", "p")]
WORDS = [
    privilege
    for privilege in CURRENT
    if not privilege.name.endswith(
        ("TOPIC", "FILESET", "MODEL", "MODEL_VERSION", "TAG", "POLICY", "JOB", "TEMPLATE")
    )
]
_FREQUENT = ("USE_CATALOG", "USE_SCHEMA", "SELECT_TABLE", "MODIFY_TABLE", "MANAGE_GRANTS")


def full_name(key: Key) -> str:
    return "m" if key == TOP else ".".join(key[2:])


def settled(api: Api) -> World:
    """A small lake of admin's, and the same written down."""
    columns = [{"name": "id", "type": "long"}]
    bodies: dict[str, tuple[str, dict[str, Any]]] = {
        "catalog": ("catalogs", {"type": "relational", "provider": "lakehouse-iceberg"}),
        "schema": ("catalogs/c/schemas", {}),
        "table": ("catalogs/c/schemas/{}/tables", {"columns": columns}),
    }
    assert api("admin", "POST", "/api/metalakes", {"name": "m"}).status_code == 200
    world = World(admins={"admin"}, users={("m", name): True for name in USERS[:-1]}, groups={("m", "g"): []})
    for key in OBJECTS:
        if key != TOP:
            where, body = bodies[kind(key)]
            made = api("admin", "POST", f"{LAKE}/{where.format(key[-2])}", {"name": key[-1], **body})
            assert made.status_code == 200, made.text
        above = {"metalake": None, "catalog": TOP, "schema": ("m", "catalog", "c")}
        world.parents[key] = above[kind(key)] if kind(key) != "table" else ("m", "schema", *key[2:4])
        world.owners[key] = ("user", "admin")
    for name in USERS[1:-1]:
        assert api("admin", "POST", f"{LAKE}/users", {"name": name}).status_code == 200
    assert api("admin", "POST", f"{LAKE}/groups", {"name": "g"}).status_code == 200
    members = {"users": ["cat"], "groups": []}
    assert api("admin", "PUT", f"{LAKE}/groups/g/members", members).status_code == 200
    world.groups["m", "g"] = [("user", "cat")]
    for role in ROLES:
        assert api("admin", "POST", f"{LAKE}/roles", {"name": role[-1]}).status_code == 200
        world.parents[role], world.owners[role] = TOP, ("user", "admin")
    return world


def change_privilege(r: Random, api: Api, world: World, user: str) -> None:
    privilege = r.choice([p for p in WORDS if p.name in _FREQUENT] if r.random() < 0.7 else WORDS)
    key = r.choice([key for key in OBJECTS if ObjectType(kind(key)) in privilege.bindable])
    role, effect = r.choice(ROLES), "deny" if r.random() < 0.2 else "allow"
    revokes = r.random() < 0.3
    path = (
        f"{LAKE}/permissions/roles/{role[-1]}/{kind(key)}/{full_name(key)}/{'revoke' if revokes else 'grant'}"
    )
    body = {"privileges": [{"name": privilege.wire, "condition": effect}]}
    op = "REVOKE_PRIVILEGE" if revokes else "GRANT_PRIVILEGE"
    if _answered(api(user, "PUT", path, body), may(world, Who(user), op, key), (user, path, body)):
        grant = (role, key, privilege.name, effect)
        world.grants.discard(grant) if revokes else world.grants.add(grant)


def change_owner(r: Random, api: Api, world: World, user: str) -> None:
    key, owner = r.choice(OBJECTS[1:]), r.choice([("user", "ann"), ("user", "bob"), ("group", "g")])
    path = f"{LAKE}/owners/{kind(key)}/{full_name(key)}"
    answer = api(user, "PUT", path, {"name": owner[1], "type": owner[0]})
    if _answered(answer, may(world, Who(user), "SET_OWNER", key), (user, path, owner)):
        world.owners[key] = owner


def change_holder(r: Random, api: Api, world: World, user: str) -> None:
    role, (what, name) = r.choice(ROLES), r.choice([("user", "ann"), ("user", "bob"), ("group", "g")])
    revokes = r.random() < 0.3
    path = f"{LAKE}/permissions/{what}s/{name}/{'revoke' if revokes else 'grant'}"
    op = "REVOKE_ROLE" if revokes else "GRANT_ROLE"
    answer = api(user, "PUT", path, {"roleNames": [role[-1]]})
    if _answered(answer, may(world, Who(user), op, TOP), (user, path, role)):
        held = (role, (what, name))
        world.holders = [each for each in world.holders if each != held] + ([] if revokes else [held])


def _answered(answer: Any, expected: bool, asked: object) -> bool:
    """Whether the door did it, which is what the reference says it must."""
    assert answer.status_code == (200 if expected else 403), (asked, answer.text)
    return expected


def agree(steward: Steward, world: World) -> None:
    """Everything that anyone may be asked of is answered as the reference does."""
    authority = steward.kernel.authority()
    for key in OBJECTS:
        node = authority.find(ObjectRef("m", ObjectType(kind(key)), key[2:]))
        assert node is not None
        for user in USERS:
            caller = authority.caller(Identity(user), node.metalake)
            for op in Op:
                if op is not Op.LIST_METALAKES and op.value.on is not ObjectType.ROLE and asked_of(op, key):
                    assert allowed(authority, caller, op, node) == may(world, Who(user), op.name, key), (
                        user,
                        op,
                        key,
                    )


@pytest.mark.parametrize("seed", range(4))
def test_every_grant_and_owner_is_given_by_whom_the_reference_lets(
    api: Api, steward: Steward, seed: int
) -> None:
    r = Random(seed)
    world = settled(api)
    steps = (change_privilege, change_privilege, change_owner, change_holder)
    for number in range(60):
        # The owner of everything opens the game with some of each; later anyone who was given something goes on.
        opening = number < 16
        user = "admin" if opening else r.choice(USERS[1:])
        step = steps[number % len(steps)] if opening else r.choice(steps)
        step(r, api, world, user)
        if number % 10 == 9:
            agree(steward, world)
    assert world.grants
    assert set(world.owners.values()) > {("user", "admin")}
