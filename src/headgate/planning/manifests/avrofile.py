"""The Avro container: header, schema and decompressed blocks, shared by both manifest readers."""

from __future__ import annotations

import bz2
import json
import lzma
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import cramjam
import numpy as np
import numpy.typing as npt
from isal import isal_zlib

from headgate.planning.errors import CorruptManifestError

MAGIC = b"Obj\x01"
SYNC_LENGTH = 16


@dataclass(frozen=True)
class AvroFile:
    """A decompressed Avro file: the records of all blocks lie behind one another in `data`."""

    path: str
    metadata: dict[str, bytes]
    schema: Any
    count: int
    data: npt.NDArray[np.uint8]


def parse_avro_file(path: str, content: bytes) -> AvroFile:
    """Take an Avro file apart; any contradiction within it is a `CorruptManifestError`."""
    try:
        return _parse(path, content)
    except (IndexError, ValueError, EOFError, OSError) as error:
        # Only our own words: those of others quote what they stumbled over.
        reason = str(error) if type(error) is ValueError else "its Avro container is damaged"
        raise CorruptManifestError(path, reason) from error


def _parse(path: str, content: bytes) -> AvroFile:
    if content[:4] != MAGIC:
        raise ValueError("the Avro magic bytes are missing")
    metadata, position = _read_metadata(content, 4)
    sync = _take(content, position, SYNC_LENGTH)
    position += SYNC_LENGTH
    codec = metadata.get("avro.codec", b"null").decode()
    decompress = CODECS.get(codec)
    if decompress is None:
        raise ValueError("its codec is unknown")
    blocks: list[bytes] = []
    total = 0
    while position < len(content):
        count, position = _read_long(content, position)
        size, position = _read_long(content, position)
        if count < 0:
            raise ValueError("a block has a negative count")
        block = _take(content, position, size)
        position += size
        if _take(content, position, SYNC_LENGTH) != sync:
            raise ValueError("a sync marker is missing")
        position += SYNC_LENGTH
        try:
            blocks.append(decompress(block))
        except Exception as error:  # each codec has its own errors
            raise ValueError("a block does not decompress") from error
        total += count
    joined = blocks[0] if len(blocks) == 1 else b"".join(blocks)
    if total > len(joined):
        raise ValueError("blocks count more records than they hold bytes")
    schema = json.loads(metadata["avro.schema"]) if "avro.schema" in metadata else None
    if not isinstance(schema, dict):
        raise ValueError("the Avro schema is missing")
    return AvroFile(path, metadata, schema, total, np.frombuffer(joined, dtype=np.uint8))


def _read_metadata(content: bytes, position: int) -> tuple[dict[str, bytes], int]:
    metadata: dict[str, bytes] = {}
    while True:
        count, position = _read_long(content, position)
        if count == 0:
            return metadata, position
        if count < 0:
            _, position = _read_long(content, position)
        for _ in range(abs(count)):
            length, position = _read_long(content, position)
            key = _take(content, position, length).decode()
            length, position = _read_long(content, position + length)
            metadata[key] = _take(content, position, length)
            position += length


def _take(content: bytes, position: int, length: int) -> bytes:
    if length < 0 or position + length > len(content):
        raise ValueError("the file is truncated")
    return content[position : position + length]


def _read_long(content: bytes, position: int) -> tuple[int, int]:
    shift = value = 0
    while shift < 70:
        byte = content[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), position
        shift += 7
    raise ValueError("a number is too long")


def _inflate(block: bytes) -> bytes:
    return isal_zlib.decompress(block, wbits=-15)


def _snappy(block: bytes) -> bytes:
    plain = bytes(cramjam.snappy.decompress_raw(block[:-4]))
    if zlib.crc32(plain) != int.from_bytes(block[-4:], "big"):
        raise ValueError("a snappy block fails its checksum")
    return plain


def _zstandard(block: bytes) -> bytes:
    return bytes(cramjam.zstd.decompress(block))


CODECS: dict[str, Callable[[bytes], bytes]] = {
    "null": lambda block: block,
    "deflate": _inflate,
    "snappy": _snappy,
    "zstandard": _zstandard,
    "bzip2": bz2.decompress,
    "xz": lzma.decompress,
}
