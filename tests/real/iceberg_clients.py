"""Unmodified pyiceberg and DuckDB, as clients of a real server."""

import os
import subprocess
from pathlib import Path

from pyiceberg.catalog.rest import RestCatalog

from tests.real.iceberg_lake import IcebergLake


def pyiceberg(lake: IcebergLake, token: str | None = None, **more: str) -> RestCatalog:
    """The client of whoever holds the token, else the owner's."""
    id, secret = (token or lake.token).removeprefix("hg_").split("_", 1)
    given = {
        "uri": lake.uri,
        "warehouse": lake.warehouse,
        "credential": f"{id}:{secret}",
        "oauth2-server-uri": f"{lake.uri}/v1/oauth/tokens",
        "py-io-impl": "pyiceberg.io.pyarrow.PyArrowFileIO",
        **more,
    }
    return RestCatalog("lake", **given)


SCRIPT = """
import sys
from pathlib import Path
import duckdb, duckdb_extension_iceberg, duckdb_extension_avro, duckdb_extension_httpfs
endpoint, token, delegation = sys.argv[1:4]
db = duckdb.connect(config={"allow_unsigned_extensions": "true"})
for module in (duckdb_extension_httpfs, duckdb_extension_avro, duckdb_extension_iceberg):
    found = next(Path(module.__file__).parent.glob("extensions/*/*.duckdb_extension"))
    db.execute(f"LOAD '{found}'")
db.execute(f"CREATE SECRET (TYPE iceberg, TOKEN '{token}')")
db.execute(f"ATTACH 'lake.cat' AS l (TYPE iceberg, ENDPOINT '{endpoint}', ACCESS_DELEGATION_MODE '{delegation}')")
for statement in sys.stdin.read().split(";"):
    if statement.strip():
        print(db.execute(statement).fetchall())
"""


def keyless(**more: str) -> dict[str, str]:
    """An environment without any key of AWS, so that a client has only what it is given."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    return {**clean, "AWS_EC2_METADATA_DISABLED": "true", **more}


def duckdb(python: Path, lake: IcebergLake, sql: str, delegation: str = "none") -> list[str]:
    """What DuckDB answers the owner to each statement."""
    ran = run_duckdb(python, lake, lake.token, sql, delegation)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.splitlines()


def run_duckdb(
    python: Path, lake: IcebergLake, token: str, sql: str, delegation: str = "none"
) -> subprocess.CompletedProcess[str]:
    """How DuckDB fares with statements of whoever holds the token."""
    return subprocess.run(
        [python, "-c", SCRIPT, lake.uri, token, delegation],
        input=sql,
        capture_output=True,
        text=True,
        env=keyless(),
        check=False,
    )
