"""Access on Spark is access in memory: the same rows for every system's way of reading grants, and the same difference."""

from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headgate.model.objects import SCHEMA_SEPARATOR, ObjectType
from headgate.model.privileges import Condition
from headgate.pipelines.access_matrix import AccessMatrix
from headgate.sync.canonical import vocabulary
from headgate.sync.capabilities import CANONICAL, Semantics
from headgate.sync.connectors import all_capabilities
from headgate.sync.effective import Effective, effective
from headgate.sync.facts import Fact, Facts, Grant, Kind, Known, Member, Owner, Present, Principal, Securable
from headgate.sync.plan import shifts
from headgate.sync.relations import Relations, object_key

pytestmark = pytest.mark.spark

T = ObjectType
CANON = msgspec.structs.replace(CANONICAL, natives=vocabulary(all_capabilities()))
SYSTEMS = {able.system: able.semantics for able in all_capabilities()} | {
    "canonical": CANON,
    "needy": msgspec.structs.replace(CANON, needs={"table.read": frozenset({"table.alter"})}),
}

OUTER = SCHEMA_SEPARATOR.join
CATALOGS = tuple(Securable(T.CATALOG, (name,)) for name in ("lake", "river"))
SCHEMAS = tuple(
    Securable(T.SCHEMA, (*catalog.path, name))
    for catalog in CATALOGS
    for name in ("s", OUTER(("s", "inner")), OUTER(("s", "inner", "most")), "hr.x")
)
TABLES = tuple(Securable(T.TABLE, (*schema.path, name)) for schema in SCHEMAS for name in ("t", "u"))
COLUMNS = tuple(Securable(T.COLUMN, (*table.path, name)) for table in TABLES[::3] for name in ("x", "y"))
OTHERS = (Securable(T.VIEW, (*SCHEMAS[0].path, "v")), Securable(T.TAG, ("lake",)), Securable(T.ROLE, ("r",)))
OBJECTS = (Securable(T.METALAKE), *CATALOGS, *SCHEMAS, *TABLES, *COLUMNS, *OTHERS)
USERS = tuple(Principal(Kind.USER, name) for name in ("ann", "bob", "cy", "dan"))
GROUPS = tuple(Principal(Kind.GROUP, name) for name in ("team", "everybody"))
ROLES = tuple(Principal(Kind.ROLE, name) for name in ("reader", "writer", "admin"))


@st.composite
def policies(draw: st.DrawFn, semantics: Semantics) -> Facts:
    """Facts in a system's own words about some of the objects, with cycles of groups and roles, denials and owners."""
    facts: set[Fact] = {Known(user) for user in USERS} | {Known(GROUPS[1], everyone=draw(st.booleans()))}
    facts.update(map(Present, draw(st.sets(st.sampled_from(OBJECTS), max_size=20))))
    holders = (*USERS, *GROUPS, *ROLES)
    places = [object for object in OBJECTS if semantics.natives.get(object.type)]
    for _ in range(draw(st.integers(3, 30))):
        # Uses are common, or nothing behind the gates would ever matter.
        object = draw(st.one_of(st.sampled_from(places), st.sampled_from(places[:11])))
        words = sorted(semantics.natives[object.type])
        uses = [word for word in words if semantics.given(object.type, word) & {"catalog.use", "schema.use"}]
        word = draw(st.one_of(st.sampled_from([*words, "no such word"]), st.sampled_from(uses or words)))
        denied = draw(st.integers(0, 5)) == 0
        grant = Grant(draw(st.sampled_from(holders)), object, word)
        facts.add(msgspec.structs.replace(grant, decision=Condition.DENY) if denied else grant)
    inside = [(of, who) for of in (*GROUPS, *ROLES) for who in holders if of != who]
    facts.update(Member(of, who) for of, who in draw(st.sets(st.sampled_from(inside), max_size=9)))
    for object in draw(st.sets(st.sampled_from(OBJECTS), max_size=3)):
        facts.add(Owner(object, draw(st.sampled_from(holders))))
    return Facts(facts)


def rows(found: Effective) -> set[tuple[str, str, str]]:
    return {(str(u), object_key(object), action) for u, all in found.items() for object, action in all}


def differences(one: Effective, other: Effective) -> set[tuple[str, str, str]]:
    return {(str(shift.user), object_key(shift.object), shift.action) for shift in shifts(one, other)}


def listed(frame: Any) -> list[tuple[str, ...]]:
    return [tuple(row) for row in frame.collect()]


@pytest.mark.parametrize("system", SYSTEMS)
@given(data=st.data())
@settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck))
def test_spark_and_memory_agree_on_every_row_and_on_the_difference(
    spark: Any, system: str, data: st.DataObject
) -> None:
    semantics = (SYSTEMS[system], data.draw(st.sampled_from([SYSTEMS[system], CANON])))
    source, target = (data.draw(policies(each)) for each in semantics)
    expected = (effective(source, semantics[0], target), effective(target, semantics[1], source))
    relations = Relations((source, semantics[0]), (target, semantics[1]))
    with AccessMatrix(spark, relations.tables) as matrix:
        for side in (0, 1):
            found = listed(matrix.access(side))
            assert set(found) == rows(expected[side])
            assert len(found) == len(set(found)) == matrix.count(side)
        for one, other in ((0, 1), (1, 0)):
            found = listed(matrix.beyond(one, other))
            assert set(found) == differences(expected[one], expected[other])
            assert len(found) == len(set(found)) == matrix.count_beyond(one, other)
