"""PostgreSQL: its schemas and tables, by its own catalog. A change is one transaction."""

import uuid
from typing import Any, Final

from sqlalchemy import Connection
from sqlalchemy import text as sql
from sqlalchemy.exc import DBAPIError

from headgate.catalogs.databases.connections import DatabaseConnections
from headgate.catalogs.databases.relational import native_types
from headgate.catalogs.databases.relational.default_values import default_pieces, shown_default
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
from headgate.model import tables as t
from headgate.model.errors import Conflict, HeadgateError, IllegalArgument, NotEmpty
from headgate.model.objects import ObjectType, clip

_LONGEST: Final = 63
"""Bytes of a name: the database cuts off what is longer, and another name would be meant."""

_SCHEMAS: Final = sql(
    "SELECT CAST(nspname AS text) FROM pg_catalog.pg_namespace "
    "WHERE left(CAST(nspname AS text), 3) <> 'pg_' AND nspname <> 'information_schema' LIMIT 100001"
)
_SCHEMA: Final = sql(
    "SELECT CAST(nspname AS text) FROM pg_catalog.pg_namespace WHERE CAST(nspname AS text) = CAST(:schema AS text)"
)
_TABLES: Final = sql(
    "SELECT CAST(c.relname AS text) FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace "
    "WHERE c.relkind IN ('r', 'p') AND CAST(n.nspname AS text) = CAST(:schema AS text) LIMIT 100001"
)
_TABLE: Final = sql(
    "SELECT CAST(c.oid AS text), pg_catalog.obj_description(c.oid, 'pg_class') "
    "FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace "
    "WHERE c.relkind IN ('r', 'p') AND CAST(n.nspname AS text) = CAST(:schema AS text) "
    "AND CAST(c.relname AS text) = CAST(:name AS text)"
)
_COLUMNS: Final = sql(
    "SELECT CAST(a.attname AS text), pg_catalog.format_type(a.atttypid, a.atttypmod), a.attnotnull, "
    "CAST(a.attidentity AS text), CAST(a.attgenerated AS text), pg_catalog.pg_get_expr(d.adbin, d.adrelid), "
    "pg_catalog.col_description(a.attrelid, a.attnum) "
    "FROM pg_catalog.pg_attribute a LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum "
    "WHERE a.attrelid = CAST(CAST(:oid AS text) AS oid) AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum"
)
_KEYS: Final = sql(
    "SELECT CAST(k.conname AS text), CAST(k.contype AS text), CAST(a.attname AS text) "
    "FROM pg_catalog.pg_constraint k CROSS JOIN LATERAL unnest(k.conkey) WITH ORDINALITY AS u(num, pos) "
    "JOIN pg_catalog.pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = u.num "
    "WHERE k.conrelid = CAST(CAST(:oid AS text) AS oid) AND k.contype IN ('p', 'u') "
    "ORDER BY k.contype, k.conname, u.pos"
)
_KINDS: Final = {"p": "primary_key", "u": "unique_key"}
_WORDS: Final = {"primary_key": "PRIMARY KEY", "unique_key": "UNIQUE"}


