"""Evaluating an expression over whole columns: may a file hold a matching row, and does it hold no other?

Three readings of one expression. `may_match` and `must_match` look at bounds and counts; `matches` looks at the values
themselves, for partition values. Expressions carry no NOT (see `expression`), so each leaf is read on its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.expressions import (
    AlwaysFalse,
    AlwaysTrue,
    And,
    BooleanExpression,
    BoundEqualTo,
    BoundGreaterThan,
    BoundGreaterThanOrEqual,
    BoundIn,
    BoundIsNaN,
    BoundIsNull,
    BoundLessThan,
    BoundLessThanOrEqual,
    BoundLiteralPredicate,
    BoundNotEqualTo,
    BoundNotIn,
    BoundNotNaN,
    BoundNotNull,
    BoundNotStartsWith,
    BoundPredicate,
    BoundSetPredicate,
    BoundStartsWith,
    Or,
)
from pyiceberg.types import FloatType, IcebergType, NestedField

from headgate.planning.indexing.columns import Mask, first_bytes
from headgate.planning.indexing.facts import ColumnFacts, Vector
from headgate.planning.values import FLOAT_TYPES, Comparable, comparable_literal

MOST_LITERALS = 200  # beyond this each literal costs more than it prunes
Leaf = Callable[[BoundPredicate], Mask]


@dataclass(frozen=True)
class Values:
    """Known values of a column; `known` is unset where the value is null."""

    values: Vector
    known: Mask


def evaluate(expression: BooleanExpression, count: int, leaf: Leaf) -> Mask:
    """Fold an expression, asking `leaf` about each predicate."""
    if isinstance(expression, AlwaysTrue):
        return np.ones(count, bool)
    if isinstance(expression, AlwaysFalse):
        return np.zeros(count, bool)
    if isinstance(expression, And):
        left = evaluate(expression.left, count, leaf)
        return left & evaluate(expression.right, count, leaf) if left.any() else left
    if isinstance(expression, Or):
        return evaluate(expression.left, count, leaf) | evaluate(expression.right, count, leaf)
    assert isinstance(expression, BoundPredicate), (
        "filters are bound and free of NOT before they are evaluated"
    )
    return leaf(expression)


def column_of(predicate: BoundPredicate) -> NestedField:
    """The column that a predicate speaks of."""
    field: NestedField = predicate.term.ref().field
    return field


def may_match(predicate: BoundPredicate, facts: ColumnFacts) -> Mask:
    """Unset only where no row of a file can satisfy the predicate."""
    kind = column_of(predicate).field_type
    match predicate:
        case BoundIsNull():
            return ~facts.no_nulls
        case BoundNotNull():
            return ~facts.only_nulls
        case BoundIsNaN():
            return ~(facts.no_nans | facts.only_nulls)
        case BoundNotNaN():
            return ~facts.only_nans
        case BoundNotEqualTo() | BoundNotIn():
            return np.ones(len(facts.no_nulls), bool)
        case BoundNotStartsWith():
            return ~(facts.no_nulls & _all_start_with(facts, _prefix(predicate)))
    values = ~(facts.only_nulls | facts.only_nans)
    match predicate:
        case BoundSetPredicate():
            return values & _may_be_one_of(predicate, kind, facts)
        case BoundStartsWith():
            prefix = _prefix(predicate)
            below = facts.lower_known & _compare(_cut(facts.lower, len(prefix)), ">", prefix)
            above = facts.upper_known & _compare(_cut(facts.upper, len(prefix)), "<", prefix)
            return values & ~below & ~above
    low, high = _literal_range(predicate, kind)
    lower_out, upper_out = np.zeros(1, bool), np.zeros(1, bool)
    match predicate:
        case BoundLessThan():
            lower_out = facts.lower_known & _compare(facts.lower, ">=", high)
        case BoundLessThanOrEqual():
            lower_out = facts.lower_known & _compare(facts.lower, ">", high)
        case BoundGreaterThan():
            upper_out = facts.upper_known & _compare(facts.upper, "<=", low)
        case BoundGreaterThanOrEqual():
            upper_out = facts.upper_known & _compare(facts.upper, "<", low)
        case BoundEqualTo():
            lower_out = facts.lower_known & _compare(facts.lower, ">", high)
            upper_out = facts.upper_known & _compare(facts.upper, "<", low)
    return values & ~lower_out & ~upper_out


def must_match(predicate: BoundPredicate, facts: ColumnFacts) -> Mask:
    """Set only where every row satisfies the predicate, whether NULL compares as false or as unknown."""
    kind = column_of(predicate).field_type
    match predicate:
        case BoundIsNull():
            return facts.only_nulls
        case BoundNotNull():
            return facts.no_nulls
        case BoundIsNaN():
            return facts.only_nans
        case BoundNotNaN():
            return facts.no_nulls & facts.no_nans
    plain = facts.no_nulls & facts.no_nans
    both = plain & facts.lower_known & facts.upper_known
    match predicate:
        case BoundStartsWith():
            return plain & _all_start_with(facts, _prefix(predicate))
        case BoundNotStartsWith():
            prefix = _prefix(predicate)
            below = _compare(_cut(facts.lower, len(prefix)), ">", prefix)
            above = _compare(_cut(facts.upper, len(prefix)), "<", prefix)
            return plain & ((facts.lower_known & below) | (facts.upper_known & above))
        case BoundIn():
            hit = np.zeros(len(plain), bool)
            for low, high in _ranges(predicate, kind):
                if low == high:
                    hit |= _compare(facts.lower, "==", low) & _compare(facts.upper, "==", low)
            return both & hit
        case BoundNotIn():
            return both & ~_may_be_one_of(predicate, kind, facts)
    low, high = _literal_range(predicate, kind)
    match predicate:
        case BoundLessThan():
            return plain & facts.upper_known & _compare(facts.upper, "<", low)
        case BoundLessThanOrEqual():
            return plain & facts.upper_known & _compare(facts.upper, "<=", low)
        case BoundGreaterThan():
            return plain & facts.lower_known & _compare(facts.lower, ">", high)
        case BoundGreaterThanOrEqual():
            return plain & facts.lower_known & _compare(facts.lower, ">=", high)
        case BoundEqualTo():
            same = _compare(facts.lower, "==", low) & _compare(facts.upper, "==", low)
            return both & same if low == high else np.zeros(len(plain), bool)
        case BoundNotEqualTo():
            below = facts.upper_known & _compare(facts.upper, "<", low)
            above = facts.lower_known & _compare(facts.lower, ">", high)
            return plain & (below | above)
    return np.zeros(len(plain), bool)


def matches(predicate: BoundPredicate, column: Values, *, generous: bool) -> Mask:
    """Evaluate a predicate on known values.

    Engines differ: in whether NULL satisfies *not equal* and its kin, whether NaN is greater than all numbers, and whether
    a literal is rounded to 32 bits. `generous`: set where any of them finds a match, and not only where all do.
    """
    kind = column_of(predicate).field_type
    known = column.known
    match predicate:
        case BoundIsNull():
            return ~known
        case BoundNotNull():
            return known
        case BoundIsNaN() | BoundNotNaN():
            is_float = isinstance(column.values, np.ndarray) and column.values.dtype.kind == "f"
            nan = np.isnan(column.values) if is_float else np.zeros(len(known), bool)
            return (
                known & nan
                if isinstance(predicate, BoundIsNaN)
                else (~nan | ~known if generous else known & ~nan)
            )
    negative = isinstance(predicate, BoundNotEqualTo | BoundNotIn | BoundNotStartsWith)
    # What is negated errs to the other side.
    hit = _hits(predicate, kind, column.values, generous=generous != negative)
    if negative:
        return ~hit | ~known if generous else ~hit & known
    return hit & known


def _hits(predicate: BoundPredicate, kind: IcebergType, values: Vector, *, generous: bool) -> Mask:
    """Where a value equals, is among, begins with or compares; negations are the caller's."""
    match predicate:
        case BoundSetPredicate():
            literals = [_range(literal.value, kind) for literal in predicate.literals]
            either = [each for low, high in literals for each in (low, high) if generous or low == high]
            return _among(values, either)
        case BoundStartsWith() | BoundNotStartsWith():
            prefix = _prefix(predicate)
            return _compare(_cut(values, len(prefix)), "==", prefix)
    operator = _ORDER.get(type(predicate), "==")
    ends = [_compare(values, operator, end) for end in _literal_range(predicate, kind)]
    hit = ends[0] | ends[1] if generous else ends[0] & ends[1]
    if generous and operator.startswith(">") and isinstance(kind, FLOAT_TYPES):
        hit = hit | np.isnan(values)
    return hit


