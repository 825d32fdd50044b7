"""What only the target knows counts in a push: members, parents, views, definers, defaults and names of a real PostgreSQL."""

from collections.abc import Callable, Iterator

import psycopg
import pytest

from headgate.model.objects import ObjectType
from headgate.sync.pushing.journal import Journal
from headgate.sync.pushing.results import Change, Mode, Outcome, SyncResult
from headgate.sync.pushing.run import undo
from headgate.sync.snapshots.facts import (
    Fact,
    Facts,
    GrantFact,
    Kind,
    Known,
    MemberFact,
    OwnerFact,
    Present,
    Principal,
    RowFilter,
    Securable,
)
from headgate.sync.snapshots.names import PrincipalMap
from headgate.sync.translating.losses import Cause
from headgate.sync.translating.options import Options
from tests.sync.stands import PostgresStand, Stand
from tests.sync.used_postgres import sees
from tests.sync.worlds import CATALOG, INVENTORY, PEOPLE, SCHEMAS, TABLES, USERS, snapshot

ANN, BOB, CY = USERS
READER = Principal(Kind.ROLE, "reader")
ORDERS, REFUNDS = TABLES[0], TABLES[1]
SMALL = RowFilter(ORDERS, "small", "x = 1", (ANN,))


def gates(*holders: Principal) -> list[Fact]:
    return [GrantFact(who, CATALOG, word) for who in holders for word in ("USE_CATALOG", "USE_SCHEMA")]


def world(*facts: Fact) -> Facts:
    return Facts([*INVENTORY, *PEOPLE, *facts])


def by_role(*members: Principal) -> Facts:
    """The members read the orders as readers."""
    held = [MemberFact(READER, who) for who in members]
    return world(Known(READER), *gates(READER), GrantFact(READER, ORDERS, "SELECT_TABLE"), *held)


def directly(*holders: Principal, table: Securable = ORDERS) -> Facts:
    return world(*gates(*holders), *(GrantFact(who, table, "SELECT_TABLE") for who in holders))


@pytest.fixture
def pg(stand_of: Callable[[str], Stand]) -> Iterator[PostgresStand]:
    stand = stand_of("postgresql")
    assert isinstance(stand, PostgresStand)
    stand.connection.execute("TRUNCATE sales.orders, sales.refunds")
    stand.connection.execute("INSERT INTO sales.orders VALUES (1, 10), (2, 20), (3, 30)")
    stand.connection.execute("INSERT INTO sales.refunds VALUES (7, 70)")
    yield stand
    stand.forget()


def push(pg: PostgresStand, facts: Facts, journal: Journal, options: Options = Options()) -> SyncResult:
    return pg.connector.push(snapshot(facts, "postgresql"), Mode.MERGE, pg.names, journal, options)


def orders(pg: PostgresStand, who: Principal | str, *relations: str) -> list[str]:
    """The values of x that somebody sees, whatever role they set."""
    name = who if isinstance(who, str) else pg.own(who).name
    seen = sees(pg, name, relations or ("sales.orders",))
    return sorted(value for _, column, value in seen if column == "x")


def withheld(result: SyncResult) -> str:
    return "; ".join(item.detail for item in result.items if item.outcome is Outcome.WIDENS)


def test_a_filter_holds_for_the_session_whatever_role_is_set(pg: PostgresStand, journal: Journal) -> None:
    assert push(pg, by_role(ANN, BOB).changed([SMALL]), journal).ok
    with psycopg.connect(pg.url, user=pg.own(ANN).name, autocommit=True) as session:
        session.execute(f'SET ROLE "reader_{pg.mark}"'.encode())
        assert session.execute("SELECT x FROM sales.orders").fetchall() == [(1,)]
    assert orders(pg, ANN) == ["1"]
    assert orders(pg, BOB) == ["1", "2", "3"]


