"""What is known about a column in many files (or manifests) at once: bounds, and whether nulls and NaNs occur."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from pyiceberg.types import (
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IcebergType,
    IntegerType,
    LongType,
)

from headgate.planning.indexing.columns import Array, Mask, binary, wide
from headgate.planning.indexing.segment import ManifestFile, PartitionSummary, Segment
from headgate.planning.values import BYTES_TYPES, FLOAT_TYPES, INT_TYPES, Comparable, comparable_from_bound

Vector = Any  # numpy numbers, numpy objects (integers beyond 64 bits) or Arrow binary


@dataclass(frozen=True)
class ColumnFacts:
    """One row per file. A bound counts only where its `_known` is set; the four flags are set only where proven."""

    lower: Vector
    upper: Vector
    lower_known: Mask
    upper_known: Mask
    no_nulls: Mask
    only_nulls: Mask
    no_nans: Mask
    only_nans: Mask

    @property
    def nbytes(self) -> int:
        """Memory held."""
        return sum(int(getattr(self, name).nbytes) for name in self.__dataclass_fields__)


def facts_of(segment: Segment, field_id: int, kind: IcebergType) -> ColumnFacts:
    """The facts of a segment's files about one column, read as the type it has now."""
    count = segment.count
    lower, lower_known = _bounds(segment, f"lower-bounds/{field_id}", kind)
    upper, upper_known = _bounds(segment, f"upper-bounds/{field_id}", kind)
    if isinstance(kind, FLOAT_TYPES):
        # One NaN bound shows a writer that compared with NaN, which spoils the other bound too.
        reliable = ~(np.isnan(lower) & lower_known) & ~(np.isnan(upper) & upper_known)
        lower_known, upper_known = lower_known & reliable, upper_known & reliable
    values = _counts(segment, "value-counts", field_id)
    nulls = _counts(segment, "null-value-counts", field_id)
    nans = _counts(segment, "nan-value-counts", field_id)
    is_float = isinstance(kind, FLOAT_TYPES)
    return ColumnFacts(
        lower=lower,
        upper=upper,
        lower_known=lower_known,
        upper_known=upper_known,
        no_nulls=nulls == 0,
        only_nulls=(values > 0) & (nulls == values),
        no_nans=(nans == 0) if is_float else np.ones(count, bool),
        only_nans=((values > 0) & (nans == values)) if is_float else np.zeros(count, bool),
    )


def join_facts(parts: Sequence[ColumnFacts]) -> ColumnFacts:
    """The facts of several segments as one."""
    if len(parts) == 1:
        return parts[0]
    return ColumnFacts(
        lower=_join([part.lower for part in parts]),
        upper=_join([part.upper for part in parts]),
        lower_known=np.concatenate([part.lower_known for part in parts]),
        upper_known=np.concatenate([part.upper_known for part in parts]),
        no_nulls=np.concatenate([part.no_nulls for part in parts]),
        only_nulls=np.concatenate([part.only_nulls for part in parts]),
        no_nans=np.concatenate([part.no_nans for part in parts]),
        only_nans=np.concatenate([part.only_nans for part in parts]),
    )


def facts_of_manifests(manifests: Sequence[ManifestFile], position: int, kind: IcebergType) -> ColumnFacts:
    """The facts of manifest-list entries about one partition field; a manifest without summaries has none."""
    summaries: list[PartitionSummary | None] = [
        m.partitions[position] if m.partitions is not None and position < len(m.partitions) else None
        for m in manifests
    ]
    lower = [comparable_from_bound(kind, None if s is None else s.lower) for s in summaries]
    upper = [comparable_from_bound(kind, None if s is None else s.upper) for s in summaries]
    floats = isinstance(kind, FLOAT_TYPES)
    nan = [floats and (s is None or s.contains_nan is not False) for s in summaries]
    # Without a lower bound a manifest has no value but null and NaN in that field.
    empty = [s is not None and s.lower is None and s.contains_null for s in summaries]
    known_lower = np.array([value is not None and value == value for value in lower], bool)
    known_upper = np.array([value is not None and value == value for value in upper], bool)
    return ColumnFacts(
        lower=vector(lower, kind),
        upper=vector(upper, kind),
        lower_known=known_lower & known_upper if floats else known_lower,
        upper_known=known_lower & known_upper if floats else known_upper,
        no_nulls=np.array([s is not None and not s.contains_null for s in summaries], bool),
        only_nulls=np.array([e and not n for e, n in zip(empty, nan, strict=True)], bool),
        no_nans=~np.array(nan, bool),
        only_nans=np.zeros(len(summaries), bool),
    )


