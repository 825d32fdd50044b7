"""Columns by path: each part of a path is one field, so a dot inside a name never means nesting."""

from pyiceberg.schema import Schema
from pyiceberg.types import IcebergType, ListType, MapType, NestedField, StructType

from headgate.model.errors import IllegalArgument, NotFound
from headgate.model.objects import ObjectType, clip


def find(schema: Schema, path: tuple[str, ...]) -> NestedField | None:
    """The field at a path, or None. Elements of lists and maps are named element, key and value.

    INVARIANT: pyiceberg looks fields up by their dotted name; a path is only ever passed on to it if that name
    leads to the same field as the path does, part by part.
    """
    fields: tuple[NestedField, ...] = schema.fields
    found: NestedField | None = None
    for part in path:
        found = next((field for field in fields if field.name == part), None)
        if found is None:
            return None
        fields = _below(found.field_type)
    if found is not None and schema.find_field(".".join(path)).field_id != found.field_id:
        raise IllegalArgument(
            f"'{clip('.'.join(path))}' names more than one column", hint="rename the column that has a dot"
        )
    return found


def field_at(schema: Schema, path: tuple[str, ...]) -> NestedField:
    found = find(schema, path)
    if found is None:
        raise NotFound(f"column '{clip('.'.join(path))}' does not exist", about=ObjectType.COLUMN)
    return found


def path_of(schema: Schema, id: int) -> tuple[str, ...]:
    """The path of a field, from the top."""
    way = _way(schema.fields, id)
    return way if way is not None else (schema.find_column_name(id) or str(id),)


def _way(fields: tuple[NestedField, ...], id: int) -> tuple[str, ...] | None:
    for field in fields:
        if field.field_id == id:
            return (field.name,)
        below = _way(_below(field.field_type), id)
        if below is not None:
            return (field.name, *below)
    return None


def _below(type: IcebergType) -> tuple[NestedField, ...]:
    match type:
        case StructType():
            return type.fields
        case ListType():
            return (type.element_field,)
        case MapType():
            return (type.key_field, type.value_field)
    return ()
