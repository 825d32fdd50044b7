"""A push to a target that people have used: random members and options, parents, views, definers, owners and defaults.

Judged by really entering as everybody who can, with every role that they can set: nobody sees a cell more than they saw before
the push, or than the source shows them.
"""

from collections.abc import Callable

import psycopg
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from headgate.sync.access.effective import restricted
from headgate.sync.pushing.journal import Journal
from headgate.sync.pushing.results import Mode
from headgate.sync.snapshots.facts import Facts, GrantFact, MemberFact, Principal
from headgate.sync.translating.options import Options
from tests.sync.cells import ROWS, rows_where, through_rules
from tests.sync.stands import PostgresStand, Stand
from tests.sync.suite.test_a_push_never_widens import allowed_by, forget
from tests.sync.suite.test_rows_and_cells_never_widen import HARD, PLAIN
from tests.sync.used_postgres import Seen, logins, sees
from tests.sync.worlds import CATALOG, ROLES, SCHEMAS, TABLES, USERS, VIEWS, policies, snapshot

_T = tuple(".".join(table.path[1:]) for table in TABLES)
_KNOWN = ("ann", "bob", "cy")
_ONLY_HERE = ("app", "temp")
_ROLES = ("reader", "writer", "blocked", "local")
_RELATIONS = (*_T, "sales.totals", "sales.parent", "sales.view0", "sales.view1", "sales.kept", "sales.later")
_CALLS = ("sales.peek0()", "sales.peek1()")


@st.composite
def habits(draw: st.DrawFn) -> list[str]:
    """What people did to the target, as statements; ``{m}`` marks its principals."""
    anybody, logs = st.sampled_from((*_KNOWN, *_ONLY_HERE, *_ROLES)), st.sampled_from((*_KNOWN, *_ONLY_HERE))
    done: list[str] = []
    for who in draw(st.sets(st.sampled_from((*_KNOWN, *_ONLY_HERE, *_ROLES)), max_size=3)):
        done.append(f'ALTER ROLE "{who}_{{m}}" NOINHERIT')
    if draw(st.booleans()):
        done.append(
            f'ALTER ROLE "{draw(anybody)}_{{m}}" {draw(st.sampled_from(("BYPASSRLS", "CREATEROLE")))}'
        )
    for _ in range(draw(st.integers(0, 5))):
        option = draw(st.sampled_from(("", "WITH ADMIN OPTION")))
        done.append(f'GRANT "{draw(anybody)}_{{m}}" TO "{draw(anybody)}_{{m}}" {option}')
    for who in draw(st.sets(anybody, max_size=4)):
        done.append(f'GRANT CONNECT ON DATABASE "{{d}}" TO "{who}_{{m}}"')
        done.append(f'GRANT USAGE ON SCHEMA sales TO "{who}_{{m}}"')
    for _ in range(draw(st.integers(0, 4))):
        what = draw(st.sampled_from((*_T, "sales.totals")))
        columns = draw(st.sampled_from(("", "", " (x)")))
        who = draw(st.one_of(anybody.map(lambda name: f'"{name}_{{m}}"'), st.just("PUBLIC")))
        done.append(f"GRANT SELECT{columns} ON {what} TO {who}")
    if draw(st.booleans()):
        done.append("CREATE TABLE sales.parent (x int, y int)")
        done.append(f"ALTER TABLE {draw(st.sampled_from(_T[:2]))} INHERIT sales.parent")
        done.append(f'GRANT SELECT ON sales.parent TO "{draw(anybody)}_{{m}}"')
    for n in range(draw(st.integers(0, 2))):
        invoker = draw(st.sampled_from(("", "", "WITH (security_invoker = true)")))
        over = draw(st.sampled_from((*_T, *(["sales.view0"] if n else []))))
        done.append(f"CREATE VIEW sales.view{n} {invoker} AS SELECT x, y FROM {over}")
        done.append(f'ALTER VIEW sales.view{n} OWNER TO "{draw(anybody)}_{{m}}"')
        done.append(f'GRANT SELECT ON sales.view{n} TO "{draw(anybody)}_{{m}}"')
    if draw(st.booleans()):
        done.append(f"CREATE MATERIALIZED VIEW sales.kept AS SELECT x, y FROM {draw(st.sampled_from(_T))}")
    for n in range(draw(st.integers(0, 2))):
        body = f"SELECT string_agg(x::text, ',') FROM {draw(st.sampled_from(_T))}"
        done.append(
            f"CREATE FUNCTION sales.peek{n}() RETURNS text LANGUAGE sql SECURITY DEFINER AS $q$ {body} $q$"
        )
        done.append(f'ALTER FUNCTION sales.peek{n}() OWNER TO "{draw(anybody)}_{{m}}"')
        if draw(st.booleans()):
            done.append(f"REVOKE EXECUTE ON FUNCTION sales.peek{n}() FROM PUBLIC")
            done.append(f'GRANT EXECUTE ON FUNCTION sales.peek{n}() TO "{draw(anybody)}_{{m}}"')
    if draw(st.booleans()):
        done.append(f'ALTER TABLE {draw(st.sampled_from(_T))} OWNER TO "{draw(anybody)}_{{m}}"')
    for _ in range(draw(st.integers(0, 2))):
        where = draw(st.sampled_from(("", "IN SCHEMA sales")))
        done.append(f'ALTER DEFAULT PRIVILEGES {where} GRANT SELECT ON TABLES TO "{draw(anybody)}_{{m}}"')
    assert draw(logs)
    return done


