"""Iceberg tables and views whose metadata lies behind a pointer that another system keeps and swaps."""

import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final

import msgspec

from headgate.catalogs.iceberg import documents, table_metadata
from headgate.catalogs.iceberg.describing import descriptions
from headgate.catalogs.iceberg.documents import FORMATS
from headgate.catalogs.iceberg.places import check_document
from headgate.catalogs.iceberg.storage import MissingDocument, Storage
from headgate.catalogs.interface import Described, Document, Namespace, Staged, TablePlace
from headgate.catalogs.locations import GOVERNED, checked_warehouse, inside, more_places, normal, segment
from headgate.catalogs.openings import OPEN_PLACES, Openings
from headgate.catalogs.outside.broken import broken_table
from headgate.catalogs.outside.claims import Claims, kept_there, outside_folders, outside_identity
from headgate.catalogs.outside.hidden import check_shown
from headgate.catalogs.outside.line import NotBegun
from headgate.catalogs.outside.pointers import Pointer, PointerSystem, Swap, SwapsTogether
from headgate.catalogs.outside.purging import purge_files
from headgate.model import tables as t
from headgate.model.errors import (
    Conflict,
    ConnectionFailed,
    Damaged,
    HeadgateError,
    IllegalArgument,
    NotFound,
    OutcomeUnknown,
    Unsupported,
)
from headgate.model.objects import SCHEMA_SEPARATOR, ObjectType, clip
from headgate.store import places

Json = dict[str, Any]

_TRIES: Final = 5
"""How often a commit is made anew from newer metadata that still meets its requirements."""


