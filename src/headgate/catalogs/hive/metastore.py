"""A catalog over a metastore that holds Hive tables, beside Iceberg tables or alone.

Iceberg tables are those of `PointerCatalog`. Hive tables are described, made, changed and dropped here; their columns have
ids that Headgate keeps. INVARIANT: nothing of a Hive table is read as an Iceberg table: every question for its document is
refused.
"""

import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any, Final, Protocol

import msgspec

from headgate.catalogs.hive.describing import broken_reason, changed, columns_of, describe, made
from headgate.catalogs.hive.hive_table import HiveTable, NotIceberg
from headgate.catalogs.interface import Described, Document, Namespace, Staged, TablePlace
from headgate.catalogs.locations import inside, normal, segment
from headgate.catalogs.openings import OPEN_PLACES
from headgate.catalogs.outside.broken import BROKEN, broken_table
from headgate.catalogs.outside.pointer_catalog import PointerCatalog
from headgate.catalogs.outside.pointers import PointerSystem
from headgate.model import tables as t
from headgate.model.errors import Damaged, HeadgateError, IllegalArgument, NotFound, Unsupported
from headgate.model.objects import clip
from headgate.model.places import overlap
from headgate.store import places

Json = dict[str, Any]

HIVE: Final = "hive"
ICEBERG: Final = "iceberg"
_FORMAT: Final = "provider"
"""The property of a new table that says its format; as Gravitino tells it of every table."""


class Metastore(PointerSystem, Protocol):
    """A system of pointers that keeps Hive tables too. `load` raises `NotIceberg` for one of these."""

    def make(self, at: TablePlace, table: HiveTable) -> None:
        """Make a Hive table; AlreadyExists."""

    def alter(self, at: TablePlace, before: HiveTable, after: HiveTable) -> None:
        """Change a Hive table, if it still is what it was."""

    def locations(self) -> Iterator[tuple[Namespace, str, str]]:
        """Where the tables of the whole metastore lie, of every format: namespace, name, place."""


