"""The two short-lived Iceberg tables of a job: one that lists just the files it reads, one that it writes to.

Iceberg itself then applies deletes, projects old files onto the current schema, fills in partition values and defaults,
keeps field ids and collects statistics. Both tables are documents in the job's own folder, which is no reader's.
"""

import uuid
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import msgspec
import orjson

from headgate.catalogs.iceberg.storage import Storage
from headgate.catalogs.locations import metadata_file
from headgate.lenses.entries import DATA, DELETES, EXISTING, ManifestEntry, live, read_manifest, snapshot_of
from headgate.lenses.entries import manifests_of as listed_in
from headgate.lenses.manifests import METRICS, Written, write_manifest, write_manifest_list
from headgate.lenses.outline import NAME_MAPPING
from headgate.lenses.rendering import RenderedLens
from headgate.model.errors import Conflict, Unsupported
from headgate.model.schema import (
    TIME,
    TIMESTAMP_NS,
    TIMESTAMPTZ_NS,
    VARIANT,
    Field,
    ListType,
    MapType,
    Schema,
    StructType,
    Type,
)
from headgate.pipelines.session import NAMESPACE
from headgate.planning.manifests import layout as ids

if TYPE_CHECKING:
    from headgate.pipelines.session import SparkSession

Json = dict[str, Any]

_UNREADABLE: Final = frozenset({TIME, TIMESTAMP_NS, TIMESTAMPTZ_NS})
_ONE_FILE: Final = str(1 << 50)


def write_input(
    storage: Storage,
    document: Json,
    snapshot_id: int,
    wanted: Collection[str] | None,
    lens: RenderedLens,
    folder: str,
) -> tuple[str, dict[str, int]]:
    """Write a table that holds the wanted data files of a snapshot (None: all), with its deletes.

    Answers where it lies, and how many rows each file has before deletes.

    Statistics are left out: nothing has to be pruned, and the original bounds then lie nowhere but in the table.
    """
    version = max(2, int(document["format-version"]))
    schemas = _schemas(document, lens)
    specs = document.get("partition-specs") or [{"spec-id": 0, "fields": document.get("partition-spec", [])}]
    by_id = {spec["spec-id"]: spec for spec in specs}
    current = next(s for s in schemas if s["schema-id"] == _current(document))
    written: list[Written] = []
    found: dict[str, int] = {}
    for manifest in live(storage, document, snapshot_id, DATA):
        entries = [_existing(e) for e in manifest.entries if wanted is None or e.path in wanted]
        if not entries:
            continue
        found |= {entry.path: int(entry.file[ids.RECORD_COUNT]) for entry in entries}
        written.append(
            write_manifest(
                storage,
                f"{folder}/{uuid.uuid4().hex}-m0.avro",
                entries,
                version=version,
                schema=current,
                spec=by_id[manifest.listed.spec_id],
                partition=manifest.partition,
                sequence=manifest.listed.sequence_number,
                snapshot_id=snapshot_id,
            )
        )
    missing = set(wanted or ()) - found.keys()
    if missing:
        raise Conflict(
            f"{len(missing)} of the files to copy are not in snapshot {snapshot_id}",
            hint="plan the scan again",
        )
    for listed in listed_in(storage, document, snapshot_id):
        if listed.content == DELETES:
            read_manifest(storage, document, listed)
            written.append(Written.as_listed(listed))
    source = snapshot_of(document, snapshot_id)
    sequence = max(int(document.get("last-sequence-number", 0)), int(source.get("sequence-number", 0)))
    location = f"{folder}/{uuid.uuid4().hex}-list.avro"
    write_manifest_list(
        storage,
        location,
        written,
        version=version,
        snapshot_id=snapshot_id,
        parent_id=None,
        sequence=sequence,
    )
    snapshot: Json = {
        "snapshot-id": snapshot_id,
        "sequence-number": sequence,
        "timestamp-ms": source["timestamp-ms"],
        "manifest-list": location,
        "summary": {"operation": "append", "total-records": "0", "total-data-files": str(len(found))},
        "schema-id": _current(document),
    }
    table = _document(
        folder,
        version,
        schemas=schemas,
        current_schema=_current(document),
        specs=[_numbered(spec) for spec in specs],
        spec_id=int(document.get("default-spec-id", 0)),
        last_column=int(document["last-column-id"]),
        properties=_name_mapping(document),
    )
    if version > 2:
        snapshot |= {"first-row-id": 0, "added-rows": 0}
        table["next-row-id"] = int(document.get("next-row-id", 0))
    table |= {
        "last-sequence-number": sequence,
        "current-snapshot-id": snapshot_id,
        "snapshots": [snapshot],
        "refs": {"main": {"type": "branch", "snapshot-id": snapshot_id}},
    }
    return _write(storage, folder, table), found


def write_sink(storage: Storage, lens: RenderedLens, folder: str, data: str) -> str:
    """Write an empty table with the lens's schema and nothing else, whose files lie in `data`."""
    return write_empty(storage, Schema(tuple(_optional(f) for f in lens.schema.fields)), folder, data)


