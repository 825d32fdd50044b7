"""Purging: the files of a table that another system kept, as its own metadata names them, and no others."""

from collections.abc import Iterable, Iterator

from pyiceberg.manifest import ManifestFile
from pyiceberg.table.metadata import TableMetadata

from headgate.catalogs.iceberg.describing import descriptions
from headgate.catalogs.iceberg.storage import Storage
from headgate.catalogs.interface import Document
from headgate.catalogs.locations import inside, normal
from headgate.model.errors import ConnectionFailed, HeadgateError


def purge_files(document: Document, storage: Storage, folders: tuple[str, ...]) -> None:
    """Delete what a dropped table consisted of.

    INVARIANT: only files in the table's own folders, and of these only what its metadata names: whatever else lies there
    was put there by somebody else, and its place stays taken.
    """
    try:
        metadata = descriptions.parsed(document.metadata)
        manifests = {m.manifest_path: m for m in _manifests(metadata, storage, folders)}
        for manifest in manifests.values():
            for entry in manifest.fetch_manifest_entry(storage.io, discard_deleted=False):
                _delete(entry.data_file.file_path, storage, folders)
        for file in (*manifests, *_rest(metadata, document.location)):
            _delete(file, storage, folders)
    except (HeadgateError, OSError, ValueError) as error:
        reason = error.message if isinstance(error, HeadgateError) else type(error).__name__
        raise ConnectionFailed(
            "the table was dropped, but not all of its files were deleted",
            hint=f"delete what is left by hand: {reason}",
        ) from None


def _manifests(metadata: TableMetadata, storage: Storage, folders: tuple[str, ...]) -> Iterator[ManifestFile]:
    for snapshot in metadata.snapshots:
        if _own(snapshot.manifest_list, folders):
            yield from (m for m in snapshot.manifests(storage.io) if _own(m.manifest_path, folders))


def _rest(metadata: TableMetadata, location: str | None) -> Iterable[str]:
    yield from {snapshot.manifest_list for snapshot in metadata.snapshots}
    yield from {entry.metadata_file for entry in metadata.metadata_log}
    if location is not None:
        yield location


def _own(file: str, folders: tuple[str, ...]) -> bool:
    return any(inside(normal(file), folder) for folder in folders)


def _delete(file: str, storage: Storage, folders: tuple[str, ...]) -> None:
    if _own(file, folders):
        storage.delete_if_there(file)
