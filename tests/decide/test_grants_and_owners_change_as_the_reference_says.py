"""Whoever grants, revokes or passes on: the door answers as the reference does, and so does everything asked afterwards."""

from collections import Counter
from random import Random
from typing import Any, Final
from urllib.parse import quote

import pytest

from headgate.decide import Op, allowed
from headgate.decide.operations import LOADS
from headgate.model.objects import ObjectRef, ObjectType
from headgate.model.principals import Identity
from headgate.model.privileges import Privilege, PrivilegeBits, current_bits
from headgate.steward import Steward
from tests.conftest import Api
from tests.decide.naive import Key, Who, World, kind, may
from tests.decide.rest import CATALOGS, NEW, collection
from tests.decide.worlds import asked_of, bits_of

LAKE: Final = "/api/metalakes/lake"
TOP: Final[Key] = ("lake", "metalake")
USERS: Final = ("admin", "ann", "bob", "cat", "stranger")
PRINCIPALS: Final = (("user", "ann"), ("user", "bob"), ("group", "g"))
TREE: Final = """
catalog c  schema c.s  schema c.s:in  schema c.t  table c.s.x  table c.s:in.y  table c.t.z  view c.s.v  function c.s.f
catalog files  schema files.s  fileset files.s.f
catalog queue  schema queue.s  topic queue.s.t
catalog models  schema models.s  model models.s.m
tag t  policy p  job_template j  role r  role q  role p
"""
"""One of everything that has an owner or grants, and several of what is asked most."""
WORDS: Final = TREE.split()
OBJECTS: Final[list[Key]] = [
    TOP,
    *(("lake", type, *name.split(".")) for type, name in zip(WORDS[::2], WORDS[1::2], strict=True)),
]
ROLES: Final = [key for key in OBJECTS if kind(key) == "role"]
HOLDS: Final = {
    "c": {"table", "view"},
    "files": {"fileset"},
    "queue": {"topic"},
    "models": {"model"},
}
"""What only the schemas of this catalog hold. Functions are kept beside anything."""
_FREQUENT: Final = ("USE_CATALOG", "USE_SCHEMA", "SELECT_TABLE", "MODIFY_TABLE", "MANAGE_GRANTS")
_TWO_NAMES: Final = ("CREATE_MODEL", "REGISTER_MODEL")


def full_name(key: Key) -> str:
    return "lake" if key == TOP else quote(".".join(key[2:]), safe="")


def above(key: Key) -> Key | None:
    """What contains an object: of a nested schema it is the outer one."""
    if key == TOP:
        return None
    if len(key) == 3:
        return TOP
    if kind(key) != "schema":
        return ("lake", "schema", *key[2:-1])
    outer = key[3].rpartition(":")[0]
    return ("lake", "schema", key[2], outer) if outer else ("lake", "catalog", key[2])


def settled(api: Api) -> World:
    """A small lake of admin's, and the same written down."""
    assert api("admin", "POST", "/api/metalakes", {"name": "lake"}).status_code == 200
    world = World(
        admins={"admin"}, users={("lake", name): True for name in USERS[:-1]}, groups={("lake", "g"): []}
    )
    for key in OBJECTS:
        world.parents[key], world.owners[key] = above(key), ("user", "admin")
        if key != TOP:
            _make(api, ObjectRef("lake", ObjectType(kind(key)), key[2:]))
    for name in USERS[1:-1]:
        assert api("admin", "POST", f"{LAKE}/users", {"name": name}).status_code == 200
    assert api("admin", "POST", f"{LAKE}/groups", {"name": "g"}).status_code == 200
    members = {"users": ["cat"], "groups": []}
    assert api("admin", "PUT", f"{LAKE}/groups/g/members", members).status_code == 200
    world.groups["lake", "g"] = [("user", "cat")]
    return world


def _make(api: Api, ref: ObjectRef) -> None:
    body: dict[str, Any] = {**NEW.get(ref.type, {}), "name": ref.name}
    if ref.type is ObjectType.CATALOG:
        body["type"], body["provider"] = CATALOGS[ObjectType(min(HOLDS[ref.name]))]
    elif ref.type is ObjectType.JOB_TEMPLATE:
        body = {"jobTemplate": {**NEW[ref.type]["jobTemplate"], "name": ref.name}}
    made = api("admin", "POST", collection(ref.parent, ref.type), body)
    assert made.status_code == 200, (ref, made.text)


def fits(privilege: Privilege, key: Key) -> bool:
    """Whether a privilege may be bound to an object: by its level, and by what the object's catalog holds."""
    if ObjectType(kind(key)) not in privilege.bindable:
        return False
    if kind(key) not in ("catalog", "schema"):
        return True
    elsewhere = {leaf for catalog, leaves in HOLDS.items() if catalog != key[2] for leaf in leaves}
    return elsewhere.isdisjoint(privilege.wire.split("_"))


