"""What is MariaDB's own: accounts with hosts, database names that are patterns, roles that are read and not written."""

from collections.abc import Callable

import pytest

from headgate.model.errors import ConnectionFailed, IllegalArgument
from headgate.model.objects import ObjectType
from headgate.sync.connectors.mariadb.connector import Account, MariaDBConnector
from headgate.sync.pushing.journal import Journal
from headgate.sync.pushing.results import Change, Mode, Outcome
from headgate.sync.snapshots.facts import GrantFact, Kind, Known, MemberFact, Present, Principal, Securable
from headgate.sync.snapshots.names import PrincipalMap
from tests.sync.stands import MariaDBStand, Stand
from tests.sync.suite.test_pushes_are_safe import ANN, POLICY
from tests.sync.worlds import CATALOG, SCHEMAS, TABLES, snapshot

NEIGHBOUR = Securable(ObjectType.TABLE, ("lake", "hxr", "staff"))


@pytest.fixture
def maria(stand_of: Callable[[str], Stand]) -> MariaDBStand:
    stand = stand_of("mariadb")
    assert isinstance(stand, MariaDBStand)
    return stand


def test_a_wildcard_in_a_name_reaches_nobody_else(maria: MariaDBStand, journal: Journal) -> None:
    words = ("SELECT_TABLE", "SELECT_VIEW", "USE_SCHEMA")
    facts = POLICY.changed(
        add=[GrantFact(ANN, SCHEMAS[1], word) for word in words] + [GrantFact(ANN, CATALOG, "USE_CATALOG")]
    )
    assert maria.connector.push(snapshot(facts), Mode.MERGE, maria.names, journal).ok
    assert GrantFact(maria.own(ANN), SCHEMAS[1], "SELECT") in maria.connector.read().facts
    assert maria.may(ANN, TABLES[2], "table.read")
    assert not maria.may(ANN, NEIGHBOUR, "table.read")


def test_a_pattern_of_others_is_seen_as_all_that_it_reaches(maria: MariaDBStand) -> None:
    maria._run("GRANT SELECT ON `h_r`.* TO 'ann'@'%'")
    assert maria.may(ANN, NEIGHBOUR, "table.read"), "an unescaped name is a pattern"
    held = {g.object.path[1] for g in maria.connector.read().facts.grants if g.holder == maria.own(ANN)}
    assert held == {"h_r", "hxr"}
    assert any("pattern" in note for note in maria.connector.fetch().properties.values())


def test_of_grants_on_patterns_only_the_nearest_counts(maria: MariaDBStand) -> None:
    maria._run("GRANT SELECT, DELETE ON `h%`.* TO 'ann'@'%'")
    maria._run("GRANT INSERT ON `h\\_r`.* TO 'ann'@'%'")
    maria._run("GRANT SELECT, UPDATE ON `sal__`.* TO 'ann'@'%'")
    maria._run("GRANT SELECT, DELETE ON `sal%`.* TO 'ann'@'%'")
    assert not maria.may(ANN, TABLES[2], "table.read"), "the grant on the name hides the one on the pattern"
    now = maria.connector.read().facts
    held = {(g.object.path[1], g.privilege) for g in now.grants if g.holder == maria.own(ANN)}
    assert held == {("h_r", "INSERT"), ("hxr", "SELECT"), ("hxr", "DELETE"), ("sales", "SELECT")}
    answers = maria.connector.apply(
        [
            Change(GrantFact(maria.own(ANN), SCHEMAS[1], "INSERT"), None),
            Change(None, GrantFact(maria.own(ANN), SCHEMAS[0], "INSERT")),
        ]
    )
    assert [answer.outcome for answer in answers] == [Outcome.UNSUPPORTED] * 2
    assert not maria.may(ANN, TABLES[2], "table.read"), "what slept behind it must not come alive"


def test_denials_are_refused_rather_than_read_past(maria: MariaDBStand) -> None:
    place = "WHERE User = 'ann' AND Host = '%'"
    denied = """JSON_SET(Priv, '$.denies', JSON_ARRAY(JSON_OBJECT('db', 'sales')))"""
    maria._run(f"UPDATE mysql.global_priv SET Priv = {denied} {place}")
    try:
        with pytest.raises(IllegalArgument, match="'ann@%' is denied something"):
            maria.connector.fetch()
    finally:
        maria._run(f"UPDATE mysql.global_priv SET Priv = JSON_REMOVE(Priv, '$.denies') {place}")


def test_the_host_belongs_to_the_name(maria: MariaDBStand, journal: Journal) -> None:
    maria._run("CREATE USER IF NOT EXISTS 'ann'@'10.0.0.1'")
    try:
        maria.connector.push(snapshot(POLICY), Mode.MERGE, maria.names, journal)
        holders = {grant.holder.name for grant in maria.connector.read().facts.grants}
        assert "ann@%" in holders
        assert "ann@10.0.0.1" not in holders
    finally:
        maria._run("DROP USER 'ann'@'10.0.0.1'")


