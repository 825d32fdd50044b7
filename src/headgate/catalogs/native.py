"""The native catalog: real Iceberg tables and views in a warehouse folder or bucket, their pointers in Headgate's own store."""

import uuid
from collections.abc import Callable, Sequence
from typing import Any

from headgate.catalogs.iceberg import documents, table_metadata
from headgate.catalogs.iceberg.describing import descriptions
from headgate.catalogs.iceberg.documents import FORMATS
from headgate.catalogs.iceberg.places import check_document
from headgate.catalogs.iceberg.storage import Storage
from headgate.catalogs.interface import Document, Namespace, Staged, TablePlace
from headgate.catalogs.kept import Kept
from headgate.catalogs.locations import (
    GOVERNED,
    checked_warehouse,
    inside,
    more_places,
    normal,
    segment,
)
from headgate.catalogs.openings import Openings
from headgate.model import tables as t
from headgate.model.errors import ConnectionFailed, HeadgateError, IllegalArgument
from headgate.model.objects import clip
from headgate.store import Store, Write, places, pointers

Json = dict[str, Any]


class Native(Kept):
    """Iceberg tables and views that are kept here.

    INVARIANT: a metadata file is written whole before a pointer can name it, and a pointer only moves from the file
    that the change was made from. So a crash leaves at most a file that nothing points to, and no writer's change is lost.
    """

    source = ""

    def __init__(
        self,
        store: Store,
        warehouse: str | None,
        folder: str,
        properties: dict[str, str],
        openings: Openings,
    ) -> None:
        chosen = properties.get("warehouse") or warehouse
        if not chosen:
            raise IllegalArgument(
                "the catalog has no warehouse",
                hint="set the property 'warehouse' to a folder or an s3:// bucket, or start the server with one",
            )
        self.store = store
        self.warehouse = checked_warehouse(chosen)
        self.folder = f"{self.warehouse}/{folder}"
        self._governed = f"{self.warehouse}/{GOVERNED}/{folder}"
        self.allowed = (self.folder, *more_places(properties))
        """Where tables may lie: the catalog's own folder, and what its owner declared besides."""
        self.properties = properties
        self.storage = Storage(properties, openings)

    def own_places(self) -> tuple[str, ...]:
        return (self._governed,)

    def kept_folders(self) -> tuple[str, ...]:
        return (*self.allowed, self._governed)

    def own_sources(self) -> tuple[str, ...]:
        return ()

    def test(self) -> None:
        """Write a file into the warehouse and delete it again."""
        self.storage.probe(f"{self.warehouse}/.headgate-{uuid.uuid4().hex}")

    def tables(self, schema: Namespace) -> list[str]:
        return []

    def load_table(self, at: TablePlace) -> t.LoadedTable:
        now = self.document(at)
        return descriptions.describe_table(at.name, now.metadata, now.location)

    def create_table(self, at: TablePlace, definition: t.TableDefinition) -> Staged[t.LoadedTable]:
        id = uuid.uuid4()
        return self._described(at, self._first(descriptions.made(definition, self._folder(at, id), id)))

    def alter_table(self, at: TablePlace, changes: tuple[t.TableChange, ...]) -> Staged[t.LoadedTable]:
        now = self.document(at)
        assert now.location is not None
        updates = descriptions.updates_for(now.metadata, now.location, self.storage.io, changes)
        return self._described(at, self._next(at, now, updates))

    def document(self, at: TablePlace) -> Document:
        location = self._pointer(at)
        return Document(location, documents.read(self.storage, location, at.type, at.name))

    def document_at(self, at: TablePlace, location: str) -> Document:
        return Document(location, self.storage.read(location))

    def own_folders(self, document: Document) -> tuple[str, ...]:
        return (_place(document.metadata),)

    def governed_folder(self, document: Document, object: int) -> str:
        return f"{self._governed}/{object}"

    def schema_folder(self, schema: Namespace) -> str:
        return "/".join((self.folder, *map(segment, schema)))

    def given_folders(self, document: Document) -> tuple[str, ...]:
        # Asked anew each time: a place that the catalog's owner has taken back is given to nobody any more.
        return tuple(
            place
            for place in self.own_folders(document)
            if any(inside(place, folder) for folder in self.allowed)
        )

    def new_document(self, at: TablePlace, definition: Json) -> Document:
        id = uuid.uuid4()
        place = definition.get("location")
        # Kept as the client spelled it: it compares what it asked for with what it gets.
        location = place.rstrip("/") if isinstance(place, str) and place else self._folder(at, id)
        document = FORMATS[at.type].create(location, definition, id)
        check_document(document, self.allowed)
        return Document(None, document)

    def create_document(self, at: TablePlace, definition: Json) -> Staged[Document]:
        return self._first(self.new_document(at, definition).metadata)

    def register_document(self, at: TablePlace, location: str, check: Callable[[], None]) -> Staged[Document]:
        if not any(inside(normal(location), folder) for folder in self.allowed):
            raise IllegalArgument(
                f"the metadata file '{clip(location, 200)}' is not inside this catalog",
                hint=f"use a file under {' or '.join(self.allowed)}",
            )
        check()
        document = documents.checked_registered(self.storage, at.type, location, self.allowed)

        def commit(tx: Write, object: int) -> None:
            _claim(tx, object, document)
            # The file may lie elsewhere than the table that it describes: neither may be somebody else's.
            places.check_file(tx, object, location)
            pointers.point(tx, object, location)

        return Staged(Document(location, document), commit)

    def commit_document(
        self, at: TablePlace, requirements: Sequence[Json], updates: Sequence[Json]
    ) -> Staged[Document]:
        if at.object:
            now = self.document(at)
            FORMATS[at.type].require(now.metadata, requirements)
            return self._next(at, now, updates)
        table_metadata.require(None, requirements)
        return self._first(documents.first(updates))

    def rename(self, at: TablePlace, to: TablePlace) -> None:
        """Names are kept in the object rows."""

    def drop_view(self, at: TablePlace) -> None:
        """The pointer goes with the object row; the file stays, as in Iceberg."""

    def drop_table(self, at: TablePlace, *, purge: bool) -> Staged[None]:
        """Forget the pointer, which goes with the object row. Files stay, as in Iceberg, unless they are purged."""
        if not purge:
            return Staged(None)
        document = self.document(at).metadata
        folder = _place(document)
        # INVARIANT: purging deletes the one folder that was made for this very table, and nothing else.
        if not inside(folder, self.folder) or not folder.endswith(
            f"-{uuid.UUID(document['table-uuid']).hex}"
        ):
            raise IllegalArgument(
                f"table '{clip(at.name)}' does not lie in a folder of its own", hint="drop it without purge"
            )
        return Staged(None, places.purge, finish=lambda: self._purge(at, folder))

    # -- inside -------------------------------------------------------------------------------------------------

    def _folder(self, at: TablePlace, id: uuid.UUID) -> str:
        """The id makes the folder this table's own: one dropped and made again shares nothing with the former."""
        return f"{self.schema_folder(at.schema)}/{segment(at.name)}-{id.hex}"

    def _first(self, document: Json) -> Staged[Document]:
        """Write the first document, for a pointer that is not there yet."""
        check_document(document, self.allowed)
        written = documents.metadata_file(document, 0)
        self.storage.write(written, document)

        def commit(tx: Write, object: int) -> None:
            _claim(tx, object, document)
            pointers.point(tx, object, written)

        return Staged(Document(written, document), commit, lambda: self._discard(written))

    def _next(self, at: TablePlace, now: Document, updates: Sequence[Json]) -> Staged[Document]:
        """Write the next document, for a pointer that must still be where it was."""
        before = now.location
        assert before is not None
        if not updates:
            # Nothing to write, but not if the table moved on meanwhile.
            return Staged(now, lambda tx, object: pointers.swap(tx, object, before, before))
        after = documents.following(at.type, now.metadata, before, updates)
        check_document(after, self.allowed)
        written = documents.metadata_file(after, documents.version_of(before) + 1)
        self.storage.write(written, after)

        def commit(tx: Write, object: int) -> None:
            pointers.swap(tx, object, before, written)
            if _identity(after) != _identity(now.metadata):
                _claim(tx, object, after)

        return Staged(Document(written, after), commit, lambda: self._discard(written))

    def _described(self, at: TablePlace, staged: Staged[Document]) -> Staged[t.LoadedTable]:
        described = descriptions.describe_table(at.name, staged.result.metadata, staged.result.location)
        return Staged(described, staged.commit, staged.abandon, staged.finish)

    def _pointer(self, at: TablePlace) -> str:
        location = pointers.location(self.store, at.object)
        if location is None:
            raise HeadgateError(
                f"{at.type} '{clip(at.name)}' has no metadata", hint="drop it and create it again"
            )
        return location

    def _discard(self, location: str) -> None:
        try:
            self.storage.delete(location)
        except ConnectionFailed:
            # It stays as a file that nothing points to; what made us discard it is what the caller must hear.
            return

    def _purge(self, at: TablePlace, folder: str) -> None:
        try:
            self.storage.delete_folder(folder)
        except ConnectionFailed as error:
            raise ConnectionFailed(
                f"table '{clip(at.name)}' was dropped, but its files were not deleted",
                hint=f"delete {folder} by hand: {error.hint}",
            ) from error
        # INVARIANT: only now, so nobody gets a place in which files of the former table still lie.
        with self.store.write("headgate", "purge") as tx:
            places.release(tx, at.object, [folder])


def _place(document: Json) -> str:
    return normal(document["location"])


def _identity(document: Json) -> tuple[str, str | None]:
    """What a table must share with no other: its place and its uuid."""
    known = document.get("table-uuid")
    return _place(document), None if known is None else str(known).lower()


def _claim(tx: Write, object: int, document: Json) -> None:
    place, known = _identity(document)
    places.claim(tx, object, [place], uuid=known)
