"""Changes made together: the same state as one by one, one answer each, and one bad change spoils none of its neighbours."""

from collections.abc import Callable

import pytest

from headgate.model.privileges import Condition
from headgate.sync.pushing.results import Change, Outcome
from headgate.sync.snapshots.facts import Fact, GrantFact, Kind, Known, MemberFact, Principal, Securable
from tests.sync.stands import Stand
from tests.sync.worlds import CATALOG, TABLES, USERS

ROLES = [Principal(Kind.ROLE, f"bulk{n}") for n in range(3)]
NOWHERE = Securable(TABLES[0].type, (*TABLES[0].path[:2], "missing"))


@pytest.fixture(params=["headgate", "postgresql"])
def stand(request: pytest.FixtureRequest, stand_of: Callable[[str], Stand]) -> Stand:
    """The systems that make changes in bulk."""
    return stand_of(request.param)


def facts_for(stand: Stand) -> list[Fact]:
    roles = [stand.own(role) for role in ROLES]
    there = stand.connector.capabilities.system == "postgresql"
    select, use = ("SELECT", "CONNECT") if there else ("SELECT_TABLE", "USE_CATALOG")
    return [
        *map(Known, roles),
        *(GrantFact(role, table, select) for role in roles for table in TABLES[:2]),
        *(GrantFact(role, CATALOG, use) for role in roles),
        *(MemberFact(role, stand.own(user)) for role in roles for user in USERS[:2]),
    ]


def test_together_is_the_same_as_one_by_one(stand: Stand) -> None:
    wanted = facts_for(stand)
    add = [Change(None, fact) for fact in wanted]
    before = stand.connector.read().facts.all
    answers = stand.connector.apply(add)
    assert [answer.outcome for answer in answers] == [Outcome.APPLIED] * len(add)
    together = stand.connector.read().facts.all
    assert together - before == set(wanted)
    taken = stand.connector.apply([change.undone for change in reversed(add)])
    assert {answer.outcome for answer in taken} == {Outcome.APPLIED}
    assert stand.connector.read().facts.all == before
    for change in add:
        assert [answer.outcome for answer in stand.connector.apply([change])] == [Outcome.APPLIED]
    assert stand.connector.read().facts.all == together
    again = stand.connector.apply(add)
    assert {answer.outcome for answer in again} <= {Outcome.APPLIED, Outcome.ALREADY}
    assert stand.connector.read().facts.all == together


def test_one_that_fails_spoils_none_of_its_neighbours(stand: Stand) -> None:
    wanted = facts_for(stand)
    word = next(fact.privilege for fact in wanted if isinstance(fact, GrantFact))
    stranger = Principal(Kind.ROLE, "nobody-made-this")
    bad = {4: GrantFact(stand.own(ROLES[0]), NOWHERE, word), 6: GrantFact(stranger, TABLES[0], word)}
    changes = [Change(None, fact) for fact in wanted]
    for position, fact in bad.items():
        changes.insert(position, Change(None, fact))
    answers = stand.connector.apply(changes)
    failed = [n for n, answer in enumerate(answers) if answer.outcome is Outcome.FAILED]
    assert failed == sorted(bad)
    assert set(wanted) <= stand.connector.read().facts.all


def test_of_two_changes_of_one_grant_the_later_holds(stand_of: Callable[[str], Stand]) -> None:
    stand = stand_of("headgate")
    role = ROLES[0]
    allow, deny = (
        GrantFact(role, TABLES[0], "SELECT_TABLE", decision) for decision in (Condition.ALLOW, Condition.DENY)
    )
    other = GrantFact(role, TABLES[0], "MODIFY_TABLE")
    made = [Change(None, Known(role)), Change(None, allow), Change(None, other), Change(allow, deny)]
    stand.connector.apply(made)
    grants = {
        fact for fact in stand.connector.read().facts if isinstance(fact, GrantFact) and fact.holder == role
    }
    assert grants == {deny, other}