def test_roles_are_read_with_their_holders_and_not_expanded(maria: MariaDBStand) -> None:
    for statement in (
        "CREATE ROLE inner_role", "CREATE ROLE outer_role", "GRANT SELECT ON sales.orders TO inner_role",
        "GRANT inner_role TO outer_role", "GRANT outer_role TO 'ann'@'%'",
    ):  # fmt: skip
        maria._run(statement)
    facts = maria.connector.read().facts
    inner, outer = Principal(Kind.ROLE, "inner_role"), Principal(Kind.ROLE, "outer_role")
    assert {MemberFact(inner, outer), MemberFact(outer, maria.own(ANN)), Known(inner)} <= facts.all
    assert [g.holder for g in facts.grants if g.object == TABLES[0]] == [inner]


def test_privileges_that_are_unknown_here_are_kept_as_opaque(maria: MariaDBStand) -> None:
    maria._run("GRANT PROCESS, BINLOG ADMIN ON *.* TO 'ann'@'%'")
    words = {p.type for o in maria.connector.fetch().users["ann@%"].securable_objects for p in o.privileges}
    assert "mariadb:PROCESS" in words
    assert any(word.startswith("mariadb:BITS") for word in words)


@pytest.mark.parametrize(
    "name", ["a`b", "a'b", "a b", "Ünïcode", "x; DROP TABLE y", "%", "a_b", "a\\\\b", "select"]
)
def test_odd_names_mean_themselves(maria: MariaDBStand, journal: Journal, name: str) -> None:
    quoted = "`" + name.replace("`", "``") + "`"
    table = Securable(ObjectType.TABLE, ("lake", "sales", name))
    maria._run(f"CREATE TABLE sales.{quoted} (x int)")
    try:
        facts = POLICY.changed(
            add=[Present(table), GrantFact(Principal(Kind.ROLE, "reader"), table, "MODIFY_TABLE")]
        )
        assert maria.connector.push(snapshot(facts), Mode.MERGE, maria.names, journal).ok
        assert GrantFact(maria.own(ANN), table, "INSERT") in maria.connector.read().facts
    finally:
        maria._run(f"DROP TABLE sales.{quoted}")


def test_wrong_credentials_are_said_plainly_and_without_the_password(
    maria: MariaDBStand, journal: Journal
) -> None:
    account = Account("127.0.0.1", maria.server.port, "nobody-here", "secret-word")
    connector = MariaDBConnector(account, "lake", "mariadb:gone")
    with pytest.raises(ConnectionFailed, match="does not answer") as told:
        connector.push(snapshot(POLICY), Mode.MERGE, PrincipalMap.same_names(), journal)
    assert "secret-word" not in str(told.value) + repr(account)
    assert journal.last("mariadb:gone") is None


def test_a_view_does_not_begin_to_show_what_its_definer_is_granted(
    maria: MariaDBStand, journal: Journal
) -> None:
    """Cy may read a view of ann's, which shows nothing until ann may read the table."""
    maria._run("CREATE DEFINER='ann'@'%' VIEW sales.peek AS SELECT x FROM sales.refunds")
    try:
        maria._run("GRANT SELECT ON sales.peek TO 'cy'@'%'")
        peek = Securable(ObjectType.VIEW, ("lake", "sales", "peek"))
        facts = POLICY.changed(
            [GrantFact(ANN, TABLES[1], "SELECT_TABLE")],
            [fact for fact in POLICY.grants if fact.object == SCHEMAS[0]],
        ).changed(GrantFact(ANN, CATALOG, word) for word in ("USE_CATALOG", "USE_SCHEMA"))
        result = maria.connector.push(snapshot(facts), Mode.MERGE, maria.names, journal)
        assert "user:cy@%" in "; ".join(i.detail for i in result.items if i.outcome is Outcome.WIDENS)
        assert not maria.may(Principal(Kind.USER, "cy"), peek, "view.read")
        assert not maria.may(ANN, TABLES[1], "table.read")
    finally:
        maria._run("DROP VIEW sales.peek")


def test_who_may_enter_as_another_gains_nothing_from_what_is_pushed_to_them(
    maria: MariaDBStand, journal: Journal
) -> None:
    maria._run(
        "INSERT INTO mysql.proxies_priv (Host, User, Proxied_host, Proxied_user, With_grant, Grantor, Timestamp)"
        " VALUES ('%', 'cy', '%', 'ann', 0, '', now())"
    )
    try:
        result = maria.connector.push(snapshot(POLICY), Mode.MERGE, maria.names, journal)
        assert "user:cy@%" in "; ".join(i.detail for i in result.items if i.outcome is Outcome.WIDENS)
        assert not maria.may(ANN, TABLES[0], "table.read")
    finally:
        maria._run("DELETE FROM mysql.proxies_priv WHERE User = 'cy'")


def test_names_that_are_too_long_are_refused_and_not_cut_off(maria: MariaDBStand) -> None:
    long = [Principal(Kind.USER, "u" * 130 + end + "@%") for end in "ab"]
    answers = maria.connector.apply([Change(None, Known(user)) for user in long])
    assert {answer.outcome for answer in answers} == {Outcome.FAILED}
