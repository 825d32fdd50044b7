"""Claims: a table of another system has its places and its uuid to itself, and no column sheds what was said of it."""

import hashlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final

import msgspec

from headgate.catalogs.iceberg.describing.known_columns import columns_digest, known_columns
from headgate.catalogs.iceberg.places import PLACES
from headgate.catalogs.iceberg.storage import Storage
from headgate.catalogs.interface import Document, TablePlace
from headgate.catalogs.locations import GOVERNED, normal
from headgate.catalogs.outside.column_ids import numbered, numbered_columns, numbered_document
from headgate.model import tables as t
from headgate.model.errors import (
    Damaged,
    Forbidden,
    HeadgateError,
    IllegalArgument,
    OutcomeUnknown,
    Unavailable,
)
from headgate.model.objects import ObjectType, clip
from headgate.model.past import Past
from headgate.model.places import overlap, within
from headgate.store import Store, Write, dropped, outside_tables, places

Json = dict[str, Any]

_MOST_KNOWN: Final = 100_000


class OutsideIdentity(msgspec.Struct, frozen=True):
    """What tells a table of another system from all others, and its columns from what they were."""

    uuid: str
    folders: tuple[str, ...]
    columns: bytes
    """A digest."""


def outside_identity(document: Document) -> OutsideIdentity:
    """The identity of an Iceberg table, as its document tells it."""
    known = document.metadata.get("table-uuid")
    if not isinstance(known, str) or not isinstance(document.metadata.get("location"), str):
        raise Damaged("the table's metadata does not say which table it is of and where it lies")
    return OutsideIdentity(known.lower(), outside_folders(document), columns_digest(document.metadata))


def outside_folders(document: Document) -> tuple[str, ...]:
    """Where the files of an Iceberg table of another system may lie.

    The other system answers for its locations, so those that a table names besides its own count as well.
    """
    properties = document.metadata.get("properties", {})
    named = [document.metadata["location"], *(properties[key] for key in PLACES if properties.get(key))]
    return tuple(dict.fromkeys(normal(place).rstrip("/") for place in named))