class PostgresTables:
    """INVARIANT: a name that the database would cut off is refused: another object would be meant."""

    types = native_types.POSTGRES
    ordered = False
    engines = False

    def __init__(self, connections: DatabaseConnections) -> None:
        self.connections = connections

    def test(self) -> None:
        with asking(self.connections, _fault, "the database") as tx:
            texts(tx, _SCHEMAS)

    def close(self) -> None:
        self.connections.close()

    # -- schemas ------------------------------------------------------------------------------------------------

    def schemas(self) -> list[str]:
        with asking(self.connections, _fault, "the database") as tx:
            return sorted(set(texts(tx, _SCHEMAS)))

    def has_schema(self, schema: str) -> bool:
        if _is_own(schema) or _too_long(schema):
            return False
        with asking(self.connections, _fault, f"schema '{clip(schema)}'") as tx:
            return schema in texts(tx, _SCHEMA, schema=schema)

    def create_schema(self, schema: str, comment: str | None) -> None:
        _short(schema)
        if _is_own(schema):
            raise IllegalArgument(
                f"'{clip(schema)}' cannot be the name of a schema",
                hint="PostgreSQL keeps such names for itself",
            )
        with changing(self.connections, _fault, f"schema '{clip(schema)}'") as tx:
            tx.execute(Statement(Word("CREATE SCHEMA"), name(schema)))
            if comment:
                tx.execute(
                    Statement(Word("COMMENT ON SCHEMA"), name(schema), Word("IS"), QuotedText(comment))
                )

    def drop_schema(self, schema: str, *, cascade: bool) -> None:
        if not self.has_schema(schema):
            raise no_schema(schema)
        with changing(self.connections, _fault, f"schema '{clip(schema)}'") as tx:
            held = texts(tx, _TABLES, schema=schema) if cascade else []
            check_shown((schema,), held)
            if held:
                # What else hangs on them or lies in the schema is not for this catalog to judge: it keeps all of them.
                tables = listed([(name(schema, table),) for table in held])
                tx.execute(Statement(Word("DROP TABLE"), *tables, Word("RESTRICT")))
            tx.execute(Statement(Word("DROP SCHEMA"), name(schema), Word("RESTRICT")))

    # -- tables -------------------------------------------------------------------------------------------------

    def tables(self, schema: str) -> list[str]:
        if not self.has_schema(schema):
            raise no_schema(schema)
        with asking(self.connections, _fault, f"schema '{clip(schema)}'") as tx:
            return sorted(set(texts(tx, _TABLES, schema=schema)))

    def load(self, schema: str, name: str) -> DatabaseTable:
        if _is_own(schema) or _too_long(schema) or _too_long(name):
            raise no_table(name)
        with asking(self.connections, _fault, f"table '{clip(name)}'") as tx:
            return _loaded(tx, schema, name)

    def create(self, schema: str, table: DatabaseTable) -> None:
        self._check_schema(schema)
        _short(table.name, *(column.name for column in table.columns))
        at = name(schema, table.name)
        parts = [_column(column) for column in table.columns] + [_key(index) for index in table.indexes]
        with changing(self.connections, _fault, f"table '{clip(table.name)}'") as tx:
            tx.execute(Statement(Word("CREATE TABLE"), at, Word("("), *listed(parts), Word(")")))
            if table.comment:
                tx.execute(Statement(Word("COMMENT ON TABLE"), at, Word("IS"), QuotedText(table.comment)))
            for column in table.columns:
                if column.column.comment:
                    tx.execute(_column_comment(schema, table.name, column.column))

    def alter(
        self, schema: str, before: DatabaseTable, after: DatabaseTable, to: tuple[str, str] | None
    ) -> None:
        self._check_schema(schema)
        _short(*(column.name for column in after.columns), *(to or ()))
        if to is not None:
            self._check_schema(to[0])
        made = [
            Statement(Word("ALTER TABLE"), name(schema, before.name), *each)
            for each in _changes(before, after)
        ]
        with changing(self.connections, _fault, f"table '{clip(before.name)}'") as tx:
            now = _loaded(tx, schema, before.name)
            if now.made != before.made or now.shown != before.shown:
                raise Conflict(
                    f"table '{clip(before.name)}' was changed by somebody else",
                    hint="read it again and retry",
                )
            for statement in made:
                tx.execute(statement)
            comments = {column.name: column.column.comment for column in before.columns}
            for column in after.columns:
                if (column.column.comment or None) != comments.get(column.was):
                    tx.execute(_column_comment(schema, before.name, column.column))
            if after.comment != before.comment:
                text = (QuotedText(after.comment),) if after.comment else (Word("NULL"),)
                tx.execute(Statement(Word("COMMENT ON TABLE"), name(schema, before.name), Word("IS"), *text))
            if to is not None and to[1] != before.name:
                renaming = (Word("ALTER TABLE"), name(schema, before.name), Word("RENAME TO"), name(to[1]))
                tx.execute(Statement(*renaming))
            if to is not None and to[0] != schema:
                moving = (Word("ALTER TABLE"), name(schema, to[1]), Word("SET SCHEMA"), name(to[0]))
                tx.execute(Statement(*moving))

    def drop(self, schema: str, name_: str) -> None:
        if _is_own(schema) or _too_long(schema) or _too_long(name_):
            raise no_table(name_)
        with changing(self.connections, _fault, f"table '{clip(name_)}'") as tx:
            tx.execute(Statement(Word("DROP TABLE"), name(schema, name_), Word("RESTRICT")))

    def _check_schema(self, schema: str) -> None:
        if not self.has_schema(schema):
            raise no_schema(schema)


