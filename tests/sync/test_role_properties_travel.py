"""What people keep beside a role goes with it: fetched, written down, pushed, changed, taken away and brought back."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.sync.connectors.postgresql.capabilities import CAPABILITIES as POSTGRESQL
from headgate.sync.operations import compare, keep_in_step
from headgate.sync.pushing.journal import Journal
from headgate.sync.pushing.results import Change, Mode, Outcome
from headgate.sync.pushing.run import undo
from headgate.sync.snapshots.facts import Fact, Facts, Known, Property
from headgate.sync.snapshots.names import PrincipalMap
from headgate.sync.snapshots.snapshot import PolicySnapshot
from headgate.sync.translating.losses import Cause
from headgate.sync.translating.translate import translate
from tests.sync.stands import GravitinoStand, HeadgateStand, Stand
from tests.sync.suite.test_a_push_never_widens import VOCABULARY
from tests.sync.suite.test_pushes_are_safe import POLICY, READER, WRITER
from tests.sync.worlds import snapshot

DESCRIBED = POLICY.changed([Property(READER, "description", "reads"), Property(READER, "contact", "ann")])
KEEPING = ("headgate", "gravitino", "polaris")


def properties(stand: Stand) -> dict[str, str]:
    return stand.connector.fetch().roles[stand.own(READER).name].properties


@given(st.dictionaries(st.text(min_size=1), st.text()))
@settings(max_examples=40, deadline=None)
def test_properties_stand_in_every_form_of_the_snapshot(kept: dict[str, str]) -> None:
    facts = Facts({Known(READER), *(Property(READER, name, value) for name, value in kept.items())})
    written = PolicySnapshot.of(facts, "headgate")
    for text in (written.to_json(), written.to_yaml()):
        read = PolicySnapshot.read(text)
        assert read.roles["reader"].properties == kept
        assert read.facts == facts
        assert read == written


@pytest.mark.parametrize("system", KEEPING)
def test_a_role_is_pushed_with_its_properties_and_read_back(
    system: str, stand_of: Callable[[str], Stand], journal: Journal
) -> None:
    stand = stand_of(system)
    result = stand.connector.push(snapshot(DESCRIBED), Mode.MERGE, stand.names, journal)
    assert result.ok
    assert Cause.PROPERTY not in {loss.cause for loss in result.losses}
    assert properties(stand) == {"description": "reads", "contact": "ann"}
    again = stand.connector.push(snapshot(DESCRIBED), Mode.MERGE, stand.names, journal)
    assert not again.count(Outcome.APPLIED)
    assert undo(stand.connector, journal, again.push).ok
    assert undo(stand.connector, journal, result.push).ok
    assert stand.own(READER).name not in stand.connector.fetch().roles


@pytest.mark.parametrize("batch", [1, 2, 3])
def test_a_role_is_not_parted_from_its_properties(
    batch: int, stand_of: Callable[[str], Stand], journal: Journal
) -> None:
    """Gravitino takes properties only when a role is made."""
    stand = stand_of("gravitino")
    stand.connector.batch = batch
    also = [Property(WRITER, f"p{n}", str(n)) for n in range(5)]
    assert stand.connector.push(snapshot(DESCRIBED.changed(also)), Mode.MERGE, stand.names, journal).complete
    assert len(stand.connector.fetch().roles["writer"].properties) == 5
    assert properties(stand) == {"description": "reads", "contact": "ann"}


@pytest.mark.parametrize("system", ["headgate", "polaris"])
def test_changes_of_properties_follow_and_those_of_others_stay(
    system: str, stand_of: Callable[[str], Stand], journal: Journal
) -> None:
    stand = stand_of(system)
    stand.connector.push(snapshot(DESCRIBED), Mode.MERGE, stand.names, journal)
    stand.connector.apply([Change(None, Property(stand.own(READER), "theirs", "x"))])
    new: list[Fact] = [Property(READER, "description", "reads more")]
    changed = DESCRIBED.changed(new, [f for f in DESCRIBED if isinstance(f, Property)])
    for mode in Mode:
        assert stand.connector.push(snapshot(changed), mode, stand.names, journal).ok
        assert properties(stand) == {"description": "reads more", "theirs": "x"}


def test_where_properties_cannot_change_that_is_told(
    stand_of: Callable[[str], Stand], journal: Journal
) -> None:
    stand = stand_of("gravitino")
    stand.connector.push(snapshot(DESCRIBED), Mode.MERGE, stand.names, journal)
    late = DESCRIBED.changed([Property(READER, "late", "x")])
    result = stand.connector.push(snapshot(late), Mode.MERGE, stand.names, journal)
    told = [item for item in result.items if isinstance(item.change.fact, Property)]
    assert {
        (item.change.fact.name, item.outcome) for item in told if item.outcome is not Outcome.ALREADY
    } == {  # type: ignore[union-attr]
        ("late", Outcome.UNSUPPORTED)
    }
    assert properties(stand) == {"description": "reads", "contact": "ann"}


def test_a_property_that_a_target_has_no_place_for_is_a_loss() -> None:
    made = translate(DESCRIBED, POLICY, POSTGRESQL, PrincipalMap.same_names(), VOCABULARY)
    assert not [fact for fact in made.facts if isinstance(fact, Property)]
    lost = {(loss.principal, loss.what) for loss in made.losses if loss.cause is Cause.PROPERTY}
    assert lost == {("role:reader", "description"), ("role:reader", "contact")}


def test_properties_travel_both_ways(
    stand_of: Callable[[str], Stand], journal: Journal, tmp_path: Path
) -> None:
    here, there = stand_of("headgate"), HeadgateStand(tmp_path / "other")
    there.connector.name = "headgate:other"
    here.connector.push(snapshot(DESCRIBED), Mode.OVERWRITE, here.names, journal)
    same = PrincipalMap.same_names()
    assert keep_in_step(here.connector, there.connector, same, journal).target.ok
    assert properties(there) == {"description": "reads", "contact": "ann"}
    old, new = Property(READER, "description", "reads"), Property(READER, "description", "reads there")
    there.connector.apply([Change(old, new)])
    here.connector.apply([Change(Property(READER, "contact", "ann"), None)])
    second = keep_in_step(here.connector, there.connector, same, journal)
    assert not second.clashes
    assert properties(here) == properties(there) == {"description": "reads there"}
    assert compare(here.connector.fetch(), there.connector.fetch(), same).same
    here.connector.apply([Change(new, Property(READER, "description", "otherwise"))])
    differing = compare(here.connector.fetch(), there.connector.fetch(), same)
    assert [type(fact) for fact in (*differing.added, *differing.removed)] == [Property, Property]
    there.close()


def test_what_gravitinos_clients_say_of_a_role_is_fetched(stand_of: Callable[[str], Stand]) -> None:
    stand = stand_of("gravitino")
    assert isinstance(stand, GravitinoStand)
    body = {"name": "reader", "properties": {"k": "v"}, "securableObjects": []}
    stand.call("POST", "roles", body)
    assert properties(stand) == {"k": "v"}
