"""A segment: one manifest as immutable columns, with what its entries inherit filled in and its tasks rendered."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from headgate.planning.errors import CorruptManifestError
from headgate.planning.indexing.columns import (
    Array,
    Arrays,
    Mask,
    binary,
    gather,
    narrow,
    put_binary,
    put_bound,
    wide,
)
from headgate.planning.manifests import layout as lay
from headgate.planning.manifests.manifest import RawManifest

ADDED, DELETED = 1, 2
COUNT_NAMES = ("column-sizes", "value-counts", "null-value-counts", "nan-value-counts")
BOUND_NAMES = ("lower-bounds", "upper-bounds")

PartitionValue = int | bytes | None


class ManifestFile(msgspec.Struct, frozen=True):
    """What a manifest list says about a manifest."""

    path: str
    length: int
    spec_id: int
    content: int = 0
    sequence_number: int = 0
    added_snapshot_id: int | None = None
    first_row_id: int | None = None
    file_count: int | None = None
    partitions: tuple[PartitionSummary, ...] | None = None
    storage: str = ""
    """Which storage it lies in, as `manifestlist.storage_of` tells them apart."""


class PartitionSummary(msgspec.Struct, frozen=True):
    """The range of one partition field over a manifest."""

    contains_null: bool
    contains_nan: bool | None = None
    lower: bytes | None = None
    upper: bytes | None = None


@dataclass(frozen=True)
class Segment:
    """The live entries of one manifest by column.

    `arrays` holds every column by name; a column of length one stands for that value everywhere. Partition tuples are
    kept once each, as Avro stores them; `partition` in `arrays` is each file's position among them.
    """

    path: str
    spec_id: int
    count: int
    partition_ids: tuple[int, ...]
    partitions: tuple[tuple[PartitionValue, ...], ...]
    formats: tuple[str, ...]
    field_ids: tuple[int, ...]
    arrays: Arrays

    @property
    def nbytes(self) -> int:
        """Memory held, near enough to bound a cache by."""
        width = max(1, len(self.partition_ids))
        return sum(array.nbytes for array in self.arrays.values()) + 72 * width * len(self.partitions) + 1024

    def column(self, name: str) -> Array:
        """A numeric column at full length."""
        return wide(self.arrays[name], self.count)

    def paths(self, rows: Array) -> pa.Array:
        """The chosen files' locations; where their tasks spell them without escapes, they are read from there."""
        if "path.at" in self.arrays:
            return binary(self.arrays["path.at"], self.arrays["path.data"]).take(pa.array(rows))
        starts = self.arrays["task.at"][rows] + len(task_head(self.spec_id))
        return binary(*gather(self.arrays["task.data"], starts, self.column("path.length")[rows]))

    @cached_property
    def tasks(self) -> pa.Array:
        """Each file's task as JSON behind a comma, without statistics and deletes."""
        return binary(self.arrays["task.at"], self.arrays["task.data"])

    def path_at(self, row: int) -> str:
        """The location of one file."""
        return str(self.paths(np.array([row]))[0].as_py(), "utf-8")

    def counts(self, kind: str, field_id: int) -> Array | None:
        """A count column, -1 where absent; None if no file has it."""
        return self.arrays.get(f"{kind}/{field_id}")

    def items(self, name: str, row: int) -> list[int]:
        """The items of one file's list."""
        at = self.arrays.get(f"{name}.at")
        if at is None:
            return []
        return [int(item) for item in self.arrays[f"{name}.items"][at[row] : at[row + 1]]]

    def optional_bytes(self, name: str, row: int) -> bytes | None:
        """One file's value of an optional binary column."""
        at = self.arrays.get(f"{name}.at")
        if at is None or at[row] == at[row + 1]:
            return None
        return self.arrays[f"{name}.data"][at[row] : at[row + 1]].tobytes()

    def bound(self, kind: str, field_id: int, row: int) -> bytes | None:
        """One file's bound of a column, as bytes."""
        name = f"{kind}/{field_id}"
        valid = self.arrays.get(f"{name}.valid")
        if valid is not None and not valid[row]:
            return None
        fixed = self.arrays.get(f"{name}.fixed")
        if fixed is not None:
            return bytes(fixed[0 if len(fixed) == 1 else row].tobytes())
        at = self.arrays.get(f"{name}.at")
        return None if at is None else self.arrays[f"{name}.data"][at[row] : at[row + 1]].tobytes()


