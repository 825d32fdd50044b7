"""The index: segments by manifest, decoded once, kept in memory up to a number of bytes and, if wished, on disk."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from headgate.planning.errors import CorruptManifestError, InvalidTableMetadataError
from headgate.planning.indexing.diskcache import DiskCache
from headgate.planning.indexing.segment import ManifestFile, Segment, build_segment
from headgate.planning.manifests.manifest import SMALL_MANIFEST, decode_manifest, warm_up
from headgate.planning.manifests.reader import ManifestReader
from headgate.planning.render import with_tasks
from headgate.planning.table import Spec

T = TypeVar("T")


class ManifestIndex:
    """Everything decoded from manifests, shared by all plans of a process.

    INVARIANT: what is kept depends on immutable files and on nothing about whoever asks; lenses apply afterwards.
    INVARIANT: what was read from one storage answers for that one alone: whoever declares a catalog names any storage.
    """

    def __init__(self, *, memory_bytes: int = 1 << 30, folder: Path | None = None, threads: int = 4) -> None:
        self._limit = memory_bytes
        self._kept: OrderedDict[str, tuple[Any, int]] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()
        self._building: dict[str, Future[Any]] = {}
        self._disk = DiskCache(folder) if folder is not None else None
        self._threads = threads

    @property
    def nbytes(self) -> int:
        """Memory held by what is kept."""
        return self._bytes

    def knows(self, key: str) -> bool:
        """Whether something is in memory."""
        return key in self._kept

    def manifests(self, reader: ManifestReader, manifest_list: str) -> tuple[ManifestFile, ...]:
        """The manifests of a snapshot. What is remembered is checked again: others may ask for the same list."""
        reader.within.check(manifest_list)
        found = self.keep(
            f"list|{reader.storage}|{manifest_list}",
            lambda: reader.manifests(manifest_list),
            lambda found: 1024 * len(found) + 1024,
        )
        for manifest in found:
            reader.within.check(manifest.path)
        return found

    def segment(self, reader: ManifestReader, manifest: ManifestFile, spec: Spec) -> Segment:
        """The segment of one manifest."""
        key = segment_key(manifest, spec)
        return self.keep(
            key, lambda: self._build(reader, key, manifest, spec), lambda segment: segment.nbytes
        )

    def segments(self, reader: ManifestReader, wanted: Sequence[tuple[ManifestFile, Spec]]) -> list[Segment]:
        """Segments of many manifests; those not yet known are fetched and decoded side by side."""
        absent = [manifest for manifest, spec in wanted if segment_key(manifest, spec) not in self._kept]
        if sum(manifest.file_count or 0 for manifest in absent) >= SMALL_MANIFEST:
            warm_up()
        unknown = len(absent)
        if unknown < 2 or self._threads < 2:
            return [self.segment(reader, manifest, spec) for manifest, spec in wanted]
        with ThreadPoolExecutor(min(self._threads, unknown), thread_name_prefix="manifests") as pool:
            return list(pool.map(lambda pair: self.segment(reader, *pair), wanted))

    def keep(self, key: str, make: Callable[[], T], size: Callable[[T], int]) -> T:
        """Answer from memory, or make it, once, however many ask at the same time."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                value: T = self._kept[key][0]
                return value
            future = self._building.get(key)
            mine = future is None
            if future is None:
                future = self._building[key] = Future()
        if not mine:
            made: T = future.result()
            return made
        try:
            value = make()
        except BaseException as error:
            with self._lock:
                del self._building[key]
            future.set_exception(error)
            raise
        with self._lock:
            del self._building[key]
            self._remember(key, value, size(value))
        future.set_result(value)
        return value

    def _remember(self, key: str, value: object, nbytes: int) -> None:
        self._kept[key] = (value, nbytes)
        self._bytes += nbytes
        while self._bytes > self._limit and len(self._kept) > 1:
            _, (_, freed) = self._kept.popitem(last=False)
            self._bytes -= freed

    def _build(self, reader: ManifestReader, key: str, manifest: ManifestFile, spec: Spec) -> Segment:
        if self._disk is not None:
            stored = self._disk.load(key)
            if stored is not None:
                return stored
        avro = reader.fetch(manifest.path)
        try:
            segment = build_segment(decode_manifest(avro), manifest)
            known = {column.field_id for column in spec.columns}
            if not set(segment.partition_ids) <= known:
                raise InvalidTableMetadataError(
                    f"a manifest has partition fields that spec {spec.spec_id} lacks"
                )
            if manifest.content == 0:
                segment = with_tasks(segment, spec)
        except (UnicodeDecodeError, OverflowError, IndexError, ValueError) as error:
            raise CorruptManifestError(manifest.path, "a value is malformed") from error
        if self._disk is not None:
            self._disk.store(key, segment)
        return segment


def segment_key(manifest: ManifestFile, spec: Spec) -> str:
    """What a segment depends on: the file, what its entries inherit, and the types of the partition values."""
    inherited = (
        f"{manifest.content}|{manifest.sequence_number}|{manifest.added_snapshot_id}|{manifest.first_row_id}"
    )
    return f"{manifest.storage}|{manifest.path}|{manifest.length}|{inherited}|{spec.fingerprint}"