class MetastoreCatalog:
    """Hive tables, and Iceberg tables as far as the catalog shows them."""

    outside = True
    hive = True

    def __init__(
        self, metastore: Metastore, iceberg: PointerCatalog, formats: frozenset[str], default: str
    ) -> None:
        self.metastore = metastore
        self.iceberg = iceberg
        self.formats = formats
        """What is shown of the metastore: nothing else is made here either."""
        self.default = default
        """The format of a new table that names none."""
        self.claims = iceberg.claims
        self.properties = iceberg.properties
        self.storage = iceberg.storage
        self.source = iceberg.source
        # What concerns schemas and documents is no other than for Iceberg tables alone.
        self.test = iceberg.test
        self.close = iceberg.close
        self.own_places = iceberg.own_places
        self.own_sources = iceberg.own_sources
        self.kept_folders = iceberg.kept_folders
        self.schemas = iceberg.schemas
        self.schema_exists = iceberg.schema_exists
        self.create_schema = iceberg.create_schema
        self.alter_schema = iceberg.alter_schema
        self.drop_schema = iceberg.drop_schema
        self.tables = iceberg.tables
        self.entries = iceberg.entries

    # -- descriptions -------------------------------------------------------------------------------------------

    def load_table(self, at: TablePlace) -> t.LoadedTable:
        return self.described(at).table

    def described(self, at: TablePlace) -> Described:
        try:
            return self.iceberg.described(at)
        except NotIceberg as found:
            return self._described(at, found.table)

    def columns(self, at: TablePlace) -> Document:
        try:
            return self.iceberg.columns(at)
        except NotIceberg as found:
            described = self._described(at, found.table)
            if described.columns is None:
                raise Damaged("the columns of the table cannot be told") from None
            return described.columns

    def create_table(self, at: TablePlace, definition: t.TableDefinition) -> Staged[t.LoadedTable]:
        wanted = definition.properties.get(_FORMAT, self.default).lower()
        self._check_format(wanted)
        if wanted == ICEBERG:
            rest = {key: value for key, value in definition.properties.items() if key != _FORMAT}
            return self.iceberg.create_table(at, msgspec.structs.replace(definition, properties=rest))
        table = made(definition, self._location(at, definition.properties.get("location")))
        self.metastore.make(at, table)

        def abandon() -> None:
            with suppress(HeadgateError):
                self.metastore.drop(at)

        loaded = t.LoadedTable(describe(table), table.location or "", {})
        return Staged(loaded, self.claims.claiming_folder(at, table.location), abandon)

    def alter_table(self, at: TablePlace, changes: tuple[t.TableChange, ...]) -> Staged[t.LoadedTable]:
        before = self._hive(at)
        if before is None:
            return self.iceberg.alter_table(at, changes)
        if any(isinstance(change, t.RenameTable) for change in changes):
            raise Unsupported("Hive tables of this catalog cannot be renamed", hint="make another table")
        now = self._described(at, before)
        if now.columns is None:
            raise Damaged("the table is broken", hint=now.table.definition.properties[BROKEN])
        after, ids = changed(before, now.table.fields, changes)
        known = {id: name for name, id in now.table.fields.items()}
        self.claims.renaming(at.object, [(id, 0, (n,)) for n, id in ids.items() if known.get(id) != n])
        self.metastore.alter(at, before, after)

        def abandon() -> None:
            with suppress(HeadgateError):
                self.metastore.alter(at, self._hive(at) or after, before)

        loaded = t.LoadedTable(describe(after), after.location or "", ids)
        return Staged(loaded, self.claims.numbering(before.made, columns_of(after), ids), abandon)

    def drop_table(self, at: TablePlace, *, purge: bool) -> Staged[None]:
        try:
            table = self._hive(at)
        except NotFound:
            # Somebody dropped it there: what is left to forget is the row here.
            if not at.object:
                raise
            return Staged(None)
        if table is None:
            return self.iceberg.drop_table(at, purge=purge)
        if purge:
            self._check_own_folder(at, table)
        self.metastore.drop(at)

        def abandon() -> None:
            with suppress(HeadgateError):
                self.metastore.make(at, table)

        if not purge:
            return Staged(None, abandon=abandon)

        def finish() -> None:
            self.storage.delete_folder(normal(table.location or ""))
            self.claims.release(at.object, self.storage)

        return Staged(None, places.purge, abandon, finish)

    # -- documents, of Iceberg tables only ----------------------------------------------------------------------

    def document(self, at: TablePlace) -> Document:
        return self.iceberg.document(at)

    def document_at(self, at: TablePlace, location: str) -> Document:
        return self.iceberg.document_at(at, location)

    def governed_folder(self, document: Document, object: int) -> str:
        return self.iceberg.governed_folder(document, object)

    def schema_folder(self, schema: Namespace) -> None:
        """Others make tables wherever they like, so only the catalog's owner chooses a place."""

    def own_folders(self, document: Document) -> tuple[str, ...]:
        return self.iceberg.own_folders(document)

    def given_folders(self, document: Document) -> tuple[str, ...]:
        return self.iceberg.given_folders(document)

    def new_document(self, at: TablePlace, definition: Json) -> Document:
        self._check_format(ICEBERG)
        return self.iceberg.new_document(at, definition)

    def create_document(self, at: TablePlace, definition: Json) -> Staged[Document]:
        self._check_format(ICEBERG)
        return self.iceberg.create_document(at, definition)

    def register_document(self, at: TablePlace, location: str, check: Callable[[], None]) -> Staged[Document]:
        self._check_format(ICEBERG)
        return self.iceberg.register_document(at, location, check)

    def commit_document(
        self, at: TablePlace, requirements: Sequence[Json], updates: Sequence[Json]
    ) -> Staged[Document]:
        if not at.object:
            self._check_format(ICEBERG)
        return self.iceberg.commit_document(at, requirements, updates)

    def commit_together(
        self, changes: Sequence[tuple[TablePlace, Sequence[Json], Sequence[Json]]]
    ) -> list[Staged[Document]]:
        return self.iceberg.commit_together(changes)

    def rename(self, at: TablePlace, to: TablePlace) -> None:
        self.iceberg.rename(at, to)

    def drop_view(self, at: TablePlace) -> None:
        self.iceberg.drop_view(at)

    # -- inside -------------------------------------------------------------------------------------------------

    def _check_format(self, format: str) -> None:
        """Refuse to make what the catalog would not show."""
        possible = sorted(self.formats & {HIVE, ICEBERG})
        if format not in possible:
            raise IllegalArgument(
                f"this catalog holds no new tables of format '{clip(format)}'",
                hint=f"'{_FORMAT}' may be {' or '.join(possible) or 'none'}",
            )

    def _hive(self, at: TablePlace) -> HiveTable | None:
        """The Hive table of a name; None if an Iceberg table has it."""
        try:
            self.metastore.load(at)
        except NotIceberg as found:
            return found.table
        return None

    def _described(self, at: TablePlace, table: HiveTable) -> Described:
        definition = describe(table)
        reason = broken_reason(table)
        if reason is None:
            try:
                places.canonical(table.location or "")
            except IllegalArgument:
                reason = "its location cannot be used"
        if reason is not None:
            return broken_table(at.name, reason, definition.properties, definition.columns)
        location = normal(table.location or "")
        columns = self.claims.own_columns(at.object, table.made, location, definition.columns)
        if not self.storage.openings.holds(location):
            why = f"its files lie outside the places that the operator opened: {OPEN_PLACES}"
            definition = msgspec.structs.replace(
                definition, properties={**definition.properties, BROKEN: why}
            )
        fields = {field["name"]: field["id"] for field in columns.metadata["schemas"][0]["fields"]}
        named = msgspec.structs.replace(definition, name=at.name)
        return Described(t.LoadedTable(named, location, fields), columns)

    def _location(self, at: TablePlace, chosen: str | None) -> str:
        """Where a new Hive table lies: in a folder of its own, or where the catalog's owner says."""
        allowed = self.iceberg.allowed
        if chosen is None:
            if self.iceberg.warehouse is None:
                raise IllegalArgument(
                    "the catalog has no warehouse", hint="set its property 'warehouse', or choose a location"
                )
            own = f"{segment(at.name)}-{uuid.uuid4().hex}"
            chosen = "/".join((self.iceberg.warehouse, *map(segment, at.schema), own))
        place = normal(chosen).rstrip("/")
        if not any(inside(place, folder) and place != folder for folder in allowed):
            raise IllegalArgument(
                "the table's location is not inside this catalog",
                hint=f"use a place under {' or '.join(allowed) or 'the warehouse, which it has none of'}",
            )
        self.claims.check((place,))
        return chosen.rstrip("/")

    def _check_own_folder(self, at: TablePlace, table: HiveTable) -> None:
        """Refuse to purge a table whose folder is not its own.

        INVARIANT: asked before anything is dropped. The folder was made for this table, the registry has it as the
        table's own, and no other table of the metastore lies in it or around it, whether this catalog shows that or not.
        """
        why = "does not lie in a folder that was made for it"
        if self._made_here(table):
            # One that nobody has loaded yet claims its place now, or is refused it.
            self._described(at, table)
            folder = normal(table.location or "").rstrip("/")
            own = self.claims.owns(at.object, folder) and self.storage.openings.holds(folder)
            if own and not self._shares(at, folder):
                return
            why = "shares its folder with something else"
        raise IllegalArgument(
            f"table '{clip(at.name)}' {why}",
            hint="drop it without purge, and delete its files where they are",
        )

    def _shares(self, at: TablePlace, folder: str) -> bool:
        """Whether another table of the metastore lies in a folder or around it."""
        own = _place(folder)
        return any(
            overlap(_place(location), own)
            for schema, name, location in self.metastore.locations()
            if (schema, name) != (at.schema, at.name)
        )

    def _made_here(self, table: HiveTable) -> bool:
        """INVARIANT: purging deletes the one folder that was made for this very table, and nothing else."""
        place, warehouse = normal(table.location or ""), self.iceberg.warehouse
        name, _, id = place.rpartition("/")[2].rpartition("-")
        plain = len(id) == 32 and all(letter in "0123456789abcdef" for letter in id)
        own = warehouse is not None and inside(place, warehouse) and bool(name) and plain
        return own and table.table_type.upper() == "MANAGED_TABLE"


def _place(location: str) -> str:
    """One spelling of a place, also of one that no table here could have."""
    try:
        return places.canonical(location)
    except IllegalArgument:
        return normal(location).rstrip("/")
