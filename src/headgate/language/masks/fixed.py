"""Masks that leave nothing of the value: the same for every row."""

import datetime as dt
import struct
import uuid
from typing import Any, Final

from headgate.language import values
from headgate.language.lower.spark import SparkPrinter
from headgate.language.lower.sql import Printer
from headgate.language.masks.kind import NO_MASKS, ColumnMask, Columns, MaskKind, Nulls
from headgate.language.masks.spark import SparkSecrets, spark_type
from headgate.model.schema import (
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    STRING,
    TIME,
    TIMESTAMP,
    TIMESTAMP_NS,
    TIMESTAMPTZ,
    TIMESTAMPTZ_NS,
    UNKNOWN,
    UUID,
    VARIANT,
    DecimalType,
    FixedType,
    ListType,
    MapType,
    StructType,
    Type,
)

EMPTY_POINT: Final = struct.pack("<BIdd", 1, 1, float("nan"), float("nan"))


def fixed_value(type_: Type) -> Any:
    """The value that `mask_to_fixed_value` puts in the place of every other."""
    match type_:
        case DecimalType():
            return values.to_decimal(0, type_)
        case FixedType(length):
            return b"\0" * length
        case StructType(fields):
            return {f.id: fixed_value(f.type) for f in fields}
        case ListType():
            return []
        case MapType():
            return {}
    simple: dict[Type, Any] = {
        BOOLEAN: False, INT: 0, LONG: 0, FLOAT: 0.0, DOUBLE: 0.0, STRING: "XXXXXXXX", DATE: dt.date(1970, 1, 1),
        TIME: dt.time(0), TIMESTAMP: values.EPOCH, TIMESTAMPTZ: values.EPOCH.replace(tzinfo=dt.UTC), TIMESTAMP_NS: 0,
        TIMESTAMPTZ_NS: 0, UUID: uuid.UUID(int=0),
    }  # fmt: skip
    return simple.get(type_, EMPTY_POINT if str(type_).startswith("geo") else b"")


def _has_fixed_value(type_: Type) -> bool:
    if isinstance(type_, StructType):
        return all(_has_fixed_value(f.type) for f in type_.fields)
    return type_ not in (VARIANT, UNKNOWN)


def _fixed_sql(printer: SparkPrinter, type_: Type) -> str:
    """The fixed value of a type; a struct's is made field by field."""
    match type_:
        case StructType(fields):
            parts = ", ".join(f"{printer.string(f.name)}, {_fixed_sql(printer, f.type)}" for f in fields)
            return f"named_struct({parts})"
        case ListType():
            return f"CAST(array() AS {spark_type(printer, type_)})"
        case MapType():
            return f"CAST(map() AS {spark_type(printer, type_)})"
    if type_ in (INT, LONG):
        return f"CAST(0 AS {printer.type_name(type_)})"
    return printer.literal(fixed_value(type_), type_)


def _fixed_hive(mask: ColumnMask, printer: Printer) -> str:
    return printer.literal(fixed_value(mask.column.type), mask.column.type)


MASK_TO_FIXED_VALUE: Final = MaskKind(
    name="mask_to_fixed_value",
    columns=Columns("all but variant", _has_fixed_value, "hide the column", "{type} has no fixed value"),
    arguments=(),
    keyed_by=None,
    needs_other_rows=False,
    shows_nothing=True,
    nulls=Nulls.REPLACES,
    iceberg_action="mask-to-fixed-value",
    python=lambda mask, value, secrets: fixed_value(mask.column.type),
    spark=lambda mask, printer, secrets: _fixed_sql(printer, mask.column.type),
    dialects={"hive": _fixed_hive, **NO_MASKS},
    result="false, 0, `XXXXXXXX`, 1970-01-01, midnight, epoch, zero bytes, empty; structs field by field. NULL is replaced too",
)


def _null_spark(mask: ColumnMask, printer: SparkPrinter, secrets: SparkSecrets) -> str:
    printer.print(mask.column)  # refuses a column that Spark cannot read
    return f"CAST(NULL AS {spark_type(printer, mask.column.type)})"


REPLACE_WITH_NULL: Final = MaskKind(
    name="replace_with_null",
    columns=Columns("nullable columns", lambda type_: True),
    arguments=(),
    keyed_by=None,
    needs_other_rows=False,
    shows_nothing=True,
    nulls=Nulls.MAKES,
    iceberg_action="replace-with-null",
    python=lambda mask, value, secrets: None,
    spark=_null_spark,
    dialects={"hive": lambda mask, printer: "NULL", **NO_MASKS},
    result="NULL",
)
