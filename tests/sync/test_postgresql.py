"""What is PostgreSQL's own: row-level security, PUBLIC, those above all grants, names that need quotes."""

from collections.abc import Callable

import msgspec
import psycopg
import pytest

from headgate.model.errors import ConnectionFailed
from headgate.model.objects import ObjectType
from headgate.sync.connectors.postgresql.connector import PostgresConnector
from headgate.sync.connectors.postgresql.rows import PUBLIC
from headgate.sync.pushing.journal import Journal
from headgate.sync.pushing.results import Change, Mode, Outcome
from headgate.sync.pushing.run import undo
from headgate.sync.snapshots.facts import (
    Facts,
    GrantFact,
    Kind,
    Known,
    MemberFact,
    Present,
    Principal,
    RowFilter,
    Securable,
)
from headgate.sync.snapshots.names import PrincipalMap
from headgate.sync.translating.losses import Cause
from tests.sync.stands import PostgresStand, Stand
from tests.sync.suite.test_pushes_are_safe import ANN, BOB, POLICY
from tests.sync.worlds import CATALOG, SCHEMAS, TABLES, VIEWS, snapshot

OWN = RowFilter(TABLES[0], "own rows", "x > 1 AND NOT y IS NULL", (ANN,))


@pytest.fixture
def pg(stand_of: Callable[[str], Stand]) -> PostgresStand:
    stand = stand_of("postgresql")
    assert isinstance(stand, PostgresStand)
    return stand


def rows(pg: PostgresStand, user: Principal) -> list[int]:
    with psycopg.connect(pg.url, user=pg.own(user).name, autocommit=True) as connection:
        return [x for (x,) in connection.execute("SELECT x FROM sales.orders ORDER BY x")]


def with_filter(pg: PostgresStand, rule: RowFilter) -> Facts:
    pg.connection.execute("TRUNCATE sales.orders")
    pg.connection.execute("INSERT INTO sales.orders VALUES (1, 1), (2, 2), (3, NULL)")
    return POLICY.changed(add=[rule, MemberFact(Principal(Kind.ROLE, "reader"), BOB)])


def test_a_row_filter_is_enforced_kept_and_taken_back(pg: PostgresStand, journal: Journal) -> None:
    facts = with_filter(pg, OWN)
    before = pg.connector.read().facts
    result = pg.connector.push(snapshot(facts, "postgresql"), Mode.MERGE, pg.names, journal)
    assert result.ok
    assert rows(pg, ANN) == [2]
    assert rows(pg, BOB) == [1, 2, 3]
    fetched = pg.connector.fetch()
    assert [(rule.name, rule.sql, rule.to) for rule in fetched.row_filters] == [
        (OWN.name, OWN.sql, (str(pg.own(ANN)),))
    ]
    again = pg.connector.push(snapshot(facts, "postgresql"), Mode.MERGE, pg.names, journal)
    assert not again.count(Outcome.APPLIED)
    undo(pg.connector, journal)
    undo(pg.connector, journal)
    assert pg.connector.read().facts == before


def test_a_filter_for_everyone_spares_the_exempt_only(pg: PostgresStand, journal: Journal) -> None:
    facts = with_filter(pg, RowFilter(TABLES[0], "all", "x = 1", (), (BOB,)))
    assert pg.connector.push(snapshot(facts, "postgresql"), Mode.MERGE, pg.names, journal).ok
    assert rows(pg, ANN) == [1]
    assert rows(pg, BOB) == [1, 2, 3]


def test_a_table_is_not_granted_when_its_filter_fails(pg: PostgresStand, journal: Journal) -> None:
    facts = with_filter(pg, RowFilter(TABLES[0], "broken", "no_such_column = 1", (ANN,)))
    result = pg.connector.push(snapshot(facts, "postgresql"), Mode.MERGE, pg.names, journal)
    assert not result.ok
    assert not pg.may(ANN, TABLES[0], "table.read")


@pytest.mark.parametrize(
    "text", ["true); DROP TABLE sales.orders; --", "x IN (SELECT 1)", "DROP TABLE sales.orders", "x ="]
)
def test_a_filter_that_is_no_expression_never_reaches_the_server(
    pg: PostgresStand, journal: Journal, text: str
) -> None:
    rule = RowFilter(TABLES[0], "evil", text, (ANN,))
    result = pg.connector.push(snapshot(with_filter(pg, rule), "postgresql"), Mode.MERGE, pg.names, journal)
    assert [loss.what for loss in result.losses if loss.cause is Cause.FILTER] == ["evil"]
    own = msgspec.structs.replace(rule, to=(pg.own(ANN),))
    assert pg.connector.apply([Change(None, own)])[0].outcome is Outcome.FAILED
    assert not pg.may(ANN, TABLES[0], "table.read")
    assert pg.connection.execute("SELECT count(*) FROM sales.orders").fetchone() == (3,)


