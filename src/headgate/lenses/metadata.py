"""Governed metadata: a table's document, manifest lists and manifests, over what a lens lets through only.

INVARIANT: nothing here is copied from the table's document unless it is named below. What a newer format version or a
writer adds to it stays out until somebody has thought about it.
"""

import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec
import orjson

from headgate.catalogs.iceberg.storage import Storage
from headgate.lenses.copies import CopyFile, GovernedCopy
from headgate.lenses.entries import DATA, NO_PARTITION, Entry, Manifest, live, snapshot_of
from headgate.lenses.manifests import Written, write_manifest, write_manifest_list
from headgate.model.errors import Conflict, IllegalArgument
from headgate.model.schema import Schema
from headgate.planning import layout as ids

Json = dict[str, Any]

NAME_MAPPING: Final = "schema.name-mapping.default"
_PROPERTIES: Final = ("comment", "read.split.")
_OPERATIONS: Final = ("append", "replace", "overwrite", "delete")


@dataclass(frozen=True)
class Outline:
    """What a lens leaves of a table's shape: the schema as it is seen, and the fields whose values must show nowhere."""

    schema: Schema
    blind: frozenset[int]
    """Hidden and masked fields, with everything inside them."""


class GovernedSnapshot(msgspec.Struct, frozen=True):
    """A snapshot whose governed manifests are written."""

    snapshot: Json
    records: int


def govern_snapshot(
    storage: Storage,
    document: Json,
    snapshot_id: int,
    *,
    outline: Outline,
    copies: Mapping[str, GovernedCopy],
    originals: Collection[str] = (),
    folder: str,
) -> GovernedSnapshot:
    """Write the manifests and the manifest list of one snapshot.

    `copies` are the governed copies by the paths of their source files, `originals` the paths of files that conform as they
    are; a data file that is neither was pruned, because no row of it can be seen.
    """
    if outline.blind and originals:
        raise IllegalArgument("no file conforms as it is where columns are hidden or masked")
    source = snapshot_of(document, snapshot_id)
    version = max(2, int(document["format-version"]))
    schema = {**outline.schema.to_json(), "schema-id": _schema_id(document)}
    specs = {spec["spec-id"]: spec for spec in governed_specs(document, outline)}
    place = f"{folder}/metadata"
    written: list[Written] = []
    named: set[str] = set()
    done: set[str] = set()
    for manifest in live(storage, document, snapshot_id, DATA):
        spec = specs[manifest.listed.spec_id]
        entries = [e for entry in manifest.entries for e in _governed(entry, copies, originals, spec, done)]
        named |= {entry.path for entry in manifest.entries}
        if entries:
            written.append(_manifest(storage, place, manifest, entries, version, schema, spec))
    missing = {*copies, *originals} - named
    if missing:
        raise Conflict(
            f"{len(missing)} of the files given are not in snapshot {snapshot_id}", hint="plan the scan again"
        )
    written = list(_with_row_ids(written)) if version > 2 else written
    sequence = int(source.get("sequence-number", 0))
    listed = f"{place}/snap-{snapshot_id}-{uuid.uuid4().hex}.avro"
    write_manifest_list(
        storage,
        listed,
        written,
        version=version,
        snapshot_id=snapshot_id,
        parent_id=source.get("parent-snapshot-id"),
        sequence=sequence,
    )
    return _snapshot(source, document, listed, written, version)


