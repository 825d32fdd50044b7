"""Random worlds, and any world as an authority: the bridge between the naive reference and the compiled one."""

from dataclasses import dataclass, replace
from random import Random

from headgate.decide import Authority, Op
from headgate.model import changes as c
from headgate.model.objects import ObjectType
from headgate.model.principals import ActiveRoles, Identity, PrincipalKind
from headgate.model.privileges import Condition, Grant, Privilege, PrivilegeBits
from tests.decide.naive import BESIDE, LEAVES, Key, Who, World, kind

USERS = ("ann", "bob", "cat")
GROUPS = ("red", "green", "blue")
_WEIGHTED = [*Privilege, *[Privilege.USE_CATALOG, Privilege.USE_SCHEMA] * 6, *[Privilege.MANAGE_GRANTS] * 2]


def random_world(r: Random) -> World:
    """One or two small metalakes, with everything in them left to chance."""
    world = World(admins={"ann"} if r.random() < 0.5 else set())
    for lake in ("m", "n")[: 1 + (r.random() < 0.4)]:
        _tree(world, r, lake)
        _people(world, r, lake)
        _roles(world, r, lake)
    return world


def _tree(world: World, r: Random, lake: str) -> None:
    top: Key = (lake, "metalake")
    world.parents[top] = None
    for catalog in ("c", "d")[: 1 + (r.random() < 0.4)]:
        above: Key = (lake, "catalog", catalog)
        world.parents[above] = top
        for name in ("s", "t")[: 1 + (r.random() < 0.4)]:
            schema = (lake, "schema", catalog, name)
            world.parents[schema] = above
            if r.random() < 0.4:
                inner = (*schema, "in")
                world.parents[inner] = schema
                schema = inner
            for leaf in LEAVES:
                for number in range(r.choice((0, 1, 1, 2))):
                    world.parents[lake, leaf, *schema[2:], f"{leaf}{number}"] = schema
    for what in BESIDE:
        for number in range(r.choice((1, 2))):
            world.parents[lake, what, f"{what}{number}"] = top


def _people(world: World, r: Random, lake: str) -> None:
    for user in USERS:
        if r.random() < 0.85:
            world.users[lake, user] = r.random() < 0.9
    groups = [group for group in GROUPS if r.random() < 0.8]
    for place, group in enumerate(groups):
        users = [("user", user) for user in USERS if (lake, user) in world.users and r.random() < 0.3]
        inner = [("group", other) for other in groups[:place] if r.random() < 0.4]
        world.groups[lake, group] = [*users, *inner]
    principals = [("user", user) for (at, user) in world.users if at == lake] + [("group", g) for g in groups]
    for key in world.parents:
        if key[0] == lake and principals and r.random() < 0.25:
            world.owners[key] = r.choice(principals)


def _roles(world: World, r: Random, lake: str) -> None:
    here = [key for key in world.parents if key[0] == lake]
    principals = [("user", user) for (at, user) in world.users if at == lake]
    principals += [("group", group) for (at, group) in world.groups if at == lake]
    for role in [key for key in here if kind(key) == "role"]:
        for principal in principals:
            if r.random() < 0.4:
                world.holders.append((role, principal))
        for _ in range(r.randrange(12)):
            privilege = r.choice(_WEIGHTED)
            # Denies are rarer, or nothing would ever be allowed.
            effect = "deny" if r.random() < 0.2 else "allow"
            fitting = [key for key in here if ObjectType(kind(key)) in privilege.bindable]
            if fitting:
                grant = (role, r.choice(fitting), privilege.name, effect)
                other = (*grant[:3], "allow" if effect == "deny" else "deny")
                if other not in world.grants:
                    world.grants.add(grant)


def random_caller(r: Random, world: World, lake: str) -> Who:
    """A caller who names as active only roles they hold: others are refused before any question."""
    user = r.choice((*USERS, "stranger"))
    claims = tuple(group for group in (*GROUPS, "unknown") if r.random() < 0.25)
    known = r.random() < 0.8
    who = Who(user, claims if known else (), groups_known=known)
    if r.random() < 0.7:
        return who
    from tests.decide.naive import Question

    held = sorted({role[-1] for role in Question(world, who, (lake, "metalake")).held_roles})
    return replace(who, active=tuple(name for name in held if r.random() < 0.5))


def identity(who: Who) -> Identity:
    active = ActiveRoles() if who.active is None else ActiveRoles(all=False, names=frozenset(who.active))
    return Identity(who.user, frozenset(who.claims), active, groups_known=who.groups_known)


@dataclass
class Compiled:
    """A world as the real decision point has it."""

    authority: Authority
    ids: dict[Key, int]
    people: dict[tuple[str, str, str], int]


def compiled(world: World) -> Compiled:
    ids = {key: number for number, key in enumerate(world.parents, 1)}
    people = {
        (lake, what, name): number
        for number, (lake, what, name) in enumerate(
            [(lake, "user", name) for lake, name in world.users]
            + [(lake, "group", name) for lake, name in world.groups],
            1,
        )
    }
    changes: list[c.Change] = []
    for key, parent in world.parents.items():
        name = key[0] if kind(key) == "metalake" else key[-1]
        changes.append(c.ObjectPut(ids[key], ids[parent] if parent else 0, ObjectType(kind(key)), name))
    for (lake, what, name), id in people.items():
        enabled = world.users[lake, name] if what == "user" else True
        changes.append(c.PrincipalPut(id, ids[lake, "metalake"], PrincipalKind(what), name, enabled))
    for (lake, name), members in world.groups.items():
        for member in members:
            changes.append(c.GroupMember(people[lake, "group", name], people[lake, *member], True))
    for key, owner in world.owners.items():
        changes.append(c.OwnerSet(ids[key], people[key[0], *owner]))
    for role, principal in world.holders:
        changes.append(c.RoleHeld(ids[role], people[role[0], *principal], True))
    for (role, key), bits in bits_of(world).items():
        changes.append(c.RoleGrants(ids[role], ids[key], bits.allow, bits.deny))
    empty = Authority(0, frozenset(world.admins))
    return Compiled(empty.applied(changes, 1), ids, people)


def bits_of(world: World) -> dict[tuple[Key, Key], PrivilegeBits]:
    """What each role says of each object."""
    found: dict[tuple[Key, Key], list[Grant]] = {}
    for role, key, privilege, effect in world.grants:
        found.setdefault((role, key), []).append(Grant(Privilege[privilege], Condition(effect)))
    return {place: PrivilegeBits.of(grants) for place, grants in found.items()}


ANYWHERE = {Op.GRANT_PRIVILEGE, Op.REVOKE_PRIVILEGE, Op.SET_OWNER}
"""Operations that are asked of any object, whichever its type."""


def asked_of(op: Op, key: Key) -> bool:
    """Whether an operation is ever asked of an object of this kind."""
    if op in ANYWHERE:
        return True
    return kind(key) == op.on or (op is Op.CREATE_SCHEMA and kind(key) == "schema")
