"""Promise: a hostile reader who opens every byte of the lens's folder finds nothing that the lens does not show."""

import datetime as dt
import io
import json
import struct
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headgate.language.masks.spark import hmac_pads
from tests.pipelines.lake import SECRETS, Governed, Lake, view
from tests.pipelines.people import delete_equal

pytestmark = [
    pytest.mark.spark,
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning"),
]

COLUMNS = (
    "id bigint, region string, secretcolumn string, email string, salary bigint, born date, "
    "home struct<street: string, secretfield: string>, visible string"
)
BASE = 7_100_000_000_000_000
"""Numbers so large that they occur nowhere by chance."""


def row(n: int) -> dict[str, Any]:
    return {
        "id": n,
        "region": "region-eu-zq" if n % 2 else "region-us-zq",
        "secretcolumn": f"hidden-cell-{n}-zq",
        "email": f"masked-cell-{n}-zq",
        "salary": BASE + n,
        "born": dt.date(2000, 1, 1) + dt.timedelta(days=n),
        "home": {"street": f"street-{n}-zq", "secretfield": f"nested-cell-{n}-zq"},
        "visible": f"visible-cell-{n}-zq",
    }


ROWS = [row(n) for n in range(200)]
SHOWN = [r for r in ROWS if r["id"] % 2 and r["id"] not in (11, 13)]


def governed(lake: Lake, version: int) -> tuple[Governed, str]:
    table = lake.create(COLUMNS, version=version, partitioned="region, truncate(13, secretcolumn)", more=MORE)
    for part in (ROWS[:100], ROWS[100:]):
        lake.spark.createDataFrame(part, COLUMNS.replace(": ", ":")).coalesce(1).writeTo(table).append()
    lake.spark.sql(f"DELETE FROM {table} WHERE id = 11")
    lake.spark.sql(f"ALTER TABLE {table} REPLACE PARTITION FIELD secretcolumn_trunc WITH bucket(2, id)")
    lake.spark.sql(f"DELETE FROM {table} WHERE id = 13")
    lake.spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('owner-password' = 'property-zq')")
    lake.spark.sql(f"ALTER TABLE {table} ALTER COLUMN secretcolumn COMMENT 'comment-zq'")
    seen = view(
        lake.document(table),
        hide=["secretcolumn", "home.secretfield"],
        mask={
            "email": "token(email, 'customers')",
            "salary": "bucket(salary, 1000000000000000000)",
            "born": "truncate_to_year(born)",
            "home.street": "constant('-')",
        },
        rows="region = 'region-eu-zq'",
    )
    return lake.through(table, seen), table


MORE = ", 'write.metadata.metrics.default'='full', 'write.parquet.bloom-filter-enabled.column.email'='true'"


def texts(path: Path) -> bytes:
    """Everything that can be read out of a file, compressed pages included."""
    data = path.read_bytes()
    found = [data, str(path).encode()]
    if path.suffix == ".avro":
        reader = fastavro.reader(io.BytesIO(data))
        found.append(json.dumps(reader.metadata, default=str).encode())
        for record in reader:
            found += [repr(record).encode(), *_bytes(record)]
    if path.suffix == ".parquet":
        file = pq.ParquetFile(path)
        found.append(repr(file.metadata.to_dict()).encode())
        found.append(repr(file.schema_arrow.metadata).encode() + str(file.schema).encode())
        found.append(b"\n".join(_cells(file.read())))
    return b"\n".join(found)


def _bytes(value: Any) -> list[bytes]:
    if isinstance(value, dict):
        return [b for v in value.values() for b in _bytes(v)]
    if isinstance(value, list):
        return [b for v in value for b in _bytes(v)]
    return [value] if isinstance(value, bytes) else []


def _cells(table: pa.Table) -> list[bytes]:
    out = []
    for batch in table.to_batches():
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as writer:
            writer.write_batch(batch)
        out.append(sink.getvalue().to_pybytes())
    return out


def forbidden() -> dict[str, bytes]:
    found: dict[str, bytes] = {
        "a hidden column's name": b"secretcolumn",
        "a hidden field's name": b"secretfield",
        "a property": b"property-zq",
        "a hidden column's comment": b"comment-zq",
        "a hidden row's region": b"region-us-zq",
        "the key": SECRETS.keys["customers"],
        "the key in hex": SECRETS.keys["customers"].hex().encode(),
        **{f"pad {n}": pad for n, pad in enumerate(hmac_pads(SECRETS.keys["customers"]))},
        "the salt": SECRETS.salt,
    }
    for r in ROWS:
        n = r["id"]
        found[f"hidden cell {n}"] = b"hidden-cell-%d-" % n
        found[f"masked cell {n}"] = b"masked-cell-%d-" % n
        found[f"nested cell {n}"] = b"nested-cell-%d-" % n
        found[f"street {n}"] = b"street-%d-" % n
        found[f"salary {n}"] = str(BASE + n).encode()
        found[f"salary {n}, binary"] = struct.pack("<q", BASE + n)
        if r not in SHOWN:
            found[f"hidden row {n}"] = b"visible-cell-%d-" % n
    return found


def assert_the_search_finds_leaks(location: str) -> None:
    """The same search over the original table finds everything that is forbidden, but for keys and compressed numbers."""
    folder = Path(location.removeprefix("file:").replace("//", "/"))
    files = [p for p in folder.rglob("*") if p.is_file() and p.suffix in (".parquet", ".avro", ".json")]
    everything = b"\n".join(texts(p) for p in files)
    apart = ("the", "pad", "salary")
    assert [w for w, v in forbidden().items() if v not in everything and not w.startswith(apart)] == []
    assert all(struct.pack("<q", BASE + n) in everything for n in range(200))


@pytest.mark.parametrize("version", [2, 3])
def test_no_byte_of_what_is_hidden(lake: Lake, version: int) -> None:
    seen, table = governed(lake, version)
    files = seen.files()
    assert {p.suffix for p in files} >= {".parquet", ".avro", ".json"}
    everything = b"\n".join(texts(p) for p in files)
    leaks = [what for what, value in forbidden().items() if value in everything]
    assert leaks == []
    # The search finds what is there.
    assert all(b"visible-cell-%d-" % r["id"] in everything for r in SHOWN)
    raw = lake.document(table)
    for path in (path for copy in seen.copies for path in copy.source.paths):
        assert path.encode() not in everything
        assert path.rsplit("/", 1)[-1].encode() not in everything
    assert raw["location"].encode() not in everything
    assert_the_search_finds_leaks(raw["location"])
    # Nor is anything left of the job's own tables.
    assert not [p for p in (lake.folder / "staging").rglob("*") if p.is_file()]
    assert lake.spark.sql("SHOW TABLES IN headgate_jobs.jobs").collect() == []
    assert [len(r) for r in (seen.in_spark(), seen.in_pyiceberg(), seen.in_duckdb())] == [len(SHOWN)] * 3


def test_rows_of_equality_deletes_stay_out(lake: Lake) -> None:
    table = lake.create("id bigint, email string")
    lake.spark.sql(f"INSERT INTO {table} VALUES (1, 'deleted-row-zq'), (2, 'kept')")
    delete_equal(lake, table, "email", ["deleted-row-zq"])
    seen = lake.through(table, view(lake.document(table), rows="id < 10"))
    assert not seen.originals
    everything = b"\n".join(texts(p) for p in seen.files())
    assert b"deleted-row-zq" not in everything
    assert [r[2] for r in seen.in_pyiceberg()] == ["kept"]