# -- inside -----------------------------------------------------------------------------------------------------


def _loaded(tx: Connection, schema: str, name: str) -> DatabaseTable:
    found = rows(tx, _TABLE, 1, schema=schema, name=name)
    if not found:
        raise no_table(name)
    oid, comment = found[0]
    columns = tuple(_shown(row) for row in rows(tx, _COLUMNS, MOST_COLUMNS, oid=text(oid)))
    keys: dict[tuple[str, str], list[tuple[str, ...]]] = {}
    for key, kind, column in rows(tx, _KEYS, MOST_COLUMNS, oid=text(oid)):
        keys.setdefault((text(key), _KINDS[text(kind)]), []).append((text(column),))
    indexes = tuple(t.Index(kind, tuple(fields), key) for (key, kind), fields in keys.items())
    return DatabaseTable(name, text(oid), columns, indexes, optional(comment))


def _shown(row: Any) -> DatabaseColumn:
    named, kind, required, identity, generated, default, comment = row
    type, expression = native_types.POSTGRES.shown(text(kind)), optional(default)
    counts = text(identity) != "" or (expression or "").startswith("nextval(")
    unlike = "it is computed from others" if text(generated) != "" else ""
    value = None if counts or unlike else shown_default(expression, type)
    column = t.TableColumn(text(named), type, optional(comment), not bool(required), counts, value)
    return DatabaseColumn(column, unlike=unlike)


def _changes(before: DatabaseTable, after: DatabaseTable) -> list[tuple[Piece, ...]]:
    """What stands behind ALTER TABLE, one after the other."""
    former = {column.name: column for column in before.columns}
    kept = [column for column in after.columns if column.was]
    was = {column.name: column.was for column in after.columns}
    found: list[tuple[Piece, ...]] = []
    lasting = {
        (index.index_type, tuple(was.get(column, "") for column in index_columns(index)), index.name)
        for index in after.indexes
        if index.name
    }
    stays = [
        index for index in before.indexes if (index.index_type, index_columns(index), index.name) in lasting
    ]
    gone = {column.name for column in before.columns} - {column.was for column in kept}
    for index in before.indexes:
        if index not in stays:
            found.append((Word("DROP CONSTRAINT"), name(index.name or "")))
    found += [(Word("DROP COLUMN"), name(column), Word("RESTRICT")) for column in sorted(gone)]
    renamed = [column for column in kept if column.was != column.name]
    between = {column.was: column.was for column in renamed}
    if {column.name for column in renamed} & {column.was for column in kept}:
        # Names that are swapped are all set free first.
        between = {column.was: f"headgate_{uuid.uuid4().hex}" for column in renamed}
        found += [(Word("RENAME COLUMN"), name(old), Word("TO"), name(new)) for old, new in between.items()]
    found += [
        (Word("RENAME COLUMN"), name(between[column.was]), Word("TO"), name(column.name))
        for column in renamed
    ]
    found += [(Word("ADD COLUMN"), *_column(column)) for column in after.columns if not column.was]
    for column in kept:
        found += [
            (Word("ALTER COLUMN"), name(column.name), *each) for each in _altered(former[column.was], column)
        ]
    names_before = {index.name for index in stays}
    found += [
        (Word("ADD"), *_key(index))
        for index in after.indexes
        if index.name not in names_before or not index.name
    ]
    return found


