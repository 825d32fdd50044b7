"""Forged tables: manifests of many data files that do not exist, with the statistics that they would have."""

from __future__ import annotations

import io as streams
import json
import struct
import uuid
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fastavro
from pyiceberg.io.pyarrow import PyArrowFileIO

FILES_PER_MANIFEST = 10_000
DISTINCT_FILES = 100_000
SNAPSHOT = 7_000_000_000_000_000_001
COLUMNS = [
    *(("long", f"l{i}") for i in range(6)),
    *(("int", f"i{i}") for i in range(3)),
    *(("double", f"d{i}") for i in range(2)),
    *(("string", f"s{i}") for i in range(2)),
    ("date", "day"),
    ("string", "region"),
    ("timestamp", "at"),
]
PARTITION = [("day", "identity", "date"), ("region", "identity", "string"), ("l0", "bucket[16]", "int")]
REGIONS = ["EU", "US", "APAC", "LATAM"]


@dataclass(frozen=True)
class ForgedTable:
    """A table on disk and what plans of it must find."""

    metadata: dict[str, Any]
    metadata_path: Path
    io: PyArrowFileIO
    files: int
    columns: tuple[str, ...]
    one_percent_column: str
    one_percent_value: int
    one_percent_files: int
    records: int

    @property
    def one_percent_filter(self) -> dict[str, Any]:
        """A filter on a column that is no partition source, met by about one file in a hundred."""
        return {"type": "eq", "term": self.one_percent_column, "value": self.one_percent_value}


def forge_table(folder: Path, files: int) -> ForgedTable:
    """Forge a v2 table of 14 columns with statistics and 3 partition fields, without delete files."""
    folder.mkdir(parents=True, exist_ok=True)
    entry = fastavro.parse_schema(_entry_schema())
    header = _header(
        _entry_schema(), {"schema": "{}", "partition-spec": "[]", "format-version": "2", "content": "data"}
    )
    manifests = []
    blocks: dict[tuple[int, int], bytes] = {}
    for start in range(0, files, FILES_PER_MANIFEST):
        count = min(FILES_PER_MANIFEST, files - start)
        # Beyond the first hundred thousand the files repeat: it costs the planner the same and the forge much less.
        first = start % DISTINCT_FILES
        if (first, count) not in blocks:
            stream = streams.BytesIO()
            for number in range(first, first + count):
                fastavro.schemaless_writer(stream, entry, _entry(folder, number))
            blocks[first, count] = _block(count, stream.getvalue())
        path = folder / f"manifest-{start}.avro"
        path.write_bytes(header + blocks[first, count])
        manifests.append(_manifest(path, count))
    list_path = folder / "manifest-list.avro"
    with list_path.open("wb") as file:
        fastavro.writer(file, fastavro.parse_schema(LIST_SCHEMA), manifests, codec="deflate")
    metadata = _metadata(folder, list_path, files)
    metadata_path = folder / "v1.metadata.json"
    metadata_path.write_text(json.dumps(metadata))
    groups = min(files, 100)
    hits = len(range(min(3, groups - 1), files, 100))
    return ForgedTable(
        metadata=metadata,
        metadata_path=metadata_path,
        io=PyArrowFileIO(),
        files=files,
        columns=tuple(name for _, name in COLUMNS),
        one_percent_column="l1",
        one_percent_value=min(3, groups - 1) * 1_000 + 5,
        one_percent_files=hits,
        records=sum(_records(number % DISTINCT_FILES) for number in range(files)),
    )


