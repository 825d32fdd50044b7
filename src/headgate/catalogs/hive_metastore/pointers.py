"""Hive Metastore as a metastore: databases, pointers of Iceberg tables, and Hive tables, under the lock of each table."""

from collections.abc import Iterator
from typing import Any, Final

import msgspec
from pymetastore.hive_metastore import ttypes as hive

from headgate.catalogs.hive.entries import METADATA, parameter
from headgate.catalogs.hive.hive_table import HiveTable, NotIceberg
from headgate.catalogs.hive_metastore.client import MetastoreClient, changed_meanwhile
from headgate.catalogs.hive_metastore.locks import locked
from headgate.catalogs.hive_metastore.shapes import (
    database_properties,
    format_of,
    hive_entry,
    hive_table,
    iceberg_entry,
    is_external,
    parameters_of,
)
from headgate.catalogs.interface import Namespace, TablePlace
from headgate.catalogs.outside import pages
from headgate.catalogs.outside.pointers import Pointer, Swap
from headgate.model.errors import (
    AlreadyExists,
    Conflict,
    Damaged,
    IllegalArgument,
    NotEmpty,
    NotFound,
    Unsupported,
)
from headgate.model.objects import ObjectType, clip

Json = dict[str, Any]

_BATCH: Final = 100
"""Tables that are fetched in one answer."""
_ABLE: Final = hive.ClientCapabilities([hive.ClientCapability.INSERT_ONLY_TABLES])
"""Without this, one table of that kind would fail the list of all."""
_STATISTICS: Final = {"DO_NOT_UPDATE_STATS": "true"}
"""A metastore that made statistics itself would look into folders that are not its own."""


class _Listed(msgspec.Struct, frozen=True):
    """What of a table a list needs."""

    name: str
    format: str
    places: tuple[str, ...]


