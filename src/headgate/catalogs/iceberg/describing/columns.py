"""Changes of single columns, by way of pyiceberg's own schema updates: they keep and give out field ids."""

import itertools

from pyiceberg.schema import Schema
from pyiceberg.table import Transaction
from pyiceberg.table.update.schema import UpdateSchema

from headgate.catalogs.iceberg.describing.types import (
    Fresh,
    refuse_auto_increment,
    refuse_default,
    to_iceberg,
)
from headgate.catalogs.iceberg.paths import field_at, find
from headgate.model import tables as t
from headgate.model.errors import AlreadyExists, IllegalArgument
from headgate.model.objects import ObjectType, clip


def change_column(transaction: Transaction, change: t.ColumnChange) -> None:
    """Stage one change of a column."""
    schema = transaction.table_metadata.schema()
    if isinstance(change, t.DeleteColumn) and change.if_exists and find(schema, change.field_name) is None:
        return
    with transaction.update_schema() as update:
        _stage(update, transaction, schema, change)


def _stage(update: UpdateSchema, transaction: Transaction, schema: Schema, change: t.ColumnChange) -> None:
    match change:
        case t.AddColumn():
            _add(update, schema, change)
        case t.RenameColumn(path, new):
            field_at(schema, path)
            _free(schema, (*path[:-1], t.checked_column_name(new)))
            update.rename_column(path, new)
        case t.UpdateColumnType(path, type):
            field_at(schema, path)
            t.checked_depth(type)
            update.update_column(path, field_type=to_iceberg(type, _numbers()))
        case t.UpdateColumnComment(path, comment):
            field_at(schema, path)
            update.update_column(path, doc=comment or "")
        case t.UpdateColumnPosition(path, position):
            field_at(schema, path)
            _move(update, schema, path, position)
        case t.UpdateColumnNullability(path, nullable):
            field_at(schema, path)
            update.update_column(path, required=not nullable)
        case t.UpdateColumnAutoIncrement(path, auto_increment):
            field_at(schema, path)
            refuse_auto_increment(".".join(path), auto_increment)
        case t.UpdateColumnDefaultValue(path, value):
            field_at(schema, path)
            refuse_default(".".join(path), value)
        case t.DeleteColumn(path):
            _unused(transaction, field_at(schema, path).field_id, path)
            update.delete_column(path)


def _add(update: UpdateSchema, schema: Schema, add: t.AddColumn) -> None:
    path = add.field_name
    if not path:
        raise IllegalArgument("a new column needs a name", hint="set fieldName")
    if len(path) > 1:
        field_at(schema, path[:-1])
    _free(schema, (*path[:-1], t.checked_column_name(path[-1])))
    t.checked_depth(add.type)
    refuse_auto_increment(path[-1], add.auto_increment)
    refuse_default(path[-1], add.default_value)
    update.add_column(path, to_iceberg(add.type, _numbers()), doc=add.comment, required=not add.nullable)
    if add.position is not None:
        _move(update, schema, path, add.position)


def _move(update: UpdateSchema, schema: Schema, path: tuple[str, ...], position: t.Position) -> None:
    match position:
        case t.After(after):
            beside = (*path[:-1], after)
            field_at(schema, beside)
            update.move_after(path, beside)
        case str() if position.lower() == "first":
            update.move_first(path)
        case str() if position.lower() == "default":
            return
        case _:
            raise IllegalArgument(
                f"'{clip(position)}' is not a position",
                hint="use first, default or the column to come after",
            )


def _free(schema: Schema, path: tuple[str, ...]) -> None:
    dotted = ".".join(path)
    if find(schema, path) is not None or dotted in schema.column_names:
        raise AlreadyExists(f"column '{clip(dotted)}' already exists", about=ObjectType.COLUMN)


def _unused(transaction: Transaction, id: int, path: tuple[str, ...]) -> None:
    """A column that the layout rests on stays: without it nobody could tell where new rows belong."""
    metadata = transaction.table_metadata
    used = {field.source_id for field in metadata.spec().fields}
    used |= {field.source_id for field in metadata.sort_order().fields}
    below = {id} | {other for other in used if _inside(metadata.schema(), other, id)}
    if used & below:
        raise IllegalArgument(
            f"column '{clip('.'.join(path))}' is part of the partitioning or the sort order",
            hint="change the layout first",
        )


def _inside(schema: Schema, id: int, ancestor: int) -> bool:
    parents = schema._lazy_id_to_parent
    while id in parents:
        id = parents[id]
        if id == ancestor:
            return True
    return False


def _numbers() -> Fresh:
    """Ids for the parts of a nested type; pyiceberg gives its own when the column is added."""
    return itertools.count(1).__next__
