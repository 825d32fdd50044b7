"""Whatever row filters and masks come and go, no push shows anybody a row or a cell that the source hides from them."""

from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from headgate.sync.access.effective import restricted
from headgate.sync.pushing.journal import Journal
from headgate.sync.pushing.results import Mode
from headgate.sync.snapshots.facts import Fact, Facts, GrantFact, Kind, Mask, Principal, RowFilter, Securable
from headgate.sync.translating.losses import Cause
from tests.sync.cells import Row, masked, rows_where, through_rules, within
from tests.sync.conftest import SYSTEMS
from tests.sync.stands import Stand
from tests.sync.suite.test_a_push_never_widens import allowed_by, forget
from tests.sync.worlds import (
    CATALOG,
    COLUMNS,
    GROUPS,
    INVENTORY,
    PEOPLE,
    ROLES,
    TABLES,
    USERS,
    policies,
    snapshot,
)

PLAIN = ("x < 10", "x > 90 OR y = 2", "y IN (1, 3)", "NOT (x = 5)", "x IS NULL")
"""What every dialect says."""
HARD = ("x % 2 = 1", "coalesce(y, 0) < 3", "x < y + 10", "false")
MASKS = ("NULL", "constant(0)", "bucket(x, 10)", "CASE WHEN x > 50 THEN 1 ELSE 0 END")
_COMMON = settings(
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
_SOME = st.frozensets(st.sampled_from((*USERS, *GROUPS, *ROLES)), max_size=2).map(lambda p: tuple(sorted(p)))


@st.composite
def rules(draw: st.DrawFn, people: st.SearchStrategy[tuple[Principal, ...]]) -> list[RowFilter | Mask]:
    found: list[RowFilter | Mask] = []
    for n in range(draw(st.integers(0, 3))):
        sql = draw(st.sampled_from(PLAIN + HARD))
        found.append(
            rows_where(TABLES[draw(st.integers(0, 1))], f"rows {n}", sql, draw(people), draw(people))
        )
    for n in range(draw(st.integers(0, 2))):
        column = draw(st.sampled_from(COLUMNS[:4]))
        sql = draw(st.sampled_from(MASKS)).replace("x", column.path[3])
        found.append(masked(column, f"mask {n}", sql, draw(people), draw(people)))
    return found


@st.composite
def worlds(draw: st.DrawFn) -> Facts:
    """Policies of all sorts, of which many read the tables that are restricted."""
    facts: set[Fact] = set(draw(policies(opaque=False, columns=True)))
    holders = draw(st.sets(st.sampled_from((*USERS, *GROUPS, *ROLES)), min_size=1, max_size=4))
    held = [GrantFact(who, CATALOG, word) for who in holders for word in ("USE_CATALOG", "USE_SCHEMA")]
    held += [
        GrantFact(who, draw(st.sampled_from((*TABLES[:2], TABLES[0].parent(), CATALOG))), "SELECT_TABLE")
        for who in holders
    ]
    said = {(g.holder, g.object, g.privilege) for g in facts if isinstance(g, GrantFact)}
    facts |= {grant for grant in held if (grant.holder, grant.object, grant.privilege) not in said}
    return Facts(facts).changed(draw(rules(_SOME)))


def source_shows(facts: Facts, user: Principal, table: Securable) -> list[Row]:
    access = allowed_by(facts).get(user, frozenset())
    rows = through_rules(table, restricted(facts).get(user, ()))
    if (table, "table.read") in access:
        return rows
    columns = {
        object.path[3] for object, _ in access if object.type == "column" and object.path[:3] == table.path
    }
    return (
        [{name: value for name, value in row.items() if name in columns} for row in rows] if columns else []
    )


@pytest.mark.parametrize("system", SYSTEMS)
@given(steps=st.lists(st.tuples(worlds(), st.sampled_from(Mode)), min_size=1, max_size=2))
@settings(_COMMON, max_examples=6)
def test_no_push_shows_a_row_or_a_cell_that_the_source_hides(
    system: str, stand_of: Callable[[str], Stand], journal: Journal, steps: list[tuple[Facts, Mode]]
) -> None:
    stand = stand_of(system)
    forget(journal, stand)
    for facts, mode in steps:
        before = {(user, table): stand.cells(user, table) for user in USERS for table in TABLES[:2]}
        stand.members = {
            user: frozenset(p.name for p in facts.closure(user) if p.kind is Kind.GROUP) for user in USERS
        }
        result = stand.connector.push(snapshot(facts), mode, stand.names, journal)
        for (user, table), was in before.items():
            seen = stand.cells(user, table)
            if not within(seen, source_shows(facts, user, table)):
                # What a push could not take away was there before it, and the push says that it is not done.
                assert within(seen, was), f"{user} sees {seen} of {table}"
                assert not result.complete


SAYS_ROWS = ("headgate", "postgresql", "ranger", "lakeformation", "bigquery")


@st.composite
def plain_worlds(draw: st.DrawFn, masks: bool) -> Facts:
    """What systems with row filters can say: users who read tables, filters in plain words, and masks where they are."""
    users = st.frozensets(st.sampled_from(USERS), max_size=2).map(lambda found: tuple(sorted(found)))
    facts: set[Fact] = {*INVENTORY, *PEOPLE}
    facts |= {GrantFact(user, CATALOG, word) for user in USERS for word in ("USE_CATALOG", "USE_SCHEMA")}
    facts |= {GrantFact(user, TABLES[0], "SELECT_TABLE") for user in USERS}
    for n in range(draw(st.integers(1, 3))):
        sql = draw(st.sampled_from(PLAIN))
        facts.add(rows_where(TABLES[0], f"rows {n}", sql, draw(users), draw(users)))
    if masks:
        facts.add(masked(COLUMNS[1], "mask", draw(st.sampled_from(MASKS[:2])), draw(users), draw(users)))
    return Facts(facts)


@pytest.mark.parametrize("system", SAYS_ROWS)
@given(data=st.data())
@settings(_COMMON, max_examples=6)
def test_the_target_shows_exactly_what_it_can_say(
    system: str, stand_of: Callable[[str], Stand], journal: Journal, data: st.DataObject
) -> None:
    stand = stand_of(system)
    forget(journal, stand)
    facts = data.draw(plain_worlds(masks=stand.connector.capabilities.masks))
    result = stand.connector.push(snapshot(facts), Mode.MERGE, stand.names, journal)
    left = [(item.outcome, item.detail, item.change.fact) for item in result.items]
    assert result.complete, [found for found in left if found[0] not in ("applied", "already so")]
    assert not {Cause.FILTER, Cause.MASK, Cause.MASKED_COLUMN} & {loss.cause for loss in result.losses}
    for user in USERS:
        seen, shown = stand.cells(user, TABLES[0]), source_shows(facts, user, TABLES[0])
        assert within(seen, shown)
        assert within(shown, seen)
    again = stand.connector.push(snapshot(facts), Mode.MERGE, stand.names, journal)
    assert not [item for item in again.items if item.outcome == "applied"]


def test_a_restriction_that_is_lost_is_named(stand: Stand, journal: Journal) -> None:
    ann = USERS[0]
    facts = Facts([*INVENTORY, *PEOPLE, GrantFact(ann, TABLES[0], "SELECT_TABLE")]).changed(
        [*(GrantFact(ann, CATALOG, word) for word in ("USE_CATALOG", "USE_SCHEMA"))]
    )
    hard = rows_where(TABLES[0], "odd ones", "x % 2 = 1", (ann,))
    result = stand.connector.push(snapshot(facts.changed([hard])), Mode.MERGE, stand.names, journal)
    lost = [loss for loss in result.losses if loss.cause is Cause.FILTER]
    can = stand.connector.capabilities.rows and stand.connector.render(hard)
    if can:
        assert not lost
        assert stand.cells(ann, TABLES[0])
    else:
        assert [(loss.principal, loss.object, loss.what) for loss in lost] == [
            (str(stand.own(ann)), str(TABLES[0]), "odd ones")
        ]
        assert not stand.cells(ann, TABLES[0])
        assert not stand.may(ann, TABLES[0], "table.read")
