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
from headgate.catalogs.locations import metadata_file
from headgate.lenses.copies import CopyFile, GovernedCopy
from headgate.lenses.entries import (
    ADDED,
    DATA,
    EXISTING,
    NO_PARTITION,
    Manifest,
    ManifestEntry,
    live,
    snapshot_of,
)
from headgate.lenses.manifests import Files, Written, write_manifest, write_manifest_list
from headgate.lenses.outline import (
    SCHEMA_ID,
    GovernedSpecs,
    Outline,
    governed_orders,
    governed_properties,
    governed_schema,
    governed_specs,
)
from headgate.model.errors import Conflict, IllegalArgument
from headgate.planning.manifests import layout as ids

Json = dict[str, Any]

_OPERATIONS: Final = ("append", "replace", "overwrite", "delete")
_MOST_ENTRIES: Final = 10_000
"""How many files one governed manifest names."""


class GovernedSnapshot(msgspec.Struct, frozen=True):
    """A snapshot whose governed manifests are written."""

    snapshot: Json
    records: int


@dataclass(frozen=True)
class _PlacedEntry:
    """A governed entry, and the manifest it belongs into."""

    spec: int
    partition: Json
    entry: ManifestEntry


def govern_snapshot(
    storage: Storage,
    document: Json,
    snapshot_id: int,
    *,
    outline: Outline,
    copies: Mapping[str, GovernedCopy],
    originals: Collection[str] = (),
    folder: str,
    into: Files | None = None,
    manifests: Collection[str] | None = None,
) -> GovernedSnapshot:
    """Write the manifests and the manifest list of one snapshot, into storage or `into` other files.

    `copies` are the governed copies by the paths of their sources, `originals` the paths of files that conform as they
    are; a data file that is neither was pruned, because no row of it can be seen. `manifests` are those of the table that
    name all of these; without it, every manifest is read.

    INVARIANT: which manifests there are, and in which order they name files, depends on what is shown: on the sequence
    numbers of visible files, not on how the table's own manifests were cut and merged.
    """
    if outline.blind and originals:
        raise IllegalArgument("no file conforms as it is where columns are hidden or masked")
    source = snapshot_of(document, snapshot_id)
    version = max(2, int(document["format-version"]))
    specs = governed_specs(document, outline)
    placed: list[_PlacedEntry] = []
    done: set[str] = set()
    missing = {*copies, *originals}
    for manifest in live(storage, document, snapshot_id, DATA, manifests):
        missing -= {entry.path for entry in manifest.entries}
        placed += _placed(manifest, specs, copies, originals, snapshot_id, done)
    if missing:
        raise Conflict(
            f"{len(missing)} of the files given are not in snapshot {snapshot_id}", hint="plan the scan again"
        )
    sequence = int(source.get("sequence-number", 0))
    files, place = into or storage, f"{folder}/metadata"
    written = [
        write_manifest(
            files,
            f"{place}/{uuid.uuid4().hex}-m0.avro",
            [one.entry for one in chunk],
            version=version,
            schema=governed_schema(outline),
            spec=specs.listed[chunk[0].spec],
            partition=chunk[0].partition,
            sequence=sequence,
            snapshot_id=snapshot_id,
        )
        for chunk in _chunks(placed)
    ]
    written = list(_with_row_ids(written)) if version > 2 else written
    listed = f"{place}/snap-{snapshot_id}-{uuid.uuid4().hex}.avro"
    write_manifest_list(
        files,
        listed,
        written,
        version=version,
        snapshot_id=snapshot_id,
        parent_id=source.get("parent-snapshot-id"),
        sequence=sequence,
    )
    return _snapshot(source, listed, written, version)


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
        shown.get(s["snapshot-id"]) or _withheld(s, folder, version) for s in document.get("snapshots") or []
    ]
    specs = governed_specs(document, outline)
    orders, default_order = governed_orders(document, outline)
    refs = {
        name: {"type": ref["type"], "snapshot-id": ref["snapshot-id"]}
        for name, ref in (document.get("refs") or {}).items()
    }
    current = document.get("current-snapshot-id")
    default_spec = specs.by_original.get(document.get("default-spec-id", 0), specs.listed[0])
    governed: Json = {
        "format-version": version,
        "table-uuid": document["table-uuid"],
        "location": folder,
        "last-sequence-number": int(document.get("last-sequence-number", 0)),
        "last-updated-ms": document["last-updated-ms"],
        "last-column-id": max(outline.schema.by_id, default=0),
        "schemas": [governed_schema(outline)],
        "current-schema-id": SCHEMA_ID,
        "partition-specs": list(specs.listed),
        "default-spec-id": default_spec["spec-id"],
        "last-partition-id": specs.last_field,
        "sort-orders": orders,
        "default-sort-order-id": default_order,
        "properties": governed_properties(document.get("properties") or {}, outline),
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
    """Write a governed document under a name of its own; answers where.

    INVARIANT: the version in the name is always that of a table's first document, which a governed one is: its metadata
    log is empty. Anything that counts would count changes of what is hidden too.
    """
    location = metadata_file(f"{governed['location']}/metadata", 0)
    storage.write_bytes(location, orjson.dumps(governed))
    return location


def _placed(
    manifest: Manifest,
    specs: GovernedSpecs,
    copies: Mapping[str, GovernedCopy],
    originals: Collection[str],
    snapshot_id: int,
    done: set[str],
) -> Iterator[_PlacedEntry]:
    """What stands in a governed manifest for the files of one of the table's own.

    A merged copy is named once, for the first of its sources: one commit added them all, to one visible partition.
    """
    spec = specs.by_original[manifest.listed.spec_id]
    fields = specs.field_ids[manifest.listed.spec_id]
    type = _partition_type(manifest.partition, spec, fields) if spec["fields"] else NO_PARTITION
    for entry in manifest.entries:
        partition = {ours: entry.file[ids.PARTITION].get(own) for own, ours in fields.items()}
        for file in _governed(entry, copies, originals, partition, done):
            status = ADDED if entry.snapshot_id == snapshot_id else EXISTING
            governed = ManifestEntry(status, entry.snapshot_id, entry.sequence, entry.file_sequence, file)
            yield _PlacedEntry(spec["spec-id"], type, governed)


def _partition_type(type: Json, spec: Json, fields: Mapping[int, int]) -> Json:
    """The Avro type of partition tuples under governed field ids, in the order of the spec."""
    own = {fields[field["field-id"]]: field for field in type["fields"] if field["field-id"] in fields}
    shown = [field["field-id"] for field in spec["fields"] if field["field-id"] in own]
    return {**NO_PARTITION, "fields": [{**own[id], "field-id": id} for id in shown]}


def _chunks(placed: Sequence[_PlacedEntry]) -> Iterator[Sequence[_PlacedEntry]]:
    """Entries as manifests name them, youngest manifests first; files of the snapshot itself come in manifests of their own."""
    groups: dict[tuple[Any, ...], list[_PlacedEntry]] = {}
    for one in placed:
        kind = (one.entry.status, one.spec, orjson.dumps(one.partition))
        groups.setdefault(kind, []).append(one)
    chunks: list[Sequence[_PlacedEntry]] = []
    for kind in sorted(groups):
        ordered = sorted(groups[kind], key=_age_and_partition)
        chunks += [ordered[n : n + _MOST_ENTRIES] for n in range(0, len(ordered), _MOST_ENTRIES)]
    return reversed(chunks)


def _age_and_partition(one: _PlacedEntry) -> tuple[int, int, str]:
    """Files of one commit and partition stay in the order in which it named them."""
    partition = one.entry.file[ids.PARTITION]
    return one.entry.sequence, one.entry.file_sequence, repr(sorted(partition.items()))


def _governed(
    entry: ManifestEntry,
    copies: Mapping[str, GovernedCopy],
    originals: Collection[str],
    partition: Mapping[int, Any],
    done: set[str],
) -> Iterator[dict[int, Any]]:
    """What stands in the place of a file: itself, or the files of its copy."""
    copy = copies.get(entry.path)
    if entry.path in originals:
        yield _original(entry, partition)
    elif copy is not None and copy.key not in done:
        done.add(copy.key)
        yield from (_copied(file, partition) for file in copy.files)


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


def _original(entry: ManifestEntry, partition: Mapping[int, Any]) -> dict[int, Any]:
    """A conforming file: every row of it can be seen, so its statistics can too."""
    kept = (ids.FILE_PATH, ids.FILE_FORMAT, ids.RECORD_COUNT, ids.FILE_SIZE, ids.SPLIT_OFFSETS)
    known = {id: entry.file.get(id) for id in (*kept, 108, 109, 110, 137, 125, 128)}
    return {**known, ids.PARTITION: partition}


def _with_row_ids(manifests: Sequence[Written]) -> Iterator[Written]:
    """Row ids of the governed table itself: the original ones would tell how many rows there are."""
    following = 0
    for manifest in manifests:
        yield Written(**{**vars(manifest), "first_row_id": following})
        following += manifest.added_rows + manifest.existing_rows


def _snapshot(source: Json, listed: str, manifests: Sequence[Written], version: int) -> GovernedSnapshot:
    records = sum(m.added_rows + m.existing_rows for m in manifests)
    totals = {
        "total-records": str(records),
        "total-data-files": str(sum(m.added + m.existing for m in manifests)),
        "total-delete-files": "0",
    }
    return GovernedSnapshot(_shown(source, listed, totals, records, version), records)


def _withheld(source: Json, folder: str, version: int) -> Json:
    return _shown(source, f"{folder}/metadata/withheld-{source['snapshot-id']}.avro", {}, 0, version)


def _shown(source: Json, listed: str, totals: dict[str, str], records: int, version: int) -> Json:
    """A snapshot of the table, with a manifest list and totals of its own."""
    operation = (source.get("summary") or {}).get("operation")
    parent = source.get("parent-snapshot-id")
    snapshot: Json = {
        "snapshot-id": source["snapshot-id"],
        **({} if parent is None else {"parent-snapshot-id": parent}),
        "sequence-number": int(source.get("sequence-number", 0)),
        "timestamp-ms": source["timestamp-ms"],
        "manifest-list": listed,
        "summary": {"operation": operation if operation in _OPERATIONS else "overwrite", **totals},
        "schema-id": SCHEMA_ID,
    }
    if version > 2:
        snapshot |= {"first-row-id": 0, "added-rows": records}
    return snapshot
