"""The files of a snapshot as its manifests list them, with what entries inherit filled in."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from headgate.catalogs.iceberg.storage import Storage
from headgate.model.errors import IllegalArgument, NotFound
from headgate.planning import ForeignFileError, Within
from headgate.planning.indexing.segment import ManifestFile
from headgate.planning.manifests import layout as ids
from headgate.planning.manifests.reader import ADDED, DATA, DELETES, EXISTING, ManifestReader

Json = dict[str, Any]

__all__ = [
    "ADDED",
    "DATA",
    "DELETES",
    "EXISTING",
    "NO_PARTITION",
    "Manifest",
    "ManifestEntry",
    "check_inside",
    "live",
    "manifests_of",
    "read_manifest",
    "snapshot_of",
]

NO_PARTITION: Final[Json] = {"type": "record", "name": "r102", "fields": []}


@dataclass(frozen=True)
class ManifestEntry:
    """One file of a manifest; `file` holds its fields by Iceberg's ids, values as Avro stores them."""

    status: int
    snapshot_id: int
    sequence: int
    file_sequence: int
    file: Mapping[int, Any]

    @property
    def path(self) -> str:
        return str(self.file[ids.FILE_PATH])


@dataclass(frozen=True)
class Manifest:
    """A manifest that was read: the Avro type of its partition tuples, and its live entries."""

    listed: ManifestFile
    partition: Json
    entries: tuple[ManifestEntry, ...]


def snapshot_of(document: Json, snapshot_id: int) -> Json:
    """The snapshot of that id in a table's document."""
    for snapshot in document.get("snapshots") or []:
        if snapshot["snapshot-id"] == snapshot_id:
            found: Json = snapshot
            return found
    raise NotFound(f"the table has no snapshot {snapshot_id}", about="snapshot")


def manifests_of(storage: Storage, document: Json, snapshot_id: int) -> tuple[ManifestFile, ...]:
    """The manifests of a snapshot; refuses those outside the table's own folder."""
    listed = snapshot_of(document, snapshot_id).get("manifest-list")
    if not isinstance(listed, str) or not listed:
        raise IllegalArgument(
            f"snapshot {snapshot_id} names no manifest list",
            hint="rewrite the table's metadata with a newer writer",
        )
    with _own():
        return _reader(storage, document).manifests(listed)


def read_manifest(storage: Storage, document: Json, listed: ManifestFile) -> Manifest:
    """Read one manifest.

    INVARIANT: no file outside the table's own folder gets past here. Manifests are written by whoever may write to the
    table, and would otherwise have the pipeline copy any file that it can reach.
    """
    reader = _reader(storage, document)
    with _own():
        avro = reader.fetch(listed.path)
        entries = tuple(_entry(record, listed) for record in reader.live(avro))
    # Spark opens them by itself, past this server's own storage.
    storage.openings.check_files(entry.path for entry in entries)
    return Manifest(listed, _partition_type(avro.schema), entries)


def live(
    storage: Storage, document: Json, snapshot_id: int, content: int, only: Collection[str] | None = None
) -> Iterator[Manifest]:
    """The manifests of a snapshot that hold data files (or delete files), read one after the other.

    `only` are the paths of those that are wanted; without it, all are.
    """
    for listed in manifests_of(storage, document, snapshot_id):
        if listed.content == content and (only is None or listed.path in only):
            yield read_manifest(storage, document, listed)


def check_inside(document: Json, path: str) -> None:
    """Refuse a file that is not inside the table's own folder."""
    with _own():
        Within.of(document).check(path)


def _reader(storage: Storage, document: Json) -> ManifestReader:
    return ManifestReader(storage.io, Within.of(document))


@contextmanager
def _own() -> Iterator[None]:
    """Say in the words of the house that a manifest names what is not the table's."""
    try:
        yield
    except ForeignFileError:
        raise IllegalArgument(
            "a manifest names a file outside the table's own folder",
            hint="find out who wrote it, and roll the table back to a snapshot before it",
        ) from None


def _entry(record: dict[int, Any], listed: ManifestFile) -> ManifestEntry:
    snapshot = record.get(ids.SNAPSHOT_ID)
    sequence = record.get(ids.SEQUENCE_NUMBER)
    file_sequence = record.get(ids.FILE_SEQUENCE_NUMBER)
    return ManifestEntry(
        status=record[ids.STATUS],
        snapshot_id=int(listed.added_snapshot_id or 0) if snapshot is None else snapshot,
        sequence=listed.sequence_number if sequence is None else sequence,
        file_sequence=listed.sequence_number if file_sequence is None else file_sequence,
        file=record,
    )


def _partition_type(schema: Json) -> Json:
    """The Avro type of a manifest's partition tuples; its shape was checked when the records were read."""
    file = next(f["type"] for f in schema["fields"] if f.get("field-id") == ids.DATA_FILE)
    found: Json = next(f["type"] for f in file["fields"] if f.get("field-id") == ids.PARTITION)
    return found
