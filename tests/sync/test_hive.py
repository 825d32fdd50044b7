"""What is the metastore's own: free words, rows of several grantors, everyone as a role, groups without effect, owners."""

from collections.abc import Callable

import pytest
from pymetastore.hive_metastore import ttypes as hive

from headgate.model.errors import ConnectionFailed
from headgate.sync.connectors.hive.authorizers import TABLE_ACL, Authorizer
from headgate.sync.connectors.hive.connector import HiveConnector
from headgate.sync.connectors.hive.reading import EVERYONE
from headgate.sync.pushing.journal import Journal
from headgate.sync.pushing.results import Change, Mode, Outcome
from headgate.sync.pushing.run import undo
from headgate.sync.snapshots.facts import Facts, GrantFact, Kind, Known, MemberFact, OwnerFact, Principal
from headgate.sync.translating.options import Options
from tests.postgres import free_port
from tests.sync.hive_stand import HiveStand
from tests.sync.stands import Stand
from tests.sync.worlds import CATALOG, COLUMNS, INVENTORY, PEOPLE, SCHEMAS, TABLES, USERS, VIEWS, snapshot

pytestmark = pytest.mark.real

ANN, BOB, CY = USERS
TEAM = Principal(Kind.GROUP, "team")


@pytest.fixture
def metastore(stand_of: Callable[[str], Stand]) -> Callable[[Authorizer], HiveStand]:
    def get(authorizer: Authorizer) -> HiveStand:
        stand = stand_of(authorizer.capabilities.system)
        assert isinstance(stand, HiveStand)
        return stand

    return get


def store(stand: HiveStand, grant: GrantFact, grantor: str = "somebody") -> None:
    """A row as another client would write it."""
    kinds = {Kind.USER: 1, Kind.ROLE: 2, Kind.GROUP: 3}
    path = (*grant.object.path[1:], None, None, None)
    type = {"catalog": 1, "schema": 2, "table": 3, "view": 3, "column": 5}[grant.object.type]
    ref = hive.HiveObjectRef(type, path[0], path[1], None, path[2])
    info = hive.PrivilegeGrantInfo(grant.privilege, 0, grantor, 1, grant.option)
    row = hive.HiveObjectPrivilege(ref, grant.holder.name, kinds[grant.holder.kind], info, "SQL")
    bag = hive.PrivilegeBag(privileges=[row])
    stand.client.grant_revoke_privileges(hive.GrantRevokePrivilegeRequest(1, bag))


def test_every_word_of_table_access_control_is_kept_on_every_level(
    metastore: Callable[[Authorizer], HiveStand],
) -> None:
    stand = metastore(Authorizer.TABLE_ACL)
    said = [
        GrantFact(ANN, object, word)
        for object in (CATALOG, SCHEMAS[0], TABLES[0], VIEWS[0])
        for word in TABLE_ACL.semantics.natives[object.type]
    ]
    words = {grant.privilege for grant in said}
    assert words == {
        "SELECT", "CREATE", "MODIFY", "USAGE", "READ_METADATA", "CREATE_NAMED_FUNCTION", "MODIFY_CLASSPATH",
        "ALL PRIVILEGES",
    }  # fmt: skip
    answers = stand.connector.apply([Change(None, grant) for grant in said])
    assert {answer.outcome for answer in answers} == {Outcome.APPLIED}
    assert set(stand.connector.read().facts.grants) == set(said)


def test_a_word_that_nobody_knows_is_kept_and_never_pushed_on(
    metastore: Callable[[Authorizer], HiveStand],
) -> None:
    stand = metastore(Authorizer.SQL_STANDARD)
    store(stand, GrantFact(ANN, TABLES[0], "frobnicate"))
    store(stand, GrantFact(ANN, TABLES[0], "select"))
    assert set(stand.connector.read().facts.grants) == {
        GrantFact(ANN, TABLES[0], "FROBNICATE"),
        GrantFact(ANN, TABLES[0], "SELECT"),
    }
    found = {grant.privilege for grant in stand.connector.fetch().facts.grants if grant.object == TABLES[0]}
    assert found == {"SELECT_TABLE", "hive:FROBNICATE"}


