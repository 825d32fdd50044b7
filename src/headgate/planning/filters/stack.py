"""A stack: the segments of a few manifests with one partition spec, seen as one, so that many small manifests cost little.

Columns are put together when a filter first asks for them and kept by the index, within its limit of memory.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from pyiceberg.expressions import BooleanExpression, BoundPredicate
from pyiceberg.expressions.visitors import InclusiveProjection, bind, visit
from pyiceberg.schema import Schema

from headgate.planning.filters.evaluate import (
    Leaf,
    Values,
    column_of,
    evaluate,
    matches,
    may_match,
    must_match,
)
from headgate.planning.indexing.columns import Array, Mask
from headgate.planning.indexing.facts import ColumnFacts, facts_of, facts_of_manifests, join_facts, vector
from headgate.planning.indexing.index import ManifestIndex, segment_key
from headgate.planning.indexing.segment import ManifestFile, Segment, live_rows
from headgate.planning.manifests.reader import ManifestReader
from headgate.planning.table import PartitionColumn, Spec
from headgate.planning.values import comparable_from_avro

MOST_MANIFESTS = 64
MOST_FILES = 65_536


@dataclass(frozen=True)
class Sieve:
    """A filter's inclusive reading, of rows and, projected through a spec's transforms, of partition values."""

    of_rows: BooleanExpression
    of_partitions: BooleanExpression


@dataclass(frozen=True)
class Stack:
    """Segments of one spec behind one another."""

    index: ManifestIndex
    spec: Spec
    segments: tuple[Segment, ...]
    key: str

    @cached_property
    def starts(self) -> Array:
        """Where each segment's files begin; the last one is the number of files."""
        return np.cumsum([0, *(segment.count for segment in self.segments)])

    @property
    def count(self) -> int:
        """The number of files."""
        return int(self.starts[-1])

    def column(self, name: str) -> Array:
        """A numeric column of all segments."""
        if len(self.segments) == 1:
            return self.segments[0].column(name)
        key = f"{self.key}|column|{name}"
        return self.index.keep(
            key, lambda: np.concatenate([s.column(name) for s in self.segments]), lambda array: array.nbytes
        )

    def facts(self, predicate: BoundPredicate) -> ColumnFacts:
        """The facts about a predicate's column."""
        field = column_of(predicate)
        key = f"{self.key}|facts|{field.field_id}|{field.field_type}"
        return self.index.keep(
            key,
            lambda: join_facts([facts_of(s, field.field_id, field.field_type) for s in self.segments]),
            lambda facts: facts.nbytes,
        )

    def partition_codes(self) -> Array:
        """Each file's position among the distinct partitions of all segments."""
        if len(self.segments) == 1:
            return self.segments[0].column("partition")
        bases = np.cumsum([0, *(len(s.partitions) for s in self.segments)])
        return self.index.keep(
            f"{self.key}|codes",
            lambda: np.concatenate(
                [
                    s.column("partition").astype(np.int32) + base
                    for s, base in zip(self.segments, bases[:-1], strict=True)
                ]
            ),
            lambda array: array.nbytes,
        )

    def partition_values(self, column: PartitionColumn) -> Values:
        """The values of one partition field, one per distinct partition."""
        return self.index.keep(
            f"{self.key}|partition|{column.field_id}|{column.type}",
            lambda: self._partition_values(column),
            lambda values: int(values.values.nbytes + values.known.nbytes),
        )

    def _partition_values(self, column: PartitionColumn) -> Values:
        values = []
        for segment in self.segments:
            if column.field_id in segment.partition_ids:
                position = segment.partition_ids.index(column.field_id)
                values += [comparable_from_avro(column.type, each[position]) for each in segment.partitions]
            else:
                values += [None] * len(segment.partitions)
        return Values(vector(values, column.type), np.array([value is not None for value in values], bool))

    def may_match(self, sieve: Sieve) -> Mask:
        """The files that may hold a matching row, by partition and by statistics."""
        by_partition = self._by_partition(sieve.of_partitions, generous=True)
        if not by_partition.any():
            return by_partition
        return by_partition & evaluate(sieve.of_rows, self.count, lambda p: may_match(p, self.facts(p)))

    def must_match(self, expression: BooleanExpression, *, statistics: bool = True) -> Mask:
        """The files all of whose rows provably satisfy the expression, each predicate by partition or statistics."""

        def leaf(predicate: BoundPredicate) -> Mask:
            proven: Mask = np.zeros(self.count, bool)
            if statistics:
                proven = must_match(predicate, self.facts(predicate))
            for part in self.spec.spec.fields_by_source_id(column_of(predicate).field_id):
                projected = part.transform.strict_project(part.name, predicate)
                if projected is not None:
                    bound = bind(self.spec.schema(), projected, True)
                    proven = proven | self._by_partition(bound, generous=False)
            return proven

        return evaluate(expression, self.count, leaf)

    def _by_partition(self, expression: BooleanExpression, *, generous: bool) -> Mask:
        columns = {column.field_id: column for column in self.spec.columns}

        def leaf(predicate: BoundPredicate) -> Mask:
            values = self.partition_values(columns[column_of(predicate).field_id])
            return matches(predicate, values, generous=generous)

        distinct = evaluate(expression, sum(len(s.partitions) for s in self.segments), leaf)
        if distinct.all():
            return np.ones(self.count, bool)
        mask: Mask = distinct[self.partition_codes()]
        return mask

    def added_by(self, snapshots: frozenset[int]) -> Mask:
        """The files that the given snapshots added."""
        masks = [live_rows(segment, snapshots) for segment in self.segments]
        return np.concatenate([mask for mask in masks if mask is not None])

    def split(self, rows: Array) -> Iterator[tuple[Segment, int, Array]]:
        """Rows of the stack as rows of its segments, each with where the segment begins."""
        edges = np.searchsorted(rows, self.starts)
        for number, segment in enumerate(self.segments):
            chosen = rows[edges[number] : edges[number + 1]]
            if len(chosen):
                first = int(self.starts[number])
                yield segment, first, chosen - first