def test_a_filter_holds_for_whoever_sets_the_role_it_is_for(pg: PostgresStand, journal: Journal) -> None:
    """A pool of connections has its own login and sets the role of whom it serves."""
    assert push(pg, directly(ANN).changed([SMALL]), journal).ok
    pool = pg.login("pool")
    pg.run(f'GRANT "{pg.own(ANN).name}" TO "{pool}"')
    assert orders(pg, pool) == ["1"]


def test_who_is_exempt_is_exempt_as_the_user_of_the_session(pg: PostgresStand, journal: Journal) -> None:
    spared = RowFilter(ORDERS, "all", "x = 1", (), (BOB,))
    assert push(pg, directly(ANN, BOB).changed([spared]), journal).ok
    pg.run(f'GRANT "{pg.own(BOB).name}" TO "{pg.own(ANN).name}"')
    assert orders(pg, ANN) == ["1"]
    assert orders(pg, BOB) == ["1", "2", "3"]


def test_a_renamed_user_keeps_the_filter(pg: PostgresStand, journal: Journal) -> None:
    assert push(pg, directly(ANN).changed([SMALL]), journal).ok
    name = pg.own(ANN).name
    pg.run(f'ALTER ROLE "{name}" RENAME TO "anna_{pg.mark}"')
    try:
        assert orders(pg, f"anna_{pg.mark}") == ["1"]
        found = [rule.to for rule in pg.connector.read().facts.restrictions]
        assert found == [(Principal(Kind.USER, f"anna_{pg.mark}"),)]
    finally:
        pg.run(f'ALTER ROLE "anna_{pg.mark}" RENAME TO "{name}"')


def test_a_policy_of_the_older_form_is_not_believed_and_is_written_anew(
    pg: PostgresStand, journal: Journal
) -> None:
    facts = by_role(ANN).changed([SMALL])
    assert push(pg, facts, journal).ok
    name = pg.own(ANN).name
    pg.run("DROP POLICY small ON sales.orders")
    pg.run(f'CREATE POLICY small ON sales.orders AS RESTRICTIVE TO "{name}" USING (x = 1)')
    text = f'{{"headgate": {{"sql": "x = 1", "to": ["user:{name}"], "exempt": [], "qual": "(x = 1)"}}}}'
    pg.run(f"COMMENT ON POLICY small ON sales.orders IS '{text}'")
    assert [rule.sql for rule in pg.connector.read().facts.restrictions] == ["false"]
    push(pg, facts, journal)
    assert orders(pg, ANN) == ["1"]


@pytest.mark.parametrize("option", ["INHERIT", "NOINHERIT"])
def test_members_that_only_the_target_knows_gain_nothing_from_a_role(
    pg: PostgresStand, journal: Journal, option: str
) -> None:
    temp = pg.login("temp", option)
    pg.run(f'GRANT CONNECT ON DATABASE "{pg.database}" TO "{temp}"')
    pg.run(f'CREATE ROLE "reader_{pg.mark}"')
    pg.run(f'GRANT "reader_{pg.mark}" TO "{temp}"')
    result = push(pg, by_role(ANN), journal)
    assert f"user:{temp}" in withheld(result), "who would have gained is named"
    assert orders(pg, temp) == []


@pytest.mark.parametrize("option", ["INHERIT", "NOINHERIT"])
def test_members_of_a_login_role_gain_nothing_from_what_is_pushed_to_it(
    pg: PostgresStand, journal: Journal, option: str
) -> None:
    temp = pg.login("temp", option)
    pg.run(f'GRANT CONNECT ON DATABASE "{pg.database}" TO "{temp}"')
    pg.run(f'GRANT "{pg.own(ANN).name}" TO "{temp}"')
    result = push(pg, directly(ANN, BOB), journal)
    assert f"user:{temp}" in withheld(result)
    assert orders(pg, temp) == []
    assert orders(pg, BOB) == ["1", "2", "3"]


