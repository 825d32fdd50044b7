"""Whatever row filters come and go, no push shows anybody a row that the source hides from them."""

from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from headgate.sync.effective import restricted
from headgate.sync.facts import Fact, Facts, Grant, Principal, RowFilter
from headgate.sync.journal import Journal
from headgate.sync.results import Mode, Outcome
from tests.sync.cloud_stands import BigQueryStand, LakeFormationStand
from tests.sync.stands import Stand
from tests.sync.suite.test_a_push_never_widens import allowed_by, forget
from tests.sync.worlds import CATALOG, INVENTORY, PEOPLE, SCHEMAS, TABLES, USERS, snapshot

PREDICATES = {"small": "x < 10", "large": "x > 90", "odd": "y = 1"}
SOME = st.frozensets(st.sampled_from(USERS), max_size=3).map(lambda found: tuple(sorted(found)))
HELD = [
    Grant(user, object, word)
    for user in USERS
    for object, word in (
        (TABLES[0], "SELECT_TABLE"),
        (TABLES[0], "MODIFY_TABLE"),
        (SCHEMAS[0], "SELECT_TABLE"),
        (SCHEMAS[0], "SELECT_VIEW"),
    )
]


@st.composite
def worlds(draw: st.DrawFn) -> Facts:
    facts: set[Fact] = {*INVENTORY, *PEOPLE}
    facts |= {Grant(user, CATALOG, word) for user in USERS for word in ("USE_CATALOG", "USE_SCHEMA")}
    facts |= draw(st.sets(st.sampled_from(HELD), max_size=8))
    for name in draw(st.sets(st.sampled_from(sorted(PREDICATES)), max_size=2)):
        facts.add(RowFilter(TABLES[0], name, PREDICATES[name], draw(SOME), draw(SOME)))
    return Facts(facts)


@pytest.mark.parametrize("system", ["lakeformation", "bigquery"])
@given(steps=st.lists(st.tuples(worlds(), st.sampled_from(Mode)), min_size=1, max_size=3))
@settings(
    max_examples=12,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_no_push_shows_a_row_that_the_source_hides(
    system: str, stand_of: Callable[[str], Stand], journal: Journal, steps: list[tuple[Facts, Mode]]
) -> None:
    stand = stand_of(system)
    assert isinstance(stand, LakeFormationStand | BigQueryStand)
    forget(journal, stand)
    for facts, mode in steps:
        before = {user: stand.sees(user, TABLES[0]) for user in USERS}
        result = stand.connector.push(snapshot(facts), mode, stand.names, journal)
        for user in USERS:
            seen, was = stand.sees(user, TABLES[0]), before[user]
            if not within(facts, user, seen):
                # What a push could not take away was there before it, and the push says that it failed.
                assert was is None or (seen is not None and seen <= was), f"{user} sees {seen}"
                assert mode is Mode.MERGE or any(i.outcome in REFUSED for i in result.items)


REFUSED = (Outcome.FAILED, Outcome.UNSUPPORTED, Outcome.WIDENS)


def within(facts: Facts, user: Principal, seen: set[str] | None) -> bool:
    """Whether these predicates, of which a row must meet one, show no more than the source: there it must meet all."""
    if (TABLES[0], "table.read") not in allowed_by(facts).get(user, frozenset()):
        return seen == set()
    hiding = {rule.sql for rule in restricted(facts).get(user, ())}
    # A target writes one predicate as it is, or several as one that asks for all of them.
    asked = [set(predicate.strip("()").split(") AND (")) for predicate in seen or ()]
    return not hiding or (seen is not None and all(hiding <= parts for parts in asked))