def _entry(folder: Path, number: int) -> dict[str, Any]:
    lower, upper = [], []
    for field_id, (kind, name) in enumerate(COLUMNS, 1):
        base = (number % 100) * 1_000 if name == "l1" else number * 7 % 100_003 + field_id
        if kind in ("long", "timestamp"):
            pair = struct.pack("<q", base), struct.pack("<q", base + 900)
        elif kind in ("int", "date"):
            pair = struct.pack("<i", base % 20_000), struct.pack("<i", base % 20_000 + 9)
        elif kind == "double":
            pair = struct.pack("<d", base / 3), struct.pack("<d", base / 3 + 1)
        else:
            pair = b"value-%08d" % base, b"value-%08d" % (base + 9)
        lower.append({"key": field_id, "value": pair[0]})
        upper.append({"key": field_id, "value": pair[1]})
    records = _records(number)
    day, region = number // 40 % 365, REGIONS[number % 4]
    ids = range(1, len(COLUMNS) + 1)
    name = uuid.uuid5(uuid.NAMESPACE_URL, str(number))
    return {
        "status": 1,
        "snapshot_id": SNAPSHOT,
        "sequence_number": None,
        "file_sequence_number": None,
        "data_file": {
            "content": 0,
            "file_path": f"{folder}/data/day={day}/region={region}/{number:08d}-{name}.parquet",
            "file_format": "PARQUET",
            "partition": {"day": 19_000 + day, "region": region, "l0_bucket": number % 16},
            "record_count": records,
            "file_size_in_bytes": 90_000 + number % 7_919,
            "column_sizes": [{"key": i, "value": 800 + (number * i) % 509} for i in ids],
            "value_counts": [{"key": i, "value": records} for i in ids],
            "null_value_counts": [{"key": i, "value": 0} for i in ids],
            "nan_value_counts": [{"key": i, "value": 0} for i in (10, 11)],
            "lower_bounds": lower,
            "upper_bounds": upper,
            "key_metadata": None,
            "split_offsets": [4],
            "equality_ids": None,
            "sort_order_id": 0,
        },
    }


def _records(number: int) -> int:
    return 1_000 + number % 977


def _field(field_id: int, name: str, kind: Any, optional: bool = True) -> dict[str, Any]:
    if optional:
        return {"name": name, "type": ["null", kind], "default": None, "field-id": field_id}
    return {"name": name, "type": kind, "field-id": field_id}


def _map(key_id: int, value_id: int, value: str) -> dict[str, Any]:
    fields = [_field(key_id, "key", "int", False), _field(value_id, "value", value, False)]
    return {
        "type": "array",
        "items": {"type": "record", "name": f"k{key_id}_v{value_id}", "fields": fields},
        "logicalType": "map",
    }


def _entry_schema() -> dict[str, Any]:
    partition = [
        _field(1000, "day", {"type": "int", "logicalType": "date"}),
        _field(1001, "region", "string"),
        _field(1002, "l0_bucket", "int"),
    ]
    data_file = [
        _field(134, "content", "int", False),
        _field(100, "file_path", "string", False),
        _field(101, "file_format", "string", False),
        _field(102, "partition", {"type": "record", "name": "r102", "fields": partition}, False),
        _field(103, "record_count", "long", False),
        _field(104, "file_size_in_bytes", "long", False),
        _field(108, "column_sizes", _map(117, 118, "long")),
        _field(109, "value_counts", _map(119, 120, "long")),
        _field(110, "null_value_counts", _map(121, 122, "long")),
        _field(137, "nan_value_counts", _map(138, 139, "long")),
        _field(125, "lower_bounds", _map(126, 127, "bytes")),
        _field(128, "upper_bounds", _map(129, 130, "bytes")),
        _field(131, "key_metadata", "bytes"),
        _field(132, "split_offsets", {"type": "array", "items": "long", "element-id": 133}),
        _field(135, "equality_ids", {"type": "array", "items": "int", "element-id": 136}),
        _field(140, "sort_order_id", "int"),
    ]
    return {
        "type": "record",
        "name": "manifest_entry",
        "fields": [
            _field(0, "status", "int", False),
            _field(1, "snapshot_id", "long"),
            _field(3, "sequence_number", "long"),
            _field(4, "file_sequence_number", "long"),
            _field(2, "data_file", {"type": "record", "name": "r2", "fields": data_file}, False),
        ],
    }


SUMMARY = {
    "type": "record",
    "name": "r508",
    "fields": [
        _field(509, "contains_null", "boolean", False),
        _field(518, "contains_nan", "boolean"),
        _field(510, "lower_bound", "bytes"),
        _field(511, "upper_bound", "bytes"),
    ],
}
LIST_SCHEMA: dict[str, Any] = {
    "type": "record",
    "name": "manifest_file",
    "fields": [
        _field(500, "manifest_path", "string", False),
        _field(501, "manifest_length", "long", False),
        _field(502, "partition_spec_id", "int", False),
        _field(517, "content", "int", False),
        _field(515, "sequence_number", "long", False),
        _field(516, "min_sequence_number", "long", False),
        _field(503, "added_snapshot_id", "long", False),
        _field(504, "added_files_count", "int", False),
        _field(505, "existing_files_count", "int", False),
        _field(506, "deleted_files_count", "int", False),
        _field(512, "added_rows_count", "long", False),
        _field(513, "existing_rows_count", "long", False),
        _field(514, "deleted_rows_count", "long", False),
        _field(507, "partitions", {"type": "array", "items": SUMMARY, "element-id": 508}),
    ],
}


