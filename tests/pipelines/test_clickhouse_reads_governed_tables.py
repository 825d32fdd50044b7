"""Promise: governed metadata is what Iceberg's specification says, also for ClickHouse, which is strict about names of files."""

import json
import subprocess
from pathlib import Path
from typing import Any, Final

import pytest

from tests.pipelines.lake import Governed, Lake, expected, view

pytestmark = [
    pytest.mark.real,
    pytest.mark.spark,
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning"),
]

COLUMNS = "id bigint, name string, wage bigint"
_READ: Final = """
import sys
from chdb import session
folder, metadata = sys.argv[1:]
query = f"SELECT * FROM icebergLocal('{folder}', SETTINGS iceberg_metadata_file_path = '{metadata}')"
print(session.Session().query(query, "JSONEachRow"))
"""


def in_clickhouse(python: Path, governed: Governed) -> list[Any]:
    folder, _, name = governed.location.removeprefix("file://").rpartition("/metadata/")
    ran = subprocess.run(
        [python, "-c", _READ, folder, f"metadata/{name}"],
        capture_output=True,
        text=True,
        # It reads local files nowhere but here.
        cwd=folder,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    return [json.loads(line) for line in ran.stdout.splitlines() if line.strip()]


def test_clickhouse_reads_what_the_lens_shows(lake: Lake, clickhouse_python: Path) -> None:
    table = lake.create(COLUMNS)
    rows = [{"id": n, "name": f"n{n}", "wage": n * 100} for n in range(40)]
    for part in (rows[:20], rows[20:]):
        lake.spark.createDataFrame(part, COLUMNS).writeTo(table).append()
    seen = view(lake.document(table), hide=["wage"], mask={"name": "show_last_4(name)"}, rows="id < 30")
    governed = lake.through(table, seen)
    found = sorted(in_clickhouse(clickhouse_python, governed), key=lambda row: int(row["id"]))
    assert [int(row["id"]) for row in found] == list(range(30))
    assert sorted(row["name"] for row in found) == sorted(row[2] for row in expected(seen, rows))
    assert all(set(row) == {"id", "name"} for row in found)
