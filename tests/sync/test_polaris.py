"""What is particular to Polaris: catalog roles that are shared, administrators, nested namespaces, waits, wrong credentials."""

from collections.abc import Callable

import pytest

from headgate.model.errors import ConnectionFailed
from headgate.model.objects import ObjectType
from headgate.sync.connectors.polaris.connector import PolarisConnector
from headgate.sync.pushing.journal import Journal
from headgate.sync.pushing.results import Change, Mode, Outcome
from headgate.sync.pushing.run import undo
from headgate.sync.snapshots.facts import (
    Fact,
    Facts,
    GrantFact,
    Kind,
    Known,
    MemberFact,
    Principal,
    Securable,
)
from headgate.sync.translating.losses import Cause
from tests.sync.cloud_stands import PolarisStand
from tests.sync.stands import Stand
from tests.sync.worlds import CATALOG, INVENTORY, PEOPLE, SCHEMAS, TABLES, USERS, snapshot

ANN, BOB, CY = USERS
READER, WRITER = Principal(Kind.ROLE, "reader"), Principal(Kind.ROLE, "writer")


@pytest.fixture
def polaris(stand_of: Callable[[str], Stand]) -> PolarisStand:
    stand = stand_of("polaris")
    assert isinstance(stand, PolarisStand)
    return stand


def policy(*facts: Fact) -> Facts:
    gates = [GrantFact(READER, CATALOG, word) for word in ("USE_CATALOG", "USE_SCHEMA")]
    return Facts([*INVENTORY, *PEOPLE, Known(READER), MemberFact(READER, ANN), *gates, *facts])


READS = policy(GrantFact(READER, CATALOG, "SELECT_TABLE"))


def share(polaris: PolarisStand) -> None:
    """Two roles hold one catalog role that somebody made by hand."""
    call = polaris.connector.realm  # type: ignore[attr-defined]
    for role, who in ((READER, ANN), (WRITER, BOB)):
        call.create({"principalRole": {"name": role.name}}, "principal-roles")
        call.put({"principalRole": {"name": role.name}}, "principals", who.name, "principal-roles")
    call.create({"catalogRole": {"name": "both"}}, "catalogs", "lake", "catalog-roles")
    for role in (READER, WRITER):
        call.put({"catalogRole": {"name": "both"}}, "principal-roles", role.name, "catalog-roles", "lake")
    at = ("catalogs", "lake", "catalog-roles", "both", "grants")
    for table in TABLES[:2]:
        grant = {
            "type": "table",
            "namespace": ["sales"],
            "tableName": table.path[2],
            "privilege": "TABLE_READ_DATA",
        }
        call.put({"grant": grant}, *at)
    call.put({"grant": {"type": "catalog", "privilege": "POLICY_LIST"}}, *at)


def test_what_comes_through_a_shared_catalog_role_is_taken_from_one_alone(polaris: PolarisStand) -> None:
    share(polaris)
    before = polaris.connector.read().facts
    gone = GrantFact(READER, TABLES[0], "TABLE_READ_DATA")
    assert {gone, GrantFact(WRITER, TABLES[0], "TABLE_READ_DATA")} <= before.all
    assert polaris.connector.apply([Change(gone, None)])[0].outcome is Outcome.APPLIED
    assert polaris.connector.read().facts == before.changed(remove=[gone])
    assert not polaris.may(ANN, TABLES[0], "table.read")
    assert polaris.may(ANN, TABLES[1], "table.read")
    assert polaris.may(BOB, TABLES[0], "table.read")


def test_an_overwrite_of_shared_roles_can_be_undone(polaris: PolarisStand, journal: Journal) -> None:
    share(polaris)
    before = polaris.connector.read().facts
    assert polaris.connector.push(snapshot(policy()), Mode.OVERWRITE, polaris.names, journal).ok
    assert not polaris.may(BOB, TABLES[0], "table.read")
    assert undo(polaris.connector, journal).ok
    assert polaris.connector.read().facts == before


def test_a_catalog_role_that_others_hold_is_never_granted_to(polaris: PolarisStand, journal: Journal) -> None:
    share(polaris)
    server = polaris.server
    server.catalog_roles["lake", "headgate-reader"] = {"name": "headgate-reader"}
    server.given["lake", "headgate-reader"] = []
    server.assigned.add(("lake", "headgate-reader", "writer"))
    result = polaris.connector.push(snapshot(READS), Mode.MERGE, polaris.names, journal)
    assert not result.ok
    assert not polaris.may(BOB, TABLES[2], "table.read")


