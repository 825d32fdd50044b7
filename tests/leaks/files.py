"""Everything that can be read out of a file: raw bytes, decompressed pages, statistics, footers, decoded values."""

import datetime as dt
import gzip
import io
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq

from tests.leaks.canaries import leaves

CODECS = {1: "snappy", 2: "gzip", 4: "brotli", 6: "zstd", 7: "lz4_raw"}
EPOCH = dt.date(1970, 1, 1)


@dataclass
class Opened:
    """A file laid open."""

    heap: list[bytes] = field(default_factory=list)
    values: set[Any] = field(default_factory=set)
    blooms: int = 0
    """How many bloom filters it has: whoever holds one can ask it for any value."""

    @property
    def bytes(self) -> bytes:
        return b"\n".join(self.heap)


def laid_open(path: Path) -> Opened:
    data = path.read_bytes()
    opened = Opened([data, str(path).encode()])
    if data[:4] == b"PAR1":
        _parquet(data, opened)
    elif data[:4] == b"Obj\x01":
        _avro(data, opened)
    elif data[:2] == b"\x1f\x8b":
        opened.heap.append(gzip.decompress(data))
    return opened


# -- Parquet ----------------------------------------------------------------------------------------------------------


def _parquet(data: bytes, opened: Opened) -> None:
    file = pq.ParquetFile(io.BytesIO(data))
    opened.heap += [repr(file.metadata.to_dict()).encode(), repr(file.schema_arrow).encode()]
    opened.heap.append(repr(file.metadata.metadata).encode())
    for column in file.read().to_pydict().values():
        opened.values.update(leaves(column))
    for group in range(file.metadata.num_row_groups):
        for number in range(file.metadata.num_columns):
            statistics = file.metadata.row_group(group).column(number).statistics
            if statistics is not None and statistics.has_min_max:
                opened.values.update((statistics.min, statistics.max))
    size = struct.unpack("<I", data[-8:-4])[0]
    footer, _ = _struct(data, len(data) - 8 - size)
    for row_group in footer.get(4, []):
        for chunk in row_group[1]:
            meta = chunk[3]
            opened.blooms += 14 in meta
            opened.heap += _pages(data, meta)


def _pages(data: bytes, meta: dict[int, Any]) -> Iterator[bytes]:
    """The pages of a column chunk, the dictionary first, as they are before compression."""
    at = min(offset for offset in (meta.get(11), meta[9]) if offset)
    end = at + meta[7]
    while at < end:
        header, start = _struct(data, at)
        at = start + header[3]
        body = data[start:at]
        whole = header[2]
        if 8 in header:  # a data page of the second kind keeps its levels as they are
            levels = header[8].get(5, 0) + header[8].get(6, 0)
            yield body[:levels]
            body, whole = body[levels:], whole - levels
            if header[8].get(7) is False:
                yield body
                continue
        codec = CODECS.get(meta[4])
        yield body if codec is None else bytes(pa.Codec(codec).decompress(body, whole))


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def _struct(data: bytes, at: int) -> tuple[dict[int, Any], int]:
    """A struct of Thrift's compact protocol, by field ids."""
    fields: dict[int, Any] = {}
    last = 0
    while (head := data[at]) != 0:
        at += 1
        if head >> 4:
            last += head >> 4
        else:
            zigzag, at = _varint(data, at)
            last = (zigzag >> 1) ^ -(zigzag & 1)
        fields[last], at = _value(data, at, head & 0x0F)
    return fields, at + 1


def _value(data: bytes, at: int, kind: int) -> tuple[Any, int]:
    if kind in (1, 2):
        return kind == 1, at
    if kind == 3:
        return data[at], at + 1
    if kind in (4, 5, 6):
        zigzag, at = _varint(data, at)
        return (zigzag >> 1) ^ -(zigzag & 1), at
    if kind == 7:
        return data[at : at + 8], at + 8
    if kind == 8:
        size, at = _varint(data, at)
        return data[at : at + size], at + size
    if kind == 12:
        return _struct(data, at)
    assert kind in (9, 10), f"no map is expected in a footer (kind {kind})"
    head = data[at]
    at += 1
    count = head >> 4
    if count == 15:
        count, at = _varint(data, at)
    out = []
    for _ in range(count):
        if head & 0x0F in (1, 2):
            one, at = data[at] == 1, at + 1
        else:
            one, at = _value(data, at, head & 0x0F)
        out.append(one)
    return out, at


# -- manifests --------------------------------------------------------------------------------------------------------


def _avro(data: bytes, opened: Opened) -> None:
    reader = fastavro.reader(io.BytesIO(data))
    opened.heap.append(repr(reader.metadata).encode())
    for record in map(dict, reader):
        opened.heap.append(repr(record).encode())
        for leaf in leaves(record):
            if isinstance(leaf, bytes):
                opened.heap.append(leaf)
                if len(leaf) == 4:
                    number = int.from_bytes(leaf, "little", signed=True)
                    opened.values.update((number, *_days(number)))
        entry = record.get("data_file", {})
        for leaf in leaves(entry.get("partition", {})):
            opened.values.add(leaf)
            if isinstance(leaf, int):
                opened.values.update(_days(leaf))


def _days(number: int) -> Iterator[dt.date]:
    if 0 <= number < 40_000:
        yield EPOCH + dt.timedelta(days=number)