class Claims:
    """What the tables of one outside catalog have made their own, in the registry that all catalogs share."""

    def __init__(self, store: Store, source: str, warehouse: str | None) -> None:
        self.store = store
        self.source = source
        """Names the other system that vouches for where its tables lie."""
        self.reserved = None if warehouse is None else places.canonical(warehouse)
        """The server's own warehouse, in which no table of another system lies."""
        self._known: dict[int, tuple[OutsideIdentity, Document]] = {}
        """What each table was last found to have made its own, and what was known of it: nothing is asked again while
        both stay the same."""

    def own(self, object: int, document: Document) -> Document:
        """Make sure that what the other system says of an Iceberg table is this table's alone; the document with what is
        known of its columns.

        INVARIANT: asked of every document before anything of it is used, so whatever the other system claims, no table of
        anybody else is read, planned or given through it, and no column sheds what was said of it.
        """
        wanted = outside_identity(document)
        known = self._unchanged(object, wanted)
        if known is not None:
            return msgspec.structs.replace(document, past=known.past)
        try:
            with self.store.joined("headgate", "sight") as tx:
                again = self._remember(tx, object, document)
                back = dropped.return_to(tx, object, wanted.folders, wanted.uuid, self.source)
                self._claim(tx, object, wanted)
                past = outside_tables.past(tx, object)
        except IllegalArgument:
            raise of_others() from None
        self._settle(back, again)
        places.check_uncontested(self.store, object)
        # Without the metadata, which may be large.
        self._keep(object, wanted, Document(None, {}, past))
        return msgspec.structs.replace(document, past=past)

    def own_columns(
        self, object: int, made: str, location: str | None, columns: tuple[t.TableColumn, ...]
    ) -> Document:
        """The same for a table whose system gives its columns no ids: they are given here, and outlive a rename.

        `made` tells a table from one that was made again under its name. The document has the columns alone.
        INVARIANT: decided upon in the transaction that keeps the ids, by what is known then: two servers that see a
        table change at once give its columns the same.
        """
        folders = () if location is None else (normal(location).rstrip("/"),)
        text = msgspec.json.encode((made, columns))
        wanted = OutsideIdentity(made, folders, hashlib.blake2b(text, digest_size=16).digest())
        known = self._unchanged(object, wanted)
        if known is not None:
            return known
        try:
            with self.store.joined("headgate", "sight") as tx:
                back = dropped.return_made(tx, object, folders, made, self.source)
                past = outside_tables.past(tx, object)
                schema, last, uuid = numbered(columns, past, made)
                again = outside_tables.remember(tx, object, uuid, numbered_columns(schema, last), last)
                self._claim(tx, object, msgspec.structs.replace(wanted, uuid=uuid))
                past = outside_tables.past(tx, object)
        except IllegalArgument:
            raise of_others() from None
        self._settle(back, again)
        places.check_uncontested(self.store, object)
        found = Document(None, numbered_document(schema, last), past)
        self._keep(object, wanted, found)
        return found

    def renaming(self, object: int, names: Sequence[tuple[int, int, tuple[str, ...]]]) -> None:
        """Keep the names that columns are about to get in the other system: field, field above it, path.

        INVARIANT: before they get them there, so that no other server sees a new name and takes it for a new column.
        """
        with self.store.joined("headgate", "sight") as tx:
            outside_tables.expect(tx, object, names)

    def claiming(self, at: TablePlace, document: Document) -> Callable[[Write, int], None]:
        """Makes the places of an Iceberg table its own, in the transaction of its change."""

        def claim(tx: Write, object: int) -> None:
            if at.type is not ObjectType.TABLE:
                return
            try:
                self._remember(tx, object, document)
                self._claim(tx, object, outside_identity(document))
            except IllegalArgument:
                if at.object:
                    raise of_others() from None
                raise

        return claim

    def claiming_folder(self, at: TablePlace, location: str | None) -> Callable[[Write, int], None]:
        """The same for a table that is no Iceberg table: its columns get their ids when it is first loaded."""

        def claim(tx: Write, object: int) -> None:
            if at.type is ObjectType.TABLE and location is not None:
                self.check(folders := (normal(location).rstrip("/"),))
                places.claim(tx, object, folders, source=self.source)

        return claim

    def numbering(
        self, made: str, columns: tuple[t.TableColumn, ...], ids: dict[str, int]
    ) -> Callable[[Write, int], None]:
        """Keeps the ids of columns after a change made from here, which is known to the letter."""

        def keep(tx: Write, object: int) -> None:
            past = outside_tables.past(tx, object)
            schema, last, uuid = numbered(columns, past, made, ids)
            outside_tables.remember(tx, object, uuid, numbered_columns(schema, last), last)

        return keep

    def check(self, folders: Sequence[str]) -> None:
        """INVARIANT: whatever another system says, it gives nobody what this server keeps in its own folders."""
        if any(GOVERNED in folder.split("/") for folder in folders):
            raise IllegalArgument(f"no table can lie in a folder called '{GOVERNED}'")
        if self.reserved is not None and any(
            overlap(places.canonical(folder), self.reserved) for folder in folders
        ):
            raise IllegalArgument("no table of another server can lie in this server's own warehouse")

    def check_file(self, object: int, file: str) -> None:
        """Refuse a file that another system names, before it is opened, if it lies in somebody else's place."""
        try:
            self.check((normal(file),))
            with self.store.read() as read:
                places.check_file(read, object, file)
        except IllegalArgument:
            raise of_others() from None

    def owns(self, object: int, folder: str) -> bool:
        """Whether the registry has a folder as the table's own, and nothing of anybody else in it or around it."""
        with self.store.read() as read:
            try:
                places.check(read, object, 0, folder)
            except IllegalArgument:
                return False
            mine = [row.place for row in places.of(read, object) if row.state == places.LIVE]
        return any(within(places.canonical(folder), place) for place in mine)

    def past(self, object: int) -> Past:
        """What is kept of a table."""
        with self.store.read() as read:
            return outside_tables.past(read, object)

    def release(self, object: int, storage: Storage) -> None:
        """Let go of the places of a table that was purged, where no file is left in them."""
        with self.store.read() as read:
            mine = [row.place for row in places.of(read, object)]
        with suppress(HeadgateError):
            gone = [place for place in mine if not storage.holds_files(place)]
            with self.store.write("headgate", "purge") as tx:
                places.release(tx, object, gone)

    # -- inside -------------------------------------------------------------------------------------------------

    def _unchanged(self, object: int, wanted: OutsideIdentity) -> Document | None:
        found = self._known.get(object)
        if found is None or found[0] != wanted:
            return None
        return found[1] if found[1].past.version == outside_tables.version(self.store, object) else None

    def _keep(self, object: int, wanted: OutsideIdentity, document: Document) -> None:
        if len(self._known) > _MOST_KNOWN:
            self._known.clear()
        self._known[object] = (wanted, document)

    def _remember(self, tx: Write, object: int, document: Document) -> bool:
        """Keep what the document tells of the table's columns; whether it is of another table."""
        columns, last = known_columns(document.metadata)
        return outside_tables.remember(tx, object, outside_identity(document).uuid, columns, last)

    def _claim(self, tx: Write, object: int, wanted: OutsideIdentity) -> None:
        self.check(wanted.folders)
        places.claim(tx, object, wanted.folders, uuid=wanted.uuid, source=self.source)

    def _settle(self, back: bool, again: bool) -> None:
        if back or again:
            # Decided upon before its tags and policies were there again.
            raise Unavailable(
                "the table has just come back" if back else "the table was made again", hint="ask again"
            )


def of_others() -> Forbidden:
    return Forbidden(
        "the table lies in a place that belongs to something else",
        hint="the catalog's server says so: ask who keeps it; 'headgate doctor' tells the operator more",
    )


def kept_there(at: TablePlace) -> OutcomeUnknown:
    """A change that the other system keeps, though it could not be taken up here."""
    return OutcomeUnknown(
        f"{at.type} '{clip(at.name)}' was changed in its own system, but not here",
        hint="load it again: what is there is what holds",
    )
