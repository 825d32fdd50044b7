"""Small worlds for synchronisation: one catalog, a few objects, people, and random policies about them."""

import msgspec
from hypothesis import strategies as st

from headgate.model.objects import ObjectType
from headgate.model.privileges import Condition
from headgate.sync.registry import all_capabilities
from headgate.sync.snapshots.facts import (
    Fact,
    Facts,
    GrantFact,
    Kind,
    Known,
    MemberFact,
    OwnerFact,
    Present,
    Principal,
    Securable,
)
from headgate.sync.snapshots.snapshot import PolicySnapshot

_T = ObjectType


def at(type: ObjectType, *path: str) -> Securable:
    return Securable(type, path)


CATALOG = at(_T.CATALOG, "lake")
SCHEMAS = (at(_T.SCHEMA, "lake", "sales"), at(_T.SCHEMA, "lake", "h_r"))
TABLES = (
    at(_T.TABLE, "lake", "sales", "orders"),
    at(_T.TABLE, "lake", "sales", "refunds"),
    at(_T.TABLE, "lake", "h_r", "staff"),
)
VIEWS = (at(_T.VIEW, "lake", "sales", "totals"),)
COLUMNS = tuple(at(_T.COLUMN, *table.path, name) for table in TABLES for name in ("x", "y"))
OBJECTS = (CATALOG, *SCHEMAS, *TABLES, *VIEWS)

USERS = tuple(Principal(Kind.USER, name) for name in ("ann", "bob", "cy"))
GROUPS = tuple(Principal(Kind.GROUP, name) for name in ("team", "all-hands"))
ROLES = tuple(Principal(Kind.ROLE, name) for name in ("reader", "writer", "blocked"))

INVENTORY: frozenset[Fact] = frozenset(Present(object) for object in OBJECTS)
PEOPLE: frozenset[Fact] = frozenset(Known(p) for p in (*USERS, *GROUPS))

_ON_CONTAINERS = (
    "USE_CATALOG", "USE_SCHEMA", "SELECT_TABLE", "MODIFY_TABLE", "SELECT_VIEW", "CREATE_TABLE", "CREATE_VIEW",
    "REGISTER_FUNCTION", "MANAGE_GRANTS",
)  # fmt: skip
_BY_TYPE: dict[ObjectType, tuple[str, ...]] = {
    _T.METALAKE: _ON_CONTAINERS,
    _T.CATALOG: _ON_CONTAINERS,
    _T.SCHEMA: tuple(word for word in _ON_CONTAINERS if word != "USE_CATALOG"),
    _T.TABLE: ("SELECT_TABLE", "MODIFY_TABLE", "MANAGE_GRANTS"),
    _T.VIEW: ("SELECT_VIEW", "MANAGE_GRANTS"),
    _T.COLUMN: ("SELECT_TABLE",),
}
_OPAQUE: dict[ObjectType, tuple[str, ...]] = {
    _T.TABLE: ("postgresql:INSERT", "mariadb:DELETE", "ranger:WHATEVER"),
    _T.SCHEMA: ("postgresql:CREATE", "mariadb:SELECT"),
}


@st.composite
def grants(
    draw: st.DrawFn, holders: tuple[Principal, ...], deny: bool, columns: bool, opaque: bool
) -> GrantFact:
    objects = [Securable(_T.METALAKE), *OBJECTS, *(COLUMNS if columns else ())]
    object = draw(st.sampled_from(objects))
    words = _BY_TYPE[object.type] + (_OPAQUE.get(object.type, ()) if opaque else ())
    decision = draw(st.sampled_from(list(Condition))) if deny else Condition.ALLOW
    privilege = draw(st.sampled_from(words))
    return GrantFact(draw(st.sampled_from(holders)), object, privilege, decision)


@st.composite
def policies(
    draw: st.DrawFn,
    *,
    deny: bool = True,
    direct: bool = True,
    nested: bool = True,
    columns: bool = False,
    opaque: bool = True,
    owners: bool = False,
) -> Facts:
    """Canonical facts about the one little catalog, cycles of groups and roles included."""
    facts: set[Fact] = {*INVENTORY, *PEOPLE, *(Known(role) for role in ROLES)}
    holders = (*ROLES, *USERS, *GROUPS) if direct else ROLES
    by_key = {}
    # The gates are common, or nothing below them would ever matter.
    for holder in draw(st.sets(st.sampled_from(holders), max_size=4)):
        for word in ("USE_CATALOG", "USE_SCHEMA"):
            by_key[holder, CATALOG, word] = GrantFact(holder, CATALOG, word)
    for grant in draw(st.lists(grants(holders, deny, columns, opaque), max_size=14)):
        by_key[grant.holder, grant.object, grant.privilege] = grant
    facts.update(by_key.values())
    inside = [(of, who) for of in GROUPS for who in (*USERS, *GROUPS) if of != who]
    inside += [
        (of, who) for of in ROLES for who in (*USERS, *GROUPS, *(ROLES if nested else ())) if of != who
    ]
    facts.update(MemberFact(of, who) for of, who in draw(st.sets(st.sampled_from(inside), max_size=9)))
    if owners:
        for object in draw(st.sets(st.sampled_from(OBJECTS), max_size=2)):
            facts.add(OwnerFact(object, draw(st.sampled_from(USERS))))
    return Facts(facts)


_DIALECTS = {table.system: table.dialect for table in all_capabilities()}


def snapshot(facts: Facts, system: str = "headgate") -> PolicySnapshot:
    """The snapshot of a system: row filters and masks that do not say in which dialect they are written are in its own."""
    dialect = _DIALECTS[system] or ""
    rules = [rule for rule in facts.restrictions if not rule.dialect]
    told = (msgspec.structs.replace(rule, dialect=dialect) for rule in rules)
    return PolicySnapshot.of(facts.changed(told, rules), system)