def governed_document(
    document: Json, snapshots: Sequence[GovernedSnapshot], outline: Outline, folder: str
) -> Json:
    """The table's document as the lens shows it, over the snapshots that are governed.

    The others keep their place in history, but the manifest list they name does not exist: the server can plan them, and a
    client that plans by itself fails.
    """
    version = max(2, int(document["format-version"]))
    shown = {s.snapshot["snapshot-id"]: s.snapshot for s in snapshots}
    listed = [
        shown.get(s["snapshot-id"]) or _withheld(s, document, folder, version)
        for s in document.get("snapshots") or []
    ]
    specs = governed_specs(document, outline)
    orders = governed_orders(document, outline)
    default_order = document.get("default-sort-order-id", 0)
    refs = {
        name: {"type": ref["type"], "snapshot-id": ref["snapshot-id"]}
        for name, ref in (document.get("refs") or {}).items()
    }
    current = document.get("current-snapshot-id")
    partition_ids = [field["field-id"] for spec in specs for field in spec["fields"]]
    governed: Json = {
        "format-version": version,
        "table-uuid": document["table-uuid"],
        "location": folder,
        "last-sequence-number": int(document.get("last-sequence-number", 0)),
        "last-updated-ms": document["last-updated-ms"],
        "last-column-id": max(outline.schema.by_id, default=0),
        "schemas": [{**outline.schema.to_json(), "schema-id": _schema_id(document)}],
        "current-schema-id": _schema_id(document),
        "partition-specs": specs,
        "default-spec-id": document.get("default-spec-id", 0),
        "last-partition-id": max(partition_ids, default=999),
        "sort-orders": orders,
        "default-sort-order-id": default_order if any(o["order-id"] == default_order for o in orders) else 0,
        "properties": governed_properties(document, outline),
        "current-snapshot-id": -1 if current is None else current,
        "refs": refs,
        "snapshots": listed,
        "snapshot-log": [
            {"snapshot-id": entry["snapshot-id"], "timestamp-ms": entry["timestamp-ms"]}
            for entry in document.get("snapshot-log") or []
        ],
        "metadata-log": [],
        "statistics": [],
        "partition-statistics": [],
    }
    if version > 2:
        governed["next-row-id"] = sum(s.records for s in snapshots)
    return governed


def write_governed_document(storage: Storage, governed: Json) -> str:
    """Write a governed document under a name of its own; answers where."""
    location = f"{governed['location']}/metadata/{uuid.uuid4().hex}.metadata.json"
    storage.write_bytes(location, orjson.dumps(governed))
    return location


def governed_specs(document: Json, outline: Outline) -> list[Json]:
    """The partition specs under their ids; one that is made from a blind column becomes a spec without fields."""
    raw = document.get("partition-specs") or [{"spec-id": 0, "fields": document.get("partition-spec", [])}]
    kept: list[Json] = []
    for spec in raw:
        fields = [
            {
                "source-id": f["source-id"],
                "field-id": f.get("field-id", 1000 + n),
                "name": f["name"],
                "transform": f["transform"],
            }
            for n, f in enumerate(spec["fields"])
        ]
        kept.append({"spec-id": spec["spec-id"], "fields": fields if _leaves_alone(fields, outline) else []})
    return kept


def governed_orders(document: Json, outline: Outline) -> list[Json]:
    """The sort orders that are made of visible columns only, and the unsorted one."""
    kept: list[Json] = [{"order-id": 0, "fields": []}]
    for order in document.get("sort-orders") or []:
        if order["order-id"] != 0 and _leaves_alone(order["fields"], outline):
            fields = [
                {key: f[key] for key in ("source-id", "transform", "direction", "null-order")}
                for f in order["fields"]
            ]
            kept.append({"order-id": order["order-id"], "fields": fields})
    return kept


def governed_properties(document: Json, outline: Outline) -> dict[str, str]:
    """The few properties that readers need and that tell nothing of what is hidden."""
    properties = document.get("properties") or {}
    kept = {key: value for key, value in properties.items() if key.startswith(_PROPERTIES)}
    if not outline.blind and NAME_MAPPING in properties:
        kept[NAME_MAPPING] = properties[NAME_MAPPING]
    return kept


def _leaves_alone(fields: Sequence[Json], outline: Outline) -> bool:
    """Whether the lens shows every source column as it is; a column gone from the schema is not shown."""
    return all(f["source-id"] in outline.schema.by_id and f["source-id"] not in outline.blind for f in fields)


