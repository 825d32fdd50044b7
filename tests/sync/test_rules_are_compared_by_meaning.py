"""A difference tells row filters and masks apart by what they mean and whom they are for, not by the words of their systems."""

from collections.abc import Callable, Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.sync.operations import compare
from headgate.sync.pushing.journal import Journal
from headgate.sync.pushing.results import Mode
from headgate.sync.snapshots.facts import Fact, Facts, Kind, Known, Mask, MemberFact, Principal, RowFilter
from headgate.sync.snapshots.names import PrincipalMap
from headgate.sync.translating.dialects import OWN
from headgate.sync.translating.restrictions import rule_name
from tests.sync.cells import COLUMNS as TYPES
from tests.sync.cells import masked, rows_where
from tests.sync.stands import FEW, Stand
from tests.sync.suite.test_rows_and_cells_never_widen import plain_worlds
from tests.sync.suite.test_there_and_back import between
from tests.sync.worlds import COLUMNS, GROUPS, INVENTORY, PEOPLE, TABLES, USERS, snapshot

ANN, BOB, CY = USERS
TEAM = GROUPS[0]
SAME = PrincipalMap.same_names()
X_AND_Y = {
    OWN: "x < 10 AND y IN (1, 3)",
    "postgres": '(X < 10 AND "y" IN (1, 3))',
    "hive": "(y = 1 or y = 3) and `X` < 10",
    "bigquery": "`y` IN (1, 3) AND x < 10",
    "redshift": '("x" < 10) AND ("y" IN (1, 3))',
}


def differing(one: Iterable[Fact], other: Iterable[Fact]) -> set[Fact]:
    """The row filters and masks in which two snapshots differ."""
    sides = (snapshot(Facts([*INVENTORY, *PEOPLE, *facts])) for facts in (one, other))
    found = compare(*sides, SAME)  # type: ignore[misc]
    return {fact for fact in (*found.added, *found.removed) if isinstance(fact, RowFilter | Mask)}


def told(sql: str, dialect: str, to: tuple[Principal, ...] = (), name: str = "r") -> RowFilter:
    return RowFilter(TABLES[0], name, sql, to, (), dialect, TYPES if dialect == OWN else ())


@pytest.mark.parametrize("one", X_AND_Y)
@pytest.mark.parametrize("other", X_AND_Y)
def test_one_filter_in_two_dialects_is_no_difference(one: str, other: str) -> None:
    rules = told(X_AND_Y[one], one), told(X_AND_Y[other], other)
    assert not differing(rules[:1], rules[1:])
    apart = told(X_AND_Y[other].replace("10", "11"), other)
    assert differing(rules[:1], [apart]) == {rules[0], apart}


def test_a_mask_is_compared_by_what_it_does() -> None:
    hive = Mask(COLUMNS[1], "m", "0", (ANN,), (), "hive")
    assert not differing([masked(COLUMNS[1], "m", "constant(0)", (ANN,))], [hive])
    nothing = [Mask(COLUMNS[1], "m", "NULL", (ANN,), (), dialect) for dialect in ("hive", OWN)]
    assert not differing(nothing[:1], nothing[1:])
    other = masked(COLUMNS[1], "m", "constant(1)", (ANN,))
    assert differing([other], [hive]) == {other, hive}


def test_what_cannot_be_read_is_compared_as_it_is_written() -> None:
    text = "lower(y) = 'a'"
    assert not differing([told(text, "hive")], [told(text, "hive")])
    rules = told(text, "hive"), told(text, "postgres")
    assert differing(rules[:1], rules[1:]) == set(rules)
    broken = RowFilter(TABLES[0], "r", "x < 10", (), (), OWN, (("x", "no such type"),))
    assert differing([broken], [told("x < 10", "hive")]) == {broken, told("x < 10", "hive")}


def test_whom_a_rule_is_for_is_compared_by_those_whom_both_know() -> None:
    members = [MemberFact(TEAM, ANN), MemberFact(TEAM, CY)]
    group, spelled = told("x < 10", "hive", (TEAM,)), RowFilter(TABLES[0], "r", "x < 10", (), (BOB,), "hive")
    assert not differing([*members, group], [*members, spelled])
    assert differing([MemberFact(TEAM, ANN), group], [spelled]) == {group, spelled}
    # Whoever joins the team is met by the one, and by the other not.
    named = told("x < 10", "hive", (ANN, CY))
    assert differing([*members, group], [*members, named]) == {group, named}
    stranger = Principal(Kind.USER, "stranger")
    both = told("x < 10", "hive", (ANN, CY, stranger))
    assert not differing([*members, named], [*members, both, Known(stranger)])


def test_the_name_counts_as_a_push_would_write_it_and_so_does_the_table() -> None:
    one = rows_where(TABLES[0], "Rows of the EU", "x < 10")
    assert not differing([one], [told('("x" < 10)', "postgres", name=rule_name(one.name))])
    other = told('("x" < 10)', "postgres", name="rows_of_the_us")
    assert differing([one], [other]) == {one, other}
    elsewhere = rows_where(TABLES[1], one.name, "x < 10")
    assert differing([one], [elsewhere]) == {one, elsewhere}


@pytest.mark.parametrize("system", ["postgresql", "lakeformation", "ranger"])
@given(data=st.data())
@FEW
def test_after_a_push_there_is_no_difference_in_what_is_hidden(
    system: str, stand_of: Callable[[str], Stand], journal: Journal, data: st.DataObject
) -> None:
    here, there = stand_of("headgate"), stand_of(system)
    facts = data.draw(plain_worlds(masks=there.connector.capabilities.masks))
    here.connector.push(snapshot(facts), Mode.OVERWRITE, here.names, journal)
    names = between(here, there)
    source = here.connector.fetch()
    before = compare(source, there.connector.fetch(), names)
    assert {fact.name for fact in before.added if isinstance(fact, RowFilter)} == {
        rule.name for rule in source.row_filters
    }
    there.connector.push(source, Mode.MERGE, names, journal)
    found = compare(source, there.connector.fetch(), names)
    assert not [f for f in (*found.added, *found.removed) if isinstance(f, RowFilter | Mask)]