def task_head(spec_id: int) -> bytes:
    """How the task of every data file begins, up to its path."""
    return b',{"data-file":{"spec-id":%d,"content":"data","file-path":"' % spec_id


def build_segment(raw: RawManifest, manifest: ManifestFile) -> Segment:
    """Turn raw columns into a segment: entries that are no longer live go, inherited values are filled in."""
    inherited = _inherit(raw, manifest)
    status, _ = raw.int_field(lay.STATUS)
    live = np.flatnonzero(status != DELETED)
    arrays: Arrays = {"status": narrow(status[live])}
    for name, values in inherited.items():
        arrays[name] = narrow(values[live])
    for name, field_id in (("records", lay.RECORD_COUNT), ("size", lay.FILE_SIZE)):
        arrays[name] = narrow(raw.int_field(field_id)[0][live])
    for name, field_id in (
        ("sort-order", lay.SORT_ORDER_ID),
        ("content-offset", lay.CONTENT_OFFSET),
        ("content-size", lay.CONTENT_SIZE),
    ):
        values, valid = raw.int_field(field_id)
        arrays[name] = narrow(np.where(valid != 0, values, -1)[live])
    _put_paths(raw, live, arrays)
    for name, field_id in (("key-metadata", lay.KEY_METADATA), ("referenced", lay.REFERENCED_DATA_FILE)):
        starts, lengths = raw.span_field(field_id)
        if (lengths[live] > 0).any():
            put_binary(arrays, name, raw.data, starts[live], lengths[live])
    for name, field_id in (("split-offsets", lay.SPLIT_OFFSETS), ("equality-ids", lay.EQUALITY_IDS)):
        _put_lists(raw, live, field_id, name, arrays)
    formats, arrays["format"] = _formats(raw, live)
    partitions, arrays["partition"] = _partitions(raw, live)
    field_ids = _put_metrics(raw, live, arrays)
    ids = tuple(part.field_id for part in raw.partition)
    return Segment(raw.path, manifest.spec_id, len(live), ids, partitions, formats, field_ids, arrays)


def _inherit(raw: RawManifest, manifest: ManifestFile) -> dict[str, Array]:
    """Fill in what the format lets entries leave out: snapshot, sequence number, content and first row id."""
    snapshots, known = raw.int_field(lay.SNAPSHOT_ID)
    if manifest.added_snapshot_id is not None:
        snapshots = np.where(known != 0, snapshots, manifest.added_snapshot_id)
    sequences, known = raw.int_field(lay.SEQUENCE_NUMBER)
    sequences = np.where(known != 0, sequences, manifest.sequence_number)
    contents, known = raw.int_field(lay.CONTENT)
    contents = np.where(known != 0, contents, 0)
    if ((contents < 0) | (contents > 2)).any():
        raise CorruptManifestError(raw.path, "a file has an unknown content type")
    row_ids, known = raw.int_field(lay.FIRST_ROW_ID)
    row_ids = np.where(known != 0, row_ids, -1)
    if manifest.content == 0:
        if manifest.first_row_id is None:
            row_ids = np.full_like(row_ids, -1)
        else:
            live = raw.int_field(lay.STATUS)[0] != DELETED
            unassigned = (known == 0) & live
            taken = np.where(unassigned, raw.int_field(lay.RECORD_COUNT)[0], 0)
            row_ids = np.where(unassigned, manifest.first_row_id + np.cumsum(taken) - taken, row_ids)
    return {"snapshot": snapshots, "sequence": sequences, "content": contents, "first-row-id": row_ids}


def _put_paths(raw: RawManifest, live: Array, arrays: Arrays) -> None:
    starts, lengths = raw.span_field(lay.FILE_PATH)
    put_binary(arrays, "path", raw.data, starts[live], lengths[live])
    try:
        binary(arrays["path.at"], arrays["path.data"]).cast(pa.large_string())
    except pa.ArrowInvalid as error:
        raise CorruptManifestError(raw.path, "a file path is not UTF-8") from error


