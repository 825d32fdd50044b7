"""What is particular to a server behind Gravitino's API: policies that only it can judge, and routes that older ones lack."""

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from headgate.model.errors import HeadgateError
from headgate.model.privileges import Condition
from headgate.store.policies import OWN
from headgate.sync.connectors.gravitino.connector import GravitinoConnector
from headgate.sync.pushing.journal import Journal
from headgate.sync.pushing.results import Mode
from headgate.sync.snapshots.facts import GrantFact, MemberFact, OwnerFact, Securable
from headgate.sync.snapshots.names import PrincipalMap
from tests.sync.stands import GravitinoStand, Stand
from tests.sync.suite.test_pushes_are_safe import ANN, BOB, POLICY
from tests.sync.worlds import GROUPS, TABLES, snapshot


@pytest.fixture
def gravitino(stand_of: Callable[[str], Stand]) -> GravitinoStand:
    stand = stand_of("gravitino")
    assert isinstance(stand, GravitinoStand)
    return stand


def restrict(stand: GravitinoStand, on: str, **effect: Any) -> None:
    if "somebody" not in stand.call("GET", "groups")["names"]:
        stand.call("POST", "groups", {"name": "somebody"})
    content = {"on": f"{stand.metalake}{on}", "to": ["group:somebody"], **effect}
    stand.call("POST", "policies", {"name": "p", "policyType": OWN, "content": content})


@pytest.mark.parametrize(
    ("on", "hidden"), [("", set(TABLES)), (".lake.sales", set(TABLES[:2])), (".lake.h_r.staff", {TABLES[2]})]
)
@pytest.mark.parametrize("effect", [{"rows": "x = 1"}, {"mask": {"x": "NULL"}}, {"deny": True}])
def test_a_table_under_a_policy_of_the_server_shows_nobody_a_row_elsewhere(
    gravitino: GravitinoStand, on: str, hidden: set[Securable], effect: dict[str, Any]
) -> None:
    restrict(gravitino, on, **effect)
    fetched = gravitino.connector.fetch()
    rules = fetched.facts.restrictions
    assert {(rule.object, rule.sql, rule.to) for rule in rules} == {(table, "false", ()) for table in hidden}
    assert any("under the policy p" in note for note in fetched.properties.values())


def test_what_is_under_a_policy_is_not_granted_elsewhere(
    gravitino: GravitinoStand, stand_of: Callable[[str], Stand], journal: Journal
) -> None:
    assert gravitino.connector.push(snapshot(POLICY), Mode.MERGE, gravitino.names, journal).ok
    assert gravitino.may(ANN, TABLES[0], "table.read")
    restrict(gravitino, ".lake.sales.orders", rows="x = 1")
    elsewhere = stand_of("mariadb")
    names = PrincipalMap({str(ANN): elsewhere.own(ANN).name})
    elsewhere.connector.push(gravitino.connector.fetch(), Mode.MERGE, names, journal)
    assert not elsewhere.may(ANN, TABLES[0], "table.read")


def test_a_policy_that_is_off_hides_nothing(gravitino: GravitinoStand) -> None:
    restrict(gravitino, ".lake", rows="x = 1")
    gravitino.call("PATCH", "policies/p", {"enable": False})
    assert not gravitino.connector.fetch().facts.restrictions


def test_a_server_without_policies_and_tags_has_none_and_one_that_fails_is_an_error(
    gravitino: GravitinoStand,
) -> None:
    status = {"code": 404}

    class Older(httpx.BaseTransport):
        """A server that has no routes for tags and policies, or cannot answer on them."""

        def handle_request(self, request: httpx.Request) -> httpx.Response:
            if request.url.path.rpartition("/")[2] in ("tags", "policies"):
                return httpx.Response(status["code"], text="nothing here")
            return gravitino.client._transport.handle_request(request)

    with httpx.Client(transport=Older(), base_url="http://headgate", auth=("admin", "x")) as client:
        connector = GravitinoConnector(client, gravitino.metalake)
        assert connector.read().facts == gravitino.connector.read().facts
        status["code"] = 500
        with pytest.raises(HeadgateError, match="500"):
            connector.read()


def test_a_denial_through_a_group_of_the_identity_provider_is_no_gain(
    gravitino: GravitinoStand, journal: Journal
) -> None:
    hands = GROUPS[1]
    denied = GrantFact(hands, TABLES[2], "MODIFY_TABLE", Condition.DENY)
    gravitino.members = {BOB: frozenset({hands.name})}
    facts = POLICY.changed([MemberFact(hands, BOB), denied])
    result = gravitino.connector.push(snapshot(facts), Mode.MERGE, gravitino.names, journal)
    assert result.ok
    assert not result.notes, "who is in the group is the same as in the source"
    assert not gravitino.may(BOB, TABLES[2], "table.alter")


def test_what_a_disabled_user_owns_is_nobodys_elsewhere(gravitino: GravitinoStand) -> None:
    gravitino.call("PUT", "owners/table/lake.sales.orders", {"name": ANN.name, "type": "user"})
    assert OwnerFact(TABLES[0], ANN) in gravitino.connector.fetch().facts

    class Disabling(httpx.BaseTransport):
        """A server on which ann is disabled."""

        def handle_request(self, request: httpx.Request) -> httpx.Response:
            answer = gravitino.client._transport.handle_request(request)
            if not request.url.path.endswith("/users"):
                return answer
            told = answer.json()
            for user in told["users"]:
                user["enabled"] = user["name"] != ANN.name
            return httpx.Response(200, json=told)

    with httpx.Client(transport=Disabling(), base_url="http://headgate", auth=("admin", "x")) as client:
        facts = GravitinoConnector(client, gravitino.metalake).fetch().facts
    assert ANN not in facts.principals
    assert BOB in facts.principals