def test_nested_roles_that_only_the_target_knows_lead_nobody_on(pg: PostgresStand, journal: Journal) -> None:
    """The source makes ann a reader; in the target readers are auditors, who read the refunds."""
    for role in ("reader", "auditor"):
        pg.run(f'CREATE ROLE "{role}_{pg.mark}"')
    pg.run(f'GRANT "auditor_{pg.mark}" TO "reader_{pg.mark}"')
    pg.run(f'GRANT SELECT ON sales.refunds TO "auditor_{pg.mark}"')
    push(pg, by_role(ANN), journal)
    assert orders(pg, ANN, "sales.refunds") == []


@pytest.mark.parametrize("power", ["BYPASSRLS", "CREATEROLE", "pg_read_all_data"])
def test_no_push_leads_to_a_role_that_is_bound_by_nothing(
    pg: PostgresStand, journal: Journal, power: str
) -> None:
    pg.run(f'CREATE ROLE "reader_{pg.mark}"')
    if power.startswith("pg_"):
        pg.run(f'GRANT {power} TO "reader_{pg.mark}"')
    else:
        pg.run(f'ALTER ROLE "reader_{pg.mark}" {power}')
    result = push(pg, by_role(ANN).changed([SMALL]), journal)
    member = pg.connection.execute(
        "SELECT pg_has_role(%s, %s, 'MEMBER')", [pg.own(ANN).name, f"reader_{pg.mark}"]
    ).fetchone()
    assert member == (False,)
    assert set(orders(pg, ANN)) <= {"1"}
    assert orders(pg, ANN, "sales.refunds") == []
    assert "is not bound" in withheld(result) or Cause.ABOVE in {loss.cause for loss in result.losses}


def test_who_passes_row_level_security_gains_nothing_from_a_role(pg: PostgresStand, journal: Journal) -> None:
    free = pg.login("free", "BYPASSRLS")
    pg.run(f'CREATE ROLE "reader_{pg.mark}"')
    pg.run(f'GRANT "reader_{pg.mark}" TO "{free}"')
    result = push(pg, by_role(ANN), journal)
    assert f"user:{free}" in withheld(result)
    assert orders(pg, free) == []


def test_two_roles_alike_in_their_first_63_bytes_stay_two(pg: PostgresStand, journal: Journal) -> None:
    one, other = (Principal(Kind.ROLE, "r" * 70 + end) for end in "ab")
    facts = world(
        *gates(ANN, BOB), Known(one), Known(other), MemberFact(one, ANN), MemberFact(other, BOB),
        GrantFact(one, ORDERS, "SELECT_TABLE"), GrantFact(other, REFUNDS, "SELECT_TABLE"),
    )  # fmt: skip
    result = push(pg, facts, journal)
    assert not [item for item in result.items if item.outcome is Outcome.FAILED]
    assert orders(pg, ANN, "sales.refunds") == []
    assert orders(pg, BOB, "sales.orders") == []
    assert orders(pg, ANN) == ["1", "2", "3"], "holders get directly what their role cannot be written for"
    assert Cause.NAME in {loss.cause for loss in result.losses}
    long = Principal(Kind.ROLE, "r" * 64)
    assert pg.connector.apply([Change(None, Known(long))])[0].outcome is Outcome.FAILED
    assert pg.connector.apply([Change(None, GrantFact(long, ORDERS, "SELECT"))])[0].outcome is Outcome.FAILED


def test_a_user_whose_name_is_too_long_is_not_made(pg: PostgresStand, journal: Journal) -> None:
    long = Principal(Kind.USER, "u" * 70)
    facts = directly(long).changed([Known(long)])
    result = push(pg, facts, journal, Options(create_principals=True))
    assert Cause.NAME in {loss.cause for loss in result.losses}
    assert not pg.connection.execute("SELECT FROM pg_roles WHERE rolname LIKE 'uuuuu%'").fetchall()


