"""Gravitino's types as Iceberg's, and back."""

import re
from collections.abc import Callable, Iterable
from typing import Final

from pyiceberg import types as ice

from headgate.model import tables as t
from headgate.model.errors import IllegalArgument
from headgate.model.objects import clip

_NAMED: Final[dict[str, ice.PrimitiveType]] = {
    "boolean": ice.BooleanType(),
    "integer": ice.IntegerType(),
    "long": ice.LongType(),
    "float": ice.FloatType(),
    "double": ice.DoubleType(),
    "date": ice.DateType(),
    "time": ice.TimeType(),
    "timestamp": ice.TimestampType(),
    "timestamp_tz": ice.TimestamptzType(),
    "string": ice.StringType(),
    "uuid": ice.UUIDType(),
    "binary": ice.BinaryType(),
}
_BACK: Final = {type: name for name, type in _NAMED.items()}

_SIZED: Final = re.compile(r"(\w+)\((\d{1,5})(?:,\s*(\d{1,5}))?\)")

_HINTS: Final = {
    "byte": "use integer",
    "short": "use integer",
    "char": "use string",
    "interval_day": "use long",
    "interval_year": "use integer",
}

Fresh = Callable[[], int]
"""Gives the next field id."""


def to_iceberg(type: t.DataType, fresh: Fresh) -> ice.IcebergType:
    """The Iceberg type, or a refusal that says what to use instead. Nested fields take fresh ids."""
    match type:
        case str():
            return _primitive(type)
        case t.StructDataType(fields):
            if not fields:
                raise IllegalArgument("a struct needs at least one field", hint="name its fields")
            _unique(field.name for field in fields)
            ids = [fresh() for _ in fields]
            return ice.StructType(
                *(
                    ice.NestedField(
                        id,
                        t.checked_column_name(field.name),
                        to_iceberg(field.type, fresh),
                        required=not field.nullable,
                        doc=field.comment,
                    )
                    for id, field in zip(ids, fields, strict=True)
                )
            )
        case t.ListDataType(element, contains_null):
            id = fresh()
            return ice.ListType(id, to_iceberg(element, fresh), element_required=not contains_null)
        case t.MapDataType(key, value, contains_null):
            key_id, value_id = fresh(), fresh()
            return ice.MapType(
                key_id,
                to_iceberg(key, fresh),
                value_id,
                to_iceberg(value, fresh),
                value_required=not contains_null,
            )
    raise IllegalArgument(
        f"Iceberg has no {type.__struct_config__.tag} type", hint="use a primitive, struct, list or map"
    )


def _primitive(text: str) -> ice.IcebergType:
    word = text.strip().lower()
    found = _NAMED.get(word)
    if found is not None:
        return found
    sized = _SIZED.fullmatch(word)
    if sized is not None:
        name, first, second = sized[1], int(sized[2]), sized[3]
        if name == "decimal" and second is not None and 1 <= first <= 38 and int(second) <= first:
            return ice.DecimalType(first, int(second))
        if name == "fixed" and second is None and first > 0:
            return ice.FixedType(first)
        # Iceberg's strings have no bound; the answer tells `string`, so nobody is led to expect one.
        if name == "varchar" and second is None and first > 0:
            return ice.StringType()
        # Iceberg keeps microseconds, which is what precision 6 asks for.
        if name in ("time", "timestamp", "timestamp_tz") and second is None and first == 6:
            return _NAMED[name]
        word = name
    unsigned = word.endswith(" unsigned")
    hint = "use a signed type that is wide enough" if unsigned else _HINTS.get(word)
    raise IllegalArgument(
        f"Iceberg has no type '{clip(text)}'",
        hint=hint or f"use one of {', '.join(_NAMED)}, decimal(p,s), fixed(n), struct, list or map",
    )


def from_iceberg(type: ice.IcebergType) -> t.DataType:
    """The type as clients know it; what Gravitino has no word for is told as the format writes it."""
    match type:
        case ice.DecimalType():
            return f"decimal({type.precision},{type.scale})"
        case ice.FixedType():
            return f"fixed({len(type)})"
        case ice.StructType():
            return t.StructDataType(
                tuple(
                    t.StructField(field.name, from_iceberg(field.field_type), not field.required, field.doc)
                    for field in type.fields
                )
            )
        case ice.ListType():
            return t.ListDataType(from_iceberg(type.element_type), not type.element_required)
        case ice.MapType():
            return t.MapDataType(
                from_iceberg(type.key_type), from_iceberg(type.value_type), not type.value_required
            )
        case ice.PrimitiveType() if type in _BACK:
            return _BACK[type]
    return t.ExternalType(str(type))


def _unique(names: Iterable[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise IllegalArgument(f"column '{clip(name)}' is named twice", hint="name it once")
        seen.add(name)


def checked_columns(columns: tuple[t.TableColumn, ...]) -> None:
    """Refuse what no Iceberg table can have in its columns."""
    if not columns:
        raise IllegalArgument("a table needs at least one column", hint="name its columns")
    _unique(column.name for column in columns)
    for column in columns:
        t.checked_column_name(column.name)
        t.checked_depth(column.type)
        refuse_auto_increment(column.name, column.auto_increment)
        refuse_default(column.name, column.default_value)


def refuse_auto_increment(name: str, wanted: bool) -> None:
    if wanted:
        raise IllegalArgument(
            f"column '{clip(name)}' cannot be auto increment", hint="Iceberg tables have no such columns"
        )


def refuse_default(name: str, value: t.Expression | None) -> None:
    if value is not None:
        raise IllegalArgument(
            f"column '{clip(name)}' cannot have a default value",
            hint="Iceberg has default values from format version 3 on, and this table is of an earlier one",
        )
