"""Tables as the model describes them: made into documents, told from documents, and changed."""

import itertools
import uuid
from collections.abc import Callable
from typing import Any, Final, TypeVar

from pyiceberg.catalog.noop import NoopCatalog
from pyiceberg.exceptions import ValidationError
from pyiceberg.io import FileIO
from pyiceberg.schema import Schema
from pyiceberg.table import Table, Transaction
from pyiceberg.table.metadata import TableMetadata, TableMetadataUtil
from pyiceberg.types import NestedField

from headgate.catalogs.iceberg import faults, table_metadata
from headgate.catalogs.iceberg.describing import layout
from headgate.catalogs.iceberg.describing.columns import change_column
from headgate.catalogs.iceberg.describing.types import checked_columns, from_iceberg, to_iceberg
from headgate.catalogs.iceberg.properties import checked_property, checked_table_properties
from headgate.model import tables as t
from headgate.model.errors import HeadgateError, IllegalArgument
from headgate.model.objects import clip

T = TypeVar("T")
Json = dict[str, Any]

COMMENT: Final = "comment"
"""The property that holds a table's comment, as engines expect it."""

_UNREADABLE: Final = (
    ValueError,
    ValidationError,
    NotImplementedError,
    TypeError,
    AttributeError,
    LookupError,
    ArithmeticError,
)
"""What pyiceberg raises of documents: its checks before types are known take one shape for another."""

_NO_INDEX: Final = "Iceberg tables have no indexes"


def made(definition: t.TableDefinition, location: str, id: uuid.UUID) -> Json:
    """The first document of a table, or a refusal of what Iceberg cannot do."""
    checked_columns(definition.columns)
    if definition.indexes:
        raise IllegalArgument(_NO_INDEX, hint="leave 'indexes' empty")
    if definition.distribution.strategy.lower() != "none":
        raise IllegalArgument(
            f"Iceberg tables have no '{clip(definition.distribution.strategy)}' distribution",
            hint="use none; a bucket partitioning spreads rows by hash",
        )
    schema = schema_of(definition.columns)
    spec = layout.to_spec(definition.partitioning, schema)
    order = layout.to_sort_order(definition.sort_orders, schema)
    layout.checked_compatible(spec, order, schema)
    properties = checked_table_properties(definition.properties, location)
    if definition.comment:
        properties[COMMENT] = definition.comment
    request = {
        "schema": schema.model_dump(mode="json"),
        "partition-spec": spec.model_dump(mode="json"),
        "write-order": order.model_dump(mode="json"),
        "properties": properties,
    }
    return table_metadata.create(location, request, id)


def schema_of(columns: tuple[t.TableColumn, ...]) -> Schema:
    """A schema with field ids in order, or a refusal of a type that Iceberg does not have."""
    return _translate_errors(lambda: _schema(columns))


def describe_columns(schema: Schema) -> tuple[t.TableColumn, ...]:
    return tuple(
        t.TableColumn(field.name, from_iceberg(field.field_type), field.doc, not field.required)
        for field in schema.fields
    )


def _schema(columns: tuple[t.TableColumn, ...]) -> Schema:
    ids = itertools.count(1)
    top = [(next(ids), column) for column in columns]
    return Schema(
        *(
            NestedField(
                id,
                column.name,
                to_iceberg(column.type, ids.__next__),
                required=not column.nullable,
                doc=column.comment,
            )
            for id, column in top
        )
    )


def parsed(document: Json) -> TableMetadata:
    """A document as pyiceberg understands it."""
    try:
        return TableMetadataUtil.parse_obj(document)
    except _UNREADABLE as error:
        raise IllegalArgument(f"the table's metadata cannot be read: {faults.describe(error)}") from None


def describe_table(name: str, document: Json, metadata_location: str | None) -> t.LoadedTable:
    """A table as clients see it."""
    metadata = parsed(document)
    schema = metadata.schema()
    snapshot = metadata.current_snapshot_id
    return t.LoadedTable(
        t.TableDefinition(
            name,
            describe_columns(schema),
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


def updates_for(
    document: Json, metadata_location: str, io: FileIO, changes: tuple[t.TableChange, ...]
) -> list[Json]:
    """The updates that make the changes, in their order. Field ids stay with their columns."""
    metadata = parsed(document)
    transaction = Transaction(Table(("table",), metadata, metadata_location, io, NoopCatalog("none")))
    properties = dict(metadata.properties)
    for change in changes:
        match change:
            case t.RenameTable():
                continue
            case t.UpdateTableComment(comment):
                _set(properties, COMMENT, comment or None)
            case t.SetTableProperty(key, value):
                checked_property(key, value, metadata.location)
                properties[key] = value
            case t.RemoveTableProperty(key):
                checked_property(key, "", metadata.location)
                properties.pop(key, None)
            case t.AddIndex() | t.DeleteTableIndex(if_exists=False):
                raise IllegalArgument(_NO_INDEX, hint="leave indexes out")
            case t.DeleteTableIndex():
                continue
            case _:
                column: t.ColumnChange = change
                _translate_errors(lambda: change_column(transaction, column))  # noqa: B023 — called at once
    return [
        *_schema_updates(metadata, transaction.table_metadata),
        *_property_updates(metadata, properties),
    ]


def _schema_updates(before: TableMetadata, after: TableMetadata) -> list[Json]:
    """One new schema for any number of changes: what lay in between never was anybody's table."""
    schema = after.schema()
    if schema == before.schema():
        return []
    return [
        {"action": "add-schema", "schema": schema.model_dump(mode="json")},
        {"action": "set-current-schema", "schema-id": table_metadata.LAST_ADDED},
    ]


def _property_updates(metadata: TableMetadata, after: dict[str, str]) -> list[Json]:
    before = metadata.properties
    removed = sorted(key for key in before if key not in after)
    put = {key: value for key, value in after.items() if before.get(key) != value}
    updates: list[Json] = []
    if removed:
        updates.append({"action": "remove-properties", "removals": removed})
    if put:
        updates.append({"action": "set-properties", "updates": put})
    return updates


def _set(properties: dict[str, str], key: str, value: str | None) -> None:
    if value is None:
        properties.pop(key, None)
    else:
        properties[key] = value


def _translate_errors(act: Callable[[], T]) -> T:
    """What pyiceberg refuses is the client's mistake and is refused in its words."""
    try:
        return act()
    except HeadgateError:
        raise
    except (ValueError, ValidationError, NotImplementedError) as error:
        raise IllegalArgument(f"Iceberg refuses: {clip(str(error), 300)}") from None
