"""MySQL and MariaDB: their databases and tables, by their information schema. A change is one statement."""

import re
from bisect import bisect_left
from typing import Any, Final

from sqlalchemy import Connection
from sqlalchemy import text as sql
from sqlalchemy.exc import DBAPIError

from headgate.catalogs.databases.connections import DatabaseConnections, code_of
from headgate.catalogs.databases.relational import native_types
from headgate.catalogs.databases.relational.default_values import default_pieces, literal, shown_default
from headgate.catalogs.databases.relational.described import DatabaseColumn, DatabaseTable, index_columns
from headgate.catalogs.databases.relational.statements import (
    Piece,
    QuotedText,
    Statement,
    Word,
    listed,
    name,
    names,
)
from headgate.catalogs.databases.relational.system import (
    MOST_COLUMNS,
    asking,
    changing,
    no_schema,
    no_table,
    optional,
    rows,
    taken,
    text,
    texts,
)
from headgate.catalogs.outside.hidden import check_shown
from headgate.catalogs.outside.pages import MOST_NAMES
from headgate.model import tables as t
from headgate.model.errors import Conflict, HeadgateError, IllegalArgument, NotEmpty
from headgate.model.objects import ObjectType, clip

_OWN: Final = frozenset({"information_schema", "mysql", "performance_schema", "sys"})
_LONGEST: Final = 64
_MADE: Final = "mysql"
"""A table has nothing that tells it from one that is made again under its name."""

_VERSION: Final = sql("SELECT VERSION(), @@lower_case_table_names")
_SCHEMAS: Final = sql("SELECT schema_name FROM information_schema.schemata LIMIT 100001")
_TABLES: Final = sql(
    "SELECT table_schema, table_name, table_type FROM information_schema.tables WHERE table_schema = :schema LIMIT 100001"
)
_OTHERS: Final = sql(
    "SELECT routine_schema FROM information_schema.routines WHERE routine_schema = :schema "
    "UNION ALL SELECT event_schema FROM information_schema.events WHERE event_schema = :schema LIMIT 100001"
)
_TABLE: Final = sql(
    "SELECT table_schema, table_name, table_type, engine, table_comment FROM information_schema.tables "
    "WHERE table_schema = :schema AND table_name = :name"
)
_COLUMNS: Final = sql(
    "SELECT table_schema, table_name, column_name, column_type, is_nullable, column_default, extra, column_comment, "
    "collation_name, generation_expression FROM information_schema.columns "
    "WHERE table_schema = :schema AND table_name = :name ORDER BY ordinal_position"
)
_KEYS: Final = sql(
    "SELECT table_schema, table_name, index_name, column_name, sub_part FROM information_schema.statistics "
    "WHERE table_schema = :schema AND table_name = :name AND non_unique = 0 ORDER BY index_name, seq_in_index"
)
_SHOWN: Final = frozenset({"BASE TABLE", "SYSTEM VERSIONED"})
_COLLATION: Final = re.compile(r"[A-Za-z0-9_]{1,64}", re.ASCII)
_ENGINE: Final = re.compile(r"[A-Za-z0-9_]{1,64}", re.ASCII)
_NOW: Final = re.compile(r"CURRENT_TIMESTAMP", re.IGNORECASE)
_PRIMARY: Final = "PRIMARY"


