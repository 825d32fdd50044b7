"""Small tables whose rows are known: metadata and manifests of any format version, data files that exist on paper only."""

from __future__ import annotations

import json
import math
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import fastavro
from pyiceberg.conversions import to_bytes
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.types import (
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IcebergType,
    IntegerType,
    LongType,
    NestedField,
    StringType,
    TimestampType,
    TimestamptzType,
)
from pyiceberg.utils.decimal import decimal_required_bytes
from pyiceberg.utils.truncate import truncate_upper_bound_text_string

from headgate import planning
from headgate.planning import ManifestIndex, Plan, PlanRequest, Within
from headgate.planning.indexing.segment import Segment

DATA, POSITION_DELETES, EQUALITY_DELETES = 0, 1, 2
EXISTING, ADDED, DELETED = 0, 1, 2
PATH_COLUMN, POSITION_COLUMN = 2147483546, 2147483545

Row = dict[int, Any]


@dataclass(frozen=True)
class ForgedFile:
    """A data or delete file as a manifest entry tells of it."""

    path: str
    rows: tuple[Row, ...] = ()
    partition: tuple[Any, ...] = ()
    spec_id: int = 0
    metrics: str = "full"  # full, counts, none, truncated
    status: int = ADDED
    sequence: int | None = None
    snapshot: int | None = None
    content: int = DATA
    file_format: str = "PARQUET"
    records: int | None = None
    equality_ids: tuple[int, ...] | None = None
    referenced: str | None = None
    offset: int | None = None
    length: int | None = None
    first_row_id: int | None = None
    split_offsets: tuple[int, ...] | None = (4,)
    raw_metrics: dict[str, dict[int, Any]] | None = None


@dataclass(frozen=True)
class ForgedManifest:
    """A manifest of files with one spec."""

    files: tuple[ForgedFile, ...]
    spec_id: int = 0
    content: int = DATA
    sequence: int = 1
    snapshot: int = 1
    first_row_id: int | None = None
    summaries: bool = True
    codec: str = "deflate"


@dataclass(frozen=True)
class ForgedSnapshot:
    """A snapshot: its manifests, and what made it."""

    manifests: tuple[ForgedManifest, ...]
    snapshot_id: int = 1
    parent: int | None = None
    operation: str = "append"
    schema_id: int | None = None


