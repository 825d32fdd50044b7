"""A push takes no more memory than a comparison may: what does not fit is refused before it is tried or anything is written."""

import gc
import tracemalloc
from collections.abc import Callable

import pytest

from headgate.model.errors import Unsupported
from headgate.model.objects import ObjectType
from headgate.sync.access import effective as reckoning
from headgate.sync.connectors.headgate.capabilities import CAPABILITIES
from headgate.sync.pushing import shifts as listing
from headgate.sync.pushing.journal import Journal
from headgate.sync.pushing.plan import PushPlan, plan
from headgate.sync.pushing.results import Mode
from headgate.sync.snapshots.facts import (
    Fact,
    Facts,
    GrantFact,
    Kind,
    Known,
    MemberFact,
    Present,
    Principal,
    Securable,
)
from headgate.sync.snapshots.names import PrincipalMap
from headgate.sync.translating import translate as translating
from headgate.sync.translating.translate import translate
from tests.sync.stands import Stand
from tests.sync.suite.test_a_push_never_widens import VOCABULARY
from tests.sync.suite.test_pushes_are_safe import POLICY
from tests.sync.worlds import snapshot

CATALOG, SCHEMA = Securable(ObjectType.CATALOG, ("lake",)), Securable(ObjectType.SCHEMA, ("lake", "s"))
READER = Principal(Kind.ROLE, "reader")
PER_USER = 6_000
"""Bytes. A set of the accesses of one user alone would take twice as much."""


def world(users: int, tables: int = 300) -> Facts:
    """Users who all hold one role that reads every table."""
    facts: list[Fact] = [Present(CATALOG), Present(SCHEMA), Known(READER)]
    facts += [GrantFact(READER, CATALOG, word) for word in ("USE_CATALOG", "USE_SCHEMA")]
    for n in range(tables):
        table = Securable(ObjectType.TABLE, ("lake", "s", f"t{n}"))
        facts += [Present(table), GrantFact(READER, table, "SELECT_TABLE")]
    for n in range(users):
        user = Principal(Kind.USER, f"u{n}")
        facts += [Known(user), MemberFact(READER, user)]
    return Facts(facts)


def planned(source: Facts, target: Facts) -> PushPlan:
    wanted = translate(source, target, CAPABILITIES, PrincipalMap.same_names(), VOCABULARY)
    return plan(target, wanted, frozenset(), Mode.MERGE, CAPABILITIES)


def peak(source: Facts, target: Facts) -> int:
    gc.collect()
    tracemalloc.start()
    try:
        planned(source, target)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_what_does_not_fit_is_refused_before_it_is_worked_out_or_written(
    stand_of: Callable[[str], Stand], journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    def worked_out(*_: object) -> None:
        raise AssertionError("this is what does not fit")

    stand = stand_of("headgate")
    monkeypatch.setattr(reckoning, "MOST_IN_MEMORY", 10)
    monkeypatch.setattr(translating, "effective", worked_out)
    for act in (stand.connector.plan, stand.connector.push):
        with pytest.raises(Unsupported, match="accesses") as told:
            act(snapshot(POLICY), Mode.MERGE, stand.names, journal)
        assert "groups and roles" in str(told.value.hint)
    assert journal.last(stand.connector.name) is None


def test_people_who_may_do_the_same_are_worked_out_once() -> None:
    """What a plan takes grows with people, and with objects, not with people times objects."""
    few, many = world(20), world(220)
    planned(few, few)  # what is made once for all is made before it is measured
    grown = peak(many, many) - peak(few, few)
    assert grown < 200 * PER_USER


def test_as_many_gains_are_listed_as_can_be_and_the_rest_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    source = world(10, 10)
    grants = [fact for fact in source.grants if fact.object.type is ObjectType.TABLE]
    whole = planned(source, source.changed(remove=grants))
    assert (len(whole.gains), whole.unlisted) == (100, 0)
    monkeypatch.setattr(listing, "MOST_LISTED", 30)
    part = planned(source, source.changed(remove=grants))
    assert part.gains == whole.gains[:30]
    assert part.unlisted == 70
    assert part.digest == whole.digest, "what is agreed to is the changes"


def test_what_is_restricted_for_each_is_counted_as_it_is_worked_out(monkeypatch: pytest.MonkeyPatch) -> None:
    shared = reckoning.Shared()
    table = Securable(ObjectType.TABLE, ("lake", "s", "t"))
    monkeypatch.setattr(reckoning, "MOST_IN_MEMORY", 2)
    for key in (1, 1, 2):
        assert shared.of((key,), lambda: frozenset({(table, "table.read")})) == {(table, "table.read")}
    with pytest.raises(Unsupported):
        shared.of((3,), lambda: frozenset({(table, "table.read")}))
