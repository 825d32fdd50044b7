"""Residuals: what of a client's own filter a file's partition does not decide, and so is left for the client to apply.

Found for the distinct partitions of a page of files at once, never file by file. What a residual says comes from the
client's filter and from partition values that the client is given anyway; the policies' own filters have no part in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import msgspec
import numpy as np
from pyiceberg.expressions import AlwaysFalse, AlwaysTrue, BooleanExpression, BoundPredicate
from pyiceberg.expressions.visitors import bind
from pyiceberg.transforms import TimeTransform

from headgate.planning.filters.evaluate import Values, column_of, matches
from headgate.planning.filters.expression import BoundFilter, Junction, Leaf, Node
from headgate.planning.indexing.columns import Array, Mask
from headgate.planning.indexing.facts import vector
from headgate.planning.indexing.segment import PartitionValue, Segment
from headgate.planning.table import PartitionColumn, Spec
from headgate.planning.values import comparable_from_avro

OPEN, TRUE, FALSE = 0, 1, 2
"""What a partition says of a predicate: nothing, that all rows satisfy it, that none does."""
LONGEST = 4096
"""Bytes that one residual may have; it stands beside every file, so a long filter would be sent thousands of times."""

Partition = tuple[PartitionValue, ...]


@dataclass(frozen=True)
class Page:
    """Some files of one segment: their rows."""

    segment: Segment
    spec: Spec
    rows: Array


@dataclass(frozen=True)
class Residuals:
    """The residuals of one filter."""

    filter: BoundFilter
    _tests: dict[int, list[list[_Test]]] = field(default_factory=dict)
    """Per spec, what each predicate can be decided by."""

    def of(self, pages: Sequence[Page]) -> tuple[list[bytes], list[Array]]:
        """The distinct residuals as JSON, of which the first is *true*; for each page the position of each file's own."""
        texts: dict[bytes, int] = {b"true": 0}
        found: list[Array] = [np.zeros(len(page.rows), np.int64) for page in pages]
        if self.filter.is_true:
            return list(texts), found
        for spec_id in {page.spec.spec_id for page in pages}:
            numbers = [n for n, page in enumerate(pages) if page.spec.spec_id == spec_id]
            tests = self._tests_of(pages[numbers[0]].spec)
            if not any(tests):
                # No partition decides anything, so that all files have the same residual.
                same = texts.setdefault(self._render([OPEN] * len(tests)), len(texts))
                for number in numbers:
                    found[number] = np.full(len(pages[number].rows), same, np.int64)
                continue
            partitions, places = _distinct([pages[n] for n in numbers])
            chosen = self._chosen(tests, partitions, texts)
            for number, codes in zip(numbers, places, strict=True):
                found[number] = chosen[codes]
        return list(texts), found

    def _tests_of(self, spec: Spec) -> list[list[_Test]]:
        if spec.spec_id not in self._tests:
            self._tests[spec.spec_id] = [_tests(leaf, spec) for leaf in _leaves(self.filter.node)]
        return self._tests[spec.spec_id]

    def _chosen(
        self, tests: list[list[_Test]], partitions: list[_PlacedPartition], texts: dict[bytes, int]
    ) -> Array:
        """Each partition's residual, by its position among all texts."""
        columns: dict[int, Values] = {}
        states = np.zeros((len(partitions), len(tests)), np.int8)
        for place, each in enumerate(tests):
            for test in each:
                if test.column.field_id not in columns:
                    columns[test.column.field_id] = _values(test.column, partitions)
                all_, none = test.decide(columns[test.column.field_id])
                states[all_, place] = TRUE
                states[none & ~all_, place] = FALSE
        kinds, codes = np.unique(states, axis=0, return_inverse=True)
        rendered = [self._render(kind.tolist()) for kind in kinds]
        numbers = np.array([texts.setdefault(text, len(texts)) for text in rendered], np.int64)
        return numbers[codes.reshape(-1)]

    def _render(self, states: Sequence[int]) -> bytes:
        """The filter with what its predicates are known to be, as JSON."""
        residual = _resolve(self.filter.node, iter(states))
        text = msgspec.json.encode(_to_wire(residual))
        if len(text) > LONGEST:
            # INVARIANT: never *true* instead, which would say that every row of the file matches.
            weaker = next(_leaves(residual)).any_row
            text = msgspec.json.encode(weaker)
        return text