def write_empty(storage: Storage, schema: Schema, folder: str, data: str) -> str:
    """Write an empty table of these columns, whose files lie in `data`."""
    version = 3 if any(at.field.type == VARIANT for at in schema.walk()) else 2
    table = _document(
        folder,
        version,
        schemas=[schema.to_json()],
        current_schema=0,
        specs=[{"spec-id": 0, "fields": []}],
        spec_id=0,
        last_column=max(schema.by_id),
        properties={
            "write.data.path": data,
            "write.format.default": "parquet",
            "write.parquet.compression-codec": "zstd",
            "write.target-file-size-bytes": _ONE_FILE,
            "write.metadata.metrics.max-inferred-column-defaults": "10000",
        },
    )
    if version > 2:
        table["next-row-id"] = 0
    return _write(storage, folder, table)


@contextmanager
def registered(
    spark: "SparkSession", catalog: str, documents: Mapping[str, str], attempt: str
) -> Iterator[dict[str, str]]:
    """Register tables with Spark under names of their own, by role, and forget them afterwards."""
    names: dict[str, str] = {}
    try:
        for role, location in documents.items():
            table = f"{NAMESPACE}.{role}_{attempt}"
            spark.sql(
                f"CALL {catalog}.system.register_table(table => :table, metadata_file => :location)",
                {"table": table, "location": location},
            )
            names[role] = f"{catalog}.{table}"
        yield names
    finally:
        for name in names.values():
            spark.sql(f"DROP TABLE IF EXISTS {name}")


def _document(
    folder: str,
    version: int,
    *,
    schemas: list[Json],
    current_schema: int,
    specs: list[Json],
    spec_id: int,
    last_column: int,
    properties: dict[str, str],
) -> Json:
    return {
        "format-version": version,
        "table-uuid": str(uuid.uuid4()),
        "location": folder,
        "last-sequence-number": 0,
        "last-updated-ms": 0,
        "last-column-id": last_column,
        "schemas": schemas,
        "current-schema-id": current_schema,
        "partition-specs": specs,
        "default-spec-id": spec_id,
        "last-partition-id": max((f["field-id"] for s in specs for f in s["fields"]), default=999),
        "sort-orders": [{"order-id": 0, "fields": []}],
        "default-sort-order-id": 0,
        "properties": properties,
    }


def _write(storage: Storage, folder: str, table: Json) -> str:
    location = metadata_file(folder, 0)
    storage.write_bytes(location, orjson.dumps(table))
    return location


def _current(document: Json) -> int:
    return int(document.get("current-schema-id", 0))


def _numbered(spec: Json) -> Json:
    fields = [{"field-id": 1000 + n, **f} for n, f in enumerate(spec["fields"])]
    return {"spec-id": spec["spec-id"], "fields": fields}


def _name_mapping(document: Json) -> dict[str, str]:
    mapping = (document.get("properties") or {}).get(NAME_MAPPING)
    return {} if mapping is None else {NAME_MAPPING: mapping}


def _schemas(document: Json, lens: RenderedLens) -> list[Json]:
    """All schemas, since deletes may name columns that are gone; the current one without what Spark cannot read."""
    raw = document.get("schemas") or [{"schema-id": 0, **document["schema"]}]
    hidden = lens.source.by_id.keys() - lens.schema.by_id.keys()
    fields = tuple(kept for f in lens.source.fields if (kept := _readable(f, hidden)) is not None)
    current = Schema(fields, _current(document)).to_json()
    return [current if s.get("schema-id", 0) == _current(document) else s for s in raw]


def _readable(field: Field, hidden: Collection[int]) -> Field | None:
    """A field without the hidden parts that Spark cannot read; None if nothing is left of it."""
    if field.type in _UNREADABLE and field.id in hidden:
        return None
    if isinstance(field.type, StructType):
        parts = tuple(p for f in field.type.fields if (p := _readable(f, hidden)) is not None)
        return msgspec.structs.replace(field, type=StructType(parts)) if parts else None
    return field


def _existing(entry: ManifestEntry) -> ManifestEntry:
    if entry.file.get(ids.KEY_METADATA):
        raise Unsupported("a data file is encrypted, and the pipeline has no key to read it")
    # Split offsets would have a file read in several tasks; one task per file keeps its rows in order.
    left_out: dict[int, None] = dict.fromkeys((*METRICS, ids.SPLIT_OFFSETS))
    return ManifestEntry(
        EXISTING, entry.snapshot_id, entry.sequence, entry.file_sequence, {**entry.file, **left_out}
    )


def _optional(field: Field) -> Field:
    """A field as the sink keeps it: what is read through a lens may be NULL wherever it is."""
    match field.type:
        case StructType(fields):
            type_: Type = StructType(tuple(_optional(f) for f in fields))
        case ListType(element):
            type_ = ListType(_optional(element))
        case MapType(key, value):
            type_ = MapType(msgspec.structs.replace(_optional(key), required=True), _optional(value))
        case _:
            type_ = field.type
    return Field(field.id, field.name, type_)
