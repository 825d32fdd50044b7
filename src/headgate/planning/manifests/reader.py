"""The one reader of a table's manifests: for plans, governed metadata, job tables, partitions and garbage collection.

INVARIANT: a manifest list, a manifest, a data file or a delete file that does not lie within the table's own folders is
neither opened nor named. Manifests are written by whoever may write to the table, or by another catalog's clients.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pyiceberg.io import FileIO

from headgate.planning.errors import MissingManifestError, UnreadableManifestError
from headgate.planning.indexing.segment import ManifestFile
from headgate.planning.manifests import layout as ids
from headgate.planning.manifests.avrofile import AvroFile, parse_avro_file
from headgate.planning.manifests.manifest import plain_records
from headgate.planning.manifests.manifestlist import parse_manifest_list, storage_of
from headgate.planning.within import Within

EXISTING, ADDED, DELETED = 0, 1, 2
DATA, DELETES = 0, 1


@dataclass(frozen=True)
class ManifestReader:
    """Reads manifests of one table from the storage that it lies in."""

    io: FileIO
    within: Within

    @cached_property
    def storage(self) -> str:
        """Tells storages apart: the same path means another file at another endpoint."""
        return storage_of(self.io)

    def manifests(self, manifest_list: str) -> tuple[ManifestFile, ...]:
        """The manifests of a snapshot."""
        found = parse_manifest_list(self.storage, self.fetch(manifest_list))
        for manifest in found:
            self.within.check(manifest.path)
        return found

    def fetch(self, path: str) -> AvroFile:
        """One manifest or manifest list, decompressed. The paths that it names are not checked yet."""
        self.within.check(path)
        try:
            with self.io.new_input(path).open() as stream:
                content = stream.read()
        except FileNotFoundError as error:
            raise MissingManifestError(path) from error
        except OSError as error:
            raise UnreadableManifestError(path, type(error).__name__) from error
        return parse_avro_file(path, content)

    def live(self, avro: AvroFile) -> list[dict[int, Any]]:
        """The entries of a manifest that are not deleted, by Iceberg's field ids."""
        found = []
        for record in plain_records(avro):
            if record[ids.STATUS] != DELETED:
                self.within.check(str(record[ids.FILE_PATH]))
                found.append(record)
        return found