def test_administrators_are_never_touched(polaris: PolarisStand, journal: Journal) -> None:
    result = polaris.connector.push(snapshot(READS), Mode.OVERWRITE, polaris.names, journal)
    assert result.ok
    assert ("root", "service_admin") in polaris.server.held
    assert ("lake", "catalog_admin", "service_admin") in polaris.server.assigned
    admin = Principal(Kind.ROLE, "service_admin")
    reading = polaris.connector.read()
    assert admin not in reading.facts.principals
    assert any("root" in note for note in reading.notes)
    answers = polaris.connector.apply(
        [
            Change(None, MemberFact(admin, ANN)),
            Change(Known(admin), None),
            Change(None, GrantFact(admin, CATALOG, "TABLE_LIST")),
        ]
    )
    assert {answer.outcome for answer in answers} == {Outcome.UNSUPPORTED}


def test_nothing_is_left_behind_by_a_push_that_was_undone(polaris: PolarisStand, journal: Journal) -> None:
    polaris.connector.push(snapshot(READS), Mode.MERGE, polaris.names, journal)
    assert ("lake", "headgate-reader") in polaris.server.catalog_roles
    assert undo(polaris.connector, journal).ok
    assert set(polaris.server.catalog_roles) == {("lake", "catalog_admin")}
    assert set(polaris.server.principal_roles) == {"service_admin"}


def test_a_federated_role_keeps_its_holders(polaris: PolarisStand, journal: Journal) -> None:
    polaris.server.principal_roles["reader"] = {"name": "reader", "federated": True}
    result = polaris.connector.push(snapshot(READS), Mode.MERGE, polaris.names, journal)
    failed = [item for item in result.items if item.outcome is Outcome.FAILED]
    assert [item.change.after for item in failed] == [MemberFact(READER, ANN)]
    assert "identity provider" in failed[0].detail


def test_the_wait_that_the_server_asks_for_is_kept(polaris: PolarisStand, journal: Journal) -> None:
    polaris.server.busy = [{"Retry-After": "7"}, {}, {}]
    assert polaris.connector.push(snapshot(READS), Mode.MERGE, polaris.names, journal).ok
    assert polaris.clock.waits == [7.0, 1.0, 2.0]


def test_wrong_credentials_are_told_and_change_nothing(polaris: PolarisStand, journal: Journal) -> None:
    wrong = PolarisConnector(polaris.server.client("another"), "polaris:wrong")
    with pytest.raises(ConnectionFailed, match="credentials"):
        wrong.push(snapshot(READS), Mode.MERGE, polaris.names, journal)
    assert set(polaris.server.principal_roles) == {"service_admin"}


def test_nested_namespaces_and_pages_are_read_to_the_end(
    polaris: PolarisStand, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(polaris.server, "page", 1)
    deep = Securable(ObjectType.TABLE, ("lake", "sales:eu:north", "orders"))
    tree = polaris.server.trees["lake"]
    tree["sales", "eu"] = {"tables": [], "views": []}
    tree["sales", "eu", "north"] = {"tables": ["orders"], "views": []}
    tree["odd:name",] = {"tables": [], "views": []}
    try:
        reading = polaris.connector.read()
        assert deep in reading.facts.present
        assert any("odd:name" in note for note in reading.notes)
        facts = policy(GrantFact(READER, SCHEMAS[0], "SELECT_TABLE"))
        assert polaris.connector.push(snapshot(facts), Mode.MERGE, polaris.names, journal).ok
        assert polaris.server.may("ann", "read", "lake", ("sales", "eu", "north"), "orders")
        assert not polaris.server.may("ann", "read", "lake", ("h_r",), "staff")
    finally:
        for path in (("sales", "eu", "north"), ("sales", "eu"), ("odd:name",)):
            del tree[path]


def test_what_is_granted_to_a_user_is_written_as_a_role_of_its_own(
    polaris: PolarisStand, journal: Journal
) -> None:
    gates = (GrantFact(CY, CATALOG, word) for word in ("USE_CATALOG", "USE_SCHEMA"))
    facts = Facts([*INVENTORY, *PEOPLE, *gates, GrantFact(CY, TABLES[0], "SELECT_TABLE")])
    result = polaris.connector.push(snapshot(facts), Mode.MERGE, polaris.names, journal)
    assert any(loss.cause is Cause.DIRECT for loss in result.losses)
    assert polaris.may(CY, TABLES[0], "table.read")
    assert GrantFact(CY, TABLES[0], "SELECT_TABLE") in polaris.connector.fetch().facts


def test_taking_away_what_is_not_there_is_no_failure(polaris: PolarisStand) -> None:
    share(polaris)
    absent = [
        Change(GrantFact(READER, TABLES[2], "TABLE_READ_DATA"), None),
        Change(MemberFact(READER, CY), None),
        Change(Known(Principal(Kind.ROLE, "nobody")), None),
    ]
    assert {answer.outcome for answer in polaris.connector.apply(absent)} == {Outcome.APPLIED}
