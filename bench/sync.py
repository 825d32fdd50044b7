"""How synchronisation grows: ``python -m bench.sync [--grants 100000] [--postgresql URL] [--matrix 10000x100000]``.

Fetches, diffs and pushes that many grants to a Headgate store and to a PostgreSQL server, started for it unless one is
named; works out the access matrix of so many users × objects on Spark, for two systems and their difference; and each with
a tenth as many before, to see how it grows. `--grants 0` or `--matrix none` leaves one of them out. Prints tables and writes
bench/results/sync.json.
"""

import argparse
import json
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from rich.console import Console
from rich.table import Table
from tests.postgres import new_database, running

from headgate.model.objects import ObjectType
from headgate.model.principals import PrincipalKind
from headgate.store import Store, access, objects
from headgate.sync.connectors.headgate.connector import HeadgateConnector
from headgate.sync.connectors.postgresql.connector import PostgresConnector
from headgate.sync.contract import Connector
from headgate.sync.operations import compare
from headgate.sync.pushing.journal import Journal
from headgate.sync.pushing.results import Mode, Outcome, SyncResult
from headgate.sync.snapshots.facts import (
    Fact,
    Facts,
    GrantFact,
    Kind,
    Known,
    MemberFact,
    Present,
    Principal,
    Securable,
)
from headgate.sync.snapshots.names import PrincipalMap
from headgate.sync.snapshots.snapshot import PolicySnapshot

PER_ROLE = 100
USERS = 50
CATALOG = Securable(ObjectType.CATALOG, ("lake",))
SCHEMA = Securable(ObjectType.SCHEMA, ("lake", "s"))