@dataclass(frozen=True)
class _PlacedPartition:
    """A partition tuple, and the order in which its segment holds its fields."""

    ids: tuple[int, ...]
    values: Partition


@dataclass(frozen=True)
class _Test:
    """A predicate's projections through one partition field; a constant or None where there is nothing to evaluate."""

    column: PartitionColumn
    strict: BooleanExpression | None
    inclusive: BooleanExpression | None
    is_time: bool

    def decide(self, values: Values) -> tuple[Mask, Mask]:
        """Where every row satisfies the predicate, and where none does."""
        all_ = _evaluate(self.strict, values, generous=False, otherwise=False)
        if self.is_time:
            # Early writers rounded times before 1970 up, so of those a partition proves nothing.
            all_ = all_ & (~values.known | (values.values > 0))
        return all_, ~_evaluate(self.inclusive, values, generous=True, otherwise=True)


def _tests(leaf: Leaf, spec: Spec) -> list[_Test]:
    """What a spec's partition fields can say of a predicate."""
    if leaf.predicate is None:
        return []
    columns = {column.field_id: column for column in spec.columns}
    found = []
    for part in spec.spec.fields_by_source_id(column_of(leaf.predicate).field_id):
        strict = part.transform.strict_project(part.name, leaf.predicate)
        inclusive = part.transform.project(part.name, leaf.predicate)
        found.append(
            _Test(
                columns[part.field_id],
                None if strict is None else bind(spec.schema(), strict, True),
                None if inclusive is None else bind(spec.schema(), inclusive, True),
                isinstance(part.transform, TimeTransform),
            )
        )
    return found


def _evaluate(
    expression: BooleanExpression | None, values: Values, *, generous: bool, otherwise: bool
) -> Mask:
    if isinstance(expression, BoundPredicate):
        return matches(expression, values, generous=generous)
    known = isinstance(expression, AlwaysTrue) if expression is not None else otherwise
    assert expression is None or isinstance(expression, AlwaysTrue | AlwaysFalse)
    return np.full(len(values.known), known)


def _distinct(pages: Sequence[Page]) -> tuple[list[_PlacedPartition], list[Array]]:
    """The partitions that files of some pages lie in, and for each page the position of each file's own."""
    partitions: list[_PlacedPartition] = []
    places: list[Array] = []
    for page in pages:
        codes, inverse = np.unique(page.segment.column("partition")[page.rows], return_inverse=True)
        places.append(inverse.reshape(-1) + len(partitions))
        held = page.segment.partitions
        partitions += [_PlacedPartition(page.segment.partition_ids, held[code]) for code in codes.tolist()]
    return partitions, places


def _values(column: PartitionColumn, partitions: Sequence[_PlacedPartition]) -> Values:
    values = [
        comparable_from_avro(column.type, each.values[each.ids.index(column.field_id)])
        if column.field_id in each.ids
        else None
        for each in partitions
    ]
    return Values(vector(values, column.type), np.array([value is not None for value in values], bool))


def _leaves(node: Node) -> Iterator[Leaf]:
    if isinstance(node, Leaf):
        yield node
    elif isinstance(node, Junction):
        yield from _leaves(node.left)
        yield from _leaves(node.right)


def _resolve(node: Node, states: Iterator[int]) -> Node:
    """A filter with its decided predicates replaced by what they are, in the order of its leaves."""
    if isinstance(node, bool):
        return node
    if isinstance(node, Leaf):
        state = next(states)
        return node if state == OPEN else state == TRUE
    # Both sides, always: each takes its own states.
    left, right = _resolve(node.left, states), _resolve(node.right, states)
    deciding = not node.conjunction
    if left is deciding or right is deciding:
        return deciding
    if isinstance(left, bool):
        return right
    return left if isinstance(right, bool) else Junction(node.conjunction, left, right)


def _to_wire(node: Node) -> object:
    if isinstance(node, bool):
        return node
    if isinstance(node, Leaf):
        return node.wire
    kind = "and" if node.conjunction else "or"
    return {"type": kind, "left": _to_wire(node.left), "right": _to_wire(node.right)}
