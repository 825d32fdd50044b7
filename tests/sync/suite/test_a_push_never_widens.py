"""Whatever the source says, the target itself never allows more than the source does; and as much, where it can say it."""

from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from headgate.sync.access.capabilities import CANONICAL
from headgate.sync.access.effective import Effective, covered, effective
from headgate.sync.pushing.journal import Journal
from headgate.sync.pushing.results import Mode, Outcome
from headgate.sync.registry import all_capabilities
from headgate.sync.snapshots.facts import Facts, Kind
from headgate.sync.translating.canonical import vocabulary
from tests.sync.conftest import SYSTEMS
from tests.sync.stands import Stand, places
from tests.sync.worlds import COLUMNS, USERS, policies, snapshot

VOCABULARY = vocabulary(all_capabilities())


def allowed_by(facts: Facts) -> Effective:
    semantics = type(CANONICAL)(VOCABULARY, CANONICAL.inherits, CANONICAL.gates, True, True)
    return effective(facts, semantics)


def pushed(stand: Stand, facts: Facts, journal: Journal) -> None:
    # Who is in a group may be the identity provider's to say: it says the same as the source.
    stand.members = {
        user: frozenset(p.name for p in facts.closure(user) if p.kind is Kind.GROUP) for user in USERS
    }
    result = stand.connector.push(snapshot(facts), Mode.OVERWRITE, stand.names, journal)
    bad = [item for item in result.items if item.outcome in (Outcome.FAILED, Outcome.WIDENS)]
    assert not bad, bad
    assert not result.notes


def compare(stand: Stand, facts: Facts, *, equal: bool) -> None:
    source = allowed_by(facts)
    sayable = {
        action
        for type, table in stand.connector.capabilities.semantics.natives.items()
        for gives in table.values()
        for action in gives
        if gives == {action} and action.startswith(f"{type}.")
    }
    for user in USERS:
        for action in stand.asked:
            for object in places(action):
                says = stand.may(user, object, action)
                allowed = source.get(user, frozenset())
                should = covered((object, action), allowed)
                if action == "table.read" and not stand.tells_columns:
                    columns = (column for column in COLUMNS if column.path[:3] == object.path)
                    should = should or all(covered((column, "column.read"), allowed) for column in columns)
                assert should or not says, f"{user} may {action} {object} in the target and not in the source"
                if equal and action in sayable:
                    assert says or not should, (
                        f"{user} may {action} {object} in the source, not in the target"
                    )


COMMON = settings(
    max_examples=8,
    deadline=None,
    # Against real servers a smaller example is not worth the minutes it takes to find.
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.mark.parametrize("system", SYSTEMS)
@given(facts=policies(owners=False))
@COMMON
def test_the_target_allows_exactly_what_it_can_say_of_the_source(
    system: str, stand_of: Callable[[str], Stand], journal: Journal, facts: Facts
) -> None:
    stand = stand_of(system)
    forget(journal, stand)
    pushed(stand, facts, journal)
    compare(stand, facts, equal=True)


@pytest.mark.parametrize("system", SYSTEMS)
@given(facts=policies(owners=True, columns=True))
@COMMON
def test_owners_and_columns_never_widen(
    system: str, stand_of: Callable[[str], Stand], journal: Journal, facts: Facts
) -> None:
    stand = stand_of(system)
    forget(journal, stand)
    pushed(stand, facts, journal)
    compare(stand, facts, equal=False)


def forget(journal: Journal, stand: Stand) -> None:
    """A stand was emptied behind the journal's back: the marks of earlier examples are void."""
    last = journal.last(stand.connector.name)
    if last is not None:
        journal.finish(last.id, "undone", last.target, (), journal.marks(last.target))