class HiveMetastore:
    """INVARIANT: a table is changed under its lock, from exactly what was read; where the metastore is able to, it compares
    the pointer once more itself."""

    def __init__(self, client: MetastoreClient, shown: frozenset[str]) -> None:
        self.client = client
        self.shown = shown
        """The formats that this catalog shows; others are not there for it."""

    @property
    def types(self) -> frozenset[ObjectType]:
        return frozenset({ObjectType.TABLE, ObjectType.VIEW} if "view" in self.shown else {ObjectType.TABLE})

    def test(self) -> None:
        try:
            self.client.ask("get_database", ObjectType.CATALOG, "", "default")
        except NotFound:
            """It answered."""

    def close(self) -> None:
        self.client.close()

    # -- databases ----------------------------------------------------------------------------------------------

    def namespaces(self, parent: Namespace) -> list[str]:
        if parent:
            return []
        names = self.client.ask("get_all_databases", ObjectType.CATALOG, "")
        return self._checked_names(names)

    def namespace(self, name: Namespace) -> dict[str, str]:
        return database_properties(self._database(name))

    def create_namespace(self, name: Namespace, properties: dict[str, str]) -> None:
        database = hive.Database(name=_flat(name))
        self._describe(database, properties)
        self.client.ask("create_database", ObjectType.SCHEMA, name[0], database)

    def alter_namespace(self, name: Namespace, properties: dict[str, str]) -> None:
        database = self._database(name)
        self._describe(database, {"comment": database.description or "", **properties})
        self.client.ask("alter_database", ObjectType.SCHEMA, name[0], name[0], database)

    def drop_namespace(self, name: Namespace) -> None:
        self._database(name)
        if self._listed(name):
            raise _not_empty(name)
        try:
            # Neither its files nor what else it holds.
            self.client.ask("drop_database", ObjectType.SCHEMA, name[0], name[0], False, False)
        except IllegalArgument:
            raise _not_empty(name) from None

    def hides(self, name: Namespace) -> bool:
        self._database(name)
        functions = self.client.ask("get_functions", ObjectType.SCHEMA, name[0], name[0], "*")
        return bool(functions) or not all(table.format in self.shown for table in self._listed(name))

    # -- tables -------------------------------------------------------------------------------------------------

    def names(self, namespace: Namespace, type: ObjectType) -> list[str]:
        view = type is ObjectType.VIEW
        self._database(namespace)
        found = (table for table in self._listed(namespace) if table.format in self.shown)
        return [table.name for table in found if (table.format == "view") == view]

    def load(self, at: TablePlace) -> Pointer:
        return self._pointer(self._table(at))

    def create(self, at: TablePlace, location: str, document: Json) -> None:
        self._create(at, iceberg_entry(_flat(at.schema), _small(at.name), location, document))

    def swap(self, swap: Swap) -> None:
        at, expected = swap.at, swap.expected.location
        self._table(at)
        with locked(self.client, at) as still:
            table = self._table(at)
            if self._pointer(table).location != expected:
                raise changed_meanwhile()
            columns = (table.sd or hive.StorageDescriptor()).cols
            entry = iceberg_entry(at.schema[0], at.name, swap.location, swap.document, table)
            compared = {"expected_parameter_key": METADATA, "expected_parameter_value": expected}
            still()
            try:
                self._alter(at, entry, compared)
            except IllegalArgument:
                # Many metastores let a column have no type that files of Hive's own could not follow. Nobody reads an
                # Iceberg table by these columns.
                entry.sd.cols = columns
                self._alter(at, entry, compared)

    def drop(self, at: TablePlace) -> None:
        self._table(at)
        self.client.ask("drop_table", at.type, at.name, at.schema[0], at.name, False)

    def rename(self, at: TablePlace, to: TablePlace) -> None:
        name, database = _small(to.name), _flat(to.schema)
        self._database(to.schema)
        self._table(at)
        with locked(self.client, at) as still:
            table = self._table(at)
            self._pointer(table)
            if not is_external(table):
                raise Unsupported(
                    f"{at.type} '{clip(at.name)}' would be moved by the metastore", hint="make another table"
                )
            if self._exists(database, name):
                raise AlreadyExists(f"{to.type} '{clip(name)}' already exists", about=to.type)
            table.dbName, table.tableName = database, name
            still()
            self._alter(at, table, {})

    def make(self, at: TablePlace, table: HiveTable) -> None:
        self._create(at, hive_entry(_flat(at.schema), msgspec.structs.replace(table, name=_small(at.name))))

    def alter(self, at: TablePlace, before: HiveTable, after: HiveTable) -> None:
        self._table(at)
        with locked(self.client, at) as still:
            table = self._table(at)
            if hive_table(table).version != before.version:
                raise Conflict("the table was changed by somebody else", hint="read it again and retry")
            still()
            self._alter(at, hive_entry(at.schema[0], after, table), {})

    def locations(self) -> Iterator[tuple[Namespace, str, str]]:
        for database in self.namespaces(()):
            for table in self._listed((database,)):
                yield from (((database,), table.name, place) for place in table.places)

    # -- inside -------------------------------------------------------------------------------------------------

    def _database(self, name: Namespace) -> Any:
        missing = NotFound(f"schema '{clip(':'.join(name))}' does not exist", about=ObjectType.SCHEMA)
        if len(name) != 1 or not _plain(name[0]):
            raise missing
        found = self.client.ask("get_database", ObjectType.SCHEMA, name[0], name[0])
        if found.name != name[0]:
            # The metastore finds it under other names too: then it had two here.
            raise missing
        return found

    def _describe(self, database: Any, properties: dict[str, str]) -> None:
        place = properties.get("location")
        if place is not None and place != database.locationUri:
            raise IllegalArgument(
                "property 'location' of a schema cannot be set", hint="the metastore says where it lies"
            )
        database.description = properties.get("comment") or None
        own = ("comment", "location")
        database.parameters = {key: value for key, value in properties.items() if key not in own}

    def _checked_names(self, names: list[Any]) -> list[str]:
        if len(names) > pages.MOST_NAMES:
            raise Damaged(
                f"{self.client.named} lists more than {pages.MOST_NAMES} names in one place",
                hint="spread them over several schemas there",
            )
        if not all(names) or len(set(names)) != len(names):
            raise self.client.damaged("names")
        return list(names)

    def _listed(self, namespace: Namespace) -> list[_Listed]:
        """Everything in a database, whether it is shown or not."""
        database = _flat(namespace)
        all = self.client.ask("get_all_tables", ObjectType.SCHEMA, database, database)
        names = self._checked_names(all)

        def batch(token: str) -> tuple[list[Any], str | None]:
            start = int(token or 0)
            wanted = names[start : start + _BATCH]
            request = hive.GetTablesRequest(dbName=database, tblNames=wanted, capabilities=_ABLE)
            answer = self.client.ask("get_table_objects_by_name_req", ObjectType.SCHEMA, database, request)
            found = [self._short(table) for table in answer.tables or ()]
            if {table.name for table in found} - set(wanted):
                raise self.client.damaged("names")
            more = start + _BATCH
            return found, str(more) if more < len(names) else None

        if not names:
            return []
        largest = self.client.connections.largest
        return pages.every(batch, self.client.named, largest)

    def _short(self, table: Any) -> _Listed:
        stored = table.sd.location if table.sd is not None else None
        places = (stored, parameter(parameters_of(table), METADATA))
        return _Listed(table.tableName or "", format_of(table), tuple(place for place in places if place))

    def _table(self, at: TablePlace) -> Any:
        missing = NotFound(f"{at.type} '{clip(at.name)}' does not exist", about=at.type)
        if len(at.schema) != 1 or not _plain(at.schema[0]) or not _plain(at.name):
            raise missing
        table = self._found(at.schema[0], at.name, at.type)
        if (table.dbName, table.tableName) != (at.schema[0], at.name):
            raise missing
        format = format_of(table)
        if format not in self.shown or (format == "view") != (at.type is ObjectType.VIEW):
            raise missing
        return table

    def _found(self, database: str, name: str, type: ObjectType = ObjectType.TABLE) -> Any:
        request = hive.GetTableRequest(dbName=database, tblName=name, capabilities=_ABLE)
        table = self.client.ask("get_table_req", type, name, request).table
        if table is None:
            raise self.client.damaged("no table")
        return table

    def _exists(self, database: str, name: str) -> bool:
        try:
            self._found(database, name)
        except NotFound:
            return False
        return True

    def _pointer(self, table: Any) -> Pointer:
        if format_of(table) != "iceberg":
            raise NotIceberg(hive_table(table))
        location = parameter(parameters_of(table), METADATA)
        if not location:
            raise Damaged(f"table '{clip(table.tableName)}' has no metadata location in its metastore")
        return Pointer(location)

    def _create(self, at: TablePlace, entry: Any) -> None:
        self._database(at.schema)
        self.client.ask("create_table", at.type, at.name, entry)

    def _alter(self, at: TablePlace, entry: Any, compared: dict[str, str]) -> None:
        context = hive.EnvironmentContext({**_STATISTICS, **compared})
        self.client.ask(
            "alter_table_with_environment_context", at.type, at.name, at.schema[0], at.name, entry, context
        )


def _plain(name: str) -> bool:
    """Whether a name is one in the metastore too, in its only spelling: others it folds, trims or takes for a pattern of
    another catalog of the same metastore."""
    return name == name.lower().strip() and name != "" and "@" not in name and "#" not in name


def _flat(name: Namespace) -> str:
    if len(name) != 1:
        raise IllegalArgument("a Hive Metastore has no schemas in schemas", hint="use one level")
    return _small(name[0])


def _small(name: str) -> str:
    """INVARIANT: a name here is the name there."""
    if name != name.lower():
        raise IllegalArgument(
            f"'{clip(name)}' has capital letters, which a Hive Metastore folds",
            hint=f"use '{clip(name.lower())}'",
        )
    if not _plain(name):
        raise IllegalArgument(
            f"'{clip(name)}' is no name in a Hive Metastore", hint="use letters, digits and underscores"
        )
    return name


def _not_empty(name: Namespace) -> NotEmpty:
    return NotEmpty(f"schema '{clip(name[0])}' is not empty", about=ObjectType.SCHEMA)
