"""What a push may touch, how it ends when something goes wrong, and how it is taken back: the same for every system."""

from collections.abc import Callable, Sequence

import pytest

from headgate.model.errors import Conflict, ConnectionFailed
from headgate.sync.contract import Connector
from headgate.sync.pushing.journal import Journal
from headgate.sync.pushing.results import Applied, Change, Mode, Outcome
from headgate.sync.pushing.run import Reading, resume, undo
from headgate.sync.registry import all_capabilities
from headgate.sync.snapshots.facts import (
    Fact,
    Facts,
    GrantFact,
    Kind,
    Known,
    MemberFact,
    Present,
    Principal,
    RowFilter,
)
from headgate.sync.translating.losses import Cause
from headgate.sync.translating.restrictions import Rule
from tests.sync.cells import rows_where
from tests.sync.conftest import SYSTEMS
from tests.sync.stands import Stand
from tests.sync.worlds import CATALOG, INVENTORY, PEOPLE, SCHEMAS, TABLES, snapshot

ANN, BOB = Principal(Kind.USER, "ann"), Principal(Kind.USER, "bob")
READER, WRITER = Principal(Kind.ROLE, "reader"), Principal(Kind.ROLE, "writer")

GATES: tuple[Fact, ...] = tuple(
    GrantFact(role, CATALOG, word) for role in (READER, WRITER) for word in ("USE_CATALOG", "USE_SCHEMA")
)
POLICY = Facts(
    [
        *INVENTORY,
        *PEOPLE,
        *GATES,
        GrantFact(READER, SCHEMAS[0], "SELECT_TABLE"),
        GrantFact(READER, SCHEMAS[0], "SELECT_VIEW"),
        GrantFact(WRITER, TABLES[2], "MODIFY_TABLE"),
        Known(READER),
        Known(WRITER),
        MemberFact(READER, ANN),
        MemberFact(WRITER, BOB),
    ]
)
NARROWER = POLICY.changed(remove=[GrantFact(WRITER, TABLES[2], "MODIFY_TABLE")])


WITHOUT_ROLES = frozenset({"mariadb", "mysql", "lakeformation", "unity", "bigquery"})
WITHOUT_GATES = frozenset(
    {"mariadb", "mysql", "hive", "hive-legacy", "ranger", "lakeformation", "polaris", "bigquery"}
)


def test_the_systems_left_out_below_are_those_that_the_tables_say() -> None:
    tables = {table.system: table for table in all_capabilities()}
    assert set(tables) == set(SYSTEMS)
    assert {name for name, table in tables.items() if not table.roles} == WITHOUT_ROLES
    assert {name for name, table in tables.items() if not table.semantics.gates} == WITHOUT_GATES


class Around(Connector):
    """A connector through which something goes wrong."""

    def __init__(self, inner: Connector) -> None:
        super().__init__(inner.name)
        self.inner = inner

    @property
    def capabilities(self):  # type: ignore[no-untyped-def]
        return self.inner.capabilities

    def read(self) -> Reading:
        return self.inner.read()

    def apply(self, changes: Sequence[Change]) -> list[Applied]:
        return self.inner.apply(changes)

    def render(self, rule: Rule) -> Rule | None:
        return self.inner.render(rule)

    def takes(self, rule: Rule) -> bool:
        return self.inner.takes(rule)


class Died(BaseException):
    """The process is gone: nothing that catches errors sees it."""


class Dies(Around):
    """Dies in a batch, before or after the system has made its changes."""

    def __init__(self, inner: Connector, at: int, after: bool) -> None:
        super().__init__(inner)
        self.left, self.after = at, after

    def apply(self, changes: Sequence[Change]) -> list[Applied]:
        self.left -= 1
        if self.left < 0:
            if self.after:
                self.inner.apply(changes)
            raise Died
        return self.inner.apply(changes)


class Lies(Around):
    def apply(self, changes: Sequence[Change]) -> list[Applied]:
        return [Applied(Outcome.APPLIED)] * len(changes)


def policies_of(stand: Stand) -> frozenset[Fact]:
    """Everything the system holds, inventory aside."""
    return frozenset(fact for fact in stand.connector.read().facts if not isinstance(fact, Present))


def dormant(stand: Stand) -> Change:
    """A grant that somebody else makes: bob may write the refunds, if only the way there were open."""
    if stand.connector.capabilities.direct:
        natives = stand.connector.capabilities.semantics.natives[TABLES[1].type]
        inserts = [word for word, gives in natives.items() if "table.insert" in gives]
        word = stand.a_word if stand.a_word in natives else inserts[0]
        return Change(None, GrantFact(stand.own(BOB), TABLES[1], word))
    role = Principal(Kind.ROLE, "theirs")
    made = stand.connector.apply([Change(None, Known(role)), Change(None, MemberFact(role, BOB))])
    assert all(answer.outcome is Outcome.APPLIED for answer in made)
    return Change(None, GrantFact(role, TABLES[1], stand.a_word))