def _manifest(path: Path, count: int) -> dict[str, Any]:
    def summary(lower: bytes, upper: bytes) -> dict[str, Any]:
        return {"contains_null": False, "contains_nan": False, "lower_bound": lower, "upper_bound": upper}

    return {
        "manifest_path": str(path),
        "manifest_length": path.stat().st_size,
        "partition_spec_id": 0,
        "content": 0,
        "sequence_number": 1,
        "min_sequence_number": 1,
        "added_snapshot_id": SNAPSHOT,
        "added_files_count": count,
        "existing_files_count": 0,
        "deleted_files_count": 0,
        "added_rows_count": count,
        "existing_rows_count": 0,
        "deleted_rows_count": 0,
        "partitions": [
            summary(struct.pack("<i", 19_000), struct.pack("<i", 19_365)),
            summary(b"APAC", b"US"),
            summary(struct.pack("<i", 0), struct.pack("<i", 15)),
        ],
    }


def _metadata(folder: Path, list_path: Path, files: int) -> dict[str, Any]:
    fields = [{"id": i, "name": n, "type": k, "required": False} for i, (k, n) in enumerate(COLUMNS, 1)]
    ids = {name: i for i, (_, name) in enumerate(COLUMNS, 1)}
    names = ("day", "region", "l0_bucket")
    spec = [
        {"field-id": 1000 + place, "source-id": ids[source], "name": names[place], "transform": transform}
        for place, (source, transform, _) in enumerate(PARTITION)
    ]
    summary = {"operation": "append", "total-data-files": str(files)}
    snapshot = {
        "snapshot-id": SNAPSHOT,
        "sequence-number": 1,
        "timestamp-ms": 1_700_000_000_000,
        "manifest-list": str(list_path),
        "summary": summary,
        "schema-id": 0,
    }
    return {
        "format-version": 2,
        "table-uuid": str(uuid.uuid5(uuid.NAMESPACE_URL, str(folder))),
        "location": str(folder),
        "last-sequence-number": 1,
        "last-updated-ms": 1_700_000_000_000,
        "last-column-id": len(COLUMNS),
        "current-schema-id": 0,
        "schemas": [{"type": "struct", "schema-id": 0, "fields": fields}],
        "default-spec-id": 0,
        "partition-specs": [{"spec-id": 0, "fields": spec}],
        "last-partition-id": 1002,
        "default-sort-order-id": 0,
        "sort-orders": [{"order-id": 0, "fields": []}],
        "properties": {},
        "current-snapshot-id": SNAPSHOT,
        "snapshots": [snapshot],
        "refs": {"main": {"type": "branch", "snapshot-id": SNAPSHOT}},
    }


SYNC = b"headgate-bench!!"


def _header(schema: dict[str, Any], metadata: dict[str, str]) -> bytes:
    pairs = {"avro.schema": json.dumps(schema), "avro.codec": "deflate", **metadata}
    encoded = b"".join(_bytes(key.encode()) + _bytes(value.encode()) for key, value in pairs.items())
    return b"Obj\x01" + _long(len(pairs)) + encoded + b"\x00" + SYNC


def _block(count: int, content: bytes) -> bytes:
    compressor = zlib.compressobj(6, zlib.DEFLATED, -15)
    packed = compressor.compress(content) + compressor.flush()
    return _long(count) + _bytes(packed) + SYNC


def _bytes(value: bytes) -> bytes:
    return _long(len(value)) + value


def _long(value: int) -> bytes:
    encoded = bytearray()
    rest = (value << 1) ^ (value >> 63)
    while rest > 0x7F:
        encoded.append(rest & 0x7F | 0x80)
        rest >>= 7
    encoded.append(rest)
    return bytes(encoded)
