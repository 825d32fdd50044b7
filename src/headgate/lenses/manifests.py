"""Writing manifests and manifest lists of format versions 2 and 3."""

import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

import fastavro
import orjson

from headgate.lenses.entries import ADDED, ManifestEntry
from headgate.lenses.summaries import summaries
from headgate.planning.indexing.segment import ManifestFile
from headgate.planning.manifests import layout as ids

Json = dict[str, Any]

METRICS: Final = {
    108: ("column_sizes", 117, 118, "long"),
    109: ("value_counts", 119, 120, "long"),
    110: ("null_value_counts", 121, 122, "long"),
    137: ("nan_value_counts", 138, 139, "long"),
    125: ("lower_bounds", 126, 127, "bytes"),
    128: ("upper_bounds", 129, 130, "bytes"),
}
_FIELDS: Final = {
    ids.CONTENT: "content",
    ids.FILE_PATH: "file_path",
    ids.FILE_FORMAT: "file_format",
    ids.RECORD_COUNT: "record_count",
    ids.FILE_SIZE: "file_size_in_bytes",
    ids.KEY_METADATA: "key_metadata",
    ids.SPLIT_OFFSETS: "split_offsets",
    ids.EQUALITY_IDS: "equality_ids",
    ids.SORT_ORDER_ID: "sort_order_id",
    ids.FIRST_ROW_ID: "first_row_id",
    ids.REFERENCED_DATA_FILE: "referenced_data_file",
    ids.CONTENT_OFFSET: "content_offset",
    ids.CONTENT_SIZE: "content_size_in_bytes",
}


class Files(Protocol):
    """Where manifests are written to: a catalog's storage, or memory."""

    def write_bytes(self, location: str, data: bytes) -> None: ...


@dataclass(frozen=True)
class Written:
    """A manifest that was written, as a manifest list names it."""

    path: str
    length: int
    spec_id: int
    content: int
    sequence: int
    least_sequence: int
    snapshot_id: int
    added: int
    existing: int
    added_rows: int
    existing_rows: int
    partitions: list[Json] | None = None
    first_row_id: int | None = None

    @staticmethod
    def as_listed(listed: ManifestFile) -> "Written":
        """A manifest of the table itself, named again; unknown counts become one, so that nobody passes it over."""
        count = 1 if listed.file_count is None else listed.file_count
        return Written(
            path=listed.path,
            length=listed.length,
            spec_id=listed.spec_id,
            content=listed.content,
            sequence=listed.sequence_number,
            least_sequence=0,
            snapshot_id=int(listed.added_snapshot_id or 0),
            added=0,
            existing=count,
            added_rows=0,
            existing_rows=count,
        )


def write_manifest(
    files: Files,
    path: str,
    entries: Sequence[ManifestEntry],
    *,
    version: int,
    schema: Json,
    spec: Json,
    partition: Json,
    content: int = 0,
    sequence: int = 0,
    snapshot_id: int = 0,
) -> Written:
    """Write a manifest; every entry says for itself what it could inherit."""
    header = {
        "schema": orjson.dumps(schema).decode(),
        "schema-id": str(schema.get("schema-id", 0)),
        "partition-spec": orjson.dumps(spec["fields"]).decode(),
        "partition-spec-id": str(spec["spec-id"]),
        "format-version": str(version),
        "content": "deletes" if content else "data",
    }
    names = {field["field-id"]: field["name"] for field in partition["fields"]}
    records = [_record(entry, names) for entry in entries]
    length = _write(files, path, _entry_type(version, partition), records, header)
    added = [e for e in entries if e.status == ADDED]
    existing = [e for e in entries if e.status != ADDED]
    return Written(
        path=path,
        length=length,
        spec_id=spec["spec-id"],
        content=content,
        sequence=sequence,
        least_sequence=min((e.sequence for e in entries), default=0),
        snapshot_id=snapshot_id,
        added=len(added),
        existing=len(existing),
        added_rows=sum(e.file[ids.RECORD_COUNT] for e in added),
        existing_rows=sum(e.file[ids.RECORD_COUNT] for e in existing),
        partitions=summaries(entries, spec, partition),
    )


def write_manifest_list(
    files: Files,
    path: str,
    manifests: Iterable[Written],
    *,
    version: int,
    snapshot_id: int,
    parent_id: int | None,
    sequence: int,
) -> None:
    """Write the list of a snapshot's manifests."""
    header = {
        "snapshot-id": str(snapshot_id),
        "parent-snapshot-id": "null" if parent_id is None else str(parent_id),
        "sequence-number": str(sequence),
        "format-version": str(version),
    }
    records = [
        {
            "manifest_path": m.path,
            "manifest_length": m.length,
            "partition_spec_id": m.spec_id,
            "content": m.content,
            "sequence_number": m.sequence,
            "min_sequence_number": m.least_sequence,
            "added_snapshot_id": m.snapshot_id,
            "added_files_count": m.added,
            "existing_files_count": m.existing,
            "deleted_files_count": 0,
            "added_rows_count": m.added_rows,
            "existing_rows_count": m.existing_rows,
            "deleted_rows_count": 0,
            "partitions": m.partitions,
            "key_metadata": None,
            "first_row_id": m.first_row_id,
        }
        for m in manifests
    ]
    _write(files, path, _list_type(version), records, header)