class PointerCatalog:
    """A catalog over a system of pointers.

    The documents are made, checked and changed by the code of native tables, and written before a pointer can name them.
    INVARIANT: the other system is asked before the transaction of a change, never in it. What the transaction then
    refuses is taken back there, as far as nobody has gone on from it.
    """

    outside = True
    hive = False

    def __init__(
        self,
        system: PointerSystem,
        claims: Claims,
        folder: str,
        properties: dict[str, str],
        openings: Openings,
        servers: tuple[str, ...],
        *,
        files: tuple[str, ...] = (),
    ) -> None:
        self.system = system
        self.servers = servers
        """Where the other system is, each address in one spelling."""
        self.claims = claims
        self.source = claims.source
        self.folder = folder
        self.properties = properties
        self.storage = Storage(properties, openings)
        chosen = properties.get("warehouse")
        self.warehouse = checked_warehouse(chosen) if chosen else None
        self.allowed = (*([self.warehouse] if self.warehouse else []), *more_places(properties))
        """Where tables that are made here may lie."""
        self._files = files
        """Those that the other system is kept in, where that is not another server."""

    def test(self) -> None:
        self.system.test()

    def close(self) -> None:
        self.system.close()

    def own_sources(self) -> tuple[str, ...]:
        return self.servers

    def own_places(self) -> tuple[str, ...]:
        """None: copies lie beside their table, so what lies around them lies around the table's own place."""
        return ()

    def kept_folders(self) -> tuple[str, ...]:
        return (*self.allowed, *self._files)

    # -- schemas ------------------------------------------------------------------------------------------------

    def schemas(self, parent: Namespace) -> list[str]:
        return sorted(self.system.namespaces(parent))

    def schema_exists(self, name: Namespace) -> bool:
        try:
            self.system.namespace(name)
        except NotFound:
            return False
        return True

    def create_schema(self, name: Namespace, comment: str | None, properties: dict[str, str]) -> None:
        self.system.create_namespace(name, {**properties, "comment": comment} if comment else properties)

    def alter_schema(self, name: Namespace, properties: dict[str, str]) -> None:
        self.system.alter_namespace(name, properties)

    def drop_schema(self, name: Namespace, *, cascade: bool) -> None:
        if cascade:
            # INVARIANT: all that lies in it is looked through before any of it is dropped.
            self._check_shown(name)
            self._empty(name)
        self.system.drop_namespace(name)

    def _check_shown(self, name: Namespace) -> None:
        """Refuse to empty a schema that holds what this catalog does not show, so that nobody here judged it."""
        inner = self.schemas(name)
        entries = [entry for type in self.system.types for entry in self.system.names(name, type)]
        check_shown(name, (*inner, *entries), hides=self.system.hides(name))
        for each in inner:
            self._check_shown((*name, each))

    def _empty(self, name: Namespace) -> None:
        for inner in self.schemas(name):
            self._empty((*name, inner))
            self.system.drop_namespace((*name, inner))
        for type in sorted(self.system.types):
            for entry in self.system.names(name, type):
                with suppress(NotFound):
                    self.system.drop(TablePlace(name, entry, type=type))

    def tables(self, schema: Namespace) -> list[str]:
        return self.entries(schema, ObjectType.TABLE)

    def entries(self, schema: Namespace, type: ObjectType) -> list[str]:
        return sorted(self.system.names(schema, type)) if type in self.system.types else []

    # -- tables as the model describes them ---------------------------------------------------------------------

    def load_table(self, at: TablePlace) -> t.LoadedTable:
        return self.described(at).table

    def columns(self, at: TablePlace) -> Document:
        return self.document(at)

    def described(self, at: TablePlace) -> Described:
        pointer = self.system.load(at)
        shown = {"provider": "iceberg", "metadata-location": pointer.location}
        if not self.storage.openings.holds(pointer.location):
            reason = f"its metadata lies outside the places that the operator opened: {OPEN_PLACES}"
            return broken_table(at.name, reason, shown)
        try:
            now = self._document(at, pointer)
            table = descriptions.describe_table(at.name, now.metadata, now.location)
        except (Damaged, MissingDocument, IllegalArgument) as error:
            return broken_table(at.name, error.message, shown)
        return Described(table, now)

    def create_table(self, at: TablePlace, definition: t.TableDefinition) -> Staged[t.LoadedTable]:
        id = uuid.uuid4()
        made = descriptions.made(definition, self._new_folder(at, id), id)
        return self._as_described(at, self._first(at, made))

    def alter_table(self, at: TablePlace, changes: tuple[t.TableChange, ...]) -> Staged[t.LoadedTable]:
        def updates(now: Document) -> Sequence[Json]:
            return descriptions.updates_for(now.metadata, now.location or "", self.storage.io, changes)

        staged = self._as_described(at, self._next(at, (), updates))
        renames = [change for change in changes if isinstance(change, t.RenameTable)]
        if not renames:
            return staged
        into = renames[-1].new_schema_name
        to = TablePlace(tuple(into.split(SCHEMA_SEPARATOR)) if into else at.schema, renames[-1].new_name)
        try:
            self.system.rename(at, to)
        except HeadgateError:
            staged.abandon()
            raise

        def abandon() -> None:
            try:
                self.system.rename(msgspec.structs.replace(to, type=at.type), at)
            except HeadgateError as error:
                raise kept_there(at) from error
            staged.abandon()

        return Staged(staged.result, staged.commit, abandon)

    def drop_table(self, at: TablePlace, *, purge: bool) -> Staged[None]:
        document = None
        if purge:
            document = self.document(at)
        try:
            pointer = self.system.load(at)
            self.system.drop(at)
        except NotFound:
            # Somebody dropped or renamed it there: what is left to forget is the row here.
            if not at.object:
                raise
            return Staged(None)

        def abandon() -> None:
            with suppress(HeadgateError):
                self.system.create(at, pointer.location, self.storage.read(pointer.location))

        if document is None:
            return Staged(None, abandon=abandon)
        return Staged(None, places.purge, abandon, lambda: self._purge(at, document))

    # -- documents ----------------------------------------------------------------------------------------------

    def document(self, at: TablePlace) -> Document:
        return self._document(at, self.system.load(at))

    def document_at(self, at: TablePlace, location: str) -> Document:
        self.claims.check_file(at.object, location)
        found = Document(location, documents.read(self.storage, location, at.type, at.name))
        past = self.claims.past(at.object)
        if outside_identity(found).uuid != past.uuid:
            raise NotFound("the table was made again in the meantime", about=ObjectType.TABLE)
        return msgspec.structs.replace(found, past=past)

    def own_folders(self, document: Document) -> tuple[str, ...]:
        return outside_folders(document)

    def given_folders(self, document: Document) -> tuple[str, ...]:
        """The table's own place, if this catalog's owner vouches that tables are kept apart there."""
        place = normal(document.metadata["location"]).rstrip("/")
        return (place,) if any(inside(place, folder) for folder in self.allowed) else ()

    def governed_folder(self, document: Document, object: int) -> str:
        above = normal(document.metadata["location"]).rstrip("/").rpartition("/")[0]
        return f"{above}/{GOVERNED}/{self.folder}/{object}"

    def schema_folder(self, schema: Namespace) -> None:
        """Others make tables wherever they like, so only the catalog's owner chooses a place."""

    def new_document(self, at: TablePlace, definition: Json) -> Document:
        self._check_type(at)
        id = uuid.uuid4()
        place = definition.get("location")
        # Kept as the client spelled it: it compares what it asked for with what it gets.
        location = place.rstrip("/") if isinstance(place, str) and place else self._new_folder(at, id)
        made = FORMATS[at.type].create(location, definition, id)
        self._check(made)
        return Document(None, made)

    def create_document(self, at: TablePlace, definition: Json) -> Staged[Document]:
        return self._first(at, self.new_document(at, definition).metadata)

    def register_document(self, at: TablePlace, location: str, check: Callable[[], None]) -> Staged[Document]:
        self._check_type(at)
        if not any(inside(normal(location), folder) for folder in self.allowed):
            raise IllegalArgument(
                f"the metadata file '{clip(location, 200)}' is not inside this catalog",
                hint=f"use a file under {' or '.join(self.allowed)}" if self.allowed else _NO_WAREHOUSE,
            )
        self.claims.check((normal(location),))
        check()
        document = documents.checked_registered(self.storage, at.type, location, self.allowed)
        self.claims.check(outside_folders(Document(location, document)))
        self.system.create(at, location, document)
        return self._made(at, Document(location, document))

    def commit_document(
        self, at: TablePlace, requirements: Sequence[Json], updates: Sequence[Json]
    ) -> Staged[Document]:
        if at.object:
            return self._next(at, requirements, lambda now: updates)
        self._check_type(at)
        table_metadata.require(None, requirements)
        return self._first(at, documents.first(updates))

    def commit_together(
        self, changes: Sequence[tuple[TablePlace, Sequence[Json], Sequence[Json]]]
    ) -> list[Staged[Document]]:
        """Commit to several tables, all or none of them, where the system can move several pointers at once."""
        system = self.system
        if not isinstance(system, SwapsTogether) or not all(at.object for at, _, _ in changes):
            raise Unsupported(
                "the catalog behind this one cannot change several tables together",
                hint="commit to them one by one",
            )
        for attempt in range(_TRIES):
            swaps, before = [], []
            for at, requirements, updates in changes:
                now, pointer = self._now(at)
                FORMATS[at.type].require(now.metadata, requirements)
                before.append(now)
                swaps.append(self._written(at, now, pointer, updates))
            try:
                system.swap_together(swaps)
                break
            except HeadgateError as error:
                # All or none of them: one tells.
                if self._landed(swaps[0].at, swaps[0].location, error):
                    break
                for swap in swaps:
                    self._discard(swap.location)
                if not isinstance(error, Conflict) or attempt == _TRIES - 1:
                    raise
        return [self._swapped(swap, now) for swap, now in zip(swaps, before, strict=True)]

    def rename(self, at: TablePlace, to: TablePlace) -> None:
        self.system.rename(at, to)

    def drop_view(self, at: TablePlace) -> None:
        self.system.drop(at)

    # -- inside -------------------------------------------------------------------------------------------------

    def _document(self, at: TablePlace, pointer: Pointer) -> Document:
        """INVARIANT: a file that another system names is not opened in somebody else's place."""
        self.claims.check_file(at.object, pointer.location)
        found = Document(pointer.location, documents.read(self.storage, pointer.location, at.type, at.name))
        properties = found.metadata.get("properties", {})
        if not isinstance(properties, dict) or not all(isinstance(v, str) for v in properties.values()):
            raise Damaged(f"the metadata file of {at.type} '{clip(at.name)}' is damaged")
        if at.object and at.type is ObjectType.TABLE:
            return self.claims.own(at.object, found)
        return found

    def _now(self, at: TablePlace) -> tuple[Document, Pointer]:
        pointer = self.system.load(at)
        return self._document(at, pointer), pointer

    def _new_folder(self, at: TablePlace, id: uuid.UUID) -> str:
        """The id makes the folder this table's own: one dropped and made again shares nothing with the former."""
        if self.warehouse is None:
            raise IllegalArgument("the catalog has no warehouse", hint=_NO_WAREHOUSE)
        return "/".join((self.warehouse, *map(segment, at.schema), f"{segment(at.name)}-{id.hex}"))

    def _check_type(self, at: TablePlace) -> None:
        if at.type not in self.system.types:
            raise Unsupported(
                f"the catalog behind this one keeps no {at.type}s", hint="use another catalog for them"
            )

    def _check(self, document: Json, own: str | None = None) -> None:
        """Refuse a document that names what is neither in this catalog's places nor in the table's own."""
        check_document(document, self.allowed if own is None else (*self.allowed, normal(own)))
        self.claims.check(outside_folders(Document(None, document)))

    def _first(self, at: TablePlace, document: Json) -> Staged[Document]:
        """Write the first document, and point to it."""
        self._check(document)
        written = documents.metadata_file(document, 0)
        self.storage.write(written, document)
        try:
            self.system.create(at, written, document)
        except HeadgateError as error:
            if not self._landed(at, written, error):
                self._discard(written)
                raise
        return self._made(at, Document(written, document), lambda: self._discard(written))

    def _made(
        self, at: TablePlace, document: Document, discard: Callable[[], None] = lambda: None
    ) -> Staged[Document]:
        """A new table or view that has its pointer; that goes again if the table cannot be its own here."""
        assert document.location is not None
        location = document.location

        def abandon() -> None:
            if self._still(at, location) is None:
                return
            try:
                self.system.drop(at)
            except NotFound:
                return
            except HeadgateError as error:
                raise kept_there(at) from error
            discard()

        claim = self.claims.claiming(at, document)

        def commit(tx: Any, object: int) -> None:
            claim(tx, object)
            # The file may lie elsewhere than the table that it describes: neither may be somebody else's.
            places.check_file(tx, object, location)

        return Staged(document, commit, abandon)

    def _next(
        self, at: TablePlace, requirements: Sequence[Json], updates: Callable[[Document], Sequence[Json]]
    ) -> Staged[Document]:
        """Write the next document and move the pointer to it, anew if somebody else moved it meanwhile."""
        for attempt in range(_TRIES):
            now, pointer = self._now(at)
            FORMATS[at.type].require(now.metadata, requirements)
            wanted = updates(now)
            if not wanted:
                return Staged(now)
            swap = self._written(at, now, pointer, wanted)
            try:
                self.system.swap(swap)
            except HeadgateError as error:
                if not self._landed(at, swap.location, error):
                    self._discard(swap.location)
                    if not isinstance(error, Conflict) or attempt == _TRIES - 1:
                        raise
                    continue
            return self._swapped(swap, now)
        raise AssertionError("the loop above returns or raises")

    def _written(self, at: TablePlace, now: Document, pointer: Pointer, updates: Sequence[Json]) -> Swap:
        after = documents.following(at.type, now.metadata, pointer.location, updates)
        # A table that another writer placed elsewhere may stay where it is.
        self._check(after, now.metadata["location"])
        written = documents.metadata_file(after, documents.version_of(pointer.location) + 1)
        self.storage.write(written, after)
        return Swap(at, pointer, written, after)

    def _swapped(self, swap: Swap, before: Document) -> Staged[Document]:
        after = Document(swap.location, swap.document, before.past)

        def abandon() -> None:
            now = self._still(swap.at, swap.location)
            if now is None:
                return
            try:
                self.system.swap(Swap(swap.at, now, swap.expected.location, before.metadata))
            except HeadgateError as error:
                raise kept_there(swap.at) from error
            self._discard(swap.location)

        return Staged(after, self.claims.claiming(swap.at, after), abandon)

    def _landed(self, at: TablePlace, location: str, error: HeadgateError) -> bool:
        """Whether a pointer was moved to a document that only this change wrote, though the system answered with an error:
        an answer may be lost, and what is sent again may be refused because it was done the first time.

        INVARIANT: no document that a pointer may name is deleted, and nobody is told that it was not made.
        """
        if isinstance(error, NotBegun):
            return False
        unsure = isinstance(error, ConnectionFailed)
        try:
            now = self.system.load(at)
            if now.location == location or location in _former(self._document(at, now)):
                return True
        except NotFound:
            pass
        except HeadgateError as fault:
            unsure = unsure or isinstance(fault, ConnectionFailed)
        if unsure:
            # What did not arrive yet may still do so.
            raise OutcomeUnknown(
                f"whether {at.type} '{clip(at.name)}' was changed is not known: {error.message}",
                hint="load it again before you try again",
            ) from error
        return False

    def _still(self, at: TablePlace, location: str) -> Pointer | None:
        """The pointer of a change that is to be taken back; None if it is gone. Whoever went on from there keeps it."""
        try:
            now = self.system.load(at)
        except NotFound:
            return None
        except HeadgateError as error:
            raise kept_there(at) from error
        if now.location != location:
            raise kept_there(at)
        return now

    def _as_described(self, at: TablePlace, staged: Staged[Document]) -> Staged[t.LoadedTable]:
        try:
            described = descriptions.describe_table(at.name, staged.result.metadata, staged.result.location)
        except HeadgateError:
            staged.abandon()
            raise
        return Staged(described, staged.commit, staged.abandon, staged.finish)

    def _discard(self, location: str) -> None:
        # It stays as a file that nothing points to; what made us discard it is what the caller must hear.
        with suppress(HeadgateError):
            self.storage.delete(location)

    def _purge(self, at: TablePlace, document: Document) -> None:
        purge_files(document, self.storage, self.own_folders(document))
        self.claims.release(at.object, self.storage)


def _former(document: Document) -> set[str]:
    """Where the metadata of a table lay before."""
    log = document.metadata.get("metadata-log")
    entries = log if isinstance(log, list) else []
    return {str(entry.get("metadata-file")) for entry in entries if isinstance(entry, dict)}


_NO_WAREHOUSE: Final = "set the property 'warehouse' of the catalog to a folder or an s3:// bucket"
