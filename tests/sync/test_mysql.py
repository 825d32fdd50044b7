"""What is MySQL's own: roles that are accounts, in tables that MariaDB does not have, and a server that has neither's."""

from collections.abc import Callable
from typing import Any

import pytest

from headgate.model.errors import IllegalArgument, Unsupported
from headgate.model.objects import ObjectType
from headgate.sync.connectors.mariadb.accounts import ServerProduct, accounts, mandatory_roles, server_with
from headgate.sync.pushing.journal import Journal
from headgate.sync.pushing.results import Change, Mode, Outcome
from headgate.sync.snapshots.facts import GrantFact, Kind, Known, MemberFact, Principal, Securable
from tests.sync.stands import MySQLStand, Stand
from tests.sync.suite.test_pushes_are_safe import ANN, BOB, POLICY
from tests.sync.worlds import CATALOG, SCHEMAS, TABLES, snapshot

INNER, OUTER = Principal(Kind.ROLE, "inner_role"), Principal(Kind.ROLE, "outer_role@10.0.0.1")


@pytest.fixture
def mysql(stand_of: Callable[[str], Stand]) -> MySQLStand:
    stand = stand_of("mysql")
    assert isinstance(stand, MySQLStand)
    return stand


def test_the_server_is_known_by_its_own_tables(mysql: MySQLStand) -> None:
    assert mysql.connector.capabilities.system == "mysql"
    assert mysql.connector.fetch().system == "mysql"


@pytest.mark.parametrize(
    "tables",
    [
        {"user", "db", "tables_priv", "columns_priv", "procs_priv", "proxies_priv", "host"},  # MySQL 5.7
        {"user", "db", "roles_mapping", "tables_priv"},  # MariaDB 10.3
        set(),  # an account that may not read them
    ],
)
def test_a_server_with_neither_tables_of_roles_is_refused(tables: set[str]) -> None:
    with pytest.raises(Unsupported, match="neither MariaDB's tables of roles nor MySQL's") as told:
        server_with(tables, "mysql:old")
    assert "MySQL 8.0" in str(told.value.hint)


def test_roles_are_read_with_their_holders_and_not_expanded(mysql: MySQLStand) -> None:
    for statement in (
        "CREATE ROLE inner_role", "CREATE ROLE outer_role@'10.0.0.1'", "GRANT SELECT ON sales.orders TO inner_role",
        "GRANT inner_role TO outer_role@'10.0.0.1'", "GRANT outer_role@'10.0.0.1' TO 'ann'@'%'",
    ):  # fmt: skip
        mysql._run(statement)
    try:
        facts = mysql.connector.read().facts
        assert {
            MemberFact(INNER, OUTER),
            MemberFact(OUTER, mysql.own(ANN)),
            Known(INNER),
            Known(OUTER),
        } <= facts.all
        assert [g.holder for g in facts.grants if g.object == TABLES[0]] == [INNER]
        assert mysql.may(ANN, TABLES[0], "table.read"), "the server itself says the same"
        told = mysql.connector.fetch()
        assert told.users["ann@%"].roles == ("outer_role@10.0.0.1",)
        assert told.roles["outer_role@10.0.0.1"].roles == ("inner_role",)
    finally:
        mysql._run("DROP ROLE outer_role@'10.0.0.1'")


def test_a_role_is_taken_from_its_holder_and_given_back(mysql: MySQLStand, journal: Journal) -> None:
    mysql._run("CREATE ROLE inner_role")
    mysql._run("GRANT inner_role TO 'ann'@'%'")
    held = MemberFact(INNER, mysql.own(ANN))
    for change, there in ((Change(held, None), False), (Change(None, held), True)):
        assert [a.outcome for a in mysql.connector.apply([change])] == [Outcome.APPLIED]
        assert (held in mysql.connector.read().facts) is there


def test_nobody_gains_by_an_account_that_others_hold_like_a_role(mysql: MySQLStand, journal: Journal) -> None:
    """Cy holds the account of ann: what is pushed to ann is cy's, which the source does not say."""
    mysql._run("GRANT 'ann'@'%' TO 'cy'@'%'")
    try:
        result = mysql.connector.push(snapshot(POLICY), Mode.MERGE, mysql.names, journal)
        assert "user:cy@%" in "; ".join(i.detail for i in result.items if i.outcome is Outcome.WIDENS)
        assert not mysql.may(Principal(Kind.USER, "cy"), TABLES[0], "table.read")
        assert mysql.may(BOB, TABLES[2], "table.insert"), "others get what the source gives them"
        assert any("rights of the account" in note for note in mysql.connector.read().notes)
    finally:
        mysql._run("REVOKE 'ann'@'%' FROM 'cy'@'%'")


