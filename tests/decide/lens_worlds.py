"""Random lakes with policies, people and tags, as journal entries; and random changes to them."""

import datetime as dt
from random import Random

import msgspec

from headgate.decide import Authority, Node
from headgate.decide.policies.shape import Shape
from headgate.model import changes as c
from headgate.model.objects import ObjectType
from headgate.model.principals import ActiveRoles, Identity, PrincipalKind
from headgate.model.schema import Field, Schema, StructType, parse_simple_type

T = ObjectType
LAKE, CATALOG, SCHEMA = 1, 2, 3
TABLES = tuple(range(10, 16))
TAGS = {20: "pii", 21: "geo", 22: "tier"}
USERS = {30: "ann", 31: "bob", 32: "cat", 33: "dan"}
GROUPS = {40: "analysts", 41: "privacy"}
STEWARDS = 45
"""The group that owns all policies, so that priorities decide between their masks."""
ROLES = {50: "reader", 51: "auditor"}
POLICIES = tuple(range(60, 72))
NOW = dt.datetime(2026, 3, 1, 12, 30, tzinfo=dt.UTC)

STRING, LONG = parse_simple_type("string"), parse_simple_type("long")
SHAPES = (
    Shape.of(Schema((Field(1, "id", LONG), Field(2, "email", STRING), Field(3, "region", STRING)))),
    Shape.of(
        Schema(
            (
                Field(1, "id", LONG),
                Field(2, "mail", STRING),
                Field(4, "home", StructType((Field(5, "zip", STRING),))),
            )
        ),
        [Schema((Field(1, "id", LONG), Field(2, "email", STRING), Field(3, "region", STRING)))],
    ),
)


def start(r: Random) -> list[c.Change]:
    """A lake with everything in it, before any policy."""
    changes: list[c.Change] = [
        c.ObjectPut(LAKE, 0, T.METALAKE, "m"),
        c.ObjectPut(CATALOG, LAKE, T.CATALOG, "c"),
        c.ObjectPut(SCHEMA, CATALOG, T.SCHEMA, "s"),
        *(c.ObjectPut(id, SCHEMA, T.TABLE, f"t{id}") for id in TABLES),
        *(c.ObjectPut(id, LAKE, T.TAG, name) for id, name in TAGS.items()),
        *(c.ObjectPut(id, LAKE, T.ROLE, name) for id, name in ROLES.items()),
        *(c.PrincipalPut(id, LAKE, PrincipalKind.GROUP, name) for id, name in GROUPS.items()),
        c.PrincipalPut(STEWARDS, LAKE, PrincipalKind.GROUP, "stewards"),
        *(
            c.PrincipalPut(id, LAKE, PrincipalKind.USER, name, True, attributes(r))
            for id, name in USERS.items()
        ),
    ]
    for _ in range(25):
        changes += change(r)
    return changes


def attributes(r: Random) -> dict[str, str | tuple[str, ...]]:
    found: dict[str, str | tuple[str, ...]] = {}
    if r.random() < 0.8:
        found["region"] = r.choice(("EU", "US"))
    if r.random() < 0.5:
        found["regions"] = tuple(r.sample(("EU", "US", "AP"), 2))
    return found


def change(r: Random) -> list[c.Change]:
    """One change of anything that lenses rest on."""
    match r.randrange(9):
        case 0 | 1 | 2 | 3:
            return policy(r)
        case 4:
            on, field = r.choice((LAKE, CATALOG, SCHEMA, *TABLES)), 0
            if on in TABLES:
                field = r.choice((0, 1, 2, 3, 4, 5))
            return [
                c.LabelSet(r.choice(tuple(TAGS)), on, field, r.choice((None, "x", "y")), r.random() < 0.8)
            ]
        case 5:
            return [c.RoleHeld(r.choice(tuple(ROLES)), r.choice((*USERS, *GROUPS)), r.random() < 0.6)]
        case 6:
            return [c.GroupMember(r.choice(tuple(GROUPS)), r.choice(tuple(USERS)), r.random() < 0.6)]
        case 7:
            id = r.choice(tuple(USERS))
            return [c.PrincipalPut(id, LAKE, PrincipalKind.USER, USERS[id], True, attributes(r))]
        case _:
            id = r.choice(tuple(TAGS))
            return [c.ObjectPut(id, LAKE, T.TAG, r.choice((TAGS[id], TAGS[id], "other")) + ("" if r.random() < 0.9 else str(id)))]  # fmt: skip