@dataclass
class Forge:
    """Writes a table into a folder."""

    folder: Path
    schemas: Sequence[Schema]
    specs: Sequence[PartitionSpec] = (PartitionSpec(),)
    version: int = 2
    refs: dict[str, int] = field(default_factory=dict)
    io: PyArrowFileIO = field(default_factory=PyArrowFileIO)
    _written: dict[int, str] = field(default_factory=dict)

    @property
    def schema(self) -> Schema:
        return self.schemas[-1]

    @property
    def metadata_path(self) -> Path:
        return self.folder / "v1.metadata.json"

    def table(self, *snapshots: ForgedSnapshot) -> dict[str, Any]:
        written = [self._snapshot(snapshot, number) for number, snapshot in enumerate(snapshots, 1)]
        current = snapshots[-1].snapshot_id if snapshots else -1
        refs = {name: {"type": "branch", "snapshot-id": target} for name, target in self.refs.items()}
        if snapshots:
            refs["main"] = {"type": "branch", "snapshot-id": current}
        metadata: dict[str, Any] = {
            "format-version": self.version,
            "table-uuid": str(uuid.uuid5(uuid.NAMESPACE_URL, str(self.folder))),
            "location": str(self.folder),
            "last-updated-ms": 1_700_000_000_000,
            "last-column-id": max(schema.highest_field_id for schema in self.schemas),
            "current-schema-id": self.schema.schema_id,
            "schemas": [json.loads(schema.model_dump_json()) for schema in self.schemas],
            "default-spec-id": self.specs[-1].spec_id,
            "partition-specs": [json.loads(spec.model_dump_json()) for spec in self.specs],
            "last-partition-id": 1100,
            "default-sort-order-id": 0,
            "sort-orders": [{"order-id": 0, "fields": []}],
            "properties": {},
            "current-snapshot-id": current,
            "snapshots": written,
            "refs": refs,
        }
        if self.version == 1:
            metadata["schema"] = metadata["schemas"][-1]
            metadata["partition-spec"] = metadata["partition-specs"][-1]["fields"]
        else:
            metadata["last-sequence-number"] = 100
        if self.version == 3:
            metadata["next-row-id"] = 1_000_000
        self.metadata_path.write_text(json.dumps(metadata))
        return metadata

    def _snapshot(self, snapshot: ForgedSnapshot, number: int) -> dict[str, Any]:
        entries = [self._manifest(manifest) for manifest in snapshot.manifests]
        path = self.folder / f"list-{snapshot.snapshot_id}.avro"
        write_avro(path, list_schema(self.version), entries, "deflate", {"format-version": str(self.version)})
        written: dict[str, Any] = {
            "snapshot-id": snapshot.snapshot_id,
            "timestamp-ms": 1_700_000_000_000 + number,
            "manifest-list": str(path),
            "summary": {"operation": snapshot.operation},
            "schema-id": self.schema.schema_id if snapshot.schema_id is None else snapshot.schema_id,
        }
        if snapshot.parent is not None:
            written["parent-snapshot-id"] = snapshot.parent
        if self.version > 1:
            written["sequence-number"] = number
        if self.version > 2:
            written |= {"first-row-id": 0, "added-rows": 0}
        return written

    def _manifest(self, manifest: ForgedManifest) -> dict[str, Any]:
        if id(manifest) not in self._written:
            path = self.folder / f"manifest-{len(self._written)}.avro"
            schema = entry_schema(self.version, self._partition_fields(manifest.spec_id))
            header = {
                "schema": self.schema.model_dump_json(),
                "partition-spec": json.dumps(
                    json.loads(self._spec(manifest.spec_id).model_dump_json()).get("fields", [])
                ),
                "partition-spec-id": str(manifest.spec_id),
                "format-version": str(self.version),
                "content": "data" if manifest.content == DATA else "deletes",
            }
            entries = [self._entry(file, manifest) for file in manifest.files]
            write_avro(path, schema, entries, manifest.codec, header)
            self._written[id(manifest)] = str(path)
        path = Path(self._written[id(manifest)])
        by_status = {status: [f for f in manifest.files if f.status == status] for status in (0, 1, 2)}
        return {
            "manifest_path": str(path),
            "manifest_length": path.stat().st_size,
            "partition_spec_id": manifest.spec_id,
            "content": manifest.content,
            "sequence_number": manifest.sequence,
            "min_sequence_number": 0,
            "added_snapshot_id": manifest.snapshot,
            "added_files_count": len(by_status[ADDED]),
            "existing_files_count": len(by_status[EXISTING]),
            "deleted_files_count": len(by_status[DELETED]),
            "added_rows_count": 0,
            "existing_rows_count": 0,
            "deleted_rows_count": 0,
            "partitions": self._summaries(manifest) if manifest.summaries else None,
            "first_row_id": manifest.first_row_id,
        }

    def _spec(self, spec_id: int) -> PartitionSpec:
        return next(spec for spec in self.specs if spec.spec_id == spec_id)

    def _source(self, field_id: int) -> IcebergType:
        return next(
            f.field_type for schema in self.schemas[::-1] for f in schema.fields if f.field_id == field_id
        )

    def _partition_fields(self, spec_id: int) -> list[tuple[PartitionField, IcebergType]]:
        return [(f, f.transform.result_type(self._source(f.source_id))) for f in self._spec(spec_id).fields]

    def _summaries(self, manifest: ForgedManifest) -> list[dict[str, Any]]:
        summaries = []
        for place, (_, kind) in enumerate(self._partition_fields(manifest.spec_id)):
            values = [file.partition[place] for file in manifest.files]
            known = [value for value in values if value is not None]
            summaries.append(
                {
                    "contains_null": len(known) < len(values),
                    "contains_nan": False,
                    "lower_bound": to_bytes(kind, min(known)) if known else None,
                    "upper_bound": to_bytes(kind, max(known)) if known else None,
                }
            )
        return summaries

    def _entry(self, file: ForgedFile, manifest: ForgedManifest) -> dict[str, Any]:
        names = [f.name for f, _ in self._partition_fields(manifest.spec_id)]
        data_file: dict[str, Any] = {
            "content": file.content,
            "file_path": file.path,
            "file_format": file.file_format,
            "partition": dict(zip(names, file.partition, strict=True)),
            "record_count": len(file.rows) if file.records is None else file.records,
            "file_size_in_bytes": 1_000 + len(file.rows),
            "block_size_in_bytes": 67_108_864,
            "key_metadata": None,
            "split_offsets": None if file.split_offsets is None else list(file.split_offsets),
            "equality_ids": None if file.equality_ids is None else list(file.equality_ids),
            "sort_order_id": 0,
            "first_row_id": file.first_row_id,
            "referenced_data_file": file.referenced,
            "content_offset": file.offset,
            "content_size_in_bytes": file.length,
        }
        metrics = file.raw_metrics if file.raw_metrics is not None else metrics_of(file, self.schemas)
        for name in METRICS:
            pairs = metrics.get(name)
            data_file[name] = None if pairs is None else [{"key": k, "value": v} for k, v in pairs.items()]
        return {
            "status": file.status,
            "snapshot_id": file.snapshot
            if file.snapshot is not None or self.version > 1
            else manifest.snapshot,
            "sequence_number": file.sequence,
            "file_sequence_number": file.sequence,
            "data_file": data_file,
        }


