"""The columns of tables, now and before, as policies need them: from a table's Iceberg document, kept while it stands."""

import hashlib
import time
from typing import Any, Final

import orjson

from headgate.catalogs.iceberg.describing.known_columns import HIGHEST
from headgate.catalogs.interface import Document, OutsideTables, TablePlace, holds_documents, keeps_tables
from headgate.decide import Authority, Node
from headgate.decide.policies.shape import Shape
from headgate.model.errors import HeadgateError
from headgate.model.objects import ObjectType
from headgate.model.past import Past
from headgate.model.schema import Schema, SchemaError
from headgate.steward.kernel import NotSeenYet
from headgate.steward.metadata.catalogs import Catalogs

Json = dict[str, Any]

_MOST: Final = 50_000
_PATIENCE: Final = 5.0
"""Seconds for which a table that could not be looked at is not looked at again for the sake of a change."""


class Shapes:
    def __init__(self, catalogs: Catalogs) -> None:
        self.catalogs = catalogs
        self._known: dict[tuple[bytes, Past], Shape] = {}
        self._at: dict[tuple[int, str], Shape] = {}
        self._seen: dict[int, Shape] = {}
        """What tables of other systems looked like when this process last asked."""
        self._unseen: dict[int, float] = {}
        """Those that could not be looked at, and when that was tried."""

    def of(self, authority: Authority, table: Node, location: str | None = None) -> Shape | None:
        """The columns of a table as its catalog has it now; None if that cannot be told.

        `location` is where its document lies, if that is known already. Takes no permit: what is told goes into
        decisions, never to a client.
        """
        # INVARIANT: of tables that are kept here only: another server may say that any document lies there.
        if location is not None and (table.id, location) in self._at:
            return self._at[table.id, location]
        catalog = catalog_of(authority, table)
        try:
            adapter = self.catalogs.opened(catalog)
        except HeadgateError:
            return None
        if keeps_tables(adapter):
            return self._of_outside(authority, table, catalog, adapter)
        try:
            if holds_documents(adapter):
                document = adapter.document(place(authority, table))
            else:
                return None
        except HeadgateError:
            return None
        shape = self.read(document)
        if shape is not None and document.location is not None and not adapter.outside:
            self._keep(self._at, (table.id, document.location), shape)
        return shape

    def see(self, authority: Authority, catalog: int) -> None:
        """Look at the tables of a catalog that another system keeps, as far as nobody has yet."""
        for table in tables_below(authority, authority.objects[catalog]):
            if not self._known_enough(table.id):
                self.of(authority, table)

    def _of_outside(
        self, authority: Authority, table: Node, catalog: Node, adapter: OutsideTables
    ) -> Shape | None:
        """The columns of a table in another system; inside a change, those that it had when it was last asked."""
        if self.catalogs.kernel.store.changing:
            if not self._known_enough(table.id):
                raise NotSeenYet(catalog.id)
            return self._seen.get(table.id)
        try:
            shape = self.read(adapter.columns(place(authority, table)))
        except HeadgateError:
            shape = None
        if shape is None:
            self._keep(self._unseen, table.id, time.monotonic())
        else:
            self._keep(self._seen, table.id, shape)
        return shape

    def _known_enough(self, table: int) -> bool:
        """Whether a table was looked at, or could not be a moment ago."""
        return table in self._seen or time.monotonic() - self._unseen.get(table, -_PATIENCE) < _PATIENCE

    def kept_here(self, authority: Authority, node: Node) -> bool:
        """Whether the documents of an object's tables are kept in this store; of a metalake, some may be."""
        if node.type is ObjectType.METALAKE:
            return True
        try:
            return not self.catalogs.opened(catalog_of(authority, node)).outside
        except HeadgateError:
            return True

    def read(self, document: Document) -> Shape | None:
        """The columns of a table by its Iceberg document; None if this version cannot read them."""
        metadata, past = document.metadata, document.past
        try:
            schemas = metadata.get("schemas") or [metadata["schema"]]
            current = metadata.get("current-schema-id", schemas[0].get("schema-id", 0))
            last = metadata["last-column-id"]
            if not isinstance(last, int) or not 0 <= last <= HIGHEST:
                return None
            # INVARIANT: by all that is read, never by ids alone, which whoever makes a table can choose.
            key = hashlib.blake2b(orjson.dumps((current, last, schemas)), digest_size=32).digest(), past
            known = self._known.get(key)
            if known is not None:
                return known
            read = [Schema.from_json(schema) for schema in schemas]
            now = next(schema for schema in read if schema.schema_id == current)
        except (KeyError, IndexError, StopIteration, TypeError, AttributeError, SchemaError):
            return None
        if any(located.field.id < 1 for schema in read for located in schema.walk()):
            # No column has such an id: below zero are those of tables that are no more.
            return None
        shape = Shape.of(now, read, last, past)
        self._keep(self._known, key, shape)
        return shape

    def _keep(self, kept: dict[Any, Any], key: Any, value: object) -> None:
        if len(kept) > _MOST:
            kept.clear()
        kept[key] = value


def catalog_of(authority: Authority, table: Node) -> Node:
    """The catalog that a table lies in."""
    levels = (authority.objects[id] for id, _ in table.chain)
    return next(level for level in levels if level.type is ObjectType.CATALOG)


def place(authority: Authority, table: Node) -> TablePlace:
    """Where a table is, by names."""
    levels = [authority.objects[id] for id, _ in table.chain]
    schema = tuple(level.name for level in levels if level.type is ObjectType.SCHEMA)
    return TablePlace(schema, table.name, table.id)


def name_of(authority: Authority, table: Node) -> str:
    """The name of a table below its metalake."""
    return ".".join(authority.objects[id].name for id, _ in table.chain[1:])


def tables_below(authority: Authority, node: Node) -> list[Node]:
    """Every table in an object, or the table itself, by id."""
    if node.type is ObjectType.TABLE:
        return [node]
    found: list[Node] = []
    waiting = [node.id]
    while waiting:
        id = waiting.pop()
        found += authority.children_of(id, ObjectType.TABLE)
        for type in (ObjectType.CATALOG, ObjectType.SCHEMA):
            waiting += [below.id for below in authority.children_of(id, type)]
    return sorted(found, key=lambda table: table.id)
