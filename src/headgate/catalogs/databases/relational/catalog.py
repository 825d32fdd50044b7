"""`provider=jdbc-postgresql` and `provider=jdbc-mysql`: the tables of a database, described, made, changed and dropped.

INVARIANT: nothing in a table is read here, and none of them is an Iceberg table: every question for a document is refused.
"""

from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from headgate.catalogs.databases.addresses import POSTGRESQL, DatabaseAddress, mysql_of, postgres_of
from headgate.catalogs.databases.connections import DatabaseConnections
from headgate.catalogs.databases.relational.default_values import default_pieces
from headgate.catalogs.databases.relational.described import (
    DatabaseColumn,
    DatabaseTable,
    changed,
    checked_definition,
)
from headgate.catalogs.databases.relational.mysql import MySQLTables
from headgate.catalogs.databases.relational.postgres import PostgresTables
from headgate.catalogs.databases.relational.system import DatabaseSystem
from headgate.catalogs.interface import Described, Document, Namespace, Staged, TablePlace
from headgate.catalogs.openings import Openings
from headgate.catalogs.outside.broken import BROKEN, broken_table
from headgate.catalogs.outside.claims import Claims, kept_there
from headgate.model import tables as t
from headgate.model.errors import Damaged, HeadgateError, IllegalArgument, NotFound, Unsupported
from headgate.model.objects import SCHEMA_SEPARATOR, ObjectType, clip
from headgate.store import Store, Write

_MOST_CONNECTIONS: Final = 10
"""As many as Gravitino has to one database."""
_ENGINE: Final = "engine"
_ADDRESSES: Final = {"jdbc-postgresql": postgres_of, "jdbc-mysql": mysql_of}


def relational_address(provider: str, properties: dict[str, str], openings: Openings) -> DatabaseAddress:
    """The database of a catalog; refuses properties that make no sense, and a host that is not open."""
    address = _ADDRESSES[provider](properties)
    address.check(openings)
    return address


def relational_catalog(
    provider: str, store: Store, name: str, properties: dict[str, str], openings: Openings
) -> "RelationalCatalog":
    """The catalog, not yet connected."""
    address = relational_address(provider, properties, openings)
    connections = DatabaseConnections(
        address,
        properties.get("jdbc-user", ""),
        properties.get("jdbc-password", ""),
        name,
        openings.largest_document,
        _MOST_CONNECTIONS,
    )
    postgres = address.kind == POSTGRESQL
    system: DatabaseSystem = PostgresTables(connections) if postgres else MySQLTables(connections)
    return RelationalCatalog(system, Claims(store, f"{provider} {address}", None), address.source)