def test_no_view_leads_past_a_filter(pg: PostgresStand, journal: Journal) -> None:
    facts = with_filter(pg, RowFilter(TABLES[0], "own_rows", "x = 1", (ANN,)))
    assert pg.connector.push(snapshot(facts, "postgresql"), Mode.MERGE, pg.names, journal).ok
    assert rows(pg, ANN) == [1]
    assert not pg.may(ANN, VIEWS[0], "view.read")
    assert pg.may(BOB, VIEWS[0], "view.read")


def test_where_somebody_elses_filter_stands_in_the_way_nothing_is_granted(
    pg: PostgresStand, journal: Journal
) -> None:
    theirs = RowFilter(TABLES[0], "own_rows", "x > 0", (pg.own(ANN),))
    assert pg.connector.apply([Change(None, theirs)])[0].outcome is Outcome.APPLIED
    rule = RowFilter(TABLES[0], "own_rows", "x = 1", (ANN,))
    result = pg.connector.push(snapshot(with_filter(pg, rule), "postgresql"), Mode.MERGE, pg.names, journal)
    refused = [item.change.fact for item in result.items if item.outcome is Outcome.WIDENS]
    assert msgspec.structs.replace(rule, to=(pg.own(ANN),)) in refused
    assert not pg.may(ANN, TABLES[0], "table.read")


def test_a_filter_stays_while_somebody_reads_what_the_source_hides_by_what_others_granted(
    pg: PostgresStand, journal: Journal
) -> None:
    rule = RowFilter(TABLES[0], "own_rows", "x = 1")
    facts = with_filter(pg, rule)
    assert pg.connector.push(snapshot(facts, "postgresql"), Mode.MERGE, pg.names, journal).ok
    opened = (
        GrantFact(PUBLIC, CATALOG, "CONNECT"),
        GrantFact(PUBLIC, SCHEMAS[0], "USAGE"),
        GrantFact(PUBLIC, TABLES[0], "SELECT"),
    )
    assert all(a.outcome is Outcome.APPLIED for a in pg.connector.apply([Change(None, g) for g in opened]))
    unsayable = facts.changed([msgspec.structs.replace(rule, sql="false")], [rule])
    result = pg.connector.push(snapshot(unsayable, "postgresql"), Mode.MERGE, pg.names, journal)
    assert any("the source hides" in item.detail for item in result.items)
    assert rows(pg, ANN) == [1]
    pg.connector.apply([Change(grant, None) for grant in opened])
    assert pg.connector.push(snapshot(unsayable, "postgresql"), Mode.MERGE, pg.names, journal).complete
    assert not pg.connector.read().facts.restrictions


def test_row_level_security_of_others_is_no_row_for_anybody_elsewhere(pg: PostgresStand) -> None:
    pg.connection.execute("ALTER TABLE sales.orders ENABLE ROW LEVEL SECURITY")
    pg.connection.execute("CREATE POLICY theirs ON sales.orders USING (x = 1)")
    fetched = pg.connector.fetch()
    assert [(rule.sql, rule.to) for rule in fetched.row_filters] == [("false", ())]
    assert any("row-level security of its own" in note for note in fetched.properties.values())


@pytest.mark.parametrize(
    "change",
    [
        'ALTER POLICY "own rows" ON sales.orders TO CURRENT_USER',
        'ALTER POLICY "own rows" ON sales.orders USING (false)',
        "ALTER POLICY headgate_all_rows ON sales.orders USING (x = 7)",
        "ALTER POLICY headgate_all_rows ON sales.orders TO CURRENT_USER",
        "DROP POLICY headgate_all_rows ON sales.orders",
    ],
)
def test_a_filter_that_was_changed_by_hand_is_never_read_as_what_it_was(
    pg: PostgresStand, journal: Journal, change: str
) -> None:
    facts = with_filter(pg, OWN)
    assert pg.connector.push(snapshot(facts, "postgresql"), Mode.MERGE, pg.names, journal).ok
    seen = [rows(pg, user) for user in (ANN, BOB)]
    pg._run(change)
    assert [rows(pg, user) for user in (ANN, BOB)] != seen
    assert ("false", ()) in [(rule.sql, rule.to) for rule in pg.connector.fetch().row_filters]


