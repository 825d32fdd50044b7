"""A table of a database in one value, and what becomes of it by a list of changes."""

from collections.abc import Sequence

import msgspec

from headgate.model import tables as t
from headgate.model.errors import AlreadyExists, IllegalArgument, NotFound, Unsupported
from headgate.model.objects import ObjectType, clip


class DatabaseColumn(msgspec.Struct, frozen=True):
    """A column, and what its database knows of it besides."""

    column: t.TableColumn
    was: str = ""
    """Its name before the changes that are being made; "" for a new one."""
    collation: str = ""
    unlike: str = ""
    """Why it cannot be written anew as it is, though it can be kept: what it has that has no word here."""

    @property
    def name(self) -> str:
        return self.column.name


class DatabaseTable(msgspec.Struct, frozen=True):
    """What a database says of a table."""

    name: str
    made: str
    """Tells the table from one that is made again under its name, as far as its database can."""
    columns: tuple[DatabaseColumn, ...]
    indexes: tuple[t.Index, ...] = ()
    comment: str | None = None
    engine: str | None = None
    """How MySQL stores it."""

    @property
    def shown(self) -> tuple[t.TableColumn, ...]:
        return tuple(column.column for column in self.columns)


def changed(table: DatabaseTable, changes: Sequence[t.TableChange], *, ordered: bool) -> DatabaseTable:
    """The table after some changes; `ordered` if columns can be put before others there."""
    columns, indexes, comment = [_kept(c) for c in table.columns], list(table.indexes), table.comment
    for change in changes:
        match change:
            case t.RenameTable():
                continue
            case t.UpdateTableComment(new):
                comment = new or None
            case t.AddColumn():
                added = DatabaseColumn(_new(change))
                _free(columns, added.name)
                columns = _placed(columns, added, change.position, ordered=ordered)
            case t.RenameColumn(old, new):
                at = _at(columns, old)
                _free(columns, t.checked_column_name(new), but=at)
                indexes = [_renamed(index, columns[at].name, new) for index in indexes]
                columns[at] = _with(columns[at], name=new)
            case t.UpdateColumnType(path, type):
                at = _at(columns, path)
                columns[at] = _with(columns[at], type=type)
            case t.UpdateColumnComment(path, new):
                at = _at(columns, path)
                columns[at] = _with(columns[at], comment=new or None)
            case t.UpdateColumnNullability(path, nullable):
                at = _at(columns, path)
                columns[at] = _with(columns[at], nullable=nullable)
            case t.UpdateColumnAutoIncrement(path, auto):
                at = _at(columns, path)
                columns[at] = _with(columns[at], auto_increment=auto)
            case t.UpdateColumnDefaultValue(path, value):
                at = _at(columns, path)
                columns[at] = _with(columns[at], default_value=value)
            case t.UpdateColumnPosition(path, position):
                moved = columns.pop(_at(columns, path))
                columns = _placed(columns, moved, position, ordered=ordered, moved=True)
            case t.DeleteColumn(path, if_exists):
                if if_exists and not any((c.name,) == path for c in columns):
                    continue
                gone = columns.pop(_at(columns, path))
                indexes = [index for index in indexes if (gone.name,) not in index.field_names]
                if not columns:
                    raise IllegalArgument("a table has a column", hint="drop the table")
            case t.AddIndex(index):
                checked_indexes((*indexes, index), [c.name for c in columns])
                indexes.append(index)
            case t.DeleteTableIndex(name, if_exists):
                found = [index for index in indexes if index.name == name]
                if not found and not if_exists:
                    raise NotFound(f"the table has no index '{clip(name)}'", about="index")
                indexes = [index for index in indexes if index.name != name]
            case _:
                raise Unsupported(
                    "properties of a table in a database cannot be changed", hint="leave this change out"
                )
    return msgspec.structs.replace(table, columns=tuple(columns), indexes=tuple(indexes), comment=comment)


