"""A comparison that does not fit into memory is refused before it is tried, and the measure of it is never too small."""

import msgspec
import pytest
from hypothesis import given, settings

from headgate.model.errors import Unsupported
from headgate.sync.access import effective as reckoning
from headgate.sync.access.capabilities import CANONICAL
from headgate.sync.access.effective import effective, most
from headgate.sync.comparing.diff import diff
from headgate.sync.snapshots.facts import Facts
from tests.sync.suite.test_a_push_never_widens import VOCABULARY
from tests.sync.worlds import policies

CANON = msgspec.structs.replace(CANONICAL, natives=VOCABULARY)


@given(facts=policies(owners=True, columns=True))
@settings(max_examples=30, deadline=None)
def test_no_more_is_held_than_was_reckoned(facts: Facts) -> None:
    held = {id(accesses): len(accesses) for accesses in effective(facts, CANON).values()}
    assert sum(held.values()) <= most(facts, CANON)


@given(facts=policies(owners=True))
@settings(max_examples=1, deadline=None)
def test_what_is_too_large_names_the_other_way(facts: Facts) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reckoning, "MOST_IN_MEMORY", -1)
        with pytest.raises(Unsupported, match="--spark"):
            diff(facts, facts, VOCABULARY)