METRICS = (
    "column_sizes",
    "value_counts",
    "null_value_counts",
    "nan_value_counts",
    "lower_bounds",
    "upper_bounds",
)


def metrics_of(file: ForgedFile, schemas: Sequence[Schema]) -> dict[str, dict[int, Any]]:
    """The statistics a careful writer would keep of the rows; columns absent from a row are absent from the file."""
    if file.metrics == "none":
        return {}
    written = {field_id for row in file.rows for field_id in row}
    out: dict[str, dict[int, Any]] = {name: {} for name in METRICS}
    types = {f.field_id: f.field_type for schema in schemas[::-1] for f in schema.fields}
    for field_id in sorted(written):
        kind = types[field_id]
        values = [row.get(field_id) for row in file.rows]
        known = [value for value in values if value is not None]
        plain = [value for value in known if not (isinstance(value, float) and math.isnan(value))]
        out["column_sizes"][field_id] = 10 * len(values)
        out["value_counts"][field_id] = len(values)
        out["null_value_counts"][field_id] = len(values) - len(known)
        if isinstance(kind, FloatType | DoubleType):
            out["nan_value_counts"][field_id] = len(known) - len(plain)
        if plain and file.metrics != "counts":
            low, high = min(plain), max(plain)
            if file.metrics == "truncated" and isinstance(kind, StringType):
                low, high = low[:2], high if len(high) <= 2 else truncate_upper_bound_text_string(high, 2)
            out["lower_bounds"][field_id] = to_bytes(kind, low)
            if high is not None:
                out["upper_bounds"][field_id] = to_bytes(kind, high)
    return out


def avro_type(kind: IcebergType, name: str) -> Any:
    if isinstance(kind, DecimalType):
        return {
            "type": "fixed",
            "name": f"decimal_{name}",
            "size": decimal_required_bytes(kind.precision),
            "logicalType": "decimal",
            "precision": kind.precision,
            "scale": kind.scale,
        }
    return {
        BooleanType: "boolean",
        IntegerType: "int",
        LongType: "long",
        DateType: {"type": "int", "logicalType": "date"},
        TimestampType: {"type": "long", "logicalType": "timestamp-micros", "adjust-to-utc": False},
        TimestamptzType: {"type": "long", "logicalType": "timestamp-micros", "adjust-to-utc": True},
        StringType: "string",
        FloatType: "float",
        DoubleType: "double",
    }.get(type(kind), "bytes")


def _field(field_id: int, name: str, kind: Any, required: bool = False) -> dict[str, Any]:
    if required:
        return {"name": name, "type": kind, "field-id": field_id}
    return {"name": name, "type": ["null", kind], "default": None, "field-id": field_id}


def _map(key_id: int, value_id: int, value: str) -> dict[str, Any]:
    fields = [_field(key_id, "key", "int", True), _field(value_id, "value", value, True)]
    record = {"type": "record", "name": f"k{key_id}_v{value_id}", "fields": fields}
    return {"type": "array", "items": record, "logicalType": "map"}


