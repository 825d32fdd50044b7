"""Unmodified clients, out of the box and with what makes them plan by themselves or let the server plan."""

import datetime as dt
import pickle
import subprocess
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from pyiceberg.catalog.rest import RestCatalog

from tests.leaks.truth import Column, Row


def spark_catalog(spark: Any, name: str, uri: str, token: str, mode: str | None) -> str:
    """Make a catalog known to Spark, as somebody; `mode` says who shall plan, None leaves it to the table."""
    catalog = f"spark.sql.catalog.{name}"
    if spark.conf.get(catalog, None) is None:
        for key, value in {
            "type": "rest",
            "uri": uri,
            "warehouse": "lake.cat",
            "token": token,
            "cache-enabled": "false",
            **({} if mode is None else {"scan-planning-mode": mode}),
        }.items():
            spark.conf.set(f"{catalog}.{key}", value)
        spark.conf.set(catalog, "org.apache.iceberg.spark.SparkCatalog")
    return name


def pyiceberg(uri: str, token: str, *, server: bool) -> RestCatalog:
    more = {"scan-planning-mode": "server"} if server else {}
    return RestCatalog("lake", uri=uri, warehouse="lake.cat", token=token, **more)


_DUCKDB = """
import pickle, sys
from pathlib import Path
import duckdb, duckdb_extension_iceberg, duckdb_extension_avro, duckdb_extension_httpfs
endpoint, token = sys.argv[1:3]
db = duckdb.connect(config={"allow_unsigned_extensions": "true"})
for module in (duckdb_extension_httpfs, duckdb_extension_avro, duckdb_extension_iceberg):
    found = next(Path(module.__file__).parent.glob("extensions/*/*.duckdb_extension"))
    db.execute(f"LOAD '{found}'")
db.execute("SET TimeZone='UTC'")
db.execute(f"CREATE SECRET (TYPE iceberg, TOKEN '{token}')")
db.execute(f"ATTACH 'lake.cat' AS l (TYPE iceberg, ENDPOINT '{endpoint}', ACCESS_DELEGATION_MODE 'none')")
answers = []
for statement in pickle.load(sys.stdin.buffer):
    try:
        asked = db.execute(statement)
        names = [column[0] for column in asked.description]
        answers.append([dict(zip(names, row)) for row in asked.fetchall()])
    except Exception as error:
        answers.append(str(error))
sys.stdout.buffer.write(pickle.dumps(answers))
"""


def duckdb(python: Path, uri: str, token: str, statements: Sequence[str]) -> list[Any]:
    """What DuckDB answers to each statement: rows, or the text of an error."""
    ran = subprocess.run(
        [python, "-c", _DUCKDB, uri, token],
        input=pickle.dumps(list(statements)),
        capture_output=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr.decode()
    answers: list[Any] = pickle.loads(ran.stdout)
    return answers


def canonical(columns: Sequence[Column], rows: Sequence[Row], *, hollow: bool = False) -> list[str]:
    """Rows in one form, whatever an engine calls a struct, a map or a moment; in an order of their own.

    `hollow`: for an engine that takes a missing list for an empty one.
    """
    return sorted(repr({c.name: _cell(c, row[c.name], hollow) for c in columns}) for row in rows)


def _cell(column: Column, value: Any, hollow: bool) -> Any:
    if value is None:
        return [] if hollow and column.type.startswith(("array", "map")) else None
    if column.type.startswith("map"):
        return sorted(dict(value).items())
    if column.type.startswith("array"):
        return [{f.name: _cell(f, one[f.name], hollow) for f in column.fields} for one in value]
    if column.fields:
        return {f.name: _cell(f, value[f.name], hollow) for f in column.fields}
    if column.type == "timestamp" and isinstance(value, dt.datetime):
        return value.astimezone(dt.UTC).replace(tzinfo=None) if value.tzinfo else value
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    if isinstance(value, Decimal):
        return value.quantize(Decimal("0.01"))
    return value
