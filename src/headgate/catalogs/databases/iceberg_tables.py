"""Iceberg's own tables in a database, as Java's JdbcCatalog and pyiceberg's SqlCatalog lay them out: a row is a pointer.

Version 0 of the layout knows tables only; version 1 has a column that tells views from them.
"""

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import (
    Column,
    Connection,
    MetaData,
    Select,
    String,
    Table,
    and_,
    delete,
    func,
    insert,
    inspect,
    or_,
    select,
    text,
    update,
)
from sqlalchemy.exc import IntegrityError, OperationalError, ProgrammingError

from headgate.catalogs.databases.connections import DatabaseConnections
from headgate.catalogs.interface import Namespace, TablePlace
from headgate.catalogs.outside.pointers import Pointer, Swap
from headgate.model.errors import AlreadyExists, Conflict, Damaged, IllegalArgument, NotEmpty, NotFound
from headgate.model.objects import ObjectType, clip

Json = dict[str, Any]

_LONGEST: Final = 1_000
_MOST_NAMES: Final = 100_000
"""What one list may hold: each gets a row here."""
_MOST_LETTERS: Final = 64 * 1024 * 1024
"""How long the names of one list may be, all together."""
_EXISTS: Final = "exists"
"""The property of a namespace that has no other."""
_WORDS: Final = {ObjectType.TABLE: "TABLE", ObjectType.VIEW: "VIEW"}

_metadata: Final = MetaData()


def _key(name: str) -> Column[str]:
    return Column(name, String(255), nullable=False, primary_key=True)


TABLES: Final = Table(
    "iceberg_tables",
    _metadata,
    _key("catalog_name"),
    _key("table_namespace"),
    _key("table_name"),
    Column("metadata_location", String(_LONGEST)),
    Column("previous_metadata_location", String(_LONGEST)),
    Column("iceberg_type", String(5)),
)
PROPERTIES: Final = Table(
    "iceberg_namespace_properties",
    _metadata,
    _key("catalog_name"),
    _key("namespace"),
    _key("property_key"),
    Column("property_value", String(_LONGEST)),
)
_t: Final = TABLES.c
_p: Final = PROPERTIES.c


