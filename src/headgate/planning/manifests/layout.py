"""What a manifest's Avro schema says about where its fields lie, as a short program for the compiled walker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

LONG, SPAN, FIXED, COUNTS, BOUNDS, LIST, PARTITION_BEGIN, PARTITION_END = range(8)

# Field ids of a manifest entry, as the Iceberg specification numbers them.
STATUS, SNAPSHOT_ID, DATA_FILE, SEQUENCE_NUMBER, FILE_SEQUENCE_NUMBER = 0, 1, 2, 3, 4
FILE_PATH, FILE_FORMAT, PARTITION, RECORD_COUNT, FILE_SIZE = 100, 101, 102, 103, 104
KEY_METADATA, SPLIT_OFFSETS, CONTENT, EQUALITY_IDS, SORT_ORDER_ID = 131, 132, 134, 135, 140
FIRST_ROW_ID, REFERENCED_DATA_FILE, CONTENT_OFFSET, CONTENT_SIZE = 142, 143, 144, 145

COUNT_MAPS = (108, 109, 110, 137)  # column sizes, value counts, null counts, NaN counts
BOUND_MAPS = (125, 128)  # lower, upper

INT_FIELDS = (
    STATUS,
    SNAPSHOT_ID,
    SEQUENCE_NUMBER,
    CONTENT,
    RECORD_COUNT,
    FILE_SIZE,
    SORT_ORDER_ID,
    FIRST_ROW_ID,
    CONTENT_OFFSET,
    CONTENT_SIZE,
)
SPAN_FIELDS = (FILE_PATH, FILE_FORMAT, KEY_METADATA, SPLIT_OFFSETS, EQUALITY_IDS, REFERENCED_DATA_FILE)
LIST_FIELDS = (SPLIT_OFFSETS, EQUALITY_IDS)
PARTITION_SPAN = len(SPAN_FIELDS)  # the slot of the raw bytes of the whole partition record
REQUIRED = frozenset({STATUS, FILE_PATH, FILE_FORMAT, RECORD_COUNT, FILE_SIZE})

FIXED_WIDTHS = {"boolean": 1, "float": 4, "double": 8}


class UnfitError(Exception):
    """The schema has a shape that the compiled walker does not know; the plain reader takes over."""


@dataclass(frozen=True)
class PartitionSlot:
    """Where one partition field's values end up: a row of the integers or of the spans (`width` 0 where it varies)."""

    field_id: int
    is_int: bool
    slot: int
    width: int


@dataclass(frozen=True)
class Layout:
    """The program (one row per field: operation, null branch or -1, slot, argument) and its slots."""

    program: npt.NDArray[np.int64]
    int_slots: int
    span_slots: int
    partition: tuple[PartitionSlot, ...]


class _Compiler:
    def __init__(self) -> None:
        self.rows: list[tuple[int, int, int, int]] = []
        self.ints = len(INT_FIELDS) + 1  # the last one takes what nobody asked for
        self.spans = len(SPAN_FIELDS) + 2
        self.partition: list[PartitionSlot] = []
        self.seen: set[int] = set()

    def entry(self, schema: Any) -> None:
        for field in _record_fields(schema):
            if field.get("field-id") == DATA_FILE:
                for inner in _record_fields(field["type"]):
                    if inner.get("field-id") == PARTITION:
                        self.partition_record(inner["type"])
                    else:
                        self.field(inner)
            else:
                self.field(field)

    def partition_record(self, schema: Any) -> None:
        self.rows.append((PARTITION_BEGIN, -1, PARTITION_SPAN, 0))
        for field in _record_fields(schema):
            kind, null_branch = _unwrap(field["type"])
            operation, argument = _scalar(kind)
            is_int = operation == LONG
            slot = self.ints if is_int else self.spans
            if is_int:
                self.ints += 1
            else:
                self.spans += 1
            self.partition.append(PartitionSlot(int(field["field-id"]), is_int, slot, argument))
            self.rows.append((operation, null_branch, slot, argument))
        self.rows.append((PARTITION_END, -1, PARTITION_SPAN, 0))
        self.seen.add(PARTITION)

    def field(self, field: dict[str, Any]) -> None:
        field_id = field.get("field-id")
        kind, null_branch = _unwrap(field["type"])
        if isinstance(field_id, int):
            self.seen.add(field_id)
        if field_id in COUNT_MAPS or field_id in BOUND_MAPS:
            self.metrics_map(field_id, kind, null_branch)
        elif field_id in LIST_FIELDS:
            if not (
                isinstance(kind, dict)
                and kind.get("type") == "array"
                and _plain(kind["items"]) in ("int", "long")
            ):
                raise UnfitError
            self.rows.append((LIST, null_branch, SPAN_FIELDS.index(field_id), 0))
        else:
            operation, argument = _scalar(kind)
            wanted = INT_FIELDS if operation == LONG else SPAN_FIELDS
            if field_id in (*INT_FIELDS, *SPAN_FIELDS) and field_id not in wanted:
                raise UnfitError
            unused = len(INT_FIELDS) if operation == LONG else len(SPAN_FIELDS) + 1
            slot = wanted.index(field_id) if field_id in wanted else unused
            self.rows.append((operation, null_branch, slot, argument))

    def metrics_map(self, field_id: Any, kind: Any, null_branch: int) -> None:
        if not (isinstance(kind, dict) and kind.get("type") == "array"):
            raise UnfitError
        names = [(field["name"], _plain(field["type"])) for field in _record_fields(kind["items"])]
        is_counts = field_id in COUNT_MAPS
        value_kinds = ("int", "long") if is_counts else ("bytes",)
        if (
            [name for name, _ in names] != ["key", "value"]
            or names[0][1] != "int"
            or names[1][1] not in value_kinds
        ):
            raise UnfitError
        maps = COUNT_MAPS if is_counts else BOUND_MAPS
        self.rows.append((COUNTS if is_counts else BOUNDS, null_branch, maps.index(field_id), 0))


def compile_layout(schema: Any) -> Layout:
    """Compile a manifest's writer schema, or raise `UnfitError`."""
    compiler = _Compiler()
    try:
        compiler.entry(schema)
    except (KeyError, TypeError, ValueError) as error:
        raise UnfitError from error
    if not (REQUIRED | {PARTITION}) <= compiler.seen:
        raise UnfitError
    program = np.array(compiler.rows, dtype=np.int64)
    return Layout(program, compiler.ints, compiler.spans, tuple(compiler.partition))


def _record_fields(schema: Any) -> list[dict[str, Any]]:
    if not (isinstance(schema, dict) and schema.get("type") == "record"):
        raise UnfitError
    fields: list[dict[str, Any]] = schema["fields"]
    return fields


def _unwrap(kind: Any) -> tuple[Any, int]:
    if not isinstance(kind, list):
        return kind, -1
    if len(kind) != 2 or "null" not in kind:
        raise UnfitError
    null_branch = kind.index("null")
    return kind[1 - null_branch], null_branch


def _plain(kind: Any) -> str | None:
    """The primitive name of a type, with or without a logical type around it."""
    if isinstance(kind, str):
        return kind
    inner = kind.get("type") if isinstance(kind, dict) else None
    return inner if isinstance(inner, str) else None


def _scalar(kind: Any) -> tuple[int, int]:
    name = _plain(kind)
    if name in ("int", "long"):
        return LONG, 0
    if name in ("string", "bytes"):
        return SPAN, 0
    if name in FIXED_WIDTHS:
        return FIXED, FIXED_WIDTHS[name]
    if name == "fixed":
        return FIXED, int(kind["size"])
    raise UnfitError