class MySQLTables:
    """INVARIANT: a table or database has one name here. A server that takes small letters for capital ones is given and
    asked for names of small letters only."""

    types = native_types.MYSQL
    ordered = True
    engines = True

    def __init__(self, connections: DatabaseConnections) -> None:
        self.connections = connections

    def test(self) -> None:
        with asking(self.connections, _fault, "the server") as tx:
            _asked(tx)

    def close(self) -> None:
        self.connections.close()

    # -- schemas ------------------------------------------------------------------------------------------------

    def schemas(self) -> list[str]:
        with asking(self.connections, _fault, "the server") as tx:
            return sorted({schema for schema in texts(tx, _SCHEMAS) if schema.lower() not in _OWN})

    def has_schema(self, schema: str) -> bool:
        return schema in self.schemas()

    def create_schema(self, schema: str, comment: str | None) -> None:
        # The server keeps no comments of databases: the row here has it.
        if schema.lower() in _OWN:
            raise IllegalArgument(
                f"'{clip(schema)}' cannot be the name of a schema", hint="the server keeps it for itself"
            )
        with changing(self.connections, _fault, f"schema '{clip(schema)}'") as tx:
            _check_names(tx, schema)
            tx.execute(Statement(Word("CREATE DATABASE"), name(schema)))

    def drop_schema(self, schema: str, *, cascade: bool) -> None:
        if not self.has_schema(schema):
            raise no_schema(schema)
        with changing(self.connections, _fault, f"schema '{clip(schema)}'") as tx:
            held = _held(tx, schema)
            others = [text(row[0]) for row in rows(tx, _OTHERS, MOST_NAMES, schema=schema)]
            hides = any(kind not in _SHOWN for _, kind in held) or schema in others
            if cascade:
                check_shown((schema,), [table for table, _ in held], hides=hides)
            elif held or hides:
                raise NotEmpty(
                    f"schema '{clip(schema)}' is not empty",
                    hint="drop what it holds first, or use cascade",
                    about=ObjectType.SCHEMA,
                )
            tx.execute(Statement(Word("DROP DATABASE"), name(schema)))

    # -- tables -------------------------------------------------------------------------------------------------

    def tables(self, schema: str) -> list[str]:
        if not self.has_schema(schema):
            raise no_schema(schema)
        with asking(self.connections, _fault, f"schema '{clip(schema)}'") as tx:
            return sorted({table for table, kind in _held(tx, schema) if kind in _SHOWN})

    def load(self, schema: str, name: str) -> DatabaseTable:
        if schema.lower() in _OWN:
            raise no_table(name)
        with asking(self.connections, _fault, f"table '{clip(name)}'") as tx:
            return _loaded(tx, schema, name)

    def create(self, schema: str, table: DatabaseTable) -> None:
        self._check_schema(schema)
        parts = [_column(column) for column in table.columns] + [_key(index) for index in table.indexes]
        more: list[Piece] = []
        if table.engine is not None:
            if not _ENGINE.fullmatch(table.engine):
                raise IllegalArgument("property 'engine' names no storage engine", hint="such as InnoDB")
            more += [Word("ENGINE ="), QuotedText(table.engine)]
        if table.comment:
            more += [Word("COMMENT ="), QuotedText(table.comment)]
        with changing(self.connections, _fault, f"table '{clip(table.name)}'") as tx:
            _check_names(tx, table.name)
            at = name(schema, table.name)
            tx.execute(Statement(Word("CREATE TABLE"), at, Word("("), *listed(parts), Word(")"), *more))

    def alter(
        self, schema: str, before: DatabaseTable, after: DatabaseTable, to: tuple[str, str] | None
    ) -> None:
        self._check_schema(schema)
        clauses = _changes(before, after)
        if to is not None:
            self._check_schema(to[0])
            clauses.append((Word("RENAME TO"), name(*to)))
        if not clauses:
            return
        with changing(self.connections, _fault, f"table '{clip(before.name)}'") as tx:
            if to is not None:
                _check_names(tx, to[1])
            if _loaded(tx, schema, before.name).shown != before.shown:
                raise Conflict(
                    f"table '{clip(before.name)}' was changed by somebody else",
                    hint="read it again and retry",
                )
            tx.execute(Statement(Word("ALTER TABLE"), name(schema, before.name), *listed(clauses)))

    def drop(self, schema: str, name_: str) -> None:
        if schema.lower() in _OWN:
            raise no_table(name_)
        with changing(self.connections, _fault, f"table '{clip(name_)}'") as tx:
            _loaded(tx, schema, name_)
            tx.execute(Statement(Word("DROP TABLE"), name(schema, name_)))

    def _check_schema(self, schema: str) -> None:
        if not self.has_schema(schema):
            raise no_schema(schema)


# -- inside -----------------------------------------------------------------------------------------------------


def _asked(tx: Connection) -> tuple[bool, bool]:
    """Whether it is MariaDB, and whether it takes small letters for capital ones in names."""
    version, folds = rows(tx, _VERSION, 1)[0]
    return "mariadb" in text(version).lower(), str(folds) != "0"


def _held(tx: Connection, schema: str) -> list[tuple[str, str]]:
    """What a database holds, with its kind. The server compares names as it likes, so each is compared again."""
    found = rows(tx, _TABLES, MOST_NAMES, schema=schema)
    return [(text(table), text(kind)) for above, table, kind in found if text(above) == schema]


