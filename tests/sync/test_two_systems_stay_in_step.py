"""Two real systems, changed on either side, are brought in step again; what both changed is left to people."""

from collections.abc import Callable

from headgate.sync.comparing.merge import Prefer
from headgate.sync.operations import compare, fetch, keep_in_step
from headgate.sync.pushing.journal import Journal
from headgate.sync.pushing.results import Change, Mode, Outcome
from headgate.sync.snapshots.facts import GrantFact, Kind, MemberFact, Principal, RowFilter
from tests.sync.cells import ROWS, rows_where
from tests.sync.stands import Stand
from tests.sync.suite.test_pushes_are_safe import ANN, BOB, POLICY, READER
from tests.sync.suite.test_there_and_back import between
from tests.sync.worlds import TABLES, snapshot


def test_changes_of_either_side_reach_the_other(stand_of: Callable[[str], Stand], journal: Journal) -> None:
    here, there = stand_of("headgate"), stand_of("postgresql")
    here.connector.push(snapshot(POLICY), Mode.OVERWRITE, here.names, journal)
    names = between(here, there)
    first = keep_in_step(here.connector, there.connector, names, journal)
    assert first.source.ok
    assert first.target.ok
    assert not first.source.count(Outcome.APPLIED)
    assert there.may(ANN, TABLES[0], "table.read")

    # There bob is given a table, here the reader loses one and cy becomes a reader.
    there.connector.apply([Change(None, GrantFact(there.own(READER), TABLES[2], "SELECT"))])
    cy = Principal(Kind.USER, "cy")
    here.connector.apply([Change(None, MemberFact(READER, cy)), Change(MemberFact(READER, ANN), None)])
    second = keep_in_step(here.connector, there.connector, names, journal)
    assert not second.clashes
    assert second.source.ok
    assert second.target.ok
    assert GrantFact(READER, TABLES[2], "SELECT_TABLE") in here.connector.read().facts
    assert there.may(cy, TABLES[0], "table.read")
    assert there.may(cy, TABLES[2], "table.read")
    assert not there.may(ANN, TABLES[0], "table.read")

    # What is taken away there goes here too.
    there.connector.apply([Change(GrantFact(there.own(READER), TABLES[2], "SELECT"), None)])
    third = keep_in_step(here.connector, there.connector, names, journal)
    assert third.source.ok
    assert not here.may(cy, TABLES[2], "table.read")

    fourth = keep_in_step(here.connector, there.connector, names, journal)
    assert not fourth.source.count(Outcome.APPLIED) + fourth.target.count(Outcome.APPLIED)


def test_the_same_item_changed_on_both_sides_is_left_alone_or_decided(
    stand_of: Callable[[str], Stand], journal: Journal
) -> None:
    here, there = stand_of("headgate"), stand_of("gravitino")
    here.connector.push(snapshot(POLICY), Mode.OVERWRITE, here.names, journal)
    names = between(here, there)
    keep_in_step(here.connector, there.connector, names, journal)
    assert there.may(BOB, TABLES[2], "table.read")
    old = next(f for f in POLICY.grants if f.privilege == "MODIFY_TABLE")
    denied = GrantFact(old.holder, old.object, old.privilege, type(old.decision).DENY)
    here.connector.apply([Change(old, denied)])
    there.connector.apply([Change(old, None)])
    left = keep_in_step(here.connector, there.connector, names, journal)
    assert [(clash.base, clash.source, clash.target) for clash in left.clashes] == [(old, denied, None)]
    assert denied in here.connector.read().facts
    assert denied not in there.connector.read().facts


def test_a_preference_decides(stand_of: Callable[[str], Stand], journal: Journal) -> None:
    here, there = stand_of("headgate"), stand_of("gravitino")
    here.connector.push(snapshot(POLICY), Mode.OVERWRITE, here.names, journal)
    names = between(here, there)
    keep_in_step(here.connector, there.connector, names, journal)
    old = next(f for f in POLICY.grants if f.privilege == "MODIFY_TABLE")
    denied = GrantFact(old.holder, old.object, old.privilege, type(old.decision).DENY)
    here.connector.apply([Change(old, denied)])
    there.connector.apply([Change(old, None)])
    keep_in_step(here.connector, there.connector, names, journal, Prefer.SOURCE)
    assert denied in there.connector.read().facts


def test_a_difference_says_who_would_gain_and_lose_what(
    stand_of: Callable[[str], Stand], journal: Journal
) -> None:
    here, there = stand_of("headgate"), stand_of("postgresql")
    here.connector.push(snapshot(POLICY), Mode.OVERWRITE, here.names, journal)
    names = between(here, there)
    found = compare(fetch(here.connector, journal), fetch(there.connector, journal), names)
    assert any(
        (shift.user, shift.object, shift.action) == (there.own(ANN), TABLES[0], "table.read")
        for shift in found.gains
    )
    assert not found.loses
    there.connector.push(here.connector.fetch(), Mode.MERGE, names, journal)
    found = compare(fetch(here.connector, journal), fetch(there.connector, journal), names)
    assert {shift.action for shift in found.gains if shift.user != Principal(Kind.USER, "admin")} == {
        "table.alter"
    }
    kept = journal.kept(here.connector.name)
    assert kept is not None
    assert kept.facts == here.connector.fetch().facts


def test_a_row_filter_of_either_side_reaches_the_other(
    stand_of: Callable[[str], Stand], journal: Journal
) -> None:
    here, there = stand_of("headgate"), stand_of("postgresql")
    few = rows_where(TABLES[0], "few", "x < 10", (ANN,))
    here.connector.push(snapshot(POLICY.changed([few])), Mode.OVERWRITE, here.names, journal)
    names = between(here, there)
    assert keep_in_step(here.connector, there.connector, names, journal).target.ok
    assert len(there.cells(ANN, TABLES[0])) == 3
    again = keep_in_step(here.connector, there.connector, names, journal)
    assert not again.source.count(Outcome.APPLIED) + again.target.count(Outcome.APPLIED)

    theirs = RowFilter(TABLES[2], "others", '("y" = 1)', (there.own(BOB),))
    assert there.connector.apply([Change(None, theirs)])[0].outcome is Outcome.APPLIED
    assert keep_in_step(here.connector, there.connector, names, journal).source.ok
    assert here.cells(BOB, TABLES[2]) == [row for row in ROWS if row["y"] == 1]
    there.connector.apply([Change(theirs, None)])
    assert keep_in_step(here.connector, there.connector, names, journal).source.ok
    assert here.cells(BOB, TABLES[2]) == ROWS
    assert len(here.cells(ANN, TABLES[0])) == 3
