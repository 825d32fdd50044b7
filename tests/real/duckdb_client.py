"""DuckDB as its users have it, in an environment of its own."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.real.conftest import ROOT
from tests.real.iceberg_lake import IcebergLake

DUCKDB = ["duckdb==1.5.5", *(f"duckdb-extension-{name}==1.5.5" for name in ("iceberg", "avro", "httpfs"))]

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


@pytest.fixture(scope="module")
def duckdb_python() -> Path:
    """The Python of an environment that has DuckDB and its extensions; made once and kept."""
    home = ROOT / ".cache" / "duckdb-client"
    python, complete = home / "bin" / "python", home / "duckdb-1.5.5"
    if not complete.exists():
        uv = shutil.which("uv")
        assert uv is not None, "uv makes the environment of the client: install uv"
        subprocess.run([uv, "venv", "-q", "--clear", "--python", sys.executable, home], check=True)
        subprocess.run([uv, "pip", "install", "-q", "--python", python, *DUCKDB], check=True)
        complete.touch()
    return python


def keyless() -> dict[str, str]:
    """An environment without any key of AWS, so that a client has only what it is given."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    return {**clean, "AWS_EC2_METADATA_DISABLED": "true"}


def duckdb(python: Path, lake: IcebergLake, sql: str, delegation: str = "none") -> list[str]:
    """What DuckDB answers to each statement."""
    ran = subprocess.run(
        [python, "-c", SCRIPT, lake.uri, lake.token, delegation],
        input=sql,
        capture_output=True,
        text=True,
        env=keyless(),
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.splitlines()
