"""The wire: a file's scan task, its statistics and delete files as JSON, written for whole columns at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from headgate.planning.indexing.columns import (
    Array,
    Arrays,
    binary,
    binary_parts,
    narrow,
    wide,
    without_first_byte,
)
from headgate.planning.indexing.segment import BOUND_NAMES, COUNT_NAMES, Segment, task_head
from headgate.planning.table import Spec
from headgate.planning.values import json_from_avro

# Where statistics go in is before the first of these, where references to delete files go in between the two.
FILE_END = b"}"
TASK_END = b',"residual-filter":true}'
"""Tasks are kept with the residual of a scan without a filter; `with_ends` puts others in its place."""
TAIL = FILE_END + TASK_END

CONTENT = ("data", "position-deletes", "equality-deletes")
HEX = np.frombuffer(b"".join(b"%02X" % byte for byte in range(256)), np.uint16)


def render_tasks(segment: Segment, spec: Spec, hidden_sources: frozenset[int] = frozenset()) -> pa.Array:
    """One task per file, each behind a comma, so that any run of them is a slice and any choice a `take`."""
    if segment.count == 0:
        return pa.array([], pa.large_binary())
    pieces: list[Any] = [
        _text(task_head(segment.spec_id)),
        _escaped(segment.paths(np.arange(segment.count))),
        _format_and_partition(segment, spec, hidden_sources),
        _text(b',"file-size-in-bytes":'),
        _numbers(segment.column("size")),
        _text(b',"record-count":'),
        _numbers(segment.column("records")),
    ]
    pieces += _split_offsets(segment)
    for key, name in ((b"sort-order-id", "sort-order"), (b"first-row-id", "first-row-id")):
        pieces += _optional_numbers(key, segment.arrays[name], segment.count)
    if "key-metadata.at" in segment.arrays:
        keys = [segment.optional_bytes("key-metadata", row) for row in range(segment.count)]
        texts = [b"" if key is None else b',"key-metadata":"%s"' % key.hex().upper().encode() for key in keys]
        pieces.append(pa.array(texts, pa.large_binary()))
    return _join([*pieces, _text(TAIL)])


def task_end(residual: bytes) -> bytes:
    """What stands in the place of `TASK_END` where a file has a residual."""
    return b',"residual-filter":' + residual + b"}"


def with_ends(tasks: pa.Array, ends: Sequence[bytes], own: Array) -> pa.Array:
    """Tasks with that one of `ends` that `own` says for each."""
    heads = pc.binary_slice(tasks, 0, -len(TASK_END))
    return _join([heads, pa.array(ends, pa.large_binary()).take(pa.array(own))])


def with_tasks(segment: Segment, spec: Spec) -> Segment:
    """The segment with its tasks rendered into it."""
    offsets, data = binary_parts(render_tasks(segment, spec))
    arrays: Arrays = {**segment.arrays, "task.at": offsets, "task.data": data}
    paths = arrays["path.data"]
    if not _needs_escapes(paths):
        arrays["path.length"] = narrow(np.diff(arrays.pop("path.at")))
        del arrays["path.data"]
    return Segment(
        segment.path,
        segment.spec_id,
        segment.count,
        segment.partition_ids,
        segment.partitions,
        segment.formats,
        segment.field_ids,
        arrays,
    )


def render_partition(
    segment: Segment, spec: Spec, values: Sequence[int | bytes | None], hidden_sources: frozenset[int]
) -> bytes:
    """A partition tuple in the order of its spec; what comes from a hidden column is null."""
    by_id = dict(zip(segment.partition_ids, values, strict=True))
    return orjson.dumps(
        [
            None if c.source_id in hidden_sources else json_from_avro(c.type, by_id.get(c.field_id))
            for c in spec.columns
        ]
    )


def render_statistics(segment: Segment, rows: Array, field_ids: Sequence[int]) -> pa.Array:
    """Each chosen file's statistics of the chosen columns, ready to be put before `FILE_END`."""
    pieces: list[Any] = []
    for name in COUNT_NAMES:
        keys: list[Any] = []
        values: list[Any] = []
        for field_id in field_ids:
            counts = segment.counts(name, field_id)
            if counts is not None:
                chosen = wide(counts, segment.count)[rows]
                keys.append(_where(chosen >= 0, _text(b",%d" % field_id), len(rows)))
                values.append(_where(chosen >= 0, _join([_text(b","), _numbers(chosen)]), len(rows)))
        pieces += _map(name, keys, values)
    for name in BOUND_NAMES:
        keys, values = [], []
        for field_id in field_ids:
            bounds = _hex_bounds(segment, f"{name}/{field_id}", rows)
            if bounds is not None:
                valid, texts = bounds
                keys.append(_where(valid, _text(b",%d" % field_id), len(rows)))
                values.append(_where(valid, _join([_text(b',"'), texts, _text(b'"')]), len(rows)))
        pieces += _map(name, keys, values)
    if not pieces:
        return pa.array([b""] * len(rows), pa.large_binary())
    return _join(pieces)