def random_privilege(r: Random) -> tuple[Privilege, Key]:
    names = r.choices((_FREQUENT, _TWO_NAMES, [each.name for each in Privilege]), (5, 2, 3))[0]
    privilege = Privilege[r.choice(names)]
    return privilege, r.choice([key for key in OBJECTS if fits(privilege, key)])


class Game:
    """Requests of anybody, each held against the reference, and the world as it is after them."""

    def __init__(self, api: Api, r: Random) -> None:
        self.api, self.r = api, r
        self.world = settled(api)
        self.answers: Counter[tuple[str, str, bool]] = Counter()
        """How often each operation on each type of object was allowed, and how often refused."""

    def does(self, user: str, op: str, key: Key, method: str, path: str, body: Any = None) -> bool:
        """Whether the door did it, which is what the reference says it must."""
        expected = may(self.world, Who(user), op, key)
        answer = self.api(user, method, f"{LAKE}/{path}", body)
        assert answer.status_code == (200 if expected else 403), (user, method, path, body, answer.text)
        self.answers[op, kind(key), expected] += 1
        return expected

    def change_privilege(self, user: str) -> None:
        privilege, key = random_privilege(self.r)
        role, effect = self.r.choice(ROLES), "deny" if self.r.random() < 0.2 else "allow"
        revokes = self.r.random() < 0.4
        if revokes and self.world.grants and self.r.random() < 0.8:
            # Mostly something that is there, under any name it has.
            role, key, name, effect = self.r.choice(sorted(self.world.grants))
            privilege = self.r.choice([each for each in Privilege if each.current is Privilege[name].current])
        path = f"permissions/roles/{role[-1]}/{kind(key)}/{full_name(key)}/{'revoke' if revokes else 'grant'}"
        body = {"privileges": [{"name": privilege.wire, "condition": effect}]}
        op = "REVOKE_PRIVILEGE" if revokes else "GRANT_PRIVILEGE"
        if not self.does(user, op, key, "PUT", path, body):
            return
        if revokes:
            names = (each.name for each in Privilege if each.current is privilege.current)
            self.world.grants -= {(role, key, name, effect) for name in names}
        else:
            self.world.grants.add((role, key, privilege.name, effect))

    def change_owner(self, user: str) -> None:
        key, owner = self.r.choice(OBJECTS), self.r.choice(PRINCIPALS)
        body = {"name": owner[1], "type": owner[0]}
        if self.does(user, "SET_OWNER", key, "PUT", f"owners/{kind(key)}/{full_name(key)}", body):
            self.world.owners[key] = owner

    def change_holder(self, user: str) -> None:
        role, (what, name) = self.r.choice(ROLES), self.r.choice(PRINCIPALS)
        revokes = self.r.random() < 0.3
        path = f"permissions/{what}s/{name}/{'revoke' if revokes else 'grant'}"
        op = "REVOKE_ROLE" if revokes else "GRANT_ROLE"
        if self.does(user, op, TOP, "PUT", path, {"roleNames": [role[-1]]}):
            held = (role, (what, name))
            self.world.holders = [each for each in self.world.holders if each != held]
            self.world.holders += [] if revokes else [held]

    def override(self, user: str) -> None:
        role, (privilege, key) = self.r.choice(ROLES), random_privilege(self.r)
        only = {"type": kind(key), "fullName": "lake" if key == TOP else ".".join(key[2:])}
        body = {"overrides": [{**only, "privileges": [{"name": privilege.wire, "condition": "allow"}]}]}
        if self.does(user, "OVERRIDE_ROLE", TOP, "PUT", f"permissions/roles/{role[-1]}", body):
            kept = {grant for grant in self.world.grants if grant[0] != role}
            self.world.grants = kept | {(role, key, privilege.name, "allow")}

    def make_again(self, user: str) -> None:
        """Delete a role, and make it again: it is another role, which nobody holds."""
        role = self.r.choice(ROLES)
        denied = [grant[1] for grant in self.world.grants if grant[0] == role and grant[3] == "deny"]
        # Who owns a role lifts no denial by that: a rule of ours, which has tests of its own.
        if not all(may(self.world, Who(user), "REVOKE_PRIVILEGE", key) for key in denied):
            return
        if self.does(user, "DELETE_ROLE", role, "DELETE", f"roles/{role[-1]}"):
            self.world.grants = {grant for grant in self.world.grants if grant[0] != role}
            self.world.holders = [each for each in self.world.holders if each[0] != role]
            owner = self.world.owners[TOP]
            maker = {"user": owner[1], "group": "cat"}[owner[0]]
            assert self.does(maker, "CREATE_ROLE", TOP, "POST", "roles", {"name": role[-1]})
            self.world.owners[role] = ("user", maker)

    def ask_owner(self, user: str) -> None:
        key = self.r.choice(OBJECTS)
        op = LOADS[ObjectType(kind(key))].name
        self.does(user, op, key, "GET", f"owners/{kind(key)}/{full_name(key)}")


