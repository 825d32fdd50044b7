"""Who made and last changed a user, group or role, and when, as far as each system knows; what it does not know is absent."""

from collections.abc import Callable

import pytest

from headgate.sync.pushing.journal import Journal
from headgate.sync.pushing.results import Change, Mode
from headgate.sync.snapshots.facts import GrantFact, Kind, Known, MemberFact, Principal
from headgate.sync.snapshots.snapshot import ChangeLog, PolicySnapshot, SnapshotRole, User, UserGroup, instant
from tests.sync.ranger_stand import RangerStand
from tests.sync.stands import HeadgateStand, Stand
from tests.sync.suite.test_pushes_are_safe import ANN, POLICY, READER
from tests.sync.worlds import TABLES, snapshot

KNOWING = ("headgate", "gravitino", "polaris", "lakeformation")
UNKNOWING = ("postgresql", "mariadb", "mysql")


def entries(told: PolicySnapshot) -> list[User | UserGroup | SnapshotRole]:
    return [*told.users.values(), *told.groups.values(), *told.roles.values()]


@pytest.mark.parametrize("system", KNOWING)
def test_what_a_system_knows_is_told(system: str, stand_of: Callable[[str], Stand], journal: Journal) -> None:
    stand = stand_of(system)
    stand.connector.push(snapshot(POLICY), Mode.MERGE, stand.names, journal)
    told = stand.connector.fetch()
    logs = [entry.change_log for entry in (*told.users.values(), *told.roles.values())]
    assert logs
    for log in logs:
        assert log is not None
        assert log.created_at is not None
        assert log.created_at.startswith("20"), "a moment is written as one"
    assert PolicySnapshot.read(told.to_yaml()) == told


@pytest.mark.parametrize("system", UNKNOWING)
def test_what_a_system_does_not_know_is_absent(
    system: str, stand_of: Callable[[str], Stand], journal: Journal
) -> None:
    stand = stand_of(system)
    stand.connector.push(snapshot(POLICY), Mode.MERGE, stand.names, journal)
    told = stand.connector.fetch()
    assert {entry.change_log for entry in entries(told)} == {None}
    assert b"change_log" not in told.to_json()


@pytest.mark.parametrize("system", ["headgate", "gravitino"])
def test_who_changed_a_role_or_its_holders_last_is_told(
    system: str, stand_of: Callable[[str], Stand], journal: Journal
) -> None:
    stand = stand_of(system)
    assert isinstance(stand, HeadgateStand)
    team = Principal(Kind.GROUP, stand.connector.fetch().groups.popitem()[0])
    stand.connector.apply([Change(None, Known(READER))])
    before = stand.connector.fetch().roles["reader"].change_log
    assert before is not None
    assert (before.created_by, before.last_modified_by) == ("admin", None)
    changes = [Change(None, GrantFact(READER, TABLES[0], "SELECT_TABLE"))]
    changes += [Change(None, MemberFact(READER, who)) for who in (ANN, team)]
    assert {a.outcome for a in stand.connector.apply(changes)} == {"applied"}
    told = stand.connector.fetch()
    for entry in (told.roles["reader"], told.users["ann"], told.groups[team.name]):
        assert entry.change_log is not None
        assert entry.change_log.last_modified_by == "admin"
        assert entry.change_log.last_modified_at is not None


def test_ranger_tells_who_made_a_role(stand_of: Callable[[str], Stand]) -> None:
    stand = stand_of("ranger")
    assert isinstance(stand, RangerStand)
    stand.connector.apply([Change(None, Known(READER))])
    stamped = {"createdBy": "root", "createTime": 1_700_000_000_000, "updatedBy": "eve", "updateTime": None}
    next(iter(stand.admin.roles.values())).update(stamped)
    assert stand.connector.fetch().roles["reader"].change_log == ChangeLog(
        "root", "2023-11-14T22:13:20.000Z", "eve"
    )


def test_hive_tells_who_made_a_role_that_somebody_holds(
    stand_of: Callable[[str], Stand], journal: Journal
) -> None:
    stand = stand_of("hive")
    stand.connector.push(snapshot(POLICY), Mode.MERGE, stand.names, journal)
    log = stand.connector.fetch().roles["reader"].change_log
    assert log is not None
    assert log.created_by
    assert log.created_at is not None


@pytest.mark.parametrize("unknown", [None, 0, -1, "", "yesterday", True])
def test_a_moment_that_is_none_is_absent(unknown: object) -> None:
    assert instant(unknown) is None