class JdbcPointers:
    """The pointers of one catalog in a database that several may share.

    INVARIANT: a pointer is swapped by one statement that names where it was, so no other writer's commit is lost.
    """

    def __init__(
        self, connections: DatabaseConnections, catalog: str, *, initialize: bool, version: int | None
    ) -> None:
        self.connections = connections
        self.catalog = catalog
        self.initialize = initialize
        self.wanted_version = version
        self._version: int | None = None

    @property
    def types(self) -> frozenset[ObjectType]:
        views = self._version == 1 or (self._version is None and self.wanted_version != 0)
        return frozenset({ObjectType.TABLE, ObjectType.VIEW} if views else {ObjectType.TABLE})

    def test(self) -> None:
        with self.connections.transaction() as tx:
            self._laid_out(tx)

    def close(self) -> None:
        self.connections.close()

    # -- namespaces ---------------------------------------------------------------------------------------------

    def namespaces(self, parent: Namespace) -> list[str]:
        with self.connections.transaction() as tx:
            if not self._laid_out(tx):
                return []
            if parent and not self._exists(tx, parent):
                raise _no_namespace(parent)
            every = _texts(tx, select(_t.table_namespace).where(_t.catalog_name == self.catalog).distinct())
            named = _texts(tx, select(_p.namespace).where(_p.catalog_name == self.catalog).distinct())
            depth = len(parent)
            levels = (tuple(name.split(".")) for name in {*every, *named})
            found = {n[depth] for n in levels if len(n) > depth and n[:depth] == parent and n[depth]}
        # Not every database keeps to the limits that it is asked for.
        if len(found) > _MOST_NAMES:
            raise Damaged(f"the database holds more than {_MOST_NAMES} schemas in one place")
        return sorted(found)

    def namespace(self, name: Namespace) -> dict[str, str]:
        with self.connections.transaction() as tx:
            if not self._laid_out(tx) or not self._exists(tx, name):
                raise _no_namespace(name)
            found = self._properties(tx, name)
            found.pop(_EXISTS, None)
            return found

    def create_namespace(self, name: Namespace, properties: dict[str, str]) -> None:
        if not _is_plain(name):
            raise IllegalArgument(
                "the name of a schema in this catalog cannot hold a dot or be empty",
                hint="dots separate its levels there",
            )
        with self.connections.transaction(writes=True) as tx:
            self._lay_out(tx)
            if self._exists(tx, name):
                raise AlreadyExists(
                    f"schema '{clip(':'.join(name))}' already exists", about=ObjectType.SCHEMA
                )
            self._put(tx, name, {_EXISTS: "true", **properties})

    def alter_namespace(self, name: Namespace, properties: dict[str, str]) -> None:
        with self.connections.transaction(writes=True) as tx:
            if not self._laid_out(tx) or not self._exists(tx, name):
                raise _no_namespace(name)
            before = self._properties(tx, name)
            after = {**properties, _EXISTS: before.get(_EXISTS, "true")}
            tx.execute(delete(PROPERTIES).where(self._of(name)))
            # Where it lies is not for who changes properties.
            self._put(tx, name, {**after, **{k: v for k, v in before.items() if k == "location"}})

    def drop_namespace(self, name: Namespace) -> None:
        with self.connections.transaction(writes=True) as tx:
            if not self._laid_out(tx) or not self._exists(tx, name):
                raise _no_namespace(name)
            dotted = _dotted(name)
            at_or_below = or_(_same(_t.table_namespace, dotted), _below(_t.table_namespace, dotted))
            held = (
                select(_t.table_name).where(_t.catalog_name == self.catalog, at_or_below),
                select(_p.namespace).where(_p.catalog_name == self.catalog, _below(_p.namespace, dotted)),
            )
            if any(tx.execute(query.limit(1)).first() is not None for query in held):
                raise NotEmpty(f"schema '{clip(':'.join(name))}' is not empty", about=ObjectType.SCHEMA)
            tx.execute(delete(PROPERTIES).where(self._of(name)))

    def hides(self, name: Namespace) -> bool:
        with self.connections.transaction() as tx:
            if not self._laid_out(tx):
                return False
            dotted = _dotted(name)
            # A level without a name is none here.
            nameless = (
                or_(column == f"{dotted}.", _below(column, f"{dotted}."))
                for column in (_t.table_namespace, _p.namespace)
            )
            queries = [
                select(column).where(of_catalog == self.catalog, found)
                for column, of_catalog, found in zip(
                    (_t.table_namespace, _p.namespace),
                    (_t.catalog_name, _p.catalog_name),
                    nameless,
                    strict=True,
                )
            ]
            if self._version == 1:
                other = and_(_same(_t.table_namespace, dotted), _t.iceberg_type.not_in(_WORDS.values()))
                queries.append(select(_t.table_name).where(_t.catalog_name == self.catalog, other))
            return any(tx.execute(query.limit(1)).first() is not None for query in queries)

    # -- tables and views ---------------------------------------------------------------------------------------

    def names(self, namespace: Namespace, type: ObjectType) -> list[str]:
        with self.connections.transaction() as tx:
            if not self._laid_out(tx) or not self._exists(tx, namespace):
                raise _no_namespace(namespace)
            query = select(_t.table_name).where(
                _t.catalog_name == self.catalog,
                _same(_t.table_namespace, _dotted(namespace)),
                self._typed(type),
            )
            return _texts(tx, query)

    def load(self, at: TablePlace) -> Pointer:
        with self.connections.transaction() as tx:
            row = None
            if self._laid_out(tx):
                query = select(_t.metadata_location).where(self._at(at), self._typed(at.type))
                row = tx.execute(query.limit(1)).one_or_none()
        if row is None:
            raise _nothing(at)
        if not row.metadata_location:
            raise Damaged(f"{at.type} '{clip(at.name)}' has no metadata location in its database")
        return Pointer(row.metadata_location)

    def create(self, at: TablePlace, location: str, document: Json) -> None:
        row = {
            "catalog_name": self.catalog,
            "table_namespace": _dotted(at.schema),
            "table_name": at.name,
            "metadata_location": _short(location),
        }
        try:
            with self.connections.transaction(writes=True) as tx:
                self._lay_out(tx)
                if not self._exists(tx, at.schema):
                    raise _no_namespace(at.schema)
                if self._version == 1:
                    row["iceberg_type"] = _WORDS[at.type]
                tx.execute(insert(TABLES).values(row))
        except IntegrityError:
            raise _taken(at) from None

    def swap(self, swap: Swap) -> None:
        self.swap_together([swap])

    def swap_together(self, swaps: Sequence[Swap]) -> None:
        with self.connections.transaction(writes=True) as tx:
            self._laid_out(tx)
            for swap in swaps:
                expected = swap.expected.location
                values = {
                    "metadata_location": _short(swap.location),
                    "previous_metadata_location": expected,
                }
                still = and_(self._at(swap.at), self._typed(swap.at.type), _t.metadata_location == expected)
                if not tx.execute(update(TABLES).where(still).values(values)).rowcount:
                    raise Conflict(
                        "the table was changed by somebody else",
                        hint="refresh it and commit again",
                        about="commit",
                    )

    def drop(self, at: TablePlace) -> None:
        with self.connections.transaction(writes=True) as tx:
            found = self._laid_out(tx)
            if not found or not tx.execute(delete(TABLES).where(self._at(at), self._typed(at.type))).rowcount:
                raise _nothing(at)

    def rename(self, at: TablePlace, to: TablePlace) -> None:
        values = {"table_namespace": _dotted(to.schema), "table_name": to.name}
        try:
            with self.connections.transaction(writes=True) as tx:
                if not self._laid_out(tx):
                    raise _nothing(at)
                if not self._exists(tx, to.schema):
                    raise _no_namespace(to.schema)
                moved = update(TABLES).where(self._at(at), self._typed(at.type)).values(values)
                if not tx.execute(moved).rowcount:
                    raise _nothing(at)
        except IntegrityError:
            raise _taken(to) from None

    # -- inside -------------------------------------------------------------------------------------------------

    def _laid_out(self, tx: Connection) -> bool:
        """Whether Iceberg's tables are there, and in which version of their layout."""
        if self._version is not None:
            return True
        found = inspect(tx)
        if not all(found.has_table(table.name) for table in (TABLES, PROPERTIES)):
            return False
        columns = {column["name"].lower() for column in found.get_columns(TABLES.name)}
        self._version = 1 if "iceberg_type" in columns else 0
        return True

    def _lay_out(self, tx: Connection) -> None:
        """Make sure that Iceberg's tables are there before something is written to them."""
        there = self._laid_out(tx)
        if there and not (self._version == 0 and self.wanted_version == 1):
            return
        if not self.initialize:
            raise IllegalArgument(
                "the database has no tables of an Iceberg catalog, or older ones",
                hint="make them there, or set the property 'jdbc-initialize' to true",
            )
        try:
            if there:
                tx.execute(text("ALTER TABLE iceberg_tables ADD COLUMN iceberg_type VARCHAR(5)"))
            else:
                _metadata.create_all(tx)
                if self.wanted_version == 0:
                    tx.execute(text("ALTER TABLE iceberg_tables DROP COLUMN iceberg_type"))
        except (ProgrammingError, OperationalError, IntegrityError):
            # Somebody else made them at the same moment, or nobody may.
            raise Conflict("the tables of the catalog cannot be made", hint="ask again") from None
        self._version = None
        self._laid_out(tx)

    def _exists(self, tx: Connection, name: Namespace) -> bool:
        """As Iceberg decides it: a namespace is there if it has properties, or holds something."""
        dotted = _dotted(name)
        queries = (
            select(_p.namespace).where(
                _p.catalog_name == self.catalog,
                or_(_same(_p.namespace, dotted), _below(_p.namespace, dotted)),
            ),
            select(_t.table_name).where(
                _t.catalog_name == self.catalog,
                or_(_same(_t.table_namespace, dotted), _below(_t.table_namespace, dotted)),
            ),
        )
        return any(tx.execute(query.limit(1)).first() is not None for query in queries)

    def _properties(self, tx: Connection, name: Namespace) -> dict[str, str]:
        keys = _texts(tx, select(_p.property_key).where(self._of(name)).order_by(_p.property_key))
        values = _texts(tx, select(_p.property_value).where(self._of(name)).order_by(_p.property_key))
        return dict(zip(keys, values, strict=True))

    def _put(self, tx: Connection, name: Namespace, properties: dict[str, str]) -> None:
        rows = [
            {
                "catalog_name": self.catalog,
                "namespace": _dotted(name),
                "property_key": _short(key, 255),
                "property_value": _short(value),
            }
            for key, value in properties.items()
        ]
        tx.execute(insert(PROPERTIES), rows)

    def _of(self, name: Namespace) -> Any:
        return and_(_p.catalog_name == self.catalog, _same(_p.namespace, _dotted(name)))

    def _at(self, at: TablePlace) -> Any:
        return and_(
            _t.catalog_name == self.catalog,
            _same(_t.table_namespace, _dotted(at.schema)),
            _same(_t.table_name, at.name),
        )

    def _typed(self, type: ObjectType) -> Any:
        """Whether a row is a table or a view."""
        if self._version != 1:
            return _t.table_name.is_not(None) if type is ObjectType.TABLE else _t.table_name.is_(None)
        if type is ObjectType.VIEW:
            return _t.iceberg_type == _WORDS[type]
        return or_(_t.iceberg_type == _WORDS[type], _t.iceberg_type.is_(None))