def checked_definition(definition: t.TableDefinition) -> None:
    """Refuse what no table of a database has."""
    if not definition.columns:
        raise IllegalArgument("a table has a column", hint="name its columns")
    if definition.partitioning or definition.sort_orders or definition.distribution.strategy != "none":
        raise IllegalArgument(
            "tables of databases are made without partitions, sort order and distribution",
            hint="leave them out",
        )
    seen: set[str] = set()
    for column in definition.columns:
        t.checked_column_name(column.name)
        if column.name in seen:
            raise IllegalArgument(f"column '{clip(column.name)}' is named twice", hint="name it once")
        seen.add(column.name)
    checked_indexes(definition.indexes, [column.name for column in definition.columns])


def checked_indexes(indexes: Sequence[t.Index], columns: Sequence[str]) -> None:
    """Refuse indexes of other kinds than keys, of columns that are not there, or two primary keys."""
    primary = [index for index in indexes if index.index_type.lower() == "primary_key"]
    if len(primary) > 1:
        raise IllegalArgument("a table has one primary key")
    named = [index.name for index in indexes if index.name]
    if len(set(named)) != len(named):
        raise IllegalArgument("two indexes of the table have one name")
    for index in indexes:
        if index.index_type.lower() not in ("primary_key", "unique_key"):
            raise IllegalArgument(
                f"'{clip(index.index_type)}' is no index of a database here",
                hint="use primary_key or unique_key",
            )
        paths = index.field_names
        if not paths or any(len(path) != 1 or path[0] not in columns for path in paths):
            raise IllegalArgument("an index is of columns of its table")
        if index.name is not None:
            t.checked_column_name(index.name)


def index_columns(index: t.Index) -> tuple[str, ...]:
    return tuple(path[0] for path in index.field_names)


def _kept(column: DatabaseColumn) -> DatabaseColumn:
    return msgspec.structs.replace(column, was=column.name)


def _new(change: t.AddColumn) -> t.TableColumn:
    if len(change.field_name) != 1:
        raise IllegalArgument("columns of databases have no fields inside", hint="name the column alone")
    name = t.checked_column_name(change.field_name[0])
    return t.TableColumn(
        name, change.type, change.comment, change.nullable, change.auto_increment, change.default_value
    )


def _with(column: DatabaseColumn, **values: object) -> DatabaseColumn:
    return msgspec.structs.replace(column, column=msgspec.structs.replace(column.column, **values))


def _renamed(index: t.Index, old: str, new: str) -> t.Index:
    fields = tuple((new,) if path == (old,) else path for path in index.field_names)
    return msgspec.structs.replace(index, field_names=fields)


def _at(columns: list[DatabaseColumn], path: tuple[str, ...]) -> int:
    found = [n for n, column in enumerate(columns) if (column.name,) == path]
    if not found:
        raise NotFound(f"column '{clip('.'.join(path))}' does not exist", about=ObjectType.COLUMN)
    return found[0]


def _free(columns: list[DatabaseColumn], name: str, *, but: int = -1) -> None:
    if any(column.name == name for n, column in enumerate(columns) if n != but):
        raise AlreadyExists(f"column '{clip(name)}' already exists", about=ObjectType.COLUMN)


def _placed(
    columns: list[DatabaseColumn],
    column: DatabaseColumn,
    position: t.Position | None,
    *,
    ordered: bool,
    moved: bool = False,
) -> list[DatabaseColumn]:
    if not ordered and (moved or position not in (None, "default")):
        raise Unsupported("columns keep their order in this database", hint="leave the position out")
    match position:
        case None | "default":
            return [*columns, column]
        case "first":
            return [column, *columns]
        case t.After(after):
            for at, other in enumerate(columns):
                if other.name == after:
                    return [*columns[: at + 1], column, *columns[at + 1 :]]
            raise NotFound(f"column '{clip(after)}' does not exist", about=ObjectType.COLUMN)
    raise IllegalArgument("a column comes first, by default last, or after another")