def test_a_parent_does_not_show_the_rows_of_a_filtered_child(pg: PostgresStand, journal: Journal) -> None:
    pg.run("CREATE TABLE sales.everything (x int, y int)")
    pg.run("ALTER TABLE sales.orders INHERIT sales.everything")
    parent = Securable(ObjectType.TABLE, ("lake", "sales", "everything"))
    facts = directly(ANN).changed([SMALL, Present(parent), GrantFact(ANN, parent, "SELECT_TABLE")])
    result = push(pg, facts, journal)
    assert orders(pg, ANN) == ["1"]
    assert orders(pg, ANN, "sales.everything") == []
    assert (Cause.KIN, str(parent)) in {(loss.cause, loss.object) for loss in result.losses}


def test_a_parent_does_not_show_a_child_that_one_may_not_read(pg: PostgresStand, journal: Journal) -> None:
    pg.run("CREATE TABLE sales.everything (x int, y int)")
    pg.run("ALTER TABLE sales.orders INHERIT sales.everything")
    parent = Securable(ObjectType.TABLE, ("lake", "sales", "everything"))
    push(pg, directly(ANN, table=parent).changed([Present(parent)]), journal)
    assert orders(pg, ANN, "sales.everything") == []


def test_partitions_are_read_as_far_as_their_table_is(pg: PostgresStand, journal: Journal) -> None:
    pg.run("CREATE TABLE sales.parted (x int, y int) PARTITION BY RANGE (x)")
    pg.run("CREATE TABLE sales.part1 PARTITION OF sales.parted FOR VALUES FROM (0) TO (10)")
    pg.run("INSERT INTO sales.parted VALUES (1, 1), (2, 2)")
    parted = Securable(ObjectType.TABLE, ("lake", "sales", "parted"))
    rule = RowFilter(parted, "small", "x = 1", (ANN,))
    facts = world(*gates(ANN, BOB), Present(parted), rule).changed(
        GrantFact(who, SCHEMAS[0], "SELECT_TABLE") for who in (ANN, BOB)
    )
    push(pg, facts, journal)
    assert orders(pg, ANN, "sales.parted", "sales.part1") == ["1"]
    assert orders(pg, BOB, "sales.parted") == ["1", "2"]


def test_a_view_does_not_begin_to_show_what_its_owner_is_granted(pg: PostgresStand, journal: Journal) -> None:
    """Cy may read a view of bob's, which shows nothing until bob may read the table."""
    bob, cy = pg.own(BOB).name, pg.own(CY).name
    pg.run("CREATE VIEW sales.peek AS SELECT x, y FROM sales.orders")
    pg.run(f'ALTER VIEW sales.peek OWNER TO "{bob}"')
    pg.run(f'GRANT CONNECT ON DATABASE "{pg.database}" TO "{cy}", "{bob}"')
    pg.run(f'GRANT USAGE ON SCHEMA sales TO "{cy}", "{bob}"')
    pg.run(f'GRANT SELECT ON sales.peek TO "{cy}"')
    assert orders(pg, CY, "sales.peek") == []
    result = push(pg, directly(BOB), journal)
    assert orders(pg, CY, "sales.peek") == []
    assert f"user:{cy}" in withheld(result)


def test_a_view_over_a_view_does_not_begin_to_show_either(pg: PostgresStand, journal: Journal) -> None:
    bob, cy = pg.own(BOB).name, pg.own(CY).name
    pg.run("CREATE VIEW sales.inner_peek AS SELECT x, y FROM sales.orders")
    pg.run("CREATE VIEW sales.peek AS SELECT x, y FROM sales.inner_peek")
    pg.run(f'ALTER VIEW sales.inner_peek OWNER TO "{bob}"')
    pg.run(f'GRANT CONNECT ON DATABASE "{pg.database}" TO "{cy}", "{bob}"')
    pg.run(f'GRANT USAGE ON SCHEMA sales TO "{cy}", "{bob}"')
    pg.run(f'GRANT SELECT ON sales.peek TO "{cy}"')
    push(pg, directly(BOB), journal)
    assert orders(pg, CY, "sales.peek") == []


