"""Decoding one manifest into raw columns: the compiled reader, and the plain one for what that does not know."""

from __future__ import annotations

import io
import sys
from dataclasses import dataclass
from typing import Any

import fastavro
import numpy as np
import numpy.typing as npt

from headgate.model.extras import Extra
from headgate.planning.errors import CorruptManifestError
from headgate.planning.manifests import layout as lay
from headgate.planning.manifests.avrofile import AvroFile
from headgate.planning.manifests.layout import Layout, PartitionSlot, UnfitError, compile_layout

Ints = npt.NDArray[np.int64]
Spans = npt.NDArray[np.int32]

# Below this many records the plain reader is done before the compiled one is loaded.
SMALL_MANIFEST = 2_000
MAX_DATA_BYTES = 2**31 - 1


@dataclass(frozen=True)
class RawManifest:
    """All records of a manifest by field: integers with validity, and spans (start, length; -1 is null) of `data`.

    Lists are spans of `items`. The last two axes of the metrics are (column, record), columns named by `ids`; an absent
    count is -1, an absent bound has length -1.
    """

    path: str
    count: int
    data: npt.NDArray[np.uint8]
    items: Ints
    ints: Ints
    valid: npt.NDArray[np.uint8]
    starts: Spans
    lengths: Spans
    ids: Ints
    counts: Ints
    bound_at: Spans
    bound_len: Spans
    partition: tuple[PartitionSlot, ...]

    def int_field(self, field_id: int) -> tuple[Ints, npt.NDArray[np.uint8]]:
        """Values and validity of an integer field."""
        slot = lay.INT_FIELDS.index(field_id)
        return self.ints[slot], self.valid[slot]

    def span_field(self, field_id: int) -> tuple[Spans, Spans]:
        """Starts and lengths of a span field."""
        slot = lay.SPAN_FIELDS.index(field_id)
        return self.starts[slot], self.lengths[slot]


def decode_manifest(avro: AvroFile) -> RawManifest:
    """Decode with the compiled reader where it pays and can, else with the plain one; the results are the same."""
    loaded = "headgate.planning.manifests.walker" in sys.modules
    if (avro.count < SMALL_MANIFEST and not loaded) or len(avro.data) > MAX_DATA_BYTES:
        return decode_plain(avro)
    if not loaded and not Extra.FAST.installed:
        return decode_plain(avro)
    try:
        layout = compile_layout(avro.schema)
    except UnfitError:
        return decode_plain(avro)
    return decode_compiled(avro, layout)


class _Arrays:
    """Empty columns of the right size; `-1` everywhere means null."""

    def __init__(self, layout: Layout, rows: int, columns: int, items: int) -> None:
        self.ints = np.zeros((layout.int_slots, rows), np.int64)
        self.valid = np.zeros((layout.int_slots, rows), np.uint8)
        self.starts = np.zeros((layout.span_slots, rows), np.int32)
        self.lengths = np.full((layout.span_slots, rows), -1, np.int32)
        self.items = np.zeros(items, np.int64)
        self.ids = np.zeros(columns, np.int64)
        self.used = np.zeros(2, np.int64)
        self.counts = np.full((len(lay.COUNT_MAPS), columns, rows), -1, np.int64)
        self.bound_at = np.zeros((len(lay.BOUND_MAPS), columns, rows), np.int32)
        self.bound_len = np.full((len(lay.BOUND_MAPS), columns, rows), -1, np.int32)

    def finish(self, avro: AvroFile, data: npt.NDArray[np.uint8], layout: Layout) -> RawManifest:
        columns, items = int(self.used[0]), int(self.used[1])
        raw = RawManifest(
            path=avro.path,
            count=avro.count,
            data=data,
            items=self.items[:items],
            ints=self.ints,
            valid=self.valid,
            starts=self.starts,
            lengths=self.lengths,
            ids=self.ids[:columns],
            counts=self.counts[:, :columns],
            bound_at=self.bound_at[:, :columns],
            bound_len=self.bound_len[:, :columns],
            partition=layout.partition,
        )
        _check(raw)
        return raw


def decode_compiled(avro: AvroFile, layout: Layout) -> RawManifest:
    """Decode with the compiled walker: a few records first, to learn how many columns have statistics."""
    from headgate.planning.manifests import walker

    columns, items = 4096, 65_536
    for rows in (min(avro.count, 4), avro.count):
        while True:
            arrays = _Arrays(layout, rows, columns, items)
            code, position = walker.walk(
                avro.data, 0, rows, layout.program, arrays.ints, arrays.valid, arrays.starts, arrays.lengths,
                arrays.items, arrays.ids, arrays.used, arrays.counts, arrays.bound_at, arrays.bound_len,
            )  # fmt: skip
            if code == walker.TOO_MANY_COLUMNS:
                columns *= 2
            elif code == walker.TOO_MANY_ITEMS:
                items *= 4
            elif code != walker.OK:
                raise CorruptManifestError(
                    avro.path,
                    "a record is cut short" if code == walker.TRUNCATED else "a record is malformed",
                )
            else:
                break
        columns = int(arrays.used[0]) + 4
        items = max(65_536, 2 * avro.count)
    if position != len(avro.data):
        raise CorruptManifestError(avro.path, "bytes are left over behind the last record")
    return arrays.finish(avro, avro.data, layout)