def _altered(before: DatabaseColumn, after: DatabaseColumn) -> list[tuple[Piece, ...]]:
    old, new = before.column, after.column
    found: list[tuple[Piece, ...]] = []
    if old.type != new.type:
        found.append((Word("TYPE"), Word(native_types.POSTGRES.written(new.type))))
    if old.nullable != new.nullable:
        found.append((Word("DROP NOT NULL" if new.nullable else "SET NOT NULL"),))
    if old.default_value != new.default_value:
        value = default_pieces(new)
        found.append((Word("DROP DEFAULT"),) if value is None else (Word("SET DEFAULT"), *value))
    if old.auto_increment != new.auto_increment:
        found.append(
            (Word("ADD GENERATED BY DEFAULT AS IDENTITY" if new.auto_increment else "DROP IDENTITY"),)
        )
    return found


def _column(column: DatabaseColumn) -> tuple[Piece, ...]:
    made = column.column
    parts: list[Piece] = [name(made.name), Word(native_types.POSTGRES.written(made.type))]
    if made.auto_increment:
        if made.default_value is not None:
            raise IllegalArgument(f"column '{clip(made.name)}' counts, and has no default value")
        parts.append(Word("GENERATED BY DEFAULT AS IDENTITY"))
    value = default_pieces(made)
    if value is not None:
        parts += [Word("DEFAULT"), *value]
    parts.append(Word("NULL" if made.nullable and not made.auto_increment else "NOT NULL"))
    return tuple(parts)


def _key(index: t.Index) -> tuple[Piece, ...]:
    named: tuple[Piece, ...] = ()
    if index.name:
        _short(index.name)
        named = (Word("CONSTRAINT"), name(index.name))
    return (*named, Word(_WORDS[index.index_type.lower()]), *names(index_columns(index)))


def _column_comment(schema: str, table: str, column: t.TableColumn) -> Statement:
    comment: Piece = QuotedText(column.comment) if column.comment else Word("NULL")
    return Statement(Word("COMMENT ON COLUMN"), name(schema, table, column.name), Word("IS"), comment)


def _is_own(schema: str) -> bool:
    return schema.startswith("pg_") or schema == "information_schema"


def _too_long(name: str) -> bool:
    return len(name.encode()) > _LONGEST


def _short(*wanted: str) -> None:
    for each in wanted:
        if _too_long(each):
            raise IllegalArgument(
                f"'{clip(each, 60)}' is too long for PostgreSQL", hint=f"use at most {_LONGEST} bytes"
            )


def _fault(error: DBAPIError, what: str) -> HeadgateError | None:
    state = str(getattr(error.orig, "sqlstate", None) or "")
    match state:
        case "42P07" | "42P06" | "42710":
            return taken(what)
        case "42701":
            return IllegalArgument("a column of the table has that name already")
        case "3F000":
            return no_schema(what.partition("'")[2].rstrip("'"))
        case "42P01":
            return no_table(what.partition("'")[2].rstrip("'"))
        case "2BP01" if what.startswith("schema"):
            return NotEmpty(
                f"{what} is not empty",
                hint="drop what it holds first, in the database if it is not shown here",
                about=ObjectType.SCHEMA,
            )
        case "2BP01":
            return IllegalArgument(
                f"something in the database depends on {what}", hint="drop that first, there"
            )
        case "55P03" | "57014" | "40P01" | "40001":
            # Ended by the database, which has undone it.
            return Conflict(f"somebody else works on {what}, or it takes too long", hint="try again")
        case "42501":
            return IllegalArgument(f"the user of the catalog may not change {what} in the database")
    if state[:2] in ("22", "23", "42", "0A", "44", "55"):
        return IllegalArgument(
            f"PostgreSQL refuses the change of {what}",
            hint=f"its code is {state}: the rows or the types do not allow it",
        )
    return None
