"""The files of a snapshot as its manifests list them, with what entries inherit filled in."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from headgate.catalogs.iceberg.storage import Storage
from headgate.catalogs.locations import inside, normal
from headgate.model.errors import IllegalArgument, NotFound
from headgate.planning import layout as ids
from headgate.planning.avrofile import read_avro_file
from headgate.planning.manifest import plain_records
from headgate.planning.manifestlist import read_manifest_list
from headgate.planning.segment import ManifestFile

Json = dict[str, Any]

EXISTING, ADDED, DELETED = 0, 1, 2
DATA, DELETES = 0, 1
NO_PARTITION: Final[Json] = {"type": "record", "name": "r102", "fields": []}


@dataclass(frozen=True)
class Entry:
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
    entries: tuple[Entry, ...]


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
    check_inside(document, listed)
    found = read_manifest_list(storage.io, listed)
    for manifest in found:
        check_inside(document, manifest.path)
    return found


def read_manifest(storage: Storage, document: Json, listed: ManifestFile) -> Manifest:
    """Read one manifest.

    INVARIANT: no file outside the table's own folder gets past here. Manifests are written by whoever may write to the
    table, and would otherwise have the pipeline copy any file that it can reach.
    """
    avro = read_avro_file(storage.io, listed.path)
    entries = []
    for record in plain_records(avro):
        if record[ids.STATUS] == DELETED:
            continue
        check_inside(document, str(record[ids.FILE_PATH]))
        entries.append(_entry(record, listed))
    return Manifest(listed, _partition_type(avro.schema), tuple(entries))


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
    if not inside(normal(path), normal(str(document["location"])).rstrip("/")):
        raise IllegalArgument(
            "a manifest names a file outside the table's own folder",
            hint="find out who wrote it, and roll the table back to a snapshot before it",
        )


def _entry(record: dict[int, Any], listed: ManifestFile) -> Entry:
    snapshot = record.get(ids.SNAPSHOT_ID)
    sequence = record.get(ids.SEQUENCE_NUMBER)
    file_sequence = record.get(ids.FILE_SEQUENCE_NUMBER)
    return Entry(
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
