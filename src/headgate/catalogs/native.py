"""The native catalog: real Iceberg tables in a warehouse folder or bucket, their pointers in Headgate's own store."""

import uuid
from typing import Final

from headgate.catalogs.iceberg import metadata as iceberg
from headgate.catalogs.iceberg import partitions
from headgate.catalogs.iceberg.storage import Storage
from headgate.catalogs.interface import Namespace, Place, Staged
from headgate.catalogs.kept import Kept
from headgate.catalogs.locations import checked_warehouse, inside, segment
from headgate.model import tables as t
from headgate.model.errors import ConnectionFailed, HeadgateError, IllegalArgument
from headgate.model.objects import clip
from headgate.store import Store, Write, pointers

_VERSION_DIGITS: Final = 5


class Native(Kept):
    """Iceberg tables that are kept here.

    INVARIANT: a metadata file is written whole before a pointer can name it, and a pointer only moves from the file
    that the change was made from. So a crash leaves at most a file that nothing points to, and no writer's change is lost.
    """

    def __init__(
        self, store: Store, warehouse: str | None, metalake: str, catalog: str, properties: dict[str, str]
    ) -> None:
        chosen = properties.get("warehouse") or warehouse
        if not chosen:
            raise IllegalArgument(
                "the catalog has no warehouse",
                hint="set the property 'warehouse' to a folder or an s3:// bucket, or start the server with one",
            )
        self.store = store
        self.warehouse = checked_warehouse(chosen)
        self.folder = f"{self.warehouse}/{segment(metalake)}/{segment(catalog)}"
        self.storage = Storage(properties)

    def test(self) -> None:
        """Write a file into the warehouse and delete it again."""
        self.storage.probe(f"{self.warehouse}/.headgate-{uuid.uuid4().hex}")

    def tables(self, schema: Namespace) -> list[str]:
        return []

    def load_table(self, at: Place) -> t.LoadedTable:
        location = self._pointer(at)
        return iceberg.told(at.name, self.storage.read(location), location)

    def create_table(self, at: Place, definition: t.TableDefinition) -> Staged:
        id = uuid.uuid4()
        # The id makes the folder this table's own: one dropped and made again shares nothing with the former.
        folder = "/".join((self.folder, *map(segment, at.schema), f"{segment(at.name)}-{id.hex}"))
        made = iceberg.made(definition, folder, id)
        written = _metadata_file(folder, 0)
        self.storage.write(written, made)

        def commit(tx: Write, object: int) -> None:
            pointers.point(tx, object, written)

        return Staged(iceberg.told(at.name, made, written), commit, lambda: self._discard(written))

    def alter_table(self, at: Place, changes: tuple[t.TableChange, ...]) -> Staged:
        before = self._pointer(at)
        metadata = self.storage.read(before)
        after = iceberg.changed(metadata, before, self.storage.io, changes)
        if after == metadata:
            # A new name alone is the object row's business, but not if the table moved on meanwhile.
            return Staged(
                iceberg.told(at.name, metadata, before),
                lambda tx, object: pointers.swap(tx, object, before, before),
            )
        written = _metadata_file(metadata.location, _version(before) + 1)
        self.storage.write(written, after)

        def commit(tx: Write, object: int) -> None:
            pointers.swap(tx, object, before, written)

        return Staged(iceberg.told(at.name, after, written), commit, lambda: self._discard(written))

    def drop_table(self, at: Place, *, purge: bool) -> Staged:
        """Forget the pointer, which goes with the object row. Files stay, as in Iceberg, unless they are purged."""
        location = self._pointer(at)
        metadata = self.storage.read(location)
        table = iceberg.told(at.name, metadata, location)
        if not purge:
            return Staged(table)
        folder = metadata.location
        # INVARIANT: purging deletes the one folder that was made for this very table, and nothing else.
        if not inside(folder, self.warehouse) or not folder.endswith(f"-{metadata.table_uuid.hex}"):
            raise IllegalArgument(
                f"table '{clip(at.name)}' does not lie in a folder of its own", hint="drop it without purge"
            )
        return Staged(table, finish=lambda: self._purge(at.name, folder))

    def partitions(self, at: Place) -> list[t.Partition]:
        return partitions.listed(self.storage.read(self._pointer(at)), self.storage.io)

    # -- inside -------------------------------------------------------------------------------------------------

    def _pointer(self, at: Place) -> str:
        with self.store.read() as read:
            location = pointers.location(read, at.object)
        if location is None:
            raise HeadgateError(
                f"table '{clip(at.name)}' has no metadata", hint="drop it and create it again"
            )
        return location

    def _discard(self, location: str) -> None:
        try:
            self.storage.delete(location)
        except ConnectionFailed:
            # It stays as a file that nothing points to; what made us discard it is what the caller must hear.
            return

    def _purge(self, name: str, folder: str) -> None:
        try:
            self.storage.delete_folder(folder)
        except ConnectionFailed as error:
            raise ConnectionFailed(
                f"table '{clip(name)}' was dropped, but its files were not deleted",
                hint=f"delete {folder} by hand: {error.hint}",
            ) from error


def _metadata_file(folder: str, version: int) -> str:
    return f"{folder}/metadata/{version:0{_VERSION_DIGITS}d}-{uuid.uuid4()}.metadata.json"


def _version(location: str) -> int:
    """The number of a metadata file; one that another writer named otherwise starts anew."""
    number = location.rpartition("/")[2].partition("-")[0]
    return int(number) if number.isdigit() else 0