def policy(r: Random) -> list[c.Change]:
    id = r.choice(POLICIES)
    gone = [c.LabelSet(id, on, 0, None, False) for on in (LAKE, CATALOG, SCHEMA, *TABLES)]
    if r.random() < 0.15:
        return [*gone, c.PolicySet(id, None)]
    document = msgspec.json.encode(content(r), order="sorted").decode()
    on = r.choice((LAKE, CATALOG, SCHEMA, *TABLES))
    return [
        c.ObjectPut(id, LAKE, T.POLICY, f"p{id}"),
        *gone,
        c.PolicySet(id, document, r.random() < 0.9),
        c.OwnerSet(id, STEWARDS),
        c.LabelSet(id, on, 0, None, True),
    ]


def audience(r: Random) -> list[str]:
    names = ["everyone", *(f"user:{u}" for u in USERS.values()), *(f"group:{g}" for g in GROUPS.values())]
    return r.sample([*names, *(f"role:{x}" for x in ROLES.values())], r.choice((1, 1, 2)))


def content(r: Random) -> dict[str, object]:
    said: dict[str, object] = {"to": audience(r)}
    if r.random() < 0.3:
        said["except"] = audience(r)
    if r.random() < 0.3:
        said["when"] = r.choice(
            (
                "has_tag('tier')",
                "has_tag('tier', 'x') OR is_member('analysts')",
                "context.hour < 13",
                "coalesce(context.purpose, 'none') <> 'work'",
                "principal.region = 'EU'",
            )
        )
    alias = r.random() < 0.4
    if alias:
        said["columns"] = {"a": r.choice(("has_tag('pii')", "has_tag('geo', 'x')", "NOT has_tag('pii') AND is_member('privacy')"))}  # fmt: skip
    column = "a" if alias else r.choice(("email", "region", "mail", "never"))
    kind = r.choice(("rows", "rows", "mask", "mask", "hide", "deny"))
    match kind:
        case "rows":
            said["rows"] = r.choice(
                (
                    f"{column} = principal.region",
                    f"{column} IN (principal.regions)",
                    f"{column} = session_user() OR id > 5",
                    f"{column} IS NOT NULL AND id < 100",
                    "id % 2 = 0 OR current_date > DATE '2026-03-01'",
                )
            )
        case "mask":
            mask = r.choice(("mask_to_fixed_value({0})", "show_last_4({0})", "{0} || principal.region"))
            said["mask"] = {column: mask.format(column)}
            said["priority"] = r.choice((0, 0, 1, 2))
        case "hide":
            said["hide"] = [column if alias else r.choice((column, "home.zip"))]
        case _:
            said["deny"] = True
    if kind == "deny" and r.random() < 0.7:
        said["purpose"] = ["rare"]
    if r.random() < 0.2:
        said["purpose"] = ["work", "play"]
    if r.random() < 0.2:
        said["from"] = NOW.isoformat()
    if r.random() < 0.2:
        said["until"] = (NOW + dt.timedelta(hours=r.choice((-1, 0, 1, 5)))).isoformat()
    return said


def identity(r: Random) -> Identity:
    """Anyone; dan's tokens never tell his groups."""
    user = r.choice(tuple(USERS.values()))
    groups = frozenset(r.sample(tuple(GROUPS.values()), r.choice((0, 0, 1))))
    return Identity(
        user,
        frozenset() if user == "dan" else groups,
        ActiveRoles() if r.random() < 0.8 else ActiveRoles(all=False),
        purpose=r.choice((None, "work", "other")),
        groups_known=user != "dan",
    )


def moment(r: Random) -> dt.datetime:
    return NOW + dt.timedelta(minutes=r.choice((-60, -31, -1, 0, 1, 29, 30, 31, 60, 12 * 60, 24 * 60)))


def table(authority: Authority, r: Random) -> Node:
    return authority.objects[r.choice(TABLES)]
