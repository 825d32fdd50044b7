"""Many grants on one object are fetched, planned and pushed in a time that grows with them and no faster."""

import time
from pathlib import Path

import pytest
from bench.sync import headgate, policy

from headgate.store import Store
from headgate.sync.pushing.journal import Journal
from headgate.sync.pushing.results import Mode, Outcome
from headgate.sync.pushing.run import undo
from headgate.sync.snapshots.names import PrincipalMap
from headgate.sync.snapshots.snapshot import PolicySnapshot


@pytest.mark.parametrize("one_object", [True, False])
def test_a_push_of_many_is_whole_and_undone_whole(tmp_path: Path, journal: Journal, one_object: bool) -> None:
    facts = policy(400, one_object)
    connector = headgate(str(tmp_path), facts)
    before = connector.read().facts
    result = connector.push(
        PolicySnapshot.of(facts, "headgate"), Mode.MERGE, PrincipalMap.same_names(), journal
    )
    assert result.ok
    assert result.count(Outcome.APPLIED) > 400
    assert set(connector.fetch().facts.grants) == set(facts.grants)
    assert undo(connector, journal).ok
    assert connector.read().facts == before
    close(connector)


@pytest.mark.slow
def test_ten_times_the_grants_take_little_more_than_ten_times_the_time(
    tmp_path: Path, journal: Journal
) -> None:
    def seconds(grants: int) -> float:
        facts = policy(grants, True)
        connector = headgate(str(tmp_path), facts)
        snapshot = PolicySnapshot.of(facts, "headgate")
        # The time that it computes: others may use the machine too.
        start = time.process_time()
        connector.plan(snapshot, Mode.MERGE, PrincipalMap.same_names(), journal)
        taken = time.process_time() - start
        close(connector)
        return taken

    small = min(seconds(300) for _ in range(3))
    assert seconds(3_000) < 30 * small


def close(connector: object) -> None:
    store = getattr(connector, "store", None)
    assert isinstance(store, Store)
    store.close()