def test_mandatory_roles_are_everyones(mysql: MySQLStand, journal: Journal) -> None:
    mysql._run("CREATE ROLE inner_role")
    mysql._run("GRANT SELECT ON sales.orders TO inner_role")
    mysql._run("SET GLOBAL mandatory_roles = '`inner_role`@`%`'")
    try:
        facts = mysql.connector.read().facts
        assert INNER in facts.closure(mysql.own(ANN))
        assert mysql.may(ANN, TABLES[0], "table.read")
        (everyone,) = facts.everyone
        held = MemberFact(INNER, everyone)
        assert [a.outcome for a in mysql.connector.apply([Change(held, None)])] == [Outcome.UNSUPPORTED]
    finally:
        mysql._run("SET GLOBAL mandatory_roles = ''")


@pytest.mark.parametrize(
    ("setting", "places"),
    [
        ("", []),
        ("r", [("r", "%")]),
        ("r1, `r``2`@`h`,'r3'@'%',\"r4\"@local", [("r1", "%"), ("r`2", "h"), ("r3", "%"), ("r4", "local")]),
    ],
)
def test_mandatory_roles_are_read_as_the_server_writes_them(
    setting: str, places: list[tuple[str, str]]
) -> None:
    assert mandatory_roles(setting) == places


def test_mandatory_roles_that_cannot_be_read_are_refused() -> None:
    with pytest.raises(IllegalArgument, match="mandatory roles"):
        mandatory_roles("a@b@c, `open")


def _newer(**answers: list[dict[str, Any]]) -> Callable[[str], list[dict[str, Any]]]:
    """The answers of a newer server than the one that is run here, as its manual shows them."""

    def ask(query: str) -> list[dict[str, Any]]:
        return next((rows for part, rows in answers.items() if part in query), [])

    return ask


def test_partial_revokes_are_refused_rather_than_read_past() -> None:
    on = {"Variable_name": "partial_revokes", "Value": "ON"}
    with pytest.raises(IllegalArgument, match="partial revokes"):
        accounts(ServerProduct.MYSQL, _newer(partial_revokes=[on]))
    restricted = {
        "User": "ann",
        "Host": "%",
        "Select_priv": "Y",
        "User_attributes": '{"Restrictions": [{"Database": "sales", "Privileges": ["SELECT"]}]}',
    }
    with pytest.raises(IllegalArgument, match="'ann@%' is denied something"):
        accounts(ServerProduct.MYSQL, _newer(**{"mysql.user": [restricted]}))


def test_the_server_s_own_privileges_are_kept_as_opaque_and_given_back(mysql: MySQLStand) -> None:
    mysql._run("GRANT PROCESS, BACKUP_ADMIN ON *.* TO 'ann'@'%'")
    words = {p.type for o in mysql.connector.fetch().users["ann@%"].securable_objects for p in o.privileges}
    assert {"mysql:PROCESS", "mysql:BACKUP_ADMIN"} <= words
    grant = GrantFact(mysql.own(ANN), CATALOG, "BACKUP_ADMIN")
    assert grant in mysql.connector.read().facts
    for change, there in ((Change(grant, None), False), (Change(None, grant), True)):
        assert [a.outcome for a in mysql.connector.apply([change])] == [Outcome.APPLIED]
        assert (grant in mysql.connector.read().facts) is there


def test_who_administers_the_server_is_no_target(mysql: MySQLStand) -> None:
    mysql._run("GRANT ROLE_ADMIN ON *.* TO 'cy'@'%'")
    reading = mysql.connector.read()
    assert Principal(Kind.USER, "cy@%") not in reading.facts.known
    assert any("'cy@%' administers the server" in note for note in reading.notes)


def test_a_wildcard_in_a_name_reaches_nobody_else(mysql: MySQLStand, journal: Journal) -> None:
    neighbour = Securable(ObjectType.TABLE, ("lake", "hxr", "staff"))
    words = ("SELECT_TABLE", "SELECT_VIEW", "USE_SCHEMA")
    facts = POLICY.changed(
        add=[GrantFact(ANN, SCHEMAS[1], word) for word in words] + [GrantFact(ANN, CATALOG, "USE_CATALOG")]
    )
    assert mysql.connector.push(snapshot(facts), Mode.MERGE, mysql.names, journal).ok
    assert mysql.may(ANN, TABLES[2], "table.read")
    assert not mysql.may(ANN, neighbour, "table.read")