def render_delete_file(segment: Segment, spec: Spec, row: int, hidden_sources: frozenset[int]) -> bytes:
    """One delete file, without statistics."""
    partition = segment.partitions[int(segment.column("partition")[row])]
    file: dict[str, Any] = {
        "spec-id": segment.spec_id,
        "content": CONTENT[int(segment.column("content")[row])],
        "file-path": segment.path_at(row),
        "file-format": segment.formats[int(segment.column("format")[row])],
        "partition": orjson.Fragment(render_partition(segment, spec, partition, hidden_sources)),
        "file-size-in-bytes": int(segment.column("size")[row]),
        "record-count": int(segment.column("records")[row]),
    }
    key = segment.optional_bytes("key-metadata", row)
    if key is not None:
        file["key-metadata"] = key.hex().upper()
    for name in ("split-offsets", "equality-ids"):
        if items := segment.items(name, row):
            file[name] = items
    if (sort_order := int(segment.column("sort-order")[row])) >= 0:
        file["sort-order-id"] = sort_order
    referenced = segment.optional_bytes("referenced", row)
    if referenced is not None:
        file["referenced-data-file"] = referenced.decode()
    for name, column in (("content-offset", "content-offset"), ("content-size-in-bytes", "content-size")):
        if (value := int(segment.column(column)[row])) >= 0:
            file[name] = value
    return orjson.dumps(file)


def _text(value: bytes) -> pa.Scalar:
    return pa.scalar(value, pa.large_binary())


def _join(pieces: Iterable[Any]) -> pa.Array:
    return pc.binary_join_element_wise(*pieces, _text(b""))


def _numbers(values: Array) -> pa.Array:
    return pa.array(np.ascontiguousarray(values)).cast(pa.large_string()).cast(pa.large_binary())


def _where(valid: Array, text: Any, count: int) -> Any:
    if valid.all():
        return text
    return (
        pc.if_else(pa.array(valid), text, _text(b""))
        if valid.any()
        else pa.array([b""] * count, pa.large_binary())
    )


def _optional_numbers(key: bytes, values: Array, count: int) -> list[Any]:
    if (values < 0).all():
        return []
    column = wide(values, count)
    return [_where(column >= 0, _join([_text(b',"%s":' % key), _numbers(column)]), count)]


def _escaped(paths: pa.Array) -> pa.Array:
    if not _needs_escapes(binary_parts(paths)[1]):
        return paths
    return pa.array([orjson.dumps(str(path, "utf-8"))[1:-1] for path in paths.to_pylist()], pa.large_binary())


def _needs_escapes(text: Array) -> bool:
    return bool(((text == ord('"')) | (text == ord("\\")) | (text < 0x20)).any())


def _format_and_partition(segment: Segment, spec: Spec, hidden_sources: frozenset[int]) -> Any:
    partitions = [render_partition(segment, spec, values, hidden_sources) for values in segment.partitions]
    texts = [
        b'","file-format":%s,"partition":%s' % (orjson.dumps(name), partition)
        for name in segment.formats
        for partition in partitions
    ]
    if len(texts) == 1:
        return _text(texts[0])
    codes = segment.column("format").astype(np.int64) * len(partitions) + segment.column("partition")
    return pa.array(texts, pa.large_binary()).take(pa.array(codes))


def _split_offsets(segment: Segment) -> list[Any]:
    at = segment.arrays.get("split-offsets.at")
    if at is None:
        return []
    items = _numbers(segment.arrays["split-offsets.items"]).cast(pa.string())
    lists = pa.ListArray.from_arrays(pa.array(at), items)
    joined = pc.binary_join(lists, ",").cast(pa.large_binary())
    return [
        _where(at[1:] > at[:-1], _join([_text(b',"split-offsets":['), joined, _text(b"]")]), segment.count)
    ]


def _map(name: str, keys: list[Any], values: list[Any]) -> list[Any]:
    """A map of column id to value; every key and value comes behind a comma, of which the first is cut off.

    INVARIANT: what is said of a file depends on that file alone, so one without values has no map, whatever others have.
    """
    if not keys:
        return []
    joined = _join(keys)
    text = _join(
        [
            _text(b',"%s":{"keys":[' % name.encode()),
            _without_comma(joined),
            _text(b'],"values":['),
            _without_comma(_join(values)),
            _text(b"]}"),
        ]
    )
    if isinstance(joined, pa.Scalar):
        return [text]
    return [pc.if_else(pc.greater(pc.binary_length(joined), 0), text, _text(b""))]


def _without_comma(joined: Any) -> Any:
    if isinstance(joined, pa.Scalar):
        return _text(joined.as_py()[1:])
    return without_first_byte(joined)


def _hex_bounds(segment: Segment, name: str, rows: Array) -> tuple[Array, pa.Array] | None:
    fixed = segment.arrays.get(f"{name}.fixed")
    valid = segment.arrays.get(f"{name}.valid")
    chosen = np.ones(len(rows), bool) if valid is None else valid[rows]
    if fixed is not None:
        content = np.ascontiguousarray(wide(fixed, segment.count)[rows]).view(np.uint8)
        offsets = np.arange(len(rows) + 1, dtype=np.int64) * fixed.itemsize
    elif f"{name}.at" in segment.arrays:
        taken = binary(segment.arrays[f"{name}.at"], segment.arrays[f"{name}.data"]).take(pa.array(rows))
        offsets, content = binary_parts(taken)
    else:
        return None
    return chosen, binary(offsets * 2, HEX[content].view(np.uint8))