def _loaded(tx: Connection, schema: str, name: str) -> DatabaseTable:
    found = [
        row for row in rows(tx, _TABLE, MOST_NAMES, schema=schema, name=name) if _same(row, schema, name)
    ]
    if not found or text(found[0][2]) not in _SHOWN:
        raise no_table(name)
    mariadb, _ = _asked(tx)
    columns = tuple(
        _shown(row[2:], mariadb=mariadb)
        for row in rows(tx, _COLUMNS, MOST_COLUMNS, schema=schema, name=name)
        if _same(row, schema, name)
    )
    keys: dict[str, list[tuple[str, ...]]] = {}
    partial: set[str] = set()
    for row in rows(tx, _KEYS, MOST_COLUMNS, schema=schema, name=name):
        if _same(row, schema, name):
            keys.setdefault(text(row[2]), []).append((text(row[3]) if row[3] is not None else "",))
            if row[3] is None or row[4] is not None:
                partial.add(text(row[2]))
    indexes = tuple(
        t.Index("primary_key" if key == _PRIMARY else "unique_key", tuple(fields), key)
        for key, fields in sorted(keys.items(), key=lambda each: (each[0] != _PRIMARY, each[0]))
        # One of a part of a column, or of an expression, has no word here.
        if key not in partial
    )
    return DatabaseTable(name, _MADE, columns, indexes, optional(found[0][4]) or None, optional(found[0][3]))


def _same(row: Any, schema: str, name: str) -> bool:
    return (text(row[0]), text(row[1])) == (schema, name)


def _shown(row: Any, *, mariadb: bool) -> DatabaseColumn:
    named, kind, nullable, default, extra, comment, collation, expression = row
    type, word = native_types.mysql_shown(text(kind)), text(extra).lower()
    counts = "auto_increment" in word
    computed = "default_generated" in word
    unlike = ""
    if optional(expression) or "generated" in word.replace("default_generated", ""):
        unlike = "it is computed from others"
    elif "on update" in word:
        unlike = "it is set anew with every change of its row"
    elif "invisible" in word:
        unlike = "it is invisible"
    value = None
    if default is not None and not unlike.startswith("it is computed"):
        # MySQL tells the value itself and says when it is an expression; MariaDB tells an expression always.
        bits = type == "boolean"
        timed = (
            isinstance(type, str) and type.startswith("timestamp") and _NOW.match(text(default)) is not None
        )
        plain = not (mariadb or computed or bits or timed)
        value = literal(text(default), type) if plain else shown_default(text(default), type)
    column = t.TableColumn(
        text(named), type, text(comment) or None, text(nullable) == "YES", counts, None if counts else value
    )
    if value is not None and value.type == "unparsed" and not unlike:
        unlike = "its default value is an expression"
    return DatabaseColumn(column, collation=optional(collation) or "", unlike=unlike)


def _changes(before: DatabaseTable, after: DatabaseTable) -> list[tuple[Piece, ...]]:
    """The clauses of one ALTER TABLE."""
    former = {column.name: column for column in before.columns}
    was = {column.name: column.was for column in after.columns}
    lasting = {
        (index.name, tuple(was.get(column, "") for column in index_columns(index))) for index in after.indexes
    }
    stays = {index.name for index in before.indexes if (index.name, index_columns(index)) in lasting}
    found: list[tuple[Piece, ...]] = []
    gone = former.keys() - {column.was for column in after.columns}
    for index in before.indexes:
        if index.name == _PRIMARY and _PRIMARY not in stays:
            found.append((Word("DROP PRIMARY KEY"),))
        elif index.name not in stays and not set(index_columns(index)) <= gone:
            # One of no other columns goes with them.
            found.append((Word("DROP INDEX"), name(index.name or "")))
    found += [(Word("DROP COLUMN"), name(column)) for column in sorted(gone)]
    moved = _moved(before, after)
    above: tuple[Piece, ...] = (Word("FIRST"),)
    last = len(after.columns) - 1
    for at, column in enumerate(after.columns):
        if not column.was:
            behind = () if at == last else above
            found.append((Word("ADD COLUMN"), *_column(column), *behind))
        else:
            found += _altered(former[column.was], column, above if column.name in moved else ())
        above = (Word("AFTER"), name(column.name))
    found += [
        (Word("ADD"), *_key(index)) for index in after.indexes if index.name not in stays or not index.name
    ]
    if after.comment != before.comment:
        found.append((Word("COMMENT ="), QuotedText(after.comment or "")))
    return found


