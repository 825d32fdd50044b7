"""Whatever the source says, the target itself never allows more than the source does; and as much, where it can say it."""

from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from headgate.model.privileges import Condition
from headgate.sync.canonical import vocabulary
from headgate.sync.capabilities import CANONICAL
from headgate.sync.connectors import all_capabilities
from headgate.sync.effective import Effective, covered, effective
from headgate.sync.facts import Facts, Kind, Principal, Securable
from headgate.sync.journal import Journal
from headgate.sync.results import Mode, Outcome
from tests.sync.conftest import SYSTEMS
from tests.sync.stands import Stand, places
from tests.sync.worlds import USERS, policies, snapshot

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
                should = covered((object, action), source.get(user, frozenset()))
                assert should or not says, f"{user} may {action} {object} in the target and not in the source"
                if equal and action in sayable and not by_another_word(stand, facts, user, object, action):
                    assert says or not should, (
                        f"{user} may {action} {object} in the source, not in the target"
                    )


def by_another_word(stand: Stand, facts: Facts, user: Principal, object: Securable, action: str) -> bool:
    """Whether the user has the action by a word of another system while this one's word for it is denied to them.

    A system that denies words cannot say that: the denial meets its own word, which is the only one it has.
    """
    words = {
        grant.decision: grant
        for holder in facts.closure(user)
        for grant in facts.grants_of.get(holder, ())
        if grant.object in object.chain()
        and action in VOCABULARY.get(grant.object.type, {}).get(grant.privilege, ())
        and (grant.decision is Condition.DENY or ":" in grant.privilege)
    }
    return stand.connector.capabilities.deny and len(words) == 2


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