def _write(files: Files, path: str, schema: Json, records: list[Json], header: Mapping[str, str]) -> int:
    stream = io.BytesIO()
    fastavro.writer(stream, fastavro.parse_schema(schema), records, codec="deflate", metadata=dict(header))
    data = stream.getvalue()
    files.write_bytes(path, data)
    return len(data)


def _record(entry: ManifestEntry, partition: Mapping[int, str]) -> Json:
    file: Json = {name: entry.file.get(id) for id, name in _FIELDS.items()}
    file["content"] = file["content"] or 0
    file["file_format"] = str(file["file_format"]).upper()
    file["partition"] = {name: entry.file[ids.PARTITION].get(id) for id, name in partition.items()}
    for id, (name, _, _, _) in METRICS.items():
        pairs = entry.file.get(id)
        file[name] = (
            [{"key": k, "value": v} for k, v in pairs.items()] if isinstance(pairs, Mapping) else pairs
        )
    return {
        "status": entry.status,
        "snapshot_id": entry.snapshot_id,
        "sequence_number": entry.sequence,
        "file_sequence_number": entry.file_sequence,
        "data_file": file,
    }


def _field(id: int, name: str, type: Any, *, required: bool = False) -> Json:
    if required:
        return {"name": name, "type": type, "field-id": id}
    return {"name": name, "type": ["null", type], "default": None, "field-id": id}


def _metric(id: int) -> Json:
    name, key, value, type = METRICS[id]
    pair = {
        "type": "record",
        "name": f"k{key}_v{value}",
        "fields": [_field(key, "key", "int", required=True), _field(value, "value", type, required=True)],
    }
    return _field(id, name, {"type": "array", "items": pair, "logicalType": "map"})


def _array(id: int, name: str, element: int, type: str) -> Json:
    return _field(id, name, {"type": "array", "items": type, "element-id": element})


def _entry_type(version: int, partition: Json) -> Json:
    file = [
        _field(134, "content", "int", required=True),
        _field(100, "file_path", "string", required=True),
        _field(101, "file_format", "string", required=True),
        _field(102, "partition", {**partition, "name": "r102"}, required=True),
        _field(103, "record_count", "long", required=True),
        _field(104, "file_size_in_bytes", "long", required=True),
        *(_metric(id) for id in METRICS),
        _field(131, "key_metadata", "bytes"),
        _array(132, "split_offsets", 133, "long"),
        _array(135, "equality_ids", 136, "int"),
        _field(140, "sort_order_id", "int"),
        *([_field(142, "first_row_id", "long")] if version > 2 else []),
        _field(143, "referenced_data_file", "string"),
        *([_field(144, "content_offset", "long")] if version > 2 else []),
        *([_field(145, "content_size_in_bytes", "long")] if version > 2 else []),
    ]
    fields = [
        _field(0, "status", "int", required=True),
        _field(1, "snapshot_id", "long"),
        _field(3, "sequence_number", "long"),
        _field(4, "file_sequence_number", "long"),
        _field(2, "data_file", {"type": "record", "name": "r2", "fields": file}, required=True),
    ]
    return {"type": "record", "name": "manifest_entry", "fields": fields}


def _list_type(version: int) -> Json:
    summary = {
        "type": "record",
        "name": "r508",
        "fields": [
            _field(509, "contains_null", "boolean", required=True),
            _field(518, "contains_nan", "boolean"),
            _field(510, "lower_bound", "bytes"),
            _field(511, "upper_bound", "bytes"),
        ],
    }
    fields = [
        _field(500, "manifest_path", "string", required=True),
        _field(501, "manifest_length", "long", required=True),
        _field(502, "partition_spec_id", "int", required=True),
        _field(517, "content", "int", required=True),
        _field(515, "sequence_number", "long", required=True),
        _field(516, "min_sequence_number", "long", required=True),
        _field(503, "added_snapshot_id", "long", required=True),
        _field(504, "added_files_count", "int", required=True),
        _field(505, "existing_files_count", "int", required=True),
        _field(506, "deleted_files_count", "int", required=True),
        _field(512, "added_rows_count", "long", required=True),
        _field(513, "existing_rows_count", "long", required=True),
        _field(514, "deleted_rows_count", "long", required=True),
        _field(507, "partitions", {"type": "array", "items": summary, "element-id": 508}),
        _field(519, "key_metadata", "bytes"),
        *([_field(520, "first_row_id", "long")] if version > 2 else []),
    ]
    return {"type": "record", "name": "manifest_file", "fields": fields}