def _moved(before: DatabaseTable, after: DatabaseTable) -> set[str]:
    """The fewest columns that have to be put elsewhere, by their new names."""
    places = {column.name: at for at, column in enumerate(before.columns)}
    kept = [column for column in after.columns if column.was]
    ends: list[int] = []
    last: list[int] = []
    above: list[int] = []
    for at, column in enumerate(kept):
        place = places[column.was]
        length = bisect_left(ends, place)
        above.append(last[length - 1] if length else -1)
        if length == len(ends):
            ends.append(place)
            last.append(at)
        else:
            ends[length], last[length] = place, at
    staying: set[int] = set()
    at = last[-1] if last else -1
    while at >= 0:
        staying.add(at)
        at = above[at]
    return {column.name for at, column in enumerate(kept) if at not in staying}


def _altered(
    before: DatabaseColumn, after: DatabaseColumn, place: tuple[Piece, ...]
) -> list[tuple[Piece, ...]]:
    old, new = before.column, after.column
    renamed = old.name != new.name
    same = (old.type, old.comment, old.nullable, old.auto_increment) == (
        new.type,
        new.comment,
        new.nullable,
        new.auto_increment,
    )
    if same and not place:
        found: list[tuple[Piece, ...]] = []
        if renamed:
            found.append((Word("RENAME COLUMN"), name(old.name), Word("TO"), name(new.name)))
        if old.default_value != new.default_value:
            value = default_pieces(new)
            word = (Word("DROP DEFAULT"),) if value is None else (Word("SET DEFAULT"), *value)
            found.append((Word("ALTER COLUMN"), name(old.name), *word))
        if len(found) < 2:
            return found
    if before.unlike:
        raise IllegalArgument(
            f"column '{clip(old.name)}' cannot be changed from here: {before.unlike}",
            hint="change it in the database itself",
        )
    keeps = after if old.type == new.type else DatabaseColumn(new)
    return [(Word("CHANGE COLUMN"), name(old.name), *_column(keeps), *place)]


def _column(column: DatabaseColumn) -> tuple[Piece, ...]:
    made = column.column
    parts: list[Piece] = [name(made.name), Word(native_types.MYSQL.written(made.type))]
    if column.collation:
        if not _COLLATION.fullmatch(column.collation):
            raise IllegalArgument(f"column '{clip(made.name)}' has a collation that cannot be written")
        parts += [Word("COLLATE"), Word(column.collation)]
    parts.append(Word("NULL" if made.nullable else "NOT NULL"))
    value = default_pieces(made)
    if value is not None:
        parts += [Word("DEFAULT"), *value]
    if made.auto_increment:
        parts.append(Word("AUTO_INCREMENT"))
    if made.comment:
        parts += [Word("COMMENT"), QuotedText(made.comment)]
    return tuple(parts)


def _key(index: t.Index) -> tuple[Piece, ...]:
    columns = names(index_columns(index))
    if index.index_type.lower() == "primary_key":
        if (index.name or _PRIMARY).upper() != _PRIMARY:
            raise IllegalArgument("the primary key of a table of MySQL is called PRIMARY", hint="call it so")
        return (Word("PRIMARY KEY"), *columns)
    return (Word("UNIQUE KEY"), *((name(index.name),) if index.name else ()), *columns)


def _check_names(tx: Connection, *names: str) -> None:
    for each in names:
        if len(each) > _LONGEST:
            raise IllegalArgument(
                f"'{clip(each, 60)}' is too long for the server", hint=f"use at most {_LONGEST} letters"
            )
        if each != each.lower() and _asked(tx)[1]:
            raise IllegalArgument(
                f"'{clip(each)}' has capital letters, which this server folds", hint="use small letters"
            )


_TAKEN: Final = frozenset({1007, 1050})
_GONE: Final = frozenset({1051, 1146})
_BUSY: Final = frozenset({1205, 1213})
_ANSWERED_FROM: Final = 2_000
_ANSWERED_AGAIN: Final = 3_000


def _fault(error: DBAPIError, what: str) -> HeadgateError | None:
    code = code_of(error.orig) if error.orig is not None else None
    if code is None or _ANSWERED_FROM <= code < _ANSWERED_AGAIN or code < 1_000:
        # The driver's own: nobody answered.
        return None
    called = what.partition("'")[2].rstrip("'")
    if code in _TAKEN:
        return taken(what)
    if code in _GONE:
        return no_table(called)
    if code in (1008, 1049):
        return no_schema(called)
    if code in _BUSY:
        return Conflict(f"somebody else works on {what}", hint="try again")
    if code == 1053 or 1152 <= code <= 1161:
        return None
    return IllegalArgument(
        f"the server refuses the change of {what}",
        hint=f"its code is {code}: the rows, the types or the rights of the catalog's user do not allow it",
    )
