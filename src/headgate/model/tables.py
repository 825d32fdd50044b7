"""Tables as clients describe them: columns, types, layout and changes, in the words of Gravitino's wire.

The names of types are text (``long``, ``decimal(10,2)``, ``timestamp_tz``); nested types are objects. What a catalog
cannot do with a description is for its adapter to refuse.
"""

from collections.abc import Iterator
from typing import Any, Final, TypeAlias

import msgspec

from headgate.model.errors import IllegalArgument
from headgate.model.objects import clip

MAX_DEPTH: Final = 32
"""How deep types may be nested; deeper ones are mistakes or attacks."""

# -- types --------------------------------------------------------------------------------------------------------


class StructField(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A field of a struct."""

    name: str
    type: "DataType"
    nullable: bool = True
    comment: str | None = None


class StructDataType(msgspec.Struct, frozen=True, tag_field="type", tag="struct", rename="camel"):
    fields: tuple[StructField, ...]


class ListDataType(msgspec.Struct, frozen=True, tag_field="type", tag="list", rename="camel"):
    element_type: "DataType"
    contains_null: bool = True


class MapDataType(msgspec.Struct, frozen=True, tag_field="type", tag="map", rename="camel"):
    key_type: "DataType"
    value_type: "DataType"
    value_contains_null: bool = True


class UnionType(msgspec.Struct, frozen=True, tag_field="type", tag="union", rename="camel"):
    types: "tuple[DataType, ...]"


class UnparsedType(msgspec.Struct, frozen=True, tag_field="type", tag="unparsed", rename="camel"):
    """A type that Gravitino does not know, as its catalog wrote it."""

    unparsed_type: str


class ExternalType(msgspec.Struct, frozen=True, tag_field="type", tag="external", rename="camel"):
    """A type that only the system behind the catalog knows."""

    catalog_string: str


DataType: TypeAlias = (
    str | StructDataType | ListDataType | MapDataType | UnionType | UnparsedType | ExternalType
)


def checked_depth(type: DataType, depth: int = 0) -> None:
    """Refuse a type that is nested too deeply."""
    if depth > MAX_DEPTH:
        raise IllegalArgument(f"types are nested more than {MAX_DEPTH} deep", hint="flatten the table")
    for inner in _inner(type):
        checked_depth(inner, depth + 1)


def _inner(type: DataType) -> Iterator[DataType]:
    match type:
        case StructDataType(fields):
            yield from (field.type for field in fields)
        case ListDataType(element):
            yield element
        case MapDataType(key, value):
            yield key
            yield value
        case UnionType(types):
            yield from types


# -- layout -------------------------------------------------------------------------------------------------------


class Expression(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A literal, field, function or text that nobody parsed; `type` says which, and the other parts follow it."""

    type: str
    data_type: DataType | None = None
    value: Any = None
    field_name: tuple[str, ...] | None = None
    function_name: str | None = msgspec.field(default=None, name="funcName")
    func_args: "tuple[Expression, ...] | None" = None
    unparsed_expression: str | None = None


class TableColumn(msgspec.Struct, frozen=True, rename="camel"):
    name: str
    type: DataType
    comment: str | None = None
    nullable: bool = True
    auto_increment: bool = False
    default_value: Expression | None = None


class Partitioning(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """One step of a table's partitioning; which parts count depends on the strategy."""

    strategy: str
    field_name: tuple[str, ...] | None = None
    field_names: tuple[tuple[str, ...], ...] | None = None
    num_buckets: int | None = None
    width: int | None = None
    func_name: str | None = None
    func_args: tuple[Expression, ...] | None = None
    assignments: tuple[Any, ...] | None = None


class SortOrder(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    sort_term: Expression
    direction: str = ""
    null_ordering: str = ""


class Distribution(msgspec.Struct, frozen=True, rename="camel"):
    strategy: str = "none"
    number: int = 0
    func_args: tuple[Expression, ...] = ()


class Index(msgspec.Struct, frozen=True, rename="camel"):
    index_type: str
    field_names: tuple[tuple[str, ...], ...]
    name: str | None = None


class TableDefinition(msgspec.Struct, frozen=True, rename="camel"):
    """A whole table, as it is asked for and as it is answered."""

    name: str
    columns: tuple[TableColumn, ...]
    comment: str | None = None
    properties: dict[str, str] = {}
    partitioning: tuple[Partitioning, ...] = ()
    sort_orders: tuple[SortOrder, ...] = ()
    distribution: Distribution = Distribution()
    indexes: tuple[Index, ...] = ()


class LoadedTable(msgspec.Struct, frozen=True):
    """A table as its catalog has it. `fields` gives the id of each column, which outlives a rename."""

    definition: TableDefinition
    location: str
    fields: dict[str, int]
    metadata_location: str | None = None


class Partition(msgspec.Struct, frozen=True, rename="camel"):
    """A partition that holds data: the fields it is made by and the value of each."""

    type: str
    name: str
    field_names: tuple[tuple[str, ...], ...]
    values: tuple[Expression, ...]
    properties: dict[str, str] = {}


# -- changes ------------------------------------------------------------------------------------------------------


class After(msgspec.Struct, frozen=True):
    """Behind that column."""

    after: str


Position: TypeAlias = str | After
"""``first``, ``default`` (the end), or after a column."""


class _TableChange(msgspec.Struct, frozen=True, tag_field="@type", rename="camel"):
    pass


class RenameTable(_TableChange, frozen=True, tag="rename"):
    new_name: str
    new_schema_name: str | None = None


class UpdateTableComment(_TableChange, frozen=True, tag="updateComment"):
    new_comment: str | None = None


class SetTableProperty(_TableChange, frozen=True, tag="setProperty"):
    property: str
    value: str


class RemoveTableProperty(_TableChange, frozen=True, tag="removeProperty"):
    property: str


class AddColumn(_TableChange, frozen=True, tag="addColumn"):
    field_name: tuple[str, ...]
    type: DataType
    comment: str | None = None
    position: Position | None = None
    nullable: bool = True
    auto_increment: bool = False
    default_value: Expression | None = None


class RenameColumn(_TableChange, frozen=True, tag="renameColumn"):
    old_field_name: tuple[str, ...]
    new_field_name: str


class UpdateColumnDefaultValue(_TableChange, frozen=True, tag="updateColumnDefaultValue"):
    field_name: tuple[str, ...]
    new_default_value: Expression | None = None


class UpdateColumnType(_TableChange, frozen=True, tag="updateColumnType"):
    field_name: tuple[str, ...]
    new_type: DataType


class UpdateColumnComment(_TableChange, frozen=True, tag="updateColumnComment"):
    field_name: tuple[str, ...]
    new_comment: str | None = None


class UpdateColumnPosition(_TableChange, frozen=True, tag="updateColumnPosition"):
    field_name: tuple[str, ...]
    new_position: Position


class UpdateColumnNullability(_TableChange, frozen=True, tag="updateColumnNullability"):
    field_name: tuple[str, ...]
    nullable: bool


class UpdateColumnAutoIncrement(_TableChange, frozen=True, tag="updateColumnAutoIncrement"):
    field_name: tuple[str, ...]
    auto_increment: bool


class DeleteColumn(_TableChange, frozen=True, tag="deleteColumn"):
    field_name: tuple[str, ...]
    if_exists: bool = False


class AddIndex(_TableChange, frozen=True, tag="addTableIndex"):
    index: Index


class DeleteTableIndex(_TableChange, frozen=True, tag="deleteTableIndex"):
    name: str
    if_exists: bool = False


ColumnChange: TypeAlias = (
    AddColumn
    | RenameColumn
    | UpdateColumnDefaultValue
    | UpdateColumnType
    | UpdateColumnComment
    | UpdateColumnPosition
    | UpdateColumnNullability
    | UpdateColumnAutoIncrement
    | DeleteColumn
)
TableChange: TypeAlias = (
    RenameTable
    | UpdateTableComment
    | SetTableProperty
    | RemoveTableProperty
    | ColumnChange
    | AddIndex
    | DeleteTableIndex
)


def checked_column_name(name: str) -> str:
    """Return the name of a new column, or refuse what nobody could read or address."""
    if not name or len(name) > 255 or not name.isprintable() or name != name.strip():
        raise IllegalArgument(
            f"'{clip(name)}' cannot be the name of a column",
            hint="use 1 to 255 printable characters without spaces around",
        )
    return name