def entry_schema(version: int, partition: list[tuple[PartitionField, IcebergType]]) -> dict[str, Any]:
    parts = [_field(f.field_id, f.name, avro_type(kind, f.name)) for f, kind in partition]
    file = [
        *([_field(134, "content", "int", True)] if version > 1 else []),
        _field(100, "file_path", "string", True),
        _field(101, "file_format", "string", True),
        _field(102, "partition", {"type": "record", "name": "r102", "fields": parts}, True),
        _field(103, "record_count", "long", True),
        _field(104, "file_size_in_bytes", "long", True),
        *([_field(105, "block_size_in_bytes", "long", True)] if version == 1 else []),
        _field(108, "column_sizes", _map(117, 118, "long")),
        _field(109, "value_counts", _map(119, 120, "long")),
        _field(110, "null_value_counts", _map(121, 122, "long")),
        _field(137, "nan_value_counts", _map(138, 139, "long")),
        _field(125, "lower_bounds", _map(126, 127, "bytes")),
        _field(128, "upper_bounds", _map(129, 130, "bytes")),
        _field(131, "key_metadata", "bytes"),
        _field(132, "split_offsets", {"type": "array", "items": "long", "element-id": 133}),
        *(
            [_field(135, "equality_ids", {"type": "array", "items": "int", "element-id": 136})]
            if version > 1
            else []
        ),
        _field(140, "sort_order_id", "int"),
    ]
    if version > 2:
        file += [
            _field(142, "first_row_id", "long"),
            _field(143, "referenced_data_file", "string"),
            _field(144, "content_offset", "long"),
            _field(145, "content_size_in_bytes", "long"),
        ]
    sequences = [_field(3, "sequence_number", "long"), _field(4, "file_sequence_number", "long")]
    return {
        "type": "record",
        "name": "manifest_entry",
        "fields": [
            _field(0, "status", "int", True),
            _field(1, "snapshot_id", "long", version == 1),
            *(sequences if version > 1 else []),
            _field(2, "data_file", {"type": "record", "name": "r2", "fields": file}, True),
        ],
    }


def list_schema(version: int) -> dict[str, Any]:
    summary = [
        _field(509, "contains_null", "boolean", True),
        _field(518, "contains_nan", "boolean"),
        _field(510, "lower_bound", "bytes"),
        _field(511, "upper_bound", "bytes"),
    ]
    record = {"type": "record", "name": "r508", "fields": summary}
    later = [
        _field(517, "content", "int", True),
        _field(515, "sequence_number", "long", True),
        _field(516, "min_sequence_number", "long", True),
    ]
    return {
        "type": "record",
        "name": "manifest_file",
        "fields": [
            _field(500, "manifest_path", "string", True),
            _field(501, "manifest_length", "long", True),
            _field(502, "partition_spec_id", "int", True),
            *(later if version > 1 else []),
            _field(503, "added_snapshot_id", "long", True),
            _field(504, "added_files_count", "int", True),
            _field(505, "existing_files_count", "int", True),
            _field(506, "deleted_files_count", "int", True),
            _field(512, "added_rows_count", "long", True),
            _field(513, "existing_rows_count", "long", True),
            _field(514, "deleted_rows_count", "long", True),
            _field(507, "partitions", {"type": "array", "items": record, "element-id": 508}),
            *([_field(520, "first_row_id", "long")] if version > 2 else []),
        ],
    }


def write_avro(
    path: Path, schema: dict[str, Any], records: list[Any], codec: str, metadata: dict[str, str]
) -> None:
    with path.open("wb") as stream:
        fastavro.writer(stream, fastavro.parse_schema(schema), records, codec=codec, metadata=metadata)


def simple_schema(*columns: tuple[str, IcebergType], schema_id: int = 0) -> Schema:
    fields = [NestedField(i, name, kind, required=False) for i, (name, kind) in enumerate(columns, 1)]
    return Schema(*fields, schema_id=schema_id)


class Anywhere(Within, frozen=True):
    """Files on paper lie nowhere: for tests that are not about places."""

    def check(self, path: str) -> None:
        pass

    def check_files(self, index: ManifestIndex, segment: Segment, rows: Any) -> None:
        pass


ANYWHERE = Anywhere(())


def plan(metadata: dict[str, Any], request: PlanRequest, *, within: Within = ANYWHERE, **more: Any) -> Plan:
    """A plan over files on paper."""
    return planning.plan(metadata, request, within=within, **more)


def plan_from_token(
    metadata: dict[str, Any], token: str, *, within: Within = ANYWHERE, **more: Any
) -> tuple[Plan, planning.PlanTask]:
    return planning.plan_from_token(metadata, token, within=within, **more)
