"""Segments on disk, so that a restarted or second server does not decode again what never changes.

A file is a header, its arrays and a checksum. It is written beside its place and moved there, so a reader sees all of it
or nothing; a file that does not check out is treated as absent. Segments hold original statistics: the folder is for
the server's own eyes.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from pathlib import Path

import msgspec
import numpy as np
from isal import isal_zlib

from headgate.planning.indexing.segment import PartitionValue, Segment

MAGIC = b"HGSEG\x00\x00\x01"  # the last byte is the version of the format
ALIGNMENT = 64


class _Header(msgspec.Struct, frozen=True, array_like=True):
    key: str
    path: str
    spec_id: int
    count: int
    partition_ids: tuple[int, ...]
    partitions: tuple[tuple[PartitionValue, ...], ...]
    formats: tuple[str, ...]
    field_ids: tuple[int, ...]
    arrays: tuple[tuple[str, str, int], ...]


class DiskCache:
    """A folder of segments by key."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)

    def _place(self, key: str) -> Path:
        name = hashlib.blake2b(key.encode(), digest_size=20).hexdigest()
        return self._folder / name[:2] / f"{name}.segment"

    def load(self, key: str) -> Segment | None:
        """The segment stored under `key`, or None if there is none that can be trusted."""
        place = self._place(key)
        try:
            return _unpack(key, place.read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError, KeyError, IndexError, msgspec.DecodeError):
            with contextlib.suppress(OSError):
                place.unlink(missing_ok=True)
            return None

    def store(self, key: str, segment: Segment) -> None:
        """Keep a segment; a full or read-only disk costs speed, never an answer."""
        place = self._place(key)
        temporary: str | None = None
        try:
            place.parent.mkdir(exist_ok=True, mode=0o700)
            descriptor, temporary = tempfile.mkstemp(dir=place.parent)
            with os.fdopen(descriptor, "wb") as file:
                file.write(_pack(key, segment))
            os.replace(temporary, place)
        except OSError:
            if temporary is not None:
                with contextlib.suppress(OSError):
                    Path(temporary).unlink(missing_ok=True)


def _pack(key: str, segment: Segment) -> bytes:
    arrays = {name: np.ascontiguousarray(array) for name, array in segment.arrays.items()}
    header = msgspec.msgpack.encode(
        _Header(
            key,
            segment.path,
            segment.spec_id,
            segment.count,
            segment.partition_ids,
            segment.partitions,
            segment.formats,
            segment.field_ids,
            tuple((name, array.dtype.str, len(array)) for name, array in arrays.items()),
        )
    )
    out = bytearray(MAGIC + len(header).to_bytes(8, "little") + header)
    for array in arrays.values():
        out += bytes(-len(out) % ALIGNMENT)
        out += array.view(np.uint8).data
    out += isal_zlib.crc32(out).to_bytes(4, "little")
    return bytes(out)


def _unpack(key: str, content: bytes) -> Segment:
    if content[: len(MAGIC)] != MAGIC:
        raise ValueError("another version, or no segment")
    if isal_zlib.crc32(memoryview(content)[:-4]) != int.from_bytes(content[-4:], "little"):
        raise ValueError("the checksum fails")
    start = len(MAGIC) + 8
    length = int.from_bytes(content[len(MAGIC) : start], "little")
    header = msgspec.msgpack.decode(content[start : start + length], type=_Header)
    if header.key != key:
        raise ValueError("another manifest's segment")
    at = start + length
    arrays = {}
    for name, dtype, size in header.arrays:
        at += -at % ALIGNMENT
        arrays[name] = np.frombuffer(content, dtype, size, at)
        at += arrays[name].nbytes
    return Segment(
        header.path,
        header.spec_id,
        header.count,
        header.partition_ids,
        header.partitions,
        header.formats,
        header.field_ids,
        arrays,
    )
