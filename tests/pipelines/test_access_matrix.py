"""Access on Spark is access in memory: the same rows for every system's way of reading grants, and the same difference."""

from collections.abc import Iterator
from functools import reduce
from typing import Any, TypeAlias

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headgate.model.errors import Unsupported
from headgate.model.objects import SCHEMA_SEPARATOR, ObjectType
from headgate.model.privileges import Condition
from headgate.pipelines.access_matrix import AccessMatrix
from headgate.sync.access.capabilities import CANONICAL, Semantics
from headgate.sync.access.effective import Effective, effective
from headgate.sync.access.relations import Relations, object_key
from headgate.sync.comparing import at_scale
from headgate.sync.comparing.at_scale import on_spark
from headgate.sync.comparing.diff import diff
from headgate.sync.pushing.shifts import shifts
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
from headgate.sync.translating.canonical import vocabulary

pytestmark = [
    pytest.mark.spark,
    # Sockets between Python and the JVM, which py4j leaves to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]

T = ObjectType
CANON = msgspec.structs.replace(CANONICAL, natives=vocabulary(all_capabilities()))
SYSTEMS = {able.system: able.semantics for able in all_capabilities()} | {
    "canonical": CANON,
    "needy": msgspec.structs.replace(CANON, needs={"table.read": frozenset({"table.alter"})}),
}

# Every system once, beside another; and one beside itself, as snapshots are compared.
_NAMES = sorted(SYSTEMS)
PAIRS = [*zip(_NAMES[::2], _NAMES[1::2] + _NAMES[:1], strict=False), ("canonical", "canonical")]
Row: TypeAlias = tuple[str, str, str]

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
        grant = GrantFact(draw(st.sampled_from(holders)), object, word)
        facts.add(msgspec.structs.replace(grant, decision=Condition.DENY) if denied else grant)
    inside = [(of, who) for of in (*GROUPS, *ROLES) for who in holders if of != who]
    facts.update(MemberFact(of, who) for of, who in draw(st.sets(st.sampled_from(inside), max_size=9)))
    for object in draw(st.sets(st.sampled_from(OBJECTS), max_size=3)):
        facts.add(OwnerFact(object, draw(st.sampled_from(holders))))
    return Facts(facts)


def worlds(one: Semantics, other: Semantics) -> tuple[Facts, Facts]:
    """Many random pairs of policies side by side, each with its own people and catalogs: starting Spark's work is what is slow."""
    found: list[tuple[Facts, Facts]] = []

    @given(policies(one), policies(other))
    @settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    def gather(source: Facts, target: Facts) -> None:
        found.append((source, target))

    gather()
    sources, targets = (
        Facts(fact for n, pair in enumerate(found) for fact in apart(pair[side], n)) for side in (0, 1)
    )
    return sources, targets


def apart(facts: Facts, n: int) -> Iterator[Fact]:
    """The same facts about principals and objects of its own; only the metalake is everybody's."""

    def moved(value: Any) -> Any:
        if isinstance(value, Principal):
            return Principal(value.kind, f"{value.name}-{n}")
        if isinstance(value, Securable) and value.path:
            return Securable(value.type, (f"{value.path[0]}-{n}", *value.path[1:]))
        return value

    for fact in facts:
        yield type(fact)(*(moved(getattr(fact, field)) for field in fact.__struct_fields__))


def rows(found: Effective) -> set[Row]:
    return {(str(u), object_key(object), action) for u, all in found.items() for object, action in all}


def differences(one: Effective, other: Effective) -> set[Row]:
    return {(str(shift.user), object_key(shift.object), shift.action) for shift in shifts(one, other)}


def answers(matrix: AccessMatrix) -> dict[str, list[Row]]:
    """Everything that a matrix of two systems says, asked at once."""
    frames = {
        "first": matrix.access(0),
        "second": matrix.access(1),
        "more in the first": matrix.beyond(0, 1),
        "more in the second": matrix.beyond(1, 0),
    }
    labelled = [frame.selectExpr(f"'{name}' AS question", "*") for name, frame in frames.items()]
    found: dict[str, list[Row]] = {name: [] for name in frames}
    for question, *row in reduce(lambda a, b: a.union(b), labelled).collect():
        found[question].append((row[0], row[1], row[2]))
    return found


@pytest.fixture(scope="module", autouse=True)
def quick(shared_spark: Any) -> Iterator[None]:
    """Small frames: compiling code for them takes longer than working on them."""
    settings = {"spark.sql.codegen.wholeStage": "false", "spark.sql.adaptive.enabled": "false"}
    before = {name: shared_spark.conf.get(name) for name in settings}
    for name, value in settings.items():
        shared_spark.conf.set(name, value)
    yield
    for name, value in before.items():
        shared_spark.conf.set(name, value)


@pytest.mark.slow
@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_spark_and_memory_agree_on_every_row_and_on_the_difference(spark: Any, one: str, other: str) -> None:
    first, second = SYSTEMS[one], SYSTEMS[other]
    source, target = worlds(first, second)
    left, right = effective(source, first, target), effective(target, second, source)
    assert rows(left)
    assert rows(right)
    expected = {
        "first": rows(left),
        "second": rows(right),
        "more in the first": differences(left, right),
        "more in the second": differences(right, left),
    }
    relations = Relations((source, first), (target, second))
    with AccessMatrix(spark, relations.tables) as matrix:
        found = answers(matrix)
        for question, wanted in expected.items():
            assert set(found[question]) == wanted, question
            assert len(found[question]) == len(wanted), f"{question}: a row is there twice"
        assert matrix.count(0) == len(expected["first"])
        assert matrix.count_beyond(1, 0) == len(expected["more in the second"])


ANN, BOB, CY = (Principal(Kind.USER, name) for name in ("ann", "bob", "cy"))
TEAM, READER = Principal(Kind.GROUP, "team"), Principal(Kind.ROLE, "reader")
LAKE = Securable(T.CATALOG, ("lake",))
SALES = Securable(T.SCHEMA, ("lake", "sales"))
INNER = Securable(T.SCHEMA, ("lake", OUTER(("sales", "eu"))))
ORDERS = Securable(T.TABLE, ("lake", "sales", "orders"))
REFUNDS = Securable(T.TABLE, ("lake", "sales", "refunds"))
VISITS = Securable(T.TABLE, (*INNER.path, "visits"))
AMOUNT = Securable(T.COLUMN, (*ORDERS.path, "amount"))


def test_a_small_lake_by_hand(spark: Any) -> None:
    """Ann reads through team and reader but not refunds, which are denied to her; Bob lacks the use of the schema; Cy owns.

    Who owns governs without the use of the way there, and does nothing else.
    """
    before = Facts(
        {
            *map(Present, (SALES, INNER, ORDERS, REFUNDS, VISITS, AMOUNT)),
            *map(Known, (ANN, BOB, CY)),
            MemberFact(TEAM, ANN),
            MemberFact(READER, TEAM),
            GrantFact(READER, LAKE, "USE_CATALOG"),
            GrantFact(READER, SALES, "USE_SCHEMA"),
            GrantFact(READER, SALES, "SELECT_TABLE"),
            GrantFact(ANN, REFUNDS, "SELECT_TABLE", Condition.DENY),
            GrantFact(BOB, LAKE, "USE_CATALOG"),
            GrantFact(BOB, ORDERS, "SELECT_TABLE"),
            GrantFact(ANN, AMOUNT, "SELECT_TABLE"),
            OwnerFact(INNER, CY),
        }
    )
    # The denial goes, and Bob takes the role in place of the table; Cy may use the catalog.
    after = before.changed(
        add={MemberFact(READER, BOB), GrantFact(CY, LAKE, "USE_CATALOG")},
        remove={
            GrantFact(ANN, REFUNDS, "SELECT_TABLE", Condition.DENY),
            GrantFact(BOB, ORDERS, "SELECT_TABLE"),
        },
    )
    relations = Relations((before, CANON), (after, CANON))
    with AccessMatrix(spark, relations.tables) as matrix:
        found = answers(matrix)
    ways = [(LAKE, "catalog.use"), (SALES, "schema.use"), (INNER, "schema.use")]
    ann = [*ways, (ORDERS, "table.read"), (VISITS, "table.read"), (AMOUNT, "column.read")]
    mine = {(str(ANN), object_key(object), action) for object, action in ann}
    governs = {
        (str(CY), object_key(INNER), "schema.manage_grants"),
        (str(CY), object_key(VISITS), "table.manage_grants"),
    }
    assert sorted(found["first"]) == sorted(mine | governs | {(str(BOB), object_key(LAKE), "catalog.use")})
    assert found["more in the first"] == []
    gained = [row for row in found["more in the second"] if row[0] != str(CY)]
    assert sorted(gained) == sorted(
        [(str(ANN), object_key(REFUNDS), "table.read")]
        + [(str(BOB), object_key(table), "table.read") for table in (ORDERS, REFUNDS, VISITS)]
    )
    cy = {row[1:] for row in found["more in the second"] if row[0] == str(CY)}
    assert (object_key(VISITS), "table.drop") in cy
    assert (object_key(INNER), "schema.create_table") in cy
    assert {object for object, _ in cy} == {object_key(VISITS), object_key(INNER)}


def test_a_difference_is_the_same_by_either_judge(spark: Any) -> None:
    source = Facts(
        {
            Known(ANN),
            GrantFact(ANN, LAKE, "USE_CATALOG"),
            GrantFact(ANN, SALES, "USE_SCHEMA"),
            OwnerFact(ORDERS, BOB),
        }
    )
    target = source.changed(
        add={GrantFact(ANN, SALES, "MODIFY_TABLE"), Present(REFUNDS)}, remove={OwnerFact(ORDERS, BOB)}
    )
    assert diff(source, target, CANON.natives, judge=on_spark(spark)) == diff(source, target, CANON.natives)


def test_what_is_too_much_to_list_is_refused_with_its_size(
    spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(at_scale, "MOST", 2)
    source = Facts(
        {
            GrantFact(ANN, LAKE, "USE_CATALOG"),
            GrantFact(ANN, LAKE, "USE_SCHEMA"),
            GrantFact(ANN, SALES, "MODIFY_TABLE"),
            Present(ORDERS),
        }
    )
    with pytest.raises(Unsupported, match="gain 5 and lose 0"):
        on_spark(spark)(source, Facts(), CANON)