def decode_plain(avro: AvroFile) -> RawManifest:
    """Decode with fastavro, whatever the shape of the records."""
    records = plain_records(avro)
    layout = _plain_layout(avro, records)
    ids = sorted({key for record in records for key in _metric_ids(record)})
    arrays = _Arrays(layout, avro.count, len(ids), sum(len(v) for r in records for v in _lists(r)))
    arrays.ids[:] = ids
    arrays.used[0] = len(ids)
    slots = {key: slot for slot, key in enumerate(ids)}
    data = bytearray()
    for row, record in enumerate(records):
        _put_record(arrays, data, layout, slots, row, record)
    if len(data) > MAX_DATA_BYTES:
        raise CorruptManifestError(avro.path, "it holds more than 2 GiB of paths and bounds")
    return arrays.finish(avro, np.frombuffer(bytes(data), np.uint8), layout)


def plain_records(avro: AvroFile) -> list[dict[int, Any]]:
    """Decode records and key them by Iceberg's field ids, the data file's fields beside the entry's own."""
    entry_ids, file_ids, partition_ids = _field_ids(avro)
    stream = io.BytesIO(avro.data.tobytes())
    records: list[dict[int, Any]] = []
    try:
        schema = fastavro.parse_schema(_without_logical_types(avro.schema))
        for _ in range(avro.count):
            entry: Any = fastavro.schemaless_reader(stream, schema, None)
            record = {entry_ids[name]: value for name, value in entry.items() if name in entry_ids}
            file = record.pop(lay.DATA_FILE)
            record |= {file_ids[name]: value for name, value in file.items() if name in file_ids}
            record[lay.PARTITION] = {
                partition_ids[k]: v for k, v in record[lay.PARTITION].items() if k in partition_ids
            }
            records.append(record)
    except Exception as error:  # fastavro raises whatever its decoder stumbles over
        raise CorruptManifestError(avro.path, f"record {len(records)} cannot be decoded") from error
    if stream.tell() != len(avro.data):
        raise CorruptManifestError(avro.path, "bytes are left over behind the last record")
    return records


def _field_ids(avro: AvroFile) -> tuple[dict[str, int], dict[str, int], dict[str, int]]:
    try:
        entry = {f["name"]: f for f in avro.schema["fields"]}
        entry_ids = {name: int(f["field-id"]) for name, f in entry.items() if "field-id" in f}
        file_type = next(f["type"] for f in entry.values() if f.get("field-id") == lay.DATA_FILE)
        file_ids = {f["name"]: int(f["field-id"]) for f in file_type["fields"] if "field-id" in f}
        partition = next(f["type"] for f in file_type["fields"] if f.get("field-id") == lay.PARTITION)
        partition_ids = {f["name"]: int(f["field-id"]) for f in partition["fields"] if "field-id" in f}
    except (KeyError, TypeError, ValueError, StopIteration) as error:
        raise CorruptManifestError(avro.path, "its Avro schema is not that of a manifest") from error
    if not set(file_ids.values()) | set(entry_ids.values()) >= lay.REQUIRED:
        raise CorruptManifestError(avro.path, "its Avro schema lacks required fields")
    return entry_ids, file_ids, partition_ids


def _plain_layout(avro: AvroFile, records: list[dict[int, Any]]) -> Layout:
    try:
        return compile_layout(avro.schema)
    except UnfitError:
        pass
    ints, spans = len(lay.INT_FIELDS) + 1, len(lay.SPAN_FIELDS) + 2
    partition: list[PartitionSlot] = []
    for field_id in _field_ids(avro)[2].values():
        seen = [record[lay.PARTITION][field_id] for record in records]
        is_int = all(value is None or type(value) is int for value in seen)
        partition.append(PartitionSlot(field_id, is_int, ints if is_int else spans, 0))
        ints, spans = (ints + 1, spans) if is_int else (ints, spans + 1)
    return Layout(np.zeros((0, 4), np.int64), ints, spans, tuple(partition))