def agree(steward: Steward, world: World) -> None:
    """Roles say what the reference says, and everything that anyone may be asked of is answered as it does."""
    authority = steward.kernel.authority()
    stated = {
        pair: PrivilegeBits(current_bits(bits.allow), current_bits(bits.deny))
        for pair, bits in bits_of(world).items()
    }
    for key in OBJECTS:
        node = authority.find(ObjectRef("lake", ObjectType(kind(key)), key[2:]))
        assert node is not None
        for role in ROLES:
            found = authority.find(ObjectRef("lake", ObjectType.ROLE, role[2:]))
            assert found is not None
            assert node.grants.get(found.id) == stated.get((role, key)), (role, key)
        for user in USERS:
            caller = authority.caller(Identity(user), node.metalake)
            for op in Op:
                if op is not Op.LIST_METALAKES and asked_of(op, key):
                    expected = may(world, Who(user), op.name, key)
                    assert allowed(authority, caller, op, node) == expected, (user, op, key)


@pytest.mark.parametrize("seed", range(4))
def test_every_grant_and_owner_is_given_by_whom_the_reference_lets(
    api: Api, steward: Steward, seed: int
) -> None:
    r = Random(seed)
    game = Game(api, r)
    privilege, owner, holder = game.change_privilege, game.change_owner, game.change_holder
    opening = (privilege, privilege, owner, holder)
    steps = (*opening, privilege, owner, game.override, game.make_again, game.ask_owner)
    for number in range(200):
        # The owner of everything opens the game with some of each; later anyone who was given something goes on.
        opens = number < 24
        user = "admin" if opens or r.random() < 0.4 else r.choice(USERS[1:])
        (opening[number % len(opening)] if opens else r.choice(steps))(user)
        if number % 20 == 19:
            agree(steward, game.world)
    assert game.world.grants
    assert set(game.world.owners.values()) > {("user", "admin")}


GOVERNING: Final = ("GRANT_PRIVILEGE", "REVOKE_PRIVILEGE", "SET_OWNER")
GOVERNED: Final = [key for key in OBJECTS if kind(key) != "role"]


def levels(key: Key) -> list[Key]:
    """An object and all that contains it."""
    over = above(key)
    return [key, *([] if over is None else levels(over))]


def pass_on(game: Game, key: Key, name: str) -> None:
    """Make a user the owner of an object, by somebody who may."""
    user = next(each for each in USERS if may(game.world, Who(each), "SET_OWNER", key))
    body = {"name": name, "type": "user"}
    game.does(user, "SET_OWNER", key, "PUT", f"owners/{kind(key)}/{full_name(key)}", body)
    game.world.owners[key] = ("user", name)


def try_to_govern(game: Game, key: Key) -> None:
    """Ann grants, revokes and passes on; nothing of it stays."""
    privilege = next((each for each in Privilege if fits(each, key)), None)
    for verb in () if privilege is None else ("grant", "revoke"):
        assert privilege is not None
        body = {"privileges": [{"name": privilege.wire, "condition": "allow"}]}
        path = f"permissions/roles/q/{kind(key)}/{full_name(key)}/{verb}"
        game.does("ann", f"{verb.upper()}_PRIVILEGE", key, "PUT", path, body)
    owner, bob = game.world.owners[key], {"name": "bob", "type": "user"}
    if game.does("ann", "SET_OWNER", key, "PUT", f"owners/{kind(key)}/{full_name(key)}", bob):
        game.world.owners[key] = ("user", "bob")
        pass_on(game, key, owner[1])


@pytest.mark.slow
@pytest.mark.parametrize("key", GOVERNED, ids=lambda key: f"{kind(key)} {full_name(key)}")
def test_owners_govern_what_is_below_and_who_manages_grants_grants_below(api: Api, key: Key) -> None:
    """Ann is given one thing at a time: nothing, the ownership of each level, the management of grants at each.

    She is given the use of nothing: to govern is not to enter.
    """
    game = Game(api, Random(0))
    held = {"roleNames": ["r"]}
    game.does("admin", "GRANT_ROLE", TOP, "PUT", "permissions/users/ann/grant", held)
    role: Key = ("lake", "role", "r")
    game.world.holders.append((role, ("user", "ann")))
    try_to_govern(game, key)
    for level in levels(key):
        for name in ("ann", "admin"):
            pass_on(game, level, name)
            try_to_govern(game, key)
    for level in [level for level in levels(key) if fits(Privilege.MANAGE_GRANTS, level)]:
        for effect in ("allow", "deny"):
            path = f"permissions/roles/r/{kind(level)}/{full_name(level)}"
            body = {"privileges": [{"name": "manage_grants", "condition": effect}]}
            game.does("admin", "GRANT_PRIVILEGE", level, "PUT", f"{path}/grant", body)
            game.world.grants.add((role, level, "MANAGE_GRANTS", effect))
            try_to_govern(game, key)
        game.does("admin", "REVOKE_PRIVILEGE", level, "PUT", f"{path}/revoke", body)
        game.world.grants.discard((role, level, "MANAGE_GRANTS", "deny"))
    for op in GOVERNING:
        assert game.answers[op, kind(key), True], op
        assert game.answers[op, kind(key), False], op