def vector(values: Sequence[Comparable | None], kind: IcebergType) -> Vector:
    """Single values as a column of the form in which values of the type compare; None becomes a zero."""
    if isinstance(kind, BYTES_TYPES):
        return pa.array([value if isinstance(value, bytes) else b"" for value in values], pa.large_binary())
    if isinstance(kind, FLOAT_TYPES):
        return np.array([0.0 if value is None else value for value in values], np.float64)
    numbers = [value if isinstance(value, int) else 0 for value in values]
    return _integers(numbers)


def _integers(numbers: list[int]) -> Array:
    fits = all(-(2**63) <= number < 2**63 for number in numbers)
    return np.array(numbers, np.int64 if fits else object)


def _counts(segment: Segment, name: str, field_id: int) -> Array:
    counts = segment.counts(name, field_id)
    return np.full(segment.count, -1) if counts is None else wide(counts, segment.count)


def _bounds(segment: Segment, name: str, kind: IcebergType) -> tuple[Vector, Mask]:
    count = segment.count
    valid = segment.arrays.get(f"{name}.valid")
    known: Mask = np.ones(count, bool) if valid is None else valid
    fixed = segment.arrays.get(f"{name}.fixed")
    at = segment.arrays.get(f"{name}.at")
    if fixed is not None:
        if isinstance(kind, BYTES_TYPES):
            content = np.ascontiguousarray(wide(fixed, count))
            offsets = np.arange(count + 1, dtype=np.int64) * fixed.itemsize
            return binary(offsets, content.view(np.uint8)), known
        dtype = _fixed_dtype(kind, fixed.itemsize)
        if dtype is not None:
            numbers = fixed.view(dtype)
            if isinstance(kind, FLOAT_TYPES):
                # In 32 bits numpy would round the literal that it compares with.
                numbers = numbers.astype(np.float64)
            elif dtype.startswith(">"):
                numbers = numbers.astype(np.int64)
            return wide(numbers, count), known
    elif at is not None:
        if isinstance(kind, BYTES_TYPES):
            return binary(at, segment.arrays[f"{name}.data"]), known
        # Decimals of many widths, or a column whose type was widened between files of one manifest.
        values = [
            comparable_from_bound(
                kind, segment.bound(name.partition("/")[0], int(name.partition("/")[2]), row)
            )
            for row in range(count)
        ]
        return vector(values, kind), known & np.array([value is not None for value in values], bool)
    return vector([None] * count, kind), np.zeros(count, bool)


def _fixed_dtype(kind: IcebergType, width: int) -> str | None:
    """How to read a bound of a width as a type; None where the two do not go together."""
    if isinstance(kind, DecimalType):
        return f">i{width}"
    if isinstance(kind, BooleanType):
        return "u1" if width == 1 else None
    if isinstance(kind, IntegerType | DateType):
        return "<i4" if width == 4 else None
    if isinstance(kind, FloatType):
        return "<f4" if width == 4 else None
    if isinstance(kind, DoubleType):
        return {4: "<f4", 8: "<f8"}.get(width)
    if isinstance(kind, LongType):
        return {4: "<i4", 8: "<i8"}.get(width)
    # A date that became a timestamp counts days, not microseconds, so only the full width is read.
    return "<i8" if isinstance(kind, INT_TYPES) and width == 8 else None


def _join(vectors: list[Vector]) -> Vector:
    if isinstance(vectors[0], np.ndarray):
        return np.concatenate(vectors)
    return pa.concat_arrays(vectors)