def test_a_grant_on_a_database_reaches_its_tables_only_where_the_authorizer_says_so(
    metastore: Callable[[Authorizer], HiveStand],
) -> None:
    grant = GrantFact(ANN, SCHEMAS[0], "SELECT")
    for authorizer, expected in (
        (Authorizer.SQL_STANDARD, {"hive:SELECT"}),
        (Authorizer.LEGACY, {"SELECT_TABLE", "SELECT_VIEW", "USE_SCHEMA"}),
    ):
        stand = metastore(authorizer)
        store(stand, grant)
        facts = stand.connector.fetch().facts
        assert {g.privilege for g in facts.grants if g.object == SCHEMAS[0]} == expected
        assert stand.may(ANN, TABLES[0], "table.read") is (authorizer is Authorizer.LEGACY)


def test_what_a_group_holds_counts_only_where_the_authorizer_asks_for_groups(
    metastore: Callable[[Authorizer], HiveStand],
) -> None:
    for authorizer in (Authorizer.SQL_STANDARD, Authorizer.LEGACY):
        stand = metastore(authorizer)
        store(stand, GrantFact(TEAM, TABLES[0], "SELECT"))
        reading = stand.connector.read()
        counts = authorizer is Authorizer.LEGACY
        assert (GrantFact(TEAM, TABLES[0], "SELECT") in reading.facts) is counts
        assert any("group 'team'" in note for note in reading.notes) is not counts


def test_the_role_that_everyone_has_is_a_group_of_everyone(
    metastore: Callable[[Authorizer], HiveStand], journal: Journal
) -> None:
    stand = metastore(Authorizer.SQL_STANDARD)
    public = Principal(Kind.GROUP, "PUBLIC")
    gates = [GrantFact(public, CATALOG, word) for word in ("USE_CATALOG", "USE_SCHEMA")]
    facts = Facts([*INVENTORY, *PEOPLE, Known(public, everyone=True), *gates])
    facts = facts.changed(add=[GrantFact(public, TABLES[0], "SELECT_TABLE")])
    assert stand.connector.push(snapshot(facts), Mode.MERGE, stand.names, journal).ok
    assert GrantFact(EVERYONE, TABLES[0], "SELECT") in stand.connector.read().facts
    assert stand.may(CY, TABLES[0], "table.read")
    assert "public" in stand.client.get_role_names()
    assert undo(stand.connector, journal).ok
    assert not stand.may(CY, TABLES[0], "table.read")


def test_a_grant_is_taken_away_whoever_made_it_and_however_it_is_spelt(
    metastore: Callable[[Authorizer], HiveStand],
) -> None:
    stand = metastore(Authorizer.SQL_STANDARD)
    store(stand, GrantFact(ANN, TABLES[0], "SELECT"), "one")
    store(stand, GrantFact(ANN, TABLES[0], "SELECT", option=True), "another")
    store(stand, GrantFact(ANN, TABLES[0], "Select"), "third")
    found = stand.connector.read().facts.grants
    assert found == (GrantFact(ANN, TABLES[0], "SELECT", option=True),)
    assert stand.connector.apply([Change(found[0], None)])[0].outcome is Outcome.APPLIED
    assert not stand.connector.read().facts.grants
    assert not stand.may(ANN, TABLES[0], "table.read")


def test_the_right_to_hand_on_is_given_and_taken_without_losing_the_grant(
    metastore: Callable[[Authorizer], HiveStand],
) -> None:
    stand = metastore(Authorizer.SQL_STANDARD)
    plain = GrantFact(ANN, TABLES[0], "SELECT")
    more = GrantFact(ANN, TABLES[0], "SELECT", option=True)
    for change in (Change(None, plain), Change(plain, more), Change(more, plain)):
        assert stand.connector.apply([change])[0].outcome is Outcome.APPLIED
        assert stand.connector.read().facts.grants == (change.after,)


def test_column_grants_are_written_and_read(metastore: Callable[[Authorizer], HiveStand]) -> None:
    stand = metastore(Authorizer.LEGACY)
    grant = GrantFact(ANN, COLUMNS[1], "SELECT")
    assert stand.connector.apply([Change(None, grant)])[0].outcome is Outcome.APPLIED
    assert stand.connector.read().facts.grants == (grant,)
    assert stand.may(ANN, COLUMNS[1], "column.read")
    assert not stand.may(ANN, COLUMNS[0], "column.read")
    assert stand.connector.apply([Change(grant, None)])[0].outcome is Outcome.APPLIED
    assert not stand.connector.read().facts.grants