def test_a_view_that_the_source_does_not_know_is_granted_to_nobody_who_may_not_read_its_tables(
    pg: PostgresStand, journal: Journal
) -> None:
    pg.run("CREATE VIEW sales.theirs AS SELECT x, y FROM h_r.staff")
    pg.run("CREATE MATERIALIZED VIEW sales.kept AS SELECT x, y FROM sales.orders")
    facts = world(*gates(ANN), GrantFact(ANN, SCHEMAS[0], "SELECT_VIEW"))
    pg.run("INSERT INTO h_r.staff VALUES (8, 80)")
    try:
        result = push(pg, facts, journal)
        assert orders(pg, ANN, "sales.theirs", "sales.kept") == []
        named = {loss.object for loss in result.losses if loss.cause is Cause.STRANGER}
        assert named == {"view:lake.sales.theirs", "view:lake.sales.kept"}
    finally:
        pg.run("TRUNCATE h_r.staff")


def test_a_function_of_a_definer_does_not_begin_to_show_what_the_definer_is_granted(
    pg: PostgresStand, journal: Journal
) -> None:
    bob, cy = pg.own(BOB).name, pg.own(CY).name
    pg.run(
        "CREATE FUNCTION sales.peek() RETURNS bigint LANGUAGE sql SECURITY DEFINER"
        " BEGIN ATOMIC SELECT sum(x) FROM sales.orders; END"
    )
    pg.run(f'ALTER FUNCTION sales.peek() OWNER TO "{bob}"')
    pg.run(f'GRANT CONNECT ON DATABASE "{pg.database}" TO "{cy}", "{bob}"')
    pg.run(f'GRANT USAGE ON SCHEMA sales TO "{cy}", "{bob}"')
    result = push(pg, directly(BOB), journal)
    assert not sees(pg, cy, (), ("sales.peek()",))
    assert f"user:{cy}" in withheld(result)


def test_default_privileges_show_nobody_what_comes_later(pg: PostgresStand, journal: Journal) -> None:
    pg.run(f'CREATE ROLE "reader_{pg.mark}"')
    pg.run(f'ALTER DEFAULT PRIVILEGES IN SCHEMA sales GRANT SELECT ON TABLES TO "reader_{pg.mark}"')
    result = push(pg, by_role(ANN), journal)
    assert f"user:{pg.own(ANN).name}" in withheld(result)
    pg.run("CREATE TABLE sales.later (x int, y int)")
    pg.run("INSERT INTO sales.later VALUES (9, 90)")
    assert orders(pg, ANN, "sales.later") == []


def test_who_is_filtered_does_not_become_the_owner(pg: PostgresStand, journal: Journal) -> None:
    facts = directly(ANN).changed([SMALL, OwnerFact(ORDERS, ANN), OwnerFact(REFUNDS, ANN)])
    result = push(pg, facts, journal, Options(owners=True))
    owners = {fact.object for fact in pg.connector.read().facts.owners if fact.principal == pg.own(ANN)}
    assert owners == {REFUNDS}
    assert (Cause.OWNER, str(ORDERS)) in {(loss.cause, loss.object) for loss in result.losses}


def test_a_filter_is_not_lifted_for_those_to_whom_the_source_shows_nothing(
    pg: PostgresStand, journal: Journal
) -> None:
    """A login that only the target knows was granted the table there, and a filter for everyone met it."""
    everyone = RowFilter(ORDERS, "all", "x = 1")
    assert push(pg, directly(ANN).changed([everyone]), journal).ok
    temp = pg.login("temp")
    pg.run(f'GRANT CONNECT ON DATABASE "{pg.database}" TO "{temp}"')
    pg.run(f'GRANT USAGE ON SCHEMA sales TO "{temp}"')
    pg.run(f'GRANT SELECT ON sales.orders TO "{temp}"')
    assert orders(pg, temp) == ["1"]
    result = push(pg, directly(ANN), journal)
    assert orders(pg, temp) == ["1"]
    assert f"user:{temp}" in withheld(result)