def foreign(stand: Stand) -> Change:
    """The same with the way open, so that bob may."""
    change = dormant(stand)
    assert isinstance(change.after, GrantFact)
    natives = stand.connector.capabilities.semantics.natives
    for object in (CATALOG, SCHEMAS[0]):
        for word, gives in natives.get(object.type, {}).items():
            if gives == {f"{object.type}.use"}:
                made = stand.connector.apply([Change(None, GrantFact(change.after.holder, object, word))])
                assert made[0].outcome is Outcome.APPLIED
    return change


def test_what_is_so_already_is_left_alone(stand: Stand, journal: Journal) -> None:
    first = stand.connector.push(snapshot(POLICY), Mode.MERGE, stand.names, journal)
    assert first.ok
    assert first.count(Outcome.APPLIED)
    assert first.gains
    second = stand.connector.push(snapshot(POLICY), Mode.MERGE, stand.names, journal)
    assert second.ok
    assert not second.count(Outcome.APPLIED)
    assert second.count(Outcome.ALREADY)
    assert not second.gains


def test_merge_keeps_what_others_put_there_and_takes_back_its_own(stand: Stand, journal: Journal) -> None:
    theirs = foreign(stand)
    assert stand.connector.apply([theirs])[0].outcome is Outcome.APPLIED
    stand.connector.push(snapshot(POLICY), Mode.MERGE, stand.names, journal)
    assert stand.may(BOB, TABLES[2], "table.read")
    result = stand.connector.push(snapshot(NARROWER), Mode.MERGE, stand.names, journal)
    assert result.ok
    assert {shift.user for shift in result.loses} == {stand.own(BOB)}
    assert not stand.may(BOB, TABLES[2], "table.read")
    assert stand.may(ANN, TABLES[0], "table.read")
    assert theirs.after in stand.connector.read().facts


def test_overwrite_takes_away_what_others_put_there_after_saying_so(stand: Stand, journal: Journal) -> None:
    theirs = foreign(stand)
    stand.connector.apply([theirs])
    plan = stand.connector.plan(snapshot(POLICY), Mode.OVERWRITE, stand.names, journal)
    assert theirs.after in plan.foreign
    assert theirs.after in stand.connector.read().facts, "a plan touches nothing"
    result = stand.connector.push(snapshot(POLICY), Mode.OVERWRITE, stand.names, journal)
    assert result.ok
    assert theirs.after not in stand.connector.read().facts
    undo(stand.connector, journal)
    assert theirs.after in stand.connector.read().facts


def test_undo_restores_what_was_there(stand: Stand, journal: Journal) -> None:
    stand.connector.apply([foreign(stand)])
    before = policies_of(stand)
    stand.connector.push(snapshot(POLICY), Mode.OVERWRITE, stand.names, journal)
    assert policies_of(stand) != before
    assert undo(stand.connector, journal).ok
    assert policies_of(stand) == before
    assert not journal.marks(stand.connector.name)


@pytest.mark.parametrize("after", [False, True])
def test_a_push_that_died_is_resumed_and_undone(
    stand: Stand, journal: Journal, monkeypatch: pytest.MonkeyPatch, after: bool
) -> None:
    monkeypatch.setattr(Connector, "batch", 3)
    stand.connector.apply([foreign(stand)])
    before = policies_of(stand)
    with pytest.raises(Died):
        Dies(stand.connector, 1, after).push(snapshot(POLICY), Mode.MERGE, stand.names, journal)
    with pytest.raises(Conflict, match="did not come to its end"):
        stand.connector.push(snapshot(POLICY), Mode.MERGE, stand.names, journal)
    assert resume(stand.connector, journal).ok
    assert stand.may(ANN, TABLES[0], "table.read")
    assert undo(stand.connector, journal).ok
    assert policies_of(stand) == before


@pytest.mark.parametrize("after", [False, True])
def test_a_push_that_died_is_undone_without_resuming(
    stand: Stand, journal: Journal, monkeypatch: pytest.MonkeyPatch, after: bool
) -> None:
    monkeypatch.setattr(Connector, "batch", 2)
    before = policies_of(stand)
    with pytest.raises(Died):
        Dies(stand.connector, 2, after).push(snapshot(POLICY), Mode.MERGE, stand.names, journal)
    assert policies_of(stand) != before
    assert undo(stand.connector, journal).ok
    assert policies_of(stand) == before


def test_a_target_that_says_yes_and_does_nothing_is_an_error(stand: Stand, journal: Journal) -> None:
    result = Lies(stand.connector).push(snapshot(POLICY), Mode.MERGE, stand.names, journal)
    assert not result.ok
    assert result.count(Outcome.FAILED)
    assert not result.count(Outcome.APPLIED)
    assert not journal.marks(stand.connector.name)


def test_one_push_at_a_time(stand: Stand, journal: Journal) -> None:
    with journal.locked(stand.connector.name), pytest.raises(Conflict, match="another push"):
        stand.connector.push(snapshot(POLICY), Mode.MERGE, stand.names, journal)
    assert stand.connector.push(snapshot(POLICY), Mode.MERGE, stand.names, journal).ok


