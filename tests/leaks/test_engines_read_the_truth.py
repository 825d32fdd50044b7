"""Promise: what every engine reads, however it plans, is what plain Python makes of the raw rows."""

import datetime as dt
import itertools
from typing import Any

from tests.leaks.canaries import leaves
from tests.leaks.clients import canonical, duckdb, pyiceberg, spark_catalog
from tests.leaks.hunt import Case, Hunt
from tests.leaks.marks import HUNT
from tests.leaks.truth import Person, Row, Seen

pytestmark = HUNT

MODES = {"as it comes": None, "planning by itself": "client", "planned by the server": "server"}


def catalog_of(hunt: Hunt, person: Person, mode: str) -> str:
    name = f"as_{person.name}_{MODES[mode]}_{hunt.server.process.pid}"
    return spark_catalog(hunt.spark, name, hunt.uri, hunt.tokens[person.name], MODES[mode])


def in_spark(hunt: Hunt, person: Person, mode: str, query: str, case: Case) -> list[Row]:
    catalog = catalog_of(hunt, person, mode)
    rows: list[Row] = hunt.spark.sql(query.format(t=f"{catalog}.{case.table.name}")).toArrow().to_pylist()
    return rows


def test_all_rows_in_every_engine_and_every_snapshot(hunt: Hunt, case: Case, duckdb_python: Any) -> None:
    for person in hunt.people:
        view = view_of(hunt, case, person)
        want = canonical(view.columns, case.rows_for(person))
        where = f"LEAK_SEED={hunt.seed}, {case.table.name} as {person.name}"
        assert read_by_duckdb(hunt, duckdb_python, person, case, view) == want, f"{where}, DuckDB"
        for server in (False, True):
            found = read_by_pyiceberg(hunt, person, case, server=server)
            if found is not None:
                hollow = canonical(view.columns, case.rows_for(person), hollow=True)
                assert canonical(view.columns, found, hollow=True) == hollow, (
                    f"{where}, pyiceberg, server plans: {server}"
                )
                assert all(row.keys() == {c.name for c in view.columns} for row in found)
        for mode in MODES:
            found = in_spark(hunt, person, mode, "SELECT * FROM {t}", case)
            assert canonical(view.columns, found) == want, f"{where}, Spark {mode}"
            assert all(row.keys() == {c.name for c in view.columns} for row in found)
        for snapshot in case.table.snapshots:
            query = f"SELECT * FROM {{t}} VERSION AS OF {snapshot.id}"
            found = in_spark(hunt, person, "as it comes", query, case)
            then = canonical(view.columns, case.rows_for(person, snapshot.id))
            assert canonical(view.columns, found) == then, f"{where}, Spark after {snapshot.done}"


def read_by_pyiceberg(hunt: Hunt, person: Person, case: Case, *, server: bool) -> list[Row] | None:
    table = pyiceberg(hunt.uri, hunt.tokens[person.name], server=server).load_table(case.table.name)
    try:
        rows: list[Row] = table.scan().to_arrow().to_pylist()
    except Exception as error:
        # This version cannot read a plan with a partition that has no value.
        if not server or "NoneType" not in str(error):
            raise
        return None
    return rows


def read_by_duckdb(hunt: Hunt, python: Any, person: Person, case: Case, view: Seen) -> list[str]:
    zoned = [c.name for c in view.columns if c.type == "timestamp"]
    replaced = ", ".join(f"timezone('UTC', {name}) AS {name}" for name in zoned)
    star = f"* REPLACE ({replaced})" if zoned else "*"
    [answer] = duckdb(python, hunt.uri, hunt.tokens[person.name], [f"SELECT {star} FROM l.{case.table.name}"])
    assert not isinstance(answer, str), answer
    return canonical(view.columns, answer)


ORDERED = ("string", "int", "bigint", "date", "decimal(18,2)")