def _may_be_one_of(predicate: BoundPredicate, kind: IcebergType, facts: ColumnFacts) -> Mask:
    """Where some literal lies between the bounds."""
    assert isinstance(predicate, BoundSetPredicate)
    hit = np.zeros(len(facts.no_nulls), bool)
    for low, high in _ranges(predicate, kind):
        out = facts.lower_known & _compare(facts.lower, ">", high)
        out |= facts.upper_known & _compare(facts.upper, "<", low)
        hit |= ~out
    return hit


def _all_start_with(facts: ColumnFacts, prefix: bytes) -> Mask:
    both = facts.lower_known & facts.upper_known
    lower = _compare(_cut(facts.lower, len(prefix)), "==", prefix)
    upper = _compare(_cut(facts.upper, len(prefix)), "==", prefix)
    return both & lower & upper


def _prefix(predicate: BoundPredicate) -> bytes:
    assert isinstance(predicate, BoundLiteralPredicate)
    value = comparable_literal(column_of(predicate).field_type, predicate.literal.value)
    assert isinstance(value, bytes)
    return value


def _literal_range(predicate: BoundPredicate, kind: IcebergType) -> tuple[Comparable, Comparable]:
    assert isinstance(predicate, BoundLiteralPredicate)
    return _range(predicate.literal.value, kind)