@pytest.mark.parametrize(
    "text",
    [
        "pg_read_file('postgresql.conf') LIKE '%'", "set_config('role', 'reader', false) = 'x'", "x = lo_import('a')",
        "current_setting('role') = 'none'", "dblink('host=a', 'b') IS NULL", "current_user = 'ann'", "current_role = 'ann'",
        "x::regclass IS NULL", "pg_catalog.pg_sleep(1) IS NULL", "user = 'ann'", "orders.x = 1", "now() > '2020-01-01'",
    ],
)  # fmt: skip
def test_a_filter_asks_for_nothing_but_the_row(pg: PostgresStand, journal: Journal, text: str) -> None:
    rule = RowFilter(ORDERS, "evil", text, (ANN,))
    result = push(pg, directly(ANN).changed([rule]), journal)
    own = RowFilter(ORDERS, "evil", text, (pg.own(ANN),))
    assert pg.connector.apply([Change(None, own)])[0].outcome is Outcome.FAILED
    assert not result.ok or Cause.FILTER in {loss.cause for loss in result.losses}
    assert orders(pg, ANN) == []


def test_a_filter_that_is_read_back_asks_for_nothing_but_the_row(pg: PostgresStand, journal: Journal) -> None:
    assert push(pg, directly(ANN).changed([SMALL]), journal).ok
    (text,) = pg.connection.execute(
        "SELECT obj_description(oid, 'pg_policy') FROM pg_policy WHERE polname = 'small'"
    ).fetchone() or ("",)
    evil = text.replace('"x = 1"', "\"pg_read_file('a') IS NULL\"").replace("'", "''")
    pg.run(f"COMMENT ON POLICY small ON sales.orders IS '{evil}'")
    assert [rule.sql for rule in pg.connector.read().facts.restrictions] == ["false"]


def test_functions_are_granted_by_name_and_by_arguments(pg: PostgresStand, journal: Journal) -> None:
    pg.run("CREATE FUNCTION sales.one() RETURNS int LANGUAGE sql IMMUTABLE RETURN 1")
    for argument in ("int", "text"):
        pg.run(f"CREATE FUNCTION sales.two(a {argument}) RETURNS int LANGUAGE sql IMMUTABLE RETURN 2")
    pg.run("REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA sales FROM PUBLIC")
    functions = [Securable(ObjectType.FUNCTION, ("lake", "sales", name)) for name in ("one", "two(a text)")]
    facts = world(*gates(ANN), *map(Present, functions)).changed(
        GrantFact(ANN, function, "EXECUTE_FUNCTION") for function in functions
    )
    before = pg.connector.read().facts
    result = push(pg, facts, journal)
    assert result.ok
    calls = ("sales.one()", "sales.two('a')", "sales.two(1)")
    assert {call for call, _, _ in sees(pg, pg.own(ANN).name, (), calls)} == set(calls[:2])
    assert undo(pg.connector, journal).ok
    assert pg.connector.read().facts == before


def test_a_source_role_that_is_above_all_in_the_target_is_not_taken_for_it(
    pg: PostgresStand, journal: Journal
) -> None:
    pg.run(f'CREATE ROLE "boss_{pg.mark}" SUPERUSER')
    names = PrincipalMap({"user:*": f"*_{pg.mark}", "role:reader": f"boss_{pg.mark}"})
    result = pg.connector.push(snapshot(by_role(ANN)), Mode.MERGE, names, journal)
    assert Cause.ABOVE in {loss.cause for loss in result.losses}
    assert not [item for item in result.items if item.outcome is Outcome.FAILED]