def test_what_everyone_holds_is_seen_and_overwritten(pg: PostgresStand, journal: Journal) -> None:
    pg.connector.apply([Change(None, GrantFact(PUBLIC, TABLES[0], "SELECT"))])
    assert GrantFact(PUBLIC, TABLES[0], "SELECT") in pg.connector.read().facts
    plan = pg.connector.plan(snapshot(POLICY), Mode.OVERWRITE, pg.names, journal)
    assert GrantFact(PUBLIC, TABLES[0], "SELECT") in plan.foreign
    pg.connector.push(snapshot(POLICY), Mode.OVERWRITE, pg.names, journal)
    assert not pg.may(Principal(Kind.USER, "cy"), TABLES[0], "table.read")


def test_pushing_a_database_to_itself_changes_nothing(pg: PostgresStand, journal: Journal) -> None:
    pg.connector.apply(
        [
            Change(None, GrantFact(PUBLIC, CATALOG, "CONNECT")),
            Change(None, GrantFact(PUBLIC, SCHEMAS[0], "USAGE")),
            Change(None, GrantFact(pg.own(ANN), TABLES[0], "SELECT", option=True)),
            Change(None, GrantFact(pg.own(BOB), TABLES[0], "TRUNCATE")),
        ]
    )
    plan = pg.connector.plan(pg.connector.fetch(), Mode.MERGE, PrincipalMap.same_names(), journal)
    assert plan.changes == ()


def test_what_a_role_gives_only_when_it_is_taken_on_is_not_held(pg: PostgresStand) -> None:
    """Since 16 each membership says whether it inherits; before, the member did."""
    ann, role = pg.own(ANN).name, f"reader_{pg.mark}"
    per_membership = pg.connection.info.server_version >= 160000
    pg._run(f'CREATE ROLE "{role}"')
    pg._run(f'ALTER ROLE "{ann}" {"INHERIT" if per_membership else "NOINHERIT"}')
    try:
        pg._run(f'GRANT "{role}" TO "{ann}" {"WITH INHERIT FALSE" if per_membership else ""}')
        for words in (
            f'CONNECT ON DATABASE "{pg.database}"',
            "USAGE ON SCHEMA sales",
            "SELECT ON sales.orders",
        ):
            pg._run(f'GRANT {words} TO "{role}"')
        assert not pg.may(ANN, TABLES[0], "table.read")
        read = pg.connector.read()
        assert GrantFact(Principal(Kind.ROLE, role), TABLES[0], "SELECT") in read.facts
        assert MemberFact(Principal(Kind.ROLE, role), pg.own(ANN)) not in read.facts
        assert any("only after SET ROLE" in note for note in read.notes)
    finally:
        pg._run(f'ALTER ROLE "{ann}" INHERIT')


def test_those_above_all_grants_are_named(pg: PostgresStand) -> None:
    assert any("'headgate' bypasses" in note for note in pg.connector.fetch().properties.values())


@pytest.mark.parametrize(
    "name", ['a"b', "a'b", "a b", "Ünïcode", "x; DROP TABLE y", "%s", "{}", "select", "a.b"]
)
def test_odd_names_mean_themselves(pg: PostgresStand, journal: Journal, name: str) -> None:
    quoted = '"' + name.replace('"', '""') + '"'
    user = Principal(Kind.USER, f"{name}{pg.mark}")
    table = Securable(ObjectType.TABLE, ("lake", "sales", name))
    pg._run(f"CREATE TABLE sales.{quoted} (x int)")
    pg._run(f'CREATE ROLE {quoted[:-1]}{pg.mark}" LOGIN')
    role = Principal(Kind.ROLE, name)
    try:
        facts = POLICY.changed(
            add=[
                Known(user),
                Known(role),
                Present(table),
                MemberFact(role, user),
                *(GrantFact(role, CATALOG, word) for word in ("USE_CATALOG", "USE_SCHEMA")),
                GrantFact(role, table, "SELECT_TABLE"),
            ]
        )
        names = PrincipalMap({"user:*": "*", "role:*": f"*_{pg.mark}"})
        result = pg.connector.push(snapshot(facts), Mode.MERGE, names, journal)
        assert result.ok
        assert (
            GrantFact(Principal(Kind.ROLE, f"{name}_{pg.mark}"), table, "SELECT") in pg.connector.read().facts
        )
        undo(pg.connector, journal)
        assert not any(f.holder.name.startswith(name) for f in pg.connector.read().facts.grants)
    finally:
        pg._run(f"DROP TABLE sales.{quoted}")
        pg._run(f'DROP ROLE {quoted[:-1]}{pg.mark}"')


def test_wrong_credentials_are_said_plainly_and_nothing_is_journaled(journal: Journal) -> None:
    connector = PostgresConnector("postgresql://nobody:wrong@127.0.0.1:1/none", "lake", "postgresql:gone")
    with pytest.raises(ConnectionFailed, match="does not answer"):
        connector.push(snapshot(POLICY), Mode.MERGE, PrincipalMap.same_names(), journal)
    assert journal.last("postgresql:gone") is None
