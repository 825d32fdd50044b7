"""From one system to another and back: the same policies, or exactly the losses that the tables of capabilities predict."""

from collections.abc import Callable
from itertools import permutations

import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from headgate.sync.connectors.bigquery.rows import NO_POLICY
from headgate.sync.pushing.journal import Journal
from headgate.sync.pushing.results import Mode, Outcome
from headgate.sync.snapshots.facts import (
    Fact,
    Facts,
    GrantFact,
    Kind,
    Known,
    Mask,
    MemberFact,
    Principal,
    RowFilter,
)
from headgate.sync.snapshots.names import PrincipalMap
from headgate.sync.translating.canonical import canonical
from headgate.sync.translating.losses import STRUCTURE, Cause
from headgate.sync.translating.restrictions import rule_name
from headgate.sync.translating.translate import Translation, translate
from tests.sync.conftest import PAIRED
from tests.sync.stands import FEW, Stand
from tests.sync.suite.test_a_push_never_widens import VOCABULARY, allowed_by, forget
from tests.sync.suite.test_rows_and_cells_never_widen import SAYS_ROWS, plain_worlds
from tests.sync.worlds import GROUPS, ROLES, TABLES, USERS, policies, snapshot

PAIRS = list(permutations(PAIRED, 2))


def between(one: Stand, other: Stand) -> PrincipalMap:
    """Who is who in two systems: the people of the world, and roles under the same names."""
    to_world = one.names.back
    entries = {str(one.own(p)): str(other.own(p)) for p in (*USERS, *ROLES)}
    if one.connector.capabilities.groups and other.connector.capabilities.groups:
        entries |= {str(one.own(p)): str(other.own(p)) for p in GROUPS}
    assert all(to_world.of(one.own(p)) == p for p in USERS)
    return PrincipalMap(entries)


def told(facts: Facts, stand: Stand) -> frozenset[Fact]:
    """Grants, holders and roles: what a policy is, without the inventory."""
    keeps = stand.connector.capabilities.memberships
    return frozenset(
        fact
        for fact in facts
        if isinstance(fact, GrantFact)
        or (isinstance(fact, MemberFact) and (fact.of.kind is Kind.ROLE or keeps))
        or (isinstance(fact, Known) and fact.principal.kind is Kind.ROLE)
    )


def push(source: Facts, stand: Stand, names: PrincipalMap, journal: Journal) -> None:
    forget(journal, stand)
    result = stand.connector.push(snapshot(source), Mode.OVERWRITE, names, journal)
    assert not [i for i in result.items if i.outcome in (Outcome.FAILED, Outcome.WIDENS)]


def predicted(source: Facts, stand: Stand, names: PrincipalMap) -> tuple[Facts, Translation]:
    """What the target will say of itself, from the tables alone."""
    now = stand.connector.read().facts
    able, takes, render = stand.connector.capabilities, stand.connector.takes, stand.connector.render
    made = translate(source, now, able, names, VOCABULARY, takes=takes, render=render)
    everything_else = [f for f in now if not isinstance(f, GrantFact | MemberFact)]
    kept = [f for f in made.facts if not isinstance(f, MemberFact) or f in told(made.facts, stand)]
    will_say = stand.connector.spelled_out(Facts([*everything_else, *kept]))
    return canonical(will_say, stand.connector.capabilities), made


@pytest.mark.slow
@pytest.mark.parametrize(("here", "there"), PAIRS)
@given(facts=policies(opaque=False))
@FEW
def test_a_round_trip_gives_the_same_or_the_predicted(
    here: str, there: str, stand_of: Callable[[str], Stand], journal: Journal, facts: Facts
) -> None:
    one, other = stand_of(here), stand_of(there)
    push(facts, one, one.names, journal)
    start = one.connector.fetch().facts

    foreseen, out = predicted(start, other, between(one, other))
    push(start, other, between(one, other), journal)
    middle = other.connector.fetch().facts
    assert told(middle, other) == told(foreseen, other)

    one.empty()
    foreseen, home = predicted(middle, one, between(other, one))
    push(middle, one, between(other, one), journal)
    end = one.connector.fetch().facts
    assert told(end, one) == told(foreseen, one)

    if not out.losses and not home.losses:
        assert told(end, one) == told(start, one)
    keeps_groups = one.connector.capabilities.memberships and other.connector.capabilities.memberships
    structure_only = all(loss.cause in STRUCTURE for loss in (*out.losses, *home.losses))
    if structure_only and (keeps_groups or not start.members):
        users = tuple(one.own(user) for user in USERS)
        assert _data(allowed_by(end), users) == _data(allowed_by(start), users)


def _data(access: dict[Principal, frozenset[tuple[object, str]]], users: tuple[Principal, ...]) -> object:
    return {user: {a for a in access.get(user, ()) if not a[1].endswith(".use")} for user in users}


def rules_of(facts: Facts) -> set[RowFilter | Mask]:
    """Row filters and masks, without the one that BigQuery adds by itself wherever there are others."""
    return {rule for rule in facts.restrictions if rule.name != NO_POLICY}


FILTERING = tuple(system for system in SAYS_ROWS if system != "headgate")


@pytest.mark.parametrize(
    ("here", "there"),
    [*(("headgate", system) for system in FILTERING), *((system, "headgate") for system in FILTERING)],
)
@given(data=st.data())
@FEW
def test_row_filters_and_masks_come_back_as_they_went(
    here: str, there: str, stand_of: Callable[[str], Stand], journal: Journal, data: st.DataObject
) -> None:
    one, other = stand_of(here), stand_of(there)
    both = one.connector.capabilities.masks and other.connector.capabilities.masks
    push(data.draw(plain_worlds(masks=both)), one, one.names, journal)
    start, seen = one.connector.fetch().facts, [one.cells(user, TABLES[0]) for user in USERS]
    # A rule may exempt all whom it is for.
    assume(rules_of(start))

    foreseen, out = predicted(start, other, between(one, other))
    push(start, other, between(one, other), journal)
    middle = other.connector.fetch().facts
    assert rules_of(middle) == rules_of(foreseen)
    assert [other.cells(user, TABLES[0]) for user in USERS] == seen

    one.empty()
    foreseen, home = predicted(middle, one, between(other, one))
    push(middle, one, between(other, one), journal)
    end = one.connector.fetch().facts
    assert rules_of(end) == rules_of(foreseen)
    assert [one.cells(user, TABLES[0]) for user in USERS] == seen
    assert not _LOST & {loss.cause for loss in (*out.losses, *home.losses)}
    if "bigquery" not in (here, there):
        # Names become such that every system takes them, once; there everybody's filters become one, under a name of its own.
        plainly = {msgspec.structs.replace(rule, name=rule_name(rule.name)) for rule in rules_of(start)}
        assert rules_of(end) == plainly


_LOST = {Cause.FILTER, Cause.MASK, Cause.MASKED_COLUMN}
