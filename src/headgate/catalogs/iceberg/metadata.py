"""Table metadata: made from a description, told as a description, and changed."""

import itertools
import uuid
from collections.abc import Callable
from typing import Final, TypeVar

from pyiceberg.catalog.noop import NoopCatalog
from pyiceberg.exceptions import ValidationError
from pyiceberg.io import FileIO
from pyiceberg.schema import Schema
from pyiceberg.table import Table, Transaction
from pyiceberg.table.metadata import TableMetadata, new_table_metadata
from pyiceberg.table.update import (
    AddSchemaUpdate,
    RemovePropertiesUpdate,
    SetCurrentSchemaUpdate,
    SetPropertiesUpdate,
    TableUpdate,
    update_table_metadata,
)
from pyiceberg.types import NestedField

from headgate.catalogs.iceberg import layout
from headgate.catalogs.iceberg.columns import change_column
from headgate.catalogs.iceberg.properties import checked_property, checked_table_properties
from headgate.catalogs.iceberg.types import checked_columns, from_iceberg, to_iceberg
from headgate.model import tables as t
from headgate.model.errors import HeadgateError, IllegalArgument
from headgate.model.objects import clip

T = TypeVar("T")

COMMENT: Final = "comment"
"""The property that holds a table's comment, as engines expect it."""

_NO_INDEX: Final = "Iceberg tables have no indexes"


def made(definition: t.TableDefinition, location: str, id: uuid.UUID) -> TableMetadata:
    """The first metadata of a table, or a refusal of what Iceberg cannot do."""
    checked_columns(definition.columns)
    if definition.indexes:
        raise IllegalArgument(_NO_INDEX, hint="leave 'indexes' empty")
    if definition.distribution.strategy.lower() != "none":
        raise IllegalArgument(
            f"Iceberg tables have no '{clip(definition.distribution.strategy)}' distribution",
            hint="use none; a bucket partitioning spreads rows by hash",
        )
    ids = itertools.count(1)
    top = [(next(ids), column) for column in definition.columns]
    schema = Schema(
        *(
            NestedField(
                id,
                column.name,
                to_iceberg(column.type, lambda: next(ids)),
                required=not column.nullable,
                doc=column.comment,
            )
            for id, column in top
        )
    )
    spec = layout.to_spec(definition.partitioning, schema)
    order = layout.to_sort_order(definition.sort_orders, schema)
    layout.checked_compatible(spec, order, schema)
    properties = checked_table_properties(definition.properties, location)
    if definition.comment:
        properties[COMMENT] = definition.comment
    return _told(lambda: new_table_metadata(schema, spec, order, location, properties, id))


def told(name: str, metadata: TableMetadata, metadata_location: str | None) -> t.LoadedTable:
    """A table as clients see it."""
    schema = metadata.schema()
    snapshot = metadata.current_snapshot_id
    return t.LoadedTable(
        t.TableDefinition(
            name,
            tuple(
                t.Column(field.name, from_iceberg(field.field_type), field.doc, not field.required)
                for field in schema.fields
            ),
            metadata.properties.get(COMMENT),
            {
                **{key: value for key, value in metadata.properties.items() if key != COMMENT},
                "provider": "iceberg",
                "format-version": str(metadata.format_version),
                "location": metadata.location,
                "current-snapshot-id": "none" if snapshot is None else str(snapshot),
            },
            layout.from_spec(metadata.spec(), schema),
            layout.from_sort_order(metadata.sort_order(), schema),
        ),
        metadata.location,
        {field.name: field.field_id for field in schema.fields},
        metadata_location,
    )


def changed(
    metadata: TableMetadata, metadata_location: str, io: FileIO, changes: tuple[t.TableChange, ...]
) -> TableMetadata:
    """The metadata after the changes, applied in their order. Field ids stay with their columns."""
    transaction = Transaction(Table(("table",), metadata, metadata_location, io, NoopCatalog("none")))
    properties = dict(metadata.properties)
    for change in changes:
        match change:
            case t.RenameTable():
                continue
            case t.UpdateComment(comment):
                _set(properties, COMMENT, comment or None)
            case t.SetProperty(key, value):
                checked_property(key, value, metadata.location)
                properties[key] = value
            case t.RemoveProperty(key):
                checked_property(key, "", metadata.location)
                properties.pop(key, None)
            case t.AddIndex() | t.DeleteIndex(if_exists=False):
                raise IllegalArgument(_NO_INDEX, hint="leave indexes out")
            case t.DeleteIndex():
                continue
            case _:
                column: t.ColumnChange = change
                _told(lambda: change_column(transaction, column))  # noqa: B023 — called at once
    updates = (
        *_schema_updates(metadata, transaction.table_metadata),
        *_property_updates(metadata, properties),
    )
    return _told(lambda: update_table_metadata(metadata, updates, True, metadata_location))


def _schema_updates(before: TableMetadata, after: TableMetadata) -> list[TableUpdate]:
    """One new schema for any number of changes: what lay in between never was anybody's table."""
    schema = after.schema()
    if schema == before.schema():
        return []
    known = next((old for old in before.schemas if old == schema), None)
    if known is not None:
        return [_current(known.schema_id)]
    number = max(old.schema_id for old in before.schemas) + 1
    fresh = Schema(*schema.fields, schema_id=number, identifier_field_ids=schema.identifier_field_ids)
    return [AddSchemaUpdate(schema=fresh), _current(number)]


def _current(id: int) -> SetCurrentSchemaUpdate:
    return SetCurrentSchemaUpdate.model_validate({"schema-id": id})


def _property_updates(metadata: TableMetadata, after: dict[str, str]) -> list[TableUpdate]:
    before = metadata.properties
    removed = sorted(key for key in before if key not in after)
    put = {key: value for key, value in after.items() if before.get(key) != value}
    updates: list[TableUpdate] = []
    if removed:
        updates.append(RemovePropertiesUpdate(removals=removed))
    if put:
        updates.append(SetPropertiesUpdate(updates=put))
    return updates


def _set(properties: dict[str, str], key: str, value: str | None) -> None:
    if value is None:
        properties.pop(key, None)
    else:
        properties[key] = value


def _told(act: Callable[[], T]) -> T:
    """What pyiceberg refuses is the client's mistake and is told in its words."""
    try:
        return act()
    except HeadgateError:
        raise
    except (ValueError, ValidationError, NotImplementedError) as error:
        raise IllegalArgument(f"Iceberg refuses: {clip(str(error), 300)}") from None
