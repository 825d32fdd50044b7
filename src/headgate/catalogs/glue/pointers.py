"""AWS Glue as a metastore: databases, pointers of Iceberg tables, and Hive tables, under the version of each table."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from headgate.catalogs.glue.client import GlueClient
from headgate.catalogs.glue.shapes import (
    format_of,
    hive_input,
    hive_table,
    iceberg_input,
    input_of,
    is_parquet,
)
from headgate.catalogs.hive.entries import METADATA, parameter
from headgate.catalogs.hive.hive_table import HiveTable, NotIceberg
from headgate.catalogs.interface import Namespace, TablePlace
from headgate.catalogs.outside.pointers import Pointer, Swap
from headgate.model.errors import Conflict, Damaged, HeadgateError, IllegalArgument, NotEmpty, NotFound
from headgate.model.objects import ObjectType, clip

Json = dict[str, Any]


class GluePointers:
    """INVARIANT: a table is changed only from the version that was read; Glue refuses any other."""

    def __init__(self, client: GlueClient, shown: frozenset[str]) -> None:
        self.client = client
        self.shown = shown
        """The formats that this catalog shows; others are not there for it. `parquet` is a Hive table of such files."""

    @property
    def types(self) -> frozenset[ObjectType]:
        return frozenset({ObjectType.TABLE, ObjectType.VIEW} if "view" in self.shown else {ObjectType.TABLE})

    def test(self) -> None:
        self.client.ask("get_databases", ObjectType.CATALOG, "", MaxResults=1)

    def close(self) -> None:
        self.client.close()

    # -- databases ----------------------------------------------------------------------------------------------

    def namespaces(self, parent: Namespace) -> list[str]:
        if parent:
            return []
        found = self.client.every("get_databases", "DatabaseList", ObjectType.CATALOG, "")
        return [self.client.named(database)["Name"] for database in found]

    def namespace(self, name: Namespace) -> dict[str, str]:
        database = self._database(name)
        found = dict(database.get("Parameters") or {})
        if database.get("Description"):
            found["comment"] = database["Description"]
        if database.get("LocationUri"):
            found["location"] = database["LocationUri"]
        return found

    def create_namespace(self, name: Namespace, properties: dict[str, str]) -> None:
        given = _database_input(_flat(name), properties)
        self.client.ask("create_database", ObjectType.SCHEMA, name[0], DatabaseInput=given)

    def alter_namespace(self, name: Namespace, properties: dict[str, str]) -> None:
        before = self._database(name)
        given = _database_input(before["Name"], {"comment": before.get("Description") or "", **properties})
        if before.get("LocationUri"):
            # Where it lies is not for who changes properties.
            given["LocationUri"] = before["LocationUri"]
        self.client.ask(
            "update_database", ObjectType.SCHEMA, name[0], Name=before["Name"], DatabaseInput=given
        )

    def drop_namespace(self, name: Namespace) -> None:
        # Glue itself drops a database with all that it holds, also what this catalog does not show.
        if self._tables(name):
            raise NotEmpty(f"schema '{clip(name[0])}' is not empty", about=ObjectType.SCHEMA)
        self.client.ask("delete_database", ObjectType.SCHEMA, name[0], Name=_flat(name))

    def hides(self, name: Namespace) -> bool:
        return not all(map(self._shows, self._tables(name)))

    # -- tables -------------------------------------------------------------------------------------------------

    def names(self, namespace: Namespace, type: ObjectType) -> list[str]:
        view = type is ObjectType.VIEW
        found = (table for table in self._tables(namespace) if self._shows(table))
        return [table["Name"] for table in found if (format_of(table) == "view") == view]

    def load(self, at: TablePlace) -> Pointer:
        table = self._table(at)
        if format_of(table) != "iceberg":
            raise NotIceberg(hive_table(table))
        location = parameter(table.get("Parameters") or {}, METADATA)
        if not location:
            raise Damaged(f"table '{clip(at.name)}' has no metadata location in AWS Glue")
        return Pointer(location, str(table.get("VersionId") or ""))

    def create(self, at: TablePlace, location: str, document: Json) -> None:
        self._create(at, iceberg_input(_small(at.name), location, document))

    def swap(self, swap: Swap) -> None:
        table = self._table(swap.at)
        now = parameter(table.get("Parameters") or {}, METADATA)
        version = str(table.get("VersionId") or "")
        if (now, version) != (swap.expected.location, swap.expected.version):
            raise Conflict(
                "the table was changed by somebody else", hint="refresh it and commit again", about="commit"
            )
        self._update(swap.at, iceberg_input(table["Name"], swap.location, swap.document, table), version)

    def drop(self, at: TablePlace) -> None:
        self._table(at)
        self.client.ask("delete_table", at.type, at.name, DatabaseName=_flat(at.schema), Name=_small(at.name))

    def rename(self, at: TablePlace, to: TablePlace) -> None:
        """Glue knows no other way than to make it anew and to drop the former."""
        table = self._table(at)
        if format_of(table) != "iceberg":
            raise NotIceberg(hive_table(table))
        self._create(to, {**input_of(table), "Name": _small(to.name)})
        try:
            self.drop(at)
        except HeadgateError:
            with suppress(HeadgateError):
                self.drop(to)
            raise

    def make(self, at: TablePlace, table: HiveTable) -> None:
        self._create(at, {**hive_input(table), "Name": _small(at.name)})

    def alter(self, at: TablePlace, before: HiveTable, after: HiveTable) -> None:
        table = self._table(at)
        if str(table.get("VersionId") or "") != before.version:
            raise Conflict("the table was changed by somebody else", hint="read it again and retry")
        self._update(at, hive_input(after, table), before.version)

    def locations(self) -> Iterator[tuple[Namespace, str, str]]:
        for database in self.namespaces(()):
            for table in self._tables((database,)):
                stored = (table.get("StorageDescriptor") or {}).get("Location")
                metadata = parameter(table.get("Parameters") or {}, METADATA)
                yield from (((database,), str(table["Name"]), place) for place in (stored, metadata) if place)

    # -- inside -------------------------------------------------------------------------------------------------

    def _shows(self, table: Json) -> bool:
        format = format_of(table)
        return format in self.shown or (format == "hive" and "parquet" in self.shown and is_parquet(table))

    def _database(self, name: Namespace) -> Json:
        if len(name) != 1 or name[0] != name[0].lower():
            raise NotFound(f"schema '{clip(':'.join(name))}' does not exist", about=ObjectType.SCHEMA)
        answer = self.client.ask("get_database", ObjectType.SCHEMA, name[0], Name=name[0])
        return self.client.named(answer.get("Database"))

    def _tables(self, namespace: Namespace) -> list[Json]:
        found = self.client.every(
            "get_tables", "TableList", ObjectType.SCHEMA, ":".join(namespace), DatabaseName=_flat(namespace)
        )
        return [self.client.named(table) for table in found]

    def _table(self, at: TablePlace) -> Json:
        missing = NotFound(f"{at.type} '{clip(at.name)}' does not exist", about=at.type)
        if len(at.schema) != 1 or at.name != at.name.lower():
            # Glue would find it in other letters: then it had two names here.
            raise missing
        answer = self.client.ask("get_table", at.type, at.name, DatabaseName=at.schema[0], Name=at.name)
        table = self.client.named(answer.get("Table"))
        if not self._shows(table) or (format_of(table) == "view") != (at.type is ObjectType.VIEW):
            raise missing
        return table

    def _create(self, at: TablePlace, given: Json) -> None:
        self.client.ask("create_table", at.type, at.name, DatabaseName=_flat(at.schema), TableInput=given)

    def _update(self, at: TablePlace, given: Json, version: str) -> None:
        known = {"VersionId": version} if version else {}
        self.client.ask(
            "update_table",
            at.type,
            at.name,
            DatabaseName=_flat(at.schema),
            TableInput=given,
            SkipArchive=True,
            **known,
        )


def _flat(name: Namespace) -> str:
    if len(name) != 1:
        raise IllegalArgument("AWS Glue has no schemas in schemas", hint="use one level")
    return _small(name[0])


def _small(name: str) -> str:
    """INVARIANT: a name here is the name there: Glue folds letters, so only small ones are given to it."""
    if name != name.lower():
        raise IllegalArgument(
            f"'{clip(name)}' has capital letters, which AWS Glue folds", hint=f"use '{clip(name.lower())}'"
        )
    return name


def _database_input(name: str, properties: dict[str, str]) -> Json:
    comment = properties.get("comment")
    return {
        "Name": name,
        **({"Description": comment} if comment else {}),
        "Parameters": {k: v for k, v in properties.items() if k not in ("comment", "location")},
    }