def _put_lists(raw: RawManifest, live: Array, field_id: int, name: str, arrays: Arrays) -> None:
    starts, lengths = raw.span_field(field_id)
    lengths = np.maximum(lengths[live], 0)
    if not lengths.any():
        return
    offsets = np.zeros(len(live) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    index = np.repeat(starts[live].astype(np.int64) - offsets[:-1], lengths) + np.arange(int(offsets[-1]))
    arrays[f"{name}.at"] = offsets.astype(np.int32)
    arrays[f"{name}.items"] = narrow(raw.items[index]) if len(index) > 1 else raw.items[index]
    arrays[f"{name}.items"] = np.ascontiguousarray(wide(arrays[f"{name}.items"], len(index)))


def _encode(raw: RawManifest, starts: Array, lengths: Array) -> tuple[Array, Array]:
    """Distinct spans: each row's code, and for each code the first row that has it."""
    offsets, data = gather(raw.data, starts, lengths)
    encoded = binary(offsets, data).dictionary_encode()
    codes = np.asarray(encoded.indices)
    _, first = np.unique(codes, return_index=True)
    return codes, first


def _formats(raw: RawManifest, live: Array) -> tuple[tuple[str, ...], Array]:
    starts, lengths = (spans[live] for spans in raw.span_field(lay.FILE_FORMAT))
    codes, first = _encode(raw, starts, lengths)
    try:
        names = tuple(
            raw.data[starts[i] : starts[i] + lengths[i]].tobytes().decode("ascii").lower() for i in first
        )
    except UnicodeDecodeError as error:
        raise CorruptManifestError(raw.path, "a file format is not text") from error
    return names, narrow(codes)


def _partitions(raw: RawManifest, live: Array) -> tuple[tuple[tuple[PartitionValue, ...], ...], Array]:
    if not raw.partition:
        return ((),), np.zeros(min(1, len(live)), np.int8)
    codes, first = _encode(raw, raw.starts[lay.PARTITION_SPAN][live], raw.lengths[lay.PARTITION_SPAN][live])
    rows = live[first]
    columns: list[list[PartitionValue]] = []
    for part in raw.partition:
        if part.is_int:
            known, values = raw.valid[part.slot][rows], raw.ints[part.slot][rows]
            columns.append([int(v) if ok else None for ok, v in zip(known, values, strict=True)])
        else:
            starts, lengths = raw.starts[part.slot][rows], raw.lengths[part.slot][rows]
            columns.append([
                raw.data[at : at + size].tobytes() if size >= 0 else None
                for at, size in zip(starts, lengths, strict=True)
            ])  # fmt: skip
    return tuple(zip(*columns, strict=True)), narrow(codes)


def _put_metrics(raw: RawManifest, live: Array, arrays: Arrays) -> tuple[int, ...]:
    order = np.argsort(raw.ids, kind="stable")
    everything = len(live) == raw.count
    for slot in order:
        field_id = int(raw.ids[slot])
        for index, name in enumerate(COUNT_NAMES):
            values = raw.counts[index, slot] if everything else raw.counts[index, slot][live]
            if len(values) and values.max() >= 0:
                arrays[f"{name}/{field_id}"] = narrow(values)
        for index, name in enumerate(BOUND_NAMES):
            starts, lengths = raw.bound_at[index, slot], raw.bound_len[index, slot]
            if not everything:
                starts, lengths = starts[live], lengths[live]
            put_bound(arrays, f"{name}/{field_id}", raw.data, starts, lengths)
    return tuple(int(raw.ids[slot]) for slot in order)


def live_rows(segment: Segment, snapshots: frozenset[int] | None) -> Mask | None:
    """The files that the given snapshots added; None means all."""
    if snapshots is None:
        return None
    ids: npt.NDArray[np.int64] = np.array(sorted(snapshots), np.int64)
    mask: Mask = np.isin(segment.column("snapshot"), ids) & (segment.column("status") == ADDED)
    return mask


def contains(array: pa.Array, values: pa.Array) -> Array:
    """For each value of `array` its position in `values`, or -1."""
    return np.asarray(pc.fill_null(pc.index_in(array, value_set=values), -1))