class RelationalCatalog:
    """Tables of a database. Their columns have ids that Headgate keeps."""

    outside = True
    hive = False

    def __init__(self, system: DatabaseSystem, claims: Claims, server: str) -> None:
        self.system = system
        self.claims = claims
        self.server = server
        self.test = system.test
        self.close = system.close

    def own_places(self) -> tuple[str, ...]:
        return ()

    def own_sources(self) -> tuple[str, ...]:
        return (self.server,)

    def kept_folders(self) -> tuple[str, ...]:
        return ()

    # -- schemas ------------------------------------------------------------------------------------------------

    def schemas(self, parent: Namespace) -> list[str]:
        return [] if parent else self.system.schemas()

    def schema_exists(self, name: Namespace) -> bool:
        return len(name) == 1 and self.system.has_schema(name[0])

    def create_schema(self, name: Namespace, comment: str | None, properties: dict[str, str]) -> None:
        if len(name) != 1:
            raise IllegalArgument("schemas of a database hold no schemas", hint="use a name of one level")
        if properties:
            raise _no_properties(next(iter(sorted(properties))))
        self.system.create_schema(name[0], comment)

    def alter_schema(self, name: Namespace, properties: dict[str, str]) -> None:
        if properties:
            raise _no_properties(next(iter(sorted(properties))))

    def drop_schema(self, name: Namespace, *, cascade: bool) -> None:
        self.system.drop_schema(_flat(name), cascade=cascade)

    def tables(self, schema: Namespace) -> list[str]:
        return self.system.tables(_flat(schema))

    def entries(self, schema: Namespace, type: ObjectType) -> list[str]:
        return self.tables(schema) if type is ObjectType.TABLE else []

    # -- tables -------------------------------------------------------------------------------------------------

    def load_table(self, at: TablePlace) -> t.LoadedTable:
        return self.described(at).table

    def described(self, at: TablePlace) -> Described:
        return self._described(at, self._now(at))

    def columns(self, at: TablePlace) -> Document:
        described = self.described(at)
        if described.columns is None:
            raise Damaged("the columns of the table cannot be told")
        return described.columns

    def create_table(self, at: TablePlace, definition: t.TableDefinition) -> Staged[t.LoadedTable]:
        schema = _flat(at.schema)
        checked_definition(definition)
        engine = self._engine(definition.properties)
        # As every database has it, whether or not that was asked for.
        required = {
            path[0]
            for index in definition.indexes
            if index.index_type.lower() == "primary_key"
            for path in index.field_names
        }
        columns = tuple(
            DatabaseColumn(
                msgspec.structs.replace(column, nullable=False) if column.name in required else column
            )
            for column in definition.columns
        )
        made = DatabaseTable(at.name, "", columns, definition.indexes, definition.comment or None, engine)
        self._check_columns(made.shown)
        self.system.create(schema, made)

        def abandon() -> None:
            try:
                self.system.drop(schema, at.name)
            except HeadgateError as error:
                raise kept_there(at) from error

        try:
            # As the database has made it: primary keys, for one, are named and required there.
            now = self.system.load(schema, at.name)
        except HeadgateError:
            abandon()
            raise
        return Staged(t.LoadedTable(self._definition(now), "", {}), abandon=abandon)

    def alter_table(self, at: TablePlace, changes: tuple[t.TableChange, ...]) -> Staged[t.LoadedTable]:
        schema = _flat(at.schema)
        before = self._now(at)
        described = self._described(at, before)
        if described.columns is None:
            raise Damaged("the table is broken", hint=described.table.definition.properties[BROKEN])
        after = changed(before, changes, ordered=self.system.ordered)
        former = {column.name: column.column for column in before.columns}
        self._check_columns([c.column for c in after.columns if _written_anew(former.get(c.was), c.column)])
        to = _new_place(at, changes)
        ids = {
            column.name: described.table.fields[column.was]
            for column in after.columns
            if column.was in described.table.fields
        }
        known = {id: name for name, id in described.table.fields.items()}
        self.claims.renaming(at.object, [(id, 0, (n,)) for n, id in ids.items() if known.get(id) != n])
        self.system.alter(schema, before, after, to)
        place = at if to is None else msgspec.structs.replace(at, schema=(to[0],), name=to[1])

        def abandon() -> None:
            self._take_back(at, place, before, after)

        try:
            now = self.system.load(place.schema[0], place.name)
            kept = {name: id for name, id in ids.items() if name in {c.name for c in now.columns}}
        except HeadgateError:
            abandon()
            raise
        loaded = t.LoadedTable(self._definition(now), "", kept)
        return Staged(loaded, self._numbering(before.made, now.shown, kept), abandon)

    def drop_table(self, at: TablePlace, *, purge: bool) -> Staged[None]:
        if purge:
            raise Unsupported(
                "tables of a database are not purged", hint="drop the table: its rows go with it"
            )
        try:
            self.system.drop(_flat(at.schema), at.name)
        except NotFound:
            # Somebody dropped it there: what is left to forget is the row here.
            if not at.object:
                raise
            return Staged(None)

        def abandon() -> None:
            # Its rows are gone.
            raise kept_there(at)

        return Staged(None, abandon=abandon)

    # -- inside -------------------------------------------------------------------------------------------------

    def _now(self, at: TablePlace) -> DatabaseTable:
        return self.system.load(_flat(at.schema), at.name)

    def _described(self, at: TablePlace, table: DatabaseTable) -> Described:
        definition = self._definition(table)
        if not table.columns:
            return broken_table(at.name, "it has no columns", definition.properties)
        columns = self.claims.own_columns(at.object, table.made, None, table.shown)
        fields = {field["name"]: field["id"] for field in columns.metadata["schemas"][0]["fields"]}
        return Described(t.LoadedTable(definition, "", fields), columns)

    def _definition(self, table: DatabaseTable) -> t.TableDefinition:
        properties = {_ENGINE: table.engine} if self.system.engines and table.engine else {}
        return t.TableDefinition(table.name, table.shown, table.comment, properties, indexes=table.indexes)

    def _engine(self, properties: dict[str, str]) -> str | None:
        for key in sorted(properties):
            if key != _ENGINE or not self.system.engines:
                raise _no_properties(key)
        return properties.get(_ENGINE)

    def _check_columns(self, columns: Sequence[t.TableColumn]) -> None:
        """Refuse what cannot be written before anything is."""
        for column in columns:
            self.system.types.written(column.type)
            default_pieces(column)

    def _numbering(
        self, made: str, columns: tuple[t.TableColumn, ...], ids: dict[str, int]
    ) -> Callable[[Write, int], None]:
        return self.claims.numbering(made, columns, ids)

    def _take_back(
        self, at: TablePlace, place: TablePlace, before: DatabaseTable, after: DatabaseTable
    ) -> None:
        """Make a table what it was, unless that cost it columns: nobody could fill them again."""
        if {column.name for column in before.columns} - {column.was for column in after.columns}:
            raise kept_there(at)
        former = {column.was: column.name for column in after.columns if column.was}
        back = tuple(msgspec.structs.replace(column, was=former[column.name]) for column in before.columns)
        to = None if place == at else (_flat(at.schema), at.name)
        try:
            now = self.system.load(place.schema[0], place.name)
            self.system.alter(place.schema[0], now, msgspec.structs.replace(before, columns=back), to)
        except HeadgateError as error:
            raise kept_there(at) from error


def _written_anew(before: t.TableColumn | None, after: t.TableColumn) -> bool:
    """Whether a change says what a column is, and not only what it is called."""
    if before is None:
        return True
    return (before.type, before.default_value) != (after.type, after.default_value)


def _flat(name: Namespace) -> str:
    if len(name) != 1:
        raise NotFound(
            f"schema '{clip(SCHEMA_SEPARATOR.join(name))}' does not exist", about=ObjectType.SCHEMA
        )
    return name[0]


def _new_place(at: TablePlace, changes: tuple[t.TableChange, ...]) -> tuple[str, str] | None:
    renames = [change for change in changes if isinstance(change, t.RenameTable)]
    if not renames:
        return None
    schema = renames[-1].new_schema_name or _flat(at.schema)
    to = (_flat(tuple(schema.split(SCHEMA_SEPARATOR))), renames[-1].new_name)
    return None if to == (_flat(at.schema), at.name) else to


def _no_properties(key: str) -> IllegalArgument:
    return IllegalArgument(f"the database keeps no property '{clip(key)}'", hint="leave it out")