def policy(grants: int, one_object: bool) -> Facts:
    """So many grants: roles of a hundred tables each, or one role each on a single table."""
    roles = grants if one_object else max(1, grants // PER_ROLE)
    tables = 1 if one_object else min(grants, 2_000)
    facts: set[Fact] = {Present(CATALOG), Present(SCHEMA)}
    leaves = [Securable(ObjectType.TABLE, (*SCHEMA.path, f"t{n}")) for n in range(tables)]
    facts.update(map(Present, leaves))
    for n in range(USERS):
        facts.add(Known(Principal(Kind.USER, f"bench_u{n}")))
    for n in range(roles):
        role = Principal(Kind.ROLE, f"bench_r{n}")
        facts |= {Known(role), MemberFact(role, Principal(Kind.USER, f"bench_u{n % USERS}"))}
        facts |= {GrantFact(role, CATALOG, "USE_CATALOG"), GrantFact(role, SCHEMA, "USE_SCHEMA")}
        for k in range(1 if one_object else PER_ROLE):
            facts.add(GrantFact(role, leaves[(n * 37 + k) % tables], "SELECT_TABLE"))
    return Facts(facts)


def headgate(folder: str, facts: Facts) -> Connector:
    store = Store(f"sqlite:///{folder}/{time.monotonic_ns()}.db")
    store.prepare()
    with store.write("bench", "fill") as tx:
        root = objects.create(tx, 0, 0, ObjectType.METALAKE, "m")
        ids = {Securable(ObjectType.METALAKE): root}
        for object in sorted(facts.present - {Securable(ObjectType.METALAKE)}, key=lambda o: len(o.path)):
            above = object.parent()
            assert above is not None
            ids[object] = objects.create(tx, ids[above], root, object.type, object.path[-1])
        for n in range(USERS):
            access.add_principal(tx, root, PrincipalKind.USER, f"bench_u{n}")
    return HeadgateConnector(store, "m", f"headgate:{time.monotonic_ns()}")


def postgresql(url: str, facts: Facts) -> Connector:
    """INVARIANT of the bench: the database is its own; roles and tables of earlier runs are dropped."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DROP SCHEMA IF EXISTS s CASCADE")
        rows = connection.execute("SELECT rolname FROM pg_roles WHERE rolname LIKE 'bench_%'").fetchall()
        for (name,) in rows:
            connection.execute(f"DROP OWNED BY {name}".encode())
            connection.execute(f"DROP ROLE {name}".encode())
        connection.execute("CREATE SCHEMA s")
        with connection.transaction():
            for object in facts.present:
                if object.type is ObjectType.TABLE:
                    connection.execute(f"CREATE TABLE s.{object.path[2]} (x int)".encode())
            for n in range(USERS):
                connection.execute(f"CREATE ROLE bench_u{n} LOGIN".encode())
    return PostgresConnector(url, "lake", f"postgresql:{time.monotonic_ns()}")


def measure(make: Callable[[Facts], Connector], facts: Facts, journal: Journal) -> dict[str, float]:
    connector = make(facts)
    snapshot = PolicySnapshot.of(facts, "headgate")
    names = PrincipalMap.same_names()
    times: dict[str, float] = {}

    def timed(name: str, work: Callable[[], object]) -> object:
        start = time.perf_counter()
        done = work()
        times[name] = round(time.perf_counter() - start, 3)
        return done

    timed("plan_s", lambda: connector.plan(snapshot, Mode.MERGE, names, journal))
    result = timed("push_s", lambda: connector.push(snapshot, Mode.MERGE, names, journal))
    assert isinstance(result, SyncResult)
    failed = [item for item in result.items if item.outcome is Outcome.FAILED]
    assert not failed, f"{len(failed)} changes failed, the first: {failed[0]}"
    fetched = timed("fetch_s", connector.fetch)
    assert isinstance(fetched, PolicySnapshot)
    timed("diff_s", lambda: compare(snapshot, fetched, names))
    return times | {"memory_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)}


@contextmanager
def database(url: str | None) -> Iterator[str]:
    """The URL of an empty database: the one that is named, or one in a server of the bench's own."""
    if url is not None:
        yield url
        return
    with running() as server:
        yield new_database(server)


def pushes(grants: int, url: str) -> list[dict[str, object]]:
    found: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory() as folder:
        store = Store(f"sqlite:///{folder}/journal.db")
        store.prepare()
        journal = Journal(store, "bench")
        for size in (grants // 10, grants):
            spread, single = policy(size, False), policy(size, True)
            runs: list[tuple[str, Callable[[Facts], Connector], Facts]] = [
                ("headgate", lambda facts: headgate(folder, facts), spread),
                ("headgate, one object", lambda facts: headgate(folder, facts), single),
                ("postgresql", lambda facts: postgresql(url, facts), spread),
            ]
            for target, make, facts in runs:
                found.append({"target": target, "grants": size, **measure(make, facts, journal)})
        store.close()
    return found


def matrices(asked: str, master: str, memory: str) -> list[dict[str, object]]:
    # Only here, so that the rest of the bench runs where Spark is not installed.
    from bench.access_matrix import measured

    users, objects = map(int, asked.split("x"))
    return [measured(users // part, objects // part, master, memory) for part in (10, 1)]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.sync", description=__doc__)
    parser.add_argument("--grants", type=int, default=100_000)
    parser.add_argument("--postgresql", help="the URL of a database that is there for this alone")
    parser.add_argument("--matrix", default="10000x100000", help="users x objects, or none")
    parser.add_argument("--spark-master", default="local[*]")
    parser.add_argument("--spark-memory", default="6g")
    asked = parser.parse_args()
    found: dict[str, list[dict[str, object]]] = {"pushes": [], "matrices": []}
    if asked.grants:
        with database(asked.postgresql) as url:
            found["pushes"] = pushes(asked.grants, url)
    if asked.matrix != "none":
        found["matrices"] = matrices(asked.matrix, asked.spark_master, asked.spark_memory)
    results = Path(__file__).parent / "results"
    results.mkdir(exist_ok=True)
    (results / "sync.json").write_text(json.dumps(found, indent=2) + "\n")
    for rows in filter(None, found.values()):
        # One line for each figure: there are more figures than runs.
        table = Table("", *("" for _ in rows), show_header=False)
        for figure in rows[0]:
            table.add_row(figure, *(_render_figure(row[figure]) for row in rows))
        Console().print(table)


def _render_figure(figure: object) -> str:
    return f"{figure:,}" if isinstance(figure, int | float) else str(figure)


if __name__ == "__main__":
    main()