def test_counts_and_bounds_are_those_of_what_is_seen(hunt: Hunt, case: Case, duckdb_python: Any) -> None:
    for person in hunt.people:
        view, rows = view_of(hunt, case, person), case.rows_for(person)
        ordered = [c for c in view.columns if c.type in ORDERED]
        asked = ", ".join(f"min({c.name}), max({c.name}), count({c.name})" for c in ordered)
        want: list[Any] = [len(rows)]
        for column in ordered:
            values = [row[column.name] for row in rows if row[column.name] is not None]
            want += [min(values, default=None), max(values, default=None), len(values)]
        query = f"SELECT count(*), {asked} FROM {{t}}"
        for mode in MODES:
            [found] = in_spark(hunt, person, mode, query, case)
            assert list(found.values()) == want, f"{case.table.name} as {person.name}, Spark {mode}"
        text = query.format(t=f"l.{case.table.name}")
        [[answer]] = duckdb(duckdb_python, hunt.uri, hunt.tokens[person.name], [text])
        assert list(answer.values()) == want, f"{case.table.name} as {person.name}, DuckDB"


def test_a_predicate_meets_the_value_that_is_seen_and_never_the_one_beneath(hunt: Hunt, case: Case) -> None:
    for person in hunt.people:
        view, rows = view_of(hunt, case, person), case.rows_for(person)
        for column in (c for c in view.columns if (c.key,) in view.masks and c.type in ORDERED):
            beneath = [row[column.key] for row in case.raw() if row.get(column.key) is not None][:2]
            seen = [row[column.name] for row in rows if row[column.name] is not None][:1]
            for value in (*beneath, *seen):
                want = [row for row in rows if row[column.name] == value]
                query = f"SELECT * FROM {{t}} WHERE {column.name} = {literal(value)}"
                for mode in ("as it comes", "planning by itself"):
                    found = in_spark(hunt, person, mode, query, case)
                    assert canonical(view.columns, found) == canonical(view.columns, want), (mode, query)


def test_metadata_tables_and_columns_tell_of_governed_files_only(hunt: Hunt, case: Case) -> None:
    for person in hunt.people:
        view, rows = view_of(hunt, case, person), case.rows_for(person)
        if view.whole:
            continue
        forbidden = case.forbidden_for(person)
        told: dict[str, list[Row]] = {}
        for table in ("files", "entries", "partitions", "manifests", "snapshots", "refs", "history"):
            told[table] = in_spark(hunt, person, "as it comes", f"SELECT * FROM {{t}}.{table}", case)
        assert sum(file["record_count"] for file in told["files"]) == len(rows)
        columns = "SELECT _file, _pos, _spec_id, _partition FROM {t}"
        for mode in ("as it comes", "planning by itself"):
            told[mode] = in_spark(hunt, person, mode, columns, case)
            assert len(told[mode]) == len(rows)
        for what, found in told.items():
            assert forbidden.in_bytes(repr(found).encode()) == [], f"{what} as {person.name}"
            assert forbidden.among(leaves(found)) == [], f"{what} as {person.name}"


def test_what_was_appended_is_read_through_the_lens_or_not_at_all(hunt: Hunt, case: Case) -> None:
    snapshots = case.table.snapshots
    for person in hunt.people:
        view = view_of(hunt, case, person)
        catalog = catalog_of(hunt, person, "as it comes")
        for before, after in itertools.pairwise(snapshots):
            reader = hunt.spark.read.option("start-snapshot-id", before.id).option(
                "end-snapshot-id", after.id
            )
            try:
                found = reader.table(f"{catalog}.{case.table.name}").toArrow().to_pylist()
            except Exception as error:
                # Snapshots that were never asked for have no governed manifests, and a client cannot plan them.
                refused = str(error)
            else:
                refused = ""
            assert case.forbidden_for(person).in_bytes(refused.encode()) == []
            if not refused and after.done == "append":
                new = {row["id"] for row in after.rows} - {row["id"] for row in before.rows}
                want = [row for row in view.rows(after.rows) if row[case.table.column("id").name] in new]
                assert canonical(view.columns, found) == canonical(view.columns, want)


def view_of(hunt: Hunt, case: Case, person: Person) -> Seen:
    """What a person sees, once the server is ready to show it."""
    view = case.seen_by(person)
    assert view is not None
    assert hunt.ready(case, person).status_code == 200
    return view


def literal(value: Any) -> str:
    return (
        f"DATE '{value}'"
        if isinstance(value, dt.date)
        else str(value)
        if not isinstance(value, str)
        else f"'{value}'"
    )