def _governed(
    entry: Entry,
    copies: Mapping[str, GovernedCopy],
    originals: Collection[str],
    spec: Json,
    done: set[str],
) -> Iterator[Entry]:
    """What stands in the place of a file: itself, or the files of its copy.

    A merged copy is named once, in the place of the first of its sources. They were all added by one commit, so any of
    them tells of which.
    """
    partition = entry.file[ids.PARTITION] if spec["fields"] else {}
    commit = (entry.status, entry.snapshot_id, entry.sequence, entry.file_sequence)
    if entry.path in originals:
        yield Entry(*commit, _original(entry, partition))
        return
    copy = copies.get(entry.path)
    if copy is None or copy.key in done:
        return
    done.add(copy.key)
    for file in copy.files:
        yield Entry(*commit, _copied(file, partition))


def _copied(file: CopyFile, partition: Mapping[int, Any]) -> dict[int, Any]:
    return {
        ids.FILE_PATH: file.location,
        ids.FILE_FORMAT: "PARQUET",
        ids.PARTITION: partition,
        ids.RECORD_COUNT: file.records,
        ids.FILE_SIZE: file.size,
        ids.SPLIT_OFFSETS: list(file.split_offsets) or None,
        108: file.metrics.column_sizes,
        109: file.metrics.value_counts,
        110: file.metrics.null_value_counts,
        137: file.metrics.nan_value_counts,
        125: file.metrics.lower_bounds,
        128: file.metrics.upper_bounds,
    }


def _original(entry: Entry, partition: Mapping[int, Any]) -> dict[int, Any]:
    """A conforming file: every row of it can be seen, so its statistics can too."""
    kept = (ids.FILE_PATH, ids.FILE_FORMAT, ids.RECORD_COUNT, ids.FILE_SIZE, ids.SPLIT_OFFSETS)
    known = {id: entry.file.get(id) for id in (*kept, 108, 109, 110, 137, 125, 128)}
    return {**known, ids.PARTITION: partition}


def _manifest(
    storage: Storage,
    place: str,
    manifest: Manifest,
    entries: Sequence[Entry],
    version: int,
    schema: Json,
    spec: Json,
) -> Written:
    return write_manifest(
        storage,
        f"{place}/{uuid.uuid4().hex}-m0.avro",
        entries,
        version=version,
        schema=schema,
        spec=spec,
        partition=manifest.partition if spec["fields"] else NO_PARTITION,
        sequence=manifest.listed.sequence_number,
        snapshot_id=int(manifest.listed.added_snapshot_id or 0),
    )


def _with_row_ids(manifests: Sequence[Written]) -> Iterator[Written]:
    """Row ids of the governed table itself: the original ones would tell how many rows there are."""
    following = 0
    for manifest in manifests:
        yield Written(**{**vars(manifest), "first_row_id": following})
        following += manifest.added_rows + manifest.existing_rows


def _snapshot(
    source: Json, document: Json, listed: str, manifests: Sequence[Written], version: int
) -> GovernedSnapshot:
    records = sum(m.added_rows + m.existing_rows for m in manifests)
    totals = {
        "total-records": str(records),
        "total-data-files": str(sum(m.added + m.existing for m in manifests)),
        "total-delete-files": "0",
    }
    snapshot = _told(source, document, listed, totals, records, version)
    return GovernedSnapshot(snapshot, records)


def _withheld(source: Json, document: Json, folder: str, version: int) -> Json:
    return _told(source, document, f"{folder}/metadata/withheld-{source['snapshot-id']}.avro", {}, 0, version)


def _told(
    source: Json, document: Json, listed: str, totals: dict[str, str], records: int, version: int
) -> Json:
    """A snapshot of the table, with a manifest list and totals of its own."""
    operation = (source.get("summary") or {}).get("operation", "append")
    parent = source.get("parent-snapshot-id")
    snapshot: Json = {
        "snapshot-id": source["snapshot-id"],
        **({} if parent is None else {"parent-snapshot-id": parent}),
        "sequence-number": int(source.get("sequence-number", 0)),
        "timestamp-ms": source["timestamp-ms"],
        "manifest-list": listed,
        "summary": {"operation": operation if operation in _OPERATIONS else "overwrite", **totals},
        "schema-id": _schema_id(document),
    }
    if version > 2:
        snapshot |= {"first-row-id": 0, "added-rows": records}
    return snapshot


def _schema_id(document: Json) -> int:
    return int(document.get("current-schema-id", 0))
