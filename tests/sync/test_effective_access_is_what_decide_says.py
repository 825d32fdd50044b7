"""The reference expansion of effective access agrees with the decision point, for everything that can be asked of both."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from headgate.sync.access.effective import effective
from headgate.sync.connectors.headgate.capabilities import CAPABILITIES
from headgate.sync.pushing.results import Change, Outcome
from headgate.sync.snapshots.facts import Facts, GrantFact, Known, MemberFact, OwnerFact
from tests.sync.stands import HeadgateStand, places
from tests.sync.worlds import USERS, policies


@pytest.fixture(scope="module")
def stand(tmp_path_factory: pytest.TempPathFactory) -> HeadgateStand:
    folder: Path = tmp_path_factory.mktemp("decide")
    return HeadgateStand(folder)


@given(facts=policies(direct=False, nested=False, opaque=False, owners=True))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_user_object_and_action(stand: HeadgateStand, facts: Facts) -> None:
    stand.empty()
    changes = [Change(None, fact) for fact in facts if isinstance(fact, Known)]
    changes += [Change(None, fact) for fact in facts if isinstance(fact, GrantFact | MemberFact | OwnerFact)]
    answers = stand.connector.apply(changes)
    cycles = [a for a in answers if a.outcome is not Outcome.APPLIED]
    assert all("contain each other" in answer.detail for answer in cycles)
    access = effective(stand.connector.read().facts, CAPABILITIES.semantics)
    for user in USERS:
        for action in stand.asked:
            for object in places(action):
                assert stand.may(user, object, action) == ((object, action) in access[user])