@st.composite
def sources(draw: st.DrawFn) -> Facts:
    """Policies that read the tables, in part by roles, with filters on them."""
    facts = draw(policies(opaque=False, columns=True, owners=draw(st.booleans())))
    add: list[GrantFact | MemberFact] = []
    said = {(g.holder, g.object, g.privilege) for g in facts.grants}
    for who in draw(st.sets(st.sampled_from((*USERS, *ROLES)), min_size=1, max_size=3)):
        words = [(CATALOG, "USE_CATALOG"), (CATALOG, "USE_SCHEMA")]
        words += [(draw(st.sampled_from((*TABLES, *SCHEMAS))), "SELECT_TABLE"), (VIEWS[0], "SELECT_VIEW")]
        add += [GrantFact(who, object, word) for object, word in words if (who, object, word) not in said]
    rules = [
        rows_where(
            draw(st.sampled_from(TABLES[:2])),
            f"rows {n}",
            draw(st.sampled_from(PLAIN + HARD)),
            tuple(sorted(draw(st.sets(st.sampled_from((*USERS, *ROLES)), max_size=2)))),
        )
        for n in range(draw(st.integers(0, 2)))
    ]
    return facts.changed([*add, *rules])


def use(pg: PostgresStand, statements: list[str]) -> None:
    for name in _ONLY_HERE:
        pg.login(name)
    for name in _ROLES:
        pg.run(f'CREATE ROLE "{name}_{pg.mark}"')
    for n, place in enumerate(_T):
        pg.run(f"TRUNCATE {place}")
        for row in ROWS[n::3]:
            x, y = ("NULL" if row[c] is None else row[c] for c in ("x", "y"))
            pg.run(f"INSERT INTO {place} VALUES ({x}, {y})")
    for statement in statements:
        try:
            pg.run(statement.format(m=pg.mark, d=pg.database))
        except psycopg.errors.InvalidGrantOperation:
            # Two roles cannot be members of each other.
            continue


def everything(pg: PostgresStand) -> dict[str, Seen]:
    """What everybody sees, of a table too that somebody has just made."""
    pg.run("CREATE TABLE sales.later (x int, y int)")
    pg.run("INSERT INTO sales.later VALUES (4711, 4711)")
    found = {}
    for name in logins(pg):
        cells = sees(pg, name, _RELATIONS, _CALLS)
        # What a function adds up are values of a column.
        told = {(call, "x", part) for call, column, text in cells if not column for part in text.split(",")}
        found[name] = frozenset({cell for cell in cells if cell[1]} | told)
    pg.run("DROP TABLE sales.later")
    return found


def by_source(
    facts: Facts, user: Principal, place: str, rows: list[dict[str, object]]
) -> set[tuple[str, str, str]]:
    """The cells of a table that the source shows to a user."""
    access = allowed_by(facts).get(user, frozenset())
    table = next(table for table in TABLES if ".".join(table.path[1:]) == place)
    rules = restricted(facts).get(user, ())
    shown = [row for row in through_rules(table, rules) if row in rows]
    columns = {"x", "y"} if (table, "table.read") in access else set()
    columns |= {o.path[3] for o, a in access if o.path[:3] == table.path and a == "column.read"}
    return {(place, name, str(row[name])) for row in shown for name in columns if name in row}


def source_shows(facts: Facts, user: Principal) -> set[tuple[str, str, str]]:
    cells: set[tuple[str, str, str]] = set()
    for n, place in enumerate(_T):
        cells |= by_source(facts, user, place, ROWS[n::3])
    if (VIEWS[0], "view.read") in allowed_by(facts).get(user, frozenset()):
        cells |= {("sales.totals", "x", str(row["x"])) for row in ROWS[0::3]}
    # What one may read of the tables is no more when another relation of the target shows it.
    cells |= {
        (relation, column, value) for relation in (*_RELATIONS, *_CALLS) for _, column, value in set(cells)
    }
    return cells


@given(
    done=habits(),
    steps=st.lists(st.tuples(sources(), st.sampled_from(Mode)), min_size=1, max_size=2),
    owners=st.booleans(),
)
@settings(
    max_examples=12,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def test_nobody_who_can_enter_a_used_target_sees_more_after_a_push(
    stand_of: Callable[[str], Stand],
    journal: Journal,
    done: list[str],
    steps: list[tuple[Facts, Mode]],
    owners: bool,
) -> None:
    pg = stand_of("postgresql")
    assert isinstance(pg, PostgresStand)
    pg.forget()
    forget(journal, pg)
    try:
        use(pg, done)
        for facts, mode in steps:
            before = everything(pg)
            pg.connector.push(snapshot(facts), mode, pg.names, journal, Options(owners=owners))
            for name, seen in everything(pg).items():
                user = next((u for u in USERS if pg.own(u).name == name), None)
                shown = set() if user is None else source_shows(facts, user)
                new = {cell for cell in seen - before[name] if cell not in shown}
                if user is not None and _reads_new_tables(facts, user):
                    new = {cell for cell in new if cell[0] != "sales.later"}
                assert not new, f"{name} sees {sorted(new)[:5]} after {mode}: {done}, {facts}"
    finally:
        pg.forget()


def _reads_new_tables(facts: Facts, user: Principal) -> bool:
    """Whether the source lets somebody read what will be in the schema: by a grant above it, or as an owner of what holds it."""
    reached = facts.closure(user)
    if any(o.principal in reached and len(o.object.path) < 3 for o in facts.owners):
        return True
    return any(
        g.holder in reached and g.privilege in ("SELECT_TABLE", "MODIFY_TABLE")
        for g in facts.grants
        if len(g.object.path) < 3
    )
