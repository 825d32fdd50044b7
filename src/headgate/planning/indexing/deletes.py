"""Delete files: which of them apply to which data files, by sequence number, partition, spec and path."""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from headgate.planning.indexing.columns import Array
from headgate.planning.indexing.segment import Segment, contains
from headgate.planning.table import Spec
from headgate.planning.values import comparable_from_avro

POSITION_DELETES, EQUALITY_DELETES = 1, 2
PATH_COLUMN, POSITION_COLUMN = 2147483546, 2147483545

PartitionKey = tuple[int, tuple[object, ...]]


@dataclass(frozen=True)
class DeleteFile:
    """One delete file: where it stands, from when it counts, and whether it holds values of deleted rows."""

    segment: Segment
    spec: Spec
    row: int
    sequence: int
    is_equality: bool
    is_vector: bool
    carries_rows: bool
    lowest_path: bytes | None
    highest_path: bytes | None

    def applies_to(self, sequence: int, path: bytes) -> bool:
        """Whether it deletes from a file of its scope with that sequence number and path."""
        if self.is_equality:
            return sequence < self.sequence
        if self.lowest_path is not None and path < self.lowest_path:
            return False
        if self.highest_path is not None and path > self.highest_path:
            return False
        return sequence <= self.sequence


@dataclass(frozen=True)
class DeleteIndex:
    """The delete files of a snapshot by scope: one data file, one partition, or the whole table."""

    files: tuple[DeleteFile, ...] = ()
    by_path: dict[bytes, tuple[int, ...]] = field(default_factory=dict)
    by_partition: dict[PartitionKey, tuple[int, ...]] = field(default_factory=dict)
    everywhere: tuple[int, ...] = ()

    @property
    def nbytes(self) -> int:
        """Memory held, roughly."""
        return 400 * len(self.files) + 1024

    @property
    def carries_rows(self) -> bool:
        """Whether any delete file holds values of deleted rows."""
        return any(file.carries_rows for file in self.files)

    def applying_to(self, segment: Segment, spec: Spec, rows: Array) -> dict[int, tuple[int, ...]]:
        """For each of the chosen rows that has deletes (by its place among them), the delete files that apply."""
        if not self.files or not len(rows):
            return {}
        scopes = self._partition_scopes(segment, spec)
        codes = segment.column("partition")[rows]
        affected = np.array([bool(scope) for scope in scopes], bool)[codes]
        paths = segment.paths(rows)
        if self.by_path:
            affected |= contains(paths, pa.array(list(self.by_path), pa.large_binary())) >= 0
        sequences = segment.column("sequence")
        found: dict[int, tuple[int, ...]] = {}
        for place in np.flatnonzero(affected).tolist():
            path, sequence = paths[place].as_py(), int(sequences[rows[place]])
            applying = self._choose(path, sequence, scopes[codes[place]])
            if applying:
                found[place] = applying
        return found

    def _partition_scopes(self, segment: Segment, spec: Spec) -> list[tuple[int, ...]]:
        if not self.by_partition:
            return [self.everywhere] * len(segment.partitions)
        keys = (partition_key(segment, spec, values) for values in segment.partitions)
        return [self.by_partition.get(key, ()) + self.everywhere for key in keys]

    def _choose(self, path: bytes, sequence: int, scope: tuple[int, ...]) -> tuple[int, ...]:
        own = [n for n in self.by_path.get(path, ()) if self.files[n].applies_to(sequence, path)]
        vectors = [n for n in own if self.files[n].is_vector]
        wider = [n for n in scope if self.files[n].applies_to(sequence, path)]
        if vectors:
            # A deletion vector holds all positions deleted so far: older position deletes are part of it.
            return (*vectors, *(n for n in wider if self.files[n].is_equality))
        return (*own, *wider)


def build_delete_index(segments: Sequence[tuple[Segment, Spec]]) -> DeleteIndex:
    """Index the delete files of a snapshot's delete manifests."""
    files: list[DeleteFile] = []
    by_path: dict[bytes, list[int]] = defaultdict(list)
    by_partition: dict[PartitionKey, list[int]] = defaultdict(list)
    everywhere: list[int] = []
    for segment, spec in segments:
        contents, codes = segment.column("content"), segment.column("partition")
        keys = [partition_key(segment, spec, values) for values in segment.partitions]
        for row in range(segment.count):
            content = int(contents[row])
            if content not in (POSITION_DELETES, EQUALITY_DELETES):
                continue
            file, target = _delete_file(segment, spec, row, content == EQUALITY_DELETES)
            number = len(files)
            files.append(file)
            if target is not None:
                by_path[target].append(number)
            elif file.is_equality and spec.is_unpartitioned:
                everywhere.append(number)
            else:
                by_partition[keys[int(codes[row])]].append(number)
    return DeleteIndex(
        tuple(files),
        {path: tuple(numbers) for path, numbers in by_path.items()},
        {key: tuple(numbers) for key, numbers in by_partition.items()},
        tuple(everywhere),
    )


def _delete_file(
    segment: Segment, spec: Spec, row: int, is_equality: bool
) -> tuple[DeleteFile, bytes | None]:
    """A delete file, and the one data file it is about if it says so."""
    lowest = highest = target = None
    if not is_equality:
        lowest = segment.bound("lower-bounds", PATH_COLUMN, row)
        highest = segment.bound("upper-bounds", PATH_COLUMN, row)
        target = segment.optional_bytes("referenced", row)
        if target is None and lowest is not None and lowest == highest:
            target = lowest
    counted = {
        field_id
        for field_id in segment.field_ids
        if (counts := segment.counts("value-counts", field_id)) is not None
        and counts[0 if len(counts) == 1 else row] >= 0
    }
    is_vector = not is_equality and segment.formats[int(segment.column("format")[row])] == "puffin"
    # A position delete file may hold copies of deleted rows; only its statistics can show that it does not.
    positions_only = is_vector or (bool(counted) and counted <= {PATH_COLUMN, POSITION_COLUMN})
    file = DeleteFile(
        segment=segment,
        spec=spec,
        row=row,
        sequence=int(segment.column("sequence")[row]),
        is_equality=is_equality,
        is_vector=is_vector,
        carries_rows=is_equality or not positions_only,
        lowest_path=lowest,
        highest_path=highest,
    )
    return file, target


def partition_key(segment: Segment, spec: Spec, values: Sequence[int | bytes | None]) -> PartitionKey:
    """A partition tuple in a form that is equal whoever wrote it and whatever its fields were widened to."""
    by_id = dict(zip(segment.partition_ids, values, strict=True))
    key: list[object] = []
    for column in spec.columns:
        value = comparable_from_avro(column.type, by_id.get(column.field_id))
        key.append(struct.pack("<d", value) if isinstance(value, float) else value)
    return spec.spec_id, tuple(key)
