"""Promise: a push that cannot take from somebody what the source keeps from them names it, and is no success."""

from collections.abc import Iterable

import pytest

from headgate.cli.output import Format
from headgate.cli.syncs.reports import junit_text, plan_shown, planned_results
from headgate.doors.headgate.syncs import _plan
from headgate.sync.connectors.mariadb.capabilities import MARIADB
from headgate.sync.pushing.plan import PushPlan, plan
from headgate.sync.pushing.results import Mode, SyncResult
from headgate.sync.snapshots.facts import Fact, Facts, GrantFact, Mask, RowFilter
from headgate.sync.translating.losses import Cause
from headgate.sync.translating.translate import translate
from tests.sync.test_translation import ANN, BOB, NAMES, TARGET, VOCABULARY, uses
from tests.sync.worlds import COLUMNS, INVENTORY, PEOPLE, SCHEMAS, TABLES, snapshot

EMAIL = COLUMNS[0]
"""The column that the source masks, and MariaDB cannot."""
SOURCE = Facts(
    [
        *INVENTORY,
        *PEOPLE,
        *(fact for user in (ANN, BOB) for fact in uses(user)),
        *(GrantFact(user, SCHEMAS[0], "SELECT_TABLE") for user in (ANN, BOB)),
        Mask(EMAIL, "hide", "NULL", (ANN,)),
    ]
)
OLDER = GrantFact(ANN, TABLES[0], "SELECT")


def pushed(
    *there: Fact, mode: Mode = Mode.MERGE, owned: Iterable[Fact] = (), source: Facts = SOURCE
) -> PushPlan:
    current = TARGET.changed(there)
    wanted = translate(source, current, MARIADB, NAMES, VOCABULARY)
    assert {Cause.MASKED_COLUMN, Cause.FILTER} & {loss.cause for loss in wanted.losses}
    return plan(current, wanted, frozenset(owned), mode, MARIADB)


def told(made: PushPlan) -> dict[tuple[str, str], set[str]]:
    return {(each.user.name, str(each.object)): {str(fact) for fact in each.by} for each in made.open}


def test_an_older_grant_of_others_stays_open_and_is_named() -> None:
    made = pushed(OLDER)
    assert told(made) == {("ann", str(TABLES[0])): {str(OLDER)}}
    assert not SyncResult("t", Mode.MERGE, 1, (), open=made.open).complete
    assert made.digest == pushed(OLDER).digest


def test_so_does_one_on_the_column_or_on_what_holds_the_table() -> None:
    assert list(told(pushed(GrantFact(ANN, EMAIL, "SELECT")))) == [("ann", str(EMAIL))]
    above = GrantFact(ANN, SCHEMAS[0], "SELECT")
    assert {str(above)} in told(pushed(above)).values()


def test_nothing_is_named_where_nothing_stays_open() -> None:
    assert pushed().open == ()
    assert pushed(GrantFact(BOB, TABLES[0], "SELECT")).open == (), "the source lets bob read all of it"
    assert pushed(GrantFact(ANN, TABLES[1], "SELECT")).open == (), "the source restricts nobody there"
    assert pushed(OLDER, owned=[OLDER]).open == (), "what pushes granted they take away"
    assert pushed(OLDER, mode=Mode.OVERWRITE).open == ()


def test_rows_that_cannot_be_filtered_stay_open_too() -> None:
    source = SOURCE.changed([RowFilter(TABLES[0], "own", "x = 1", (BOB,))])
    assert set(told(pushed(GrantFact(BOB, TABLES[0], "SELECT"), source=source))) == {("bob", str(TABLES[0]))}


def test_plans_and_reports_say_it(capsys: pytest.CaptureFixture[str]) -> None:
    shown = _plan("mariadb:web", snapshot(SOURCE), pushed(OLDER))
    plan_shown([shown], Format.TABLE)
    said = " ".join(capsys.readouterr().out.split())
    assert "stays open, though the source keeps it from them" in said
    assert f"user:ann: table.read on {TABLES[0]}, as user:ann may SELECT on {TABLES[0]}" in said
    assert "stays open" in junit_text(planned_results([shown]))