def test_owners_move_when_asked_to_and_come_back(
    metastore: Callable[[Authorizer], HiveStand], journal: Journal
) -> None:
    stand = metastore(Authorizer.SQL_STANDARD)
    gates = [GrantFact(ANN, CATALOG, word) for word in ("USE_CATALOG", "USE_SCHEMA")]
    facts = Facts([*INVENTORY, *PEOPLE, *gates, OwnerFact(TABLES[0], ANN)])
    result = stand.connector.push(snapshot(facts), Mode.MERGE, stand.names, journal, Options(owners=True))
    assert result.ok
    assert OwnerFact(TABLES[0], ANN) in stand.connector.read().facts
    assert undo(stand.connector, journal).ok
    assert TABLES[0] not in {owner.object for owner in stand.connector.read().facts.owners}


def test_a_role_whose_name_engines_would_fold_is_refused(
    metastore: Callable[[Authorizer], HiveStand],
) -> None:
    stand = metastore(Authorizer.SQL_STANDARD)
    for name in ("Reader", "admin", "public"):
        answer = stand.connector.apply([Change(None, Known(Principal(Kind.ROLE, name)))])[0]
        assert answer.outcome is Outcome.FAILED
        assert "map it to another name" in answer.detail or "lower case" in answer.detail
    stand.client.create_role(hive.Role(roleName="Reader", createTime=0, ownerName="x"))
    stand.connector.apply([Change(None, Known(Principal(Kind.ROLE, "reader")))])
    reading = stand.connector.read()
    assert [p.name for p in reading.facts.known if p.kind is Kind.ROLE] == ["reader"]
    assert any("'Reader'" in note for note in reading.notes)


def test_roles_within_roles_reach_the_user(metastore: Callable[[Authorizer], HiveStand]) -> None:
    stand = metastore(Authorizer.SQL_STANDARD)
    inner, outer = Principal(Kind.ROLE, "inner"), Principal(Kind.ROLE, "outer")
    facts = [
        Known(inner), Known(outer), MemberFact(outer, inner), MemberFact(inner, ANN), GrantFact(outer, TABLES[0], "SELECT"),
    ]  # fmt: skip
    answers = stand.connector.apply([Change(None, fact) for fact in facts])
    assert {answer.outcome for answer in answers} == {Outcome.APPLIED}
    assert stand.may(ANN, TABLES[0], "table.read")
    assert not stand.may(BOB, TABLES[0], "table.read")
    # A circle is the server's to refuse, and what it says is told.
    answer = stand.connector.apply([Change(None, MemberFact(inner, outer))])[0]
    assert answer.outcome is Outcome.FAILED
    assert "cycle" in answer.detail


def test_a_metastore_that_does_not_answer_says_so() -> None:
    with pytest.raises(ConnectionFailed, match="does not answer"):
        HiveConnector("127.0.0.1", free_port(), "lake").read()


@pytest.mark.slow
def test_version_4_of_the_metastore_is_read_and_written_alike(
    hive_metastore_four: int, journal: Journal
) -> None:
    stand = HiveStand(hive_metastore_four, Authorizer.SQL_STANDARD)
    role = Principal(Kind.ROLE, "reader")
    gates = [GrantFact(role, CATALOG, word) for word in ("USE_CATALOG", "USE_SCHEMA")]
    facts = Facts(
        [*INVENTORY, *PEOPLE, *gates, Known(role), MemberFact(role, ANN), OwnerFact(TABLES[1], ANN)]
    )
    facts = facts.changed(
        add=[GrantFact(role, TABLES[0], "MODIFY_TABLE"), GrantFact(role, VIEWS[0], "SELECT_VIEW")]
    )
    try:
        stand.empty()
        before = stand.connector.read().facts
        assert {p for p in before.present if p in {*TABLES, *VIEWS, *COLUMNS}} == {*TABLES, *VIEWS, *COLUMNS}
        assert stand.connector.push(
            snapshot(facts), Mode.MERGE, stand.names, journal, Options(owners=True)
        ).ok
        assert OwnerFact(TABLES[1], ANN) in stand.connector.read().facts
        allowed = [action for action in stand.asked[:4] if stand.may(ANN, TABLES[0], action)]
        assert allowed == ["table.read", "table.insert", "table.update", "table.delete"]
        assert stand.may(ANN, VIEWS[0], "view.read")
        assert not stand.may(BOB, TABLES[0], "table.read")
        assert undo(stand.connector, journal).ok
        assert stand.connector.read().facts == before
    finally:
        stand.close()