def _put_record(
    arrays: _Arrays, data: bytearray, layout: Layout, slots: dict[int, int], row: int, record: dict[int, Any]
) -> None:
    for slot, field_id in enumerate(lay.INT_FIELDS):
        value = record.get(field_id)
        if value is not None:
            arrays.ints[slot, row], arrays.valid[slot, row] = value, 1
    for slot, field_id in enumerate(lay.SPAN_FIELDS):
        value = record.get(field_id)
        if value is not None and field_id in lay.LIST_FIELDS:
            start = int(arrays.used[1])
            arrays.items[start : start + len(value)] = value
            arrays.used[1] += len(value)
            arrays.starts[slot, row], arrays.lengths[slot, row] = start, len(value)
        elif value is not None:
            arrays.starts[slot, row], arrays.lengths[slot, row] = _append(data, _raw(value))
    begin = len(data)
    for part in layout.partition:
        value = record[lay.PARTITION].get(part.field_id)
        if value is None:
            data += b"\x00"
        elif part.is_int:
            arrays.ints[part.slot, row], arrays.valid[part.slot, row] = value, 1
            data += b"\x01" + int(value).to_bytes(8, "little", signed=True)
        else:
            raw = _raw(value, part.width)
            data += b"\x02" + len(raw).to_bytes(4, "little")
            arrays.starts[part.slot, row], arrays.lengths[part.slot, row] = _append(data, raw)
    arrays.starts[lay.PARTITION_SPAN, row] = begin
    arrays.lengths[lay.PARTITION_SPAN, row] = len(data) - begin
    for index, field_id in enumerate(lay.COUNT_MAPS):
        for key, value in _pairs(record, field_id):
            arrays.counts[index, slots[key], row] = value
    for index, field_id in enumerate(lay.BOUND_MAPS):
        for key, value in _pairs(record, field_id):
            at, length = _append(data, value)
            arrays.bound_at[index, slots[key], row], arrays.bound_len[index, slots[key], row] = at, length


def _append(data: bytearray, value: bytes) -> tuple[int, int]:
    data += value
    return len(data) - len(value), len(value)


def _raw(value: Any, width: int = 0) -> bytes:
    """The bytes that Avro stores for a value that is no integer."""
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, bool):
        return b"\x01" if value else b"\x00"
    if isinstance(value, float):
        return np.array(value, "<f4" if width == 4 else "<f8").tobytes()
    return bytes(value)


def _pairs(record: dict[int, Any], field_id: int) -> list[tuple[int, Any]]:
    value = record.get(field_id)
    if not value:
        return []
    if isinstance(value, dict):
        return [(int(key), item) for key, item in value.items()]
    return [(pair["key"], pair["value"]) for pair in value]


def _metric_ids(record: dict[int, Any]) -> list[int]:
    return [key for field_id in (*lay.COUNT_MAPS, *lay.BOUND_MAPS) for key, _ in _pairs(record, field_id)]


def _lists(record: dict[int, Any]) -> list[list[int]]:
    return [record.get(field_id) or [] for field_id in lay.LIST_FIELDS]


def _without_logical_types(schema: Any) -> Any:
    """A logical type would have fastavro make dates and decimals of what must stay raw."""
    if isinstance(schema, dict):
        return {k: _without_logical_types(v) for k, v in schema.items() if k != "logicalType"}
    return [_without_logical_types(item) for item in schema] if isinstance(schema, list) else schema


def _check(raw: RawManifest) -> None:
    """Refuse records without what every reader relies on."""
    for field_id in (lay.STATUS, lay.RECORD_COUNT, lay.FILE_SIZE):
        if not raw.int_field(field_id)[1].all():
            raise CorruptManifestError(raw.path, f"a record lacks required field {field_id}")
    if (raw.span_field(lay.FILE_PATH)[1] < 0).any() or (raw.span_field(lay.FILE_FORMAT)[1] < 0).any():
        raise CorruptManifestError(raw.path, "a record lacks its path or format")
    status = raw.int_field(lay.STATUS)[0]
    if ((status < 0) | (status > 2)).any():
        raise CorruptManifestError(raw.path, "a record has an unknown status")


def warm_up() -> None:
    """Load the compiled reader (and compile it, the first time ever), so that the first large manifest need not wait.

    Without the extra that brings it there is nothing to load: the plain reader does all the work.
    """
    if not Extra.FAST.installed:
        return
    layout = Layout(np.zeros((0, 4), np.int64), 1, 1, ())
    arrays = _Arrays(layout, 0, 0, 0)
    from headgate.planning.manifests import walker

    walker.walk(
        np.frombuffer(b"", np.uint8), 0, 0, layout.program, arrays.ints, arrays.valid, arrays.starts, arrays.lengths,
        arrays.items, arrays.ids, arrays.used, arrays.counts, arrays.bound_at, arrays.bound_len,
    )  # fmt: skip