def _ranges(predicate: BoundSetPredicate, kind: IcebergType) -> list[tuple[Comparable, Comparable]]:
    """The ranges of a set's literals; of a very large set the one that spans them all."""
    ranges = [_range(literal.value, kind) for literal in predicate.literals]
    if len(ranges) <= MOST_LITERALS:
        return ranges
    lows: list[Any] = [low for low, _ in ranges]
    highs: list[Any] = [high for _, high in ranges]
    return [(min(lows), max(highs))]


def _range(value: Any, kind: IcebergType) -> tuple[Comparable, Comparable]:
    """The values that a literal may stand for: engines round it to a 32-bit float, or do not."""
    exact = comparable_literal(kind, value)
    if isinstance(kind, FloatType) and isinstance(exact, float):
        with np.errstate(over="ignore"):
            rounded = float(np.float32(exact))
        return min(exact, rounded), max(exact, rounded)
    return exact, exact


def _cut(values: Vector, length: int) -> Vector:
    return first_bytes(values, length)


def _among(values: Vector, literals: list[Comparable]) -> Mask:
    if isinstance(values, np.ndarray):
        return np.isin(values, literals)
    found = pc.is_in(values, value_set=pa.array(literals, pa.large_binary()))
    return np.asarray(found.to_numpy(zero_copy_only=False), bool)


def _compare(values: Vector, operator: str, literal: Comparable) -> Mask:
    if isinstance(values, np.ndarray):
        result: Any = _NUMPY[operator](values, literal)
        mask: Mask = np.asarray(result, bool)
        return mask
    scalar = pa.scalar(literal, pa.large_binary())
    return np.asarray(_ARROW[operator](values, scalar).fill_null(False).to_numpy(zero_copy_only=False), bool)


_ORDER: dict[type[BoundPredicate], str] = {
    BoundLessThan: "<",
    BoundLessThanOrEqual: "<=",
    BoundGreaterThan: ">",
    BoundGreaterThanOrEqual: ">=",
}
_NUMPY: dict[str, Any] = {
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
    "==": np.equal,
}
_ARROW: dict[str, Any] = {
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
    "==": pc.equal,
}