def _texts(tx: Connection, query: Select[Any]) -> list[str]:
    """The one column of a query, whose rows are no more and no longer than can be kept."""
    found: list[str] = []
    size = 0
    with tx.execute(query.limit(_MOST_NAMES + 1), execution_options={"yield_per": 100}) as rows:
        for value in rows.scalars():
            text = value if isinstance(value, str) else ""
            found.append(text)
            size += len(text)
            if len(found) > _MOST_NAMES or size > _MOST_LETTERS:
                raise Damaged(
                    f"the catalog lists more than {_MOST_NAMES} names in one place, or longer ones than it may",
                    hint="spread them over several schemas there",
                )
    return found


def _below(column: Column[str], dotted: str) -> Any:
    """Compared letter by letter, which LIKE does not do everywhere."""
    return func.substr(column, 1, len(dotted) + 1) == f"{dotted}."


def _same(column: Column[str], value: str) -> Any:
    """As `_below`: a column that its owner made to take small letters for capital ones gives nothing a second name."""
    return and_(column == value, func.substr(column, 1, len(value) + 1) == value)


def _dotted(name: Namespace) -> str:
    """As the database has it. INVARIANT: a namespace has one name here, though several would give this text."""
    if not _is_plain(name):
        raise _no_namespace(name)
    return _short(".".join(name), 255)


def _is_plain(name: Namespace) -> bool:
    return bool(name) and all(level and "." not in level for level in name)


def _short(value: str, most: int = _LONGEST) -> str:
    """INVARIANT: never cut off: another name or place would be meant."""
    if len(value) > most or "\x00" in value:
        raise IllegalArgument(f"'{clip(value, 60)}' is longer than the catalog's database keeps")
    return value


def _no_namespace(name: Namespace) -> NotFound:
    return NotFound(f"schema '{clip(':'.join(name))}' does not exist", about=ObjectType.SCHEMA)


def _nothing(at: TablePlace) -> NotFound:
    return NotFound(f"{at.type} '{clip(at.name)}' does not exist", about=at.type)


def _taken(at: TablePlace) -> AlreadyExists:
    return AlreadyExists(f"'{clip(at.name)}' already exists", about=at.type)