def project(expression: BooleanExpression, schema: Schema, spec: Spec) -> BooleanExpression:
    """The expression as it speaks of partition values, bound to the spec's partition tuple."""
    projected = visit(expression, InclusiveProjection(schema, spec.spec, True))
    return bind(spec.schema(), projected, True)


def stacks(
    index: ManifestIndex,
    reader: ManifestReader,
    spec: Spec,
    manifests: Sequence[ManifestFile],
    sieves: Sequence[Sieve],
) -> Iterator[Stack]:
    """Stacks of those manifests (all of one spec) that may hold matching files.

    Oldest manifests first: commits add manifests at the young end, so most stacks stay what they are.
    """
    for chunk in _chunks(manifests):
        wanted = np.ones(len(chunk), bool)
        for sieve in sieves:
            wanted &= evaluate(sieve.of_partitions, len(chunk), _summary_leaf(index, spec, chunk))
        if wanted.any():
            chosen = _worth_reading(index, spec, chunk, wanted)
            segments = index.segments(reader, [(manifest, spec) for manifest in chosen])
            yield Stack(index, spec, tuple(segments), _stack_key(spec, chosen))


def _worth_reading(
    index: ManifestIndex, spec: Spec, chunk: Sequence[ManifestFile], wanted: Mask
) -> Sequence[ManifestFile]:
    """The whole chunk if it is in memory anyway (its columns may be too), else only what may match."""
    if wanted.all() or all(index.knows(segment_key(manifest, spec)) for manifest in chunk):
        return chunk
    return [manifest for manifest, want in zip(chunk, wanted, strict=True) if want]


def _summary_leaf(index: ManifestIndex, spec: Spec, chunk: Sequence[ManifestFile]) -> Leaf:
    positions = {column.field_id: (place, column.type) for place, column in enumerate(spec.columns)}
    key = _stack_key(spec, chunk)

    def leaf(predicate: BoundPredicate) -> Mask:
        field_id = column_of(predicate).field_id
        place, kind = positions[field_id]
        facts = index.keep(
            f"{key}|summaries|{field_id}|{kind}",
            lambda: facts_of_manifests(chunk, place, kind),
            lambda facts: facts.nbytes,
        )
        return may_match(predicate, facts)

    return leaf


def _chunks(manifests: Sequence[ManifestFile]) -> Iterator[Sequence[ManifestFile]]:
    chunk: list[ManifestFile] = []
    files = 0
    for manifest in reversed(manifests):
        count = manifest.file_count if manifest.file_count is not None else MOST_FILES
        if chunk and (len(chunk) == MOST_MANIFESTS or files + count > MOST_FILES):
            yield chunk
            chunk, files = [], 0
        chunk.append(manifest)
        files += count
    if chunk:
        yield chunk


def _stack_key(spec: Spec, manifests: Sequence[ManifestFile]) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for manifest in manifests:
        digest.update(segment_key(manifest, spec).encode())
    return f"stack|{digest.hexdigest()}"