def test_nobody_is_guessed(stand: Stand, journal: Journal) -> None:
    stranger = Principal(Kind.USER, "nobody-knows")
    facts = POLICY.changed(add=[Known(stranger), MemberFact(READER, stranger)])
    result = stand.connector.push(snapshot(facts), Mode.MERGE, stand.names, journal)
    assert result.ok
    missing = [loss for loss in result.losses if loss.cause is Cause.MISSING_PRINCIPAL]
    assert [loss.principal for loss in missing] == [str(stand.own(stranger))]
    assert stand.own(stranger) not in stand.connector.read().facts.principals


@pytest.mark.parametrize("system", [system for system in SYSTEMS if system not in WITHOUT_ROLES])
def test_a_role_of_others_is_not_given_what_its_holders_may_not_have(
    system: str, stand_of: Callable[[str], Stand], journal: Journal
) -> None:
    stand = stand_of(system)
    role = stand.own(READER)
    stand.connector.apply([Change(None, Known(role)), Change(None, MemberFact(role, stand.own(BOB)))])
    result = stand.connector.push(snapshot(POLICY), Mode.MERGE, stand.names, journal)
    assert result.count(Outcome.WIDENS)
    assert not stand.may(BOB, TABLES[0], "table.read")


def test_a_failure_in_the_middle_leaves_the_rest_and_can_be_undone(
    stand: Stand, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Connector, "batch", 1)
    before = policies_of(stand)

    class Fails(Around):
        left = 3

        def apply(self, changes: Sequence[Change]) -> list[Applied]:
            self.left -= 1
            if self.left == 0:
                raise ConnectionFailed("the line is dead")
            return self.inner.apply(changes)

    result = Fails(stand.connector).push(snapshot(POLICY), Mode.MERGE, stand.names, journal)
    failed = [item for item in result.items if item.outcome is Outcome.FAILED]
    assert "the line is dead" in failed[0].detail
    assert result.count(Outcome.APPLIED)
    assert undo(stand.connector, journal).ok
    assert policies_of(stand) == before


@pytest.mark.parametrize("system", [system for system in SYSTEMS if system not in WITHOUT_GATES])
def test_no_gate_is_opened_onto_what_others_left_behind_it(
    system: str, stand_of: Callable[[str], Stand], journal: Journal
) -> None:
    stand = stand_of(system)
    stand.connector.apply([dormant(stand)])
    result = stand.connector.push(snapshot(POLICY), Mode.MERGE, stand.names, journal)
    assert result.count(Outcome.WIDENS)
    assert not stand.may(BOB, TABLES[1], "table.insert")
    assert stand.may(ANN, TABLES[0], "table.read")


FILTERING = ("headgate", "postgresql", "ranger", "lakeformation", "bigquery")
FILTERED = POLICY.changed(
    add=[rows_where(TABLES[0], "few", "x < 10", (ANN,)), rows_where(TABLES[2], "few", "y = 1")]
)


def test_the_systems_with_row_filters_are_those_that_the_tables_say() -> None:
    assert {table.system for table in all_capabilities() if table.rows} == set(FILTERING)


def seen_by_all(stand: Stand) -> dict[Principal, list[int]]:
    return {user: [len(stand.cells(user, table)) for table in (TABLES[0], TABLES[2])] for user in (ANN, BOB)}


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("system", FILTERING)
def test_wherever_a_push_dies_nobody_sees_what_a_filter_hides(
    system: str,
    stand_of: Callable[[str], Stand],
    journal: Journal,
    monkeypatch: pytest.MonkeyPatch,
    after: bool,
) -> None:
    monkeypatch.setattr(Connector, "batch", 3)
    stand = stand_of(system)
    monkeypatch.setattr(stand.connector, "batch", 3)
    before = policies_of(stand)
    for step in range(20):
        try:
            Dies(stand.connector, step, after).push(snapshot(FILTERED), Mode.MERGE, stand.names, journal)
            break
        except Died:
            seen = seen_by_all(stand)
            assert seen[ANN] in ([0, 0], [3, 0])
            assert seen[BOB] in ([0, 0], [0, 4])
            assert undo(stand.connector, journal).ok
            assert policies_of(stand) == before
    assert step > 1
    assert seen_by_all(stand) == {ANN: [3, 0], BOB: [0, 4]}
    assert undo(stand.connector, journal).ok
    assert policies_of(stand) == before


@pytest.mark.parametrize("system", FILTERING)
def test_where_a_filter_fails_nothing_is_granted_after_it(
    system: str, stand_of: Callable[[str], Stand], journal: Journal
) -> None:
    stand = stand_of(system)

    class Unfiltered(Around):
        def apply(self, changes: Sequence[Change]) -> list[Applied]:
            if any(isinstance(change.fact, RowFilter) for change in changes):
                return [Applied(Outcome.FAILED, "no filters today")] * len(changes)
            return self.inner.apply(changes)

    result = Unfiltered(stand.connector).push(snapshot(FILTERED), Mode.MERGE, stand.names, journal)
    assert not result.ok
    assert seen_by_all(stand) == {ANN: [0, 0], BOB: [0, 0]}
    assert undo(stand.connector, journal).ok
