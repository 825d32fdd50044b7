"""Masks of numbers that need one row only: the bucket that holds the value."""

import decimal
import math
from typing import Any, Final

from headgate.language import values
from headgate.language.ast import Literal
from headgate.language.errors import ExpressionTypeError
from headgate.language.lower.spark import SparkPrinter
from headgate.language.masks.kind import NO_MASKS, Argument, ColumnMask, Columns, MaskKind, Nulls, Refusal
from headgate.language.masks.python import Secrets
from headgate.language.masks.spark import SparkSecrets
from headgate.language.types import coerce, is_exact, is_float
from headgate.model.schema import DOUBLE, FLOAT, INT, DecimalType, Type

NUMBERS: Final = Columns("numbers", lambda type_: is_exact(type_) or is_float(type_), "use another mask")


def _width(given: Literal, type_: Type) -> Any:
    if isinstance(type_, DecimalType) and type_.precision > 36:
        raise ExpressionTypeError(
            "buckets need room for two more digits", "narrow the column's type", given.at
        )
    fitted = coerce(given, type_)
    assert isinstance(fitted, Literal)
    width = fitted.value
    return width if width is not None and 0 < width < float("inf") else None


def _bucket(mask: ColumnMask, value: Any, secrets: Secrets) -> Any:
    type_, width = mask.column.type, mask.args[0]
    if isinstance(value, float):
        if not math.isfinite(value):
            return value
        rest = math.fmod(value, width)
        rest = math.fmod(rest + width, width) if rest < 0 else rest
        return values.to_float(value - rest) if type_ == FLOAT else value - rest
    if isinstance(type_, DecimalType):
        count, least = _floor_divide(value, width), _least(type_)
        return max(values.EXACT.multiply(count, width).quantize(least, context=values.EXACT), least)
    return max(value - value % width, values.INT_RANGE[0] if type_ == INT else values.LONG_RANGE[0])


def _least(type_: DecimalType) -> decimal.Decimal:
    """The least value of a decimal type."""
    return decimal.Decimal(1 - 10**type_.precision).scaleb(-type_.scale, context=values.EXACT)


def _floor_divide(value: decimal.Decimal, width: decimal.Decimal) -> decimal.Decimal:
    rest = values.EXACT.remainder(value, width)
    whole = values.EXACT.divide_int(value, width)
    return values.EXACT.subtract(whole, decimal.Decimal(1)) if rest < 0 else whole


def _bucket_sql(mask: ColumnMask, printer: SparkPrinter, secrets: SparkSecrets) -> str:
    type_, width, text = mask.column.type, mask.args[0], printer.print(mask.column)
    name = printer.type_name(type_)
    if type_ in (FLOAT, DOUBLE):
        wide, step = f"CAST({text} AS DOUBLE)", printer.literal(width, DOUBLE)
        edges = ", ".join(printer.literal(float(v), DOUBLE) for v in ("nan", "inf", "-inf"))
        return f"CASE WHEN {wide} IN ({edges}) THEN {text} ELSE CAST({wide} - pmod({wide}, {step}) AS {name}) END"
    if isinstance(type_, DecimalType):
        least, wide, step = printer.literal(_least(type_), type_), text, printer.literal(width, type_)
    else:
        least = f"CAST({-(2**31) if type_ == INT else -(2**63)} AS DECIMAL(20, 0))"
        wide, step = f"CAST({text} AS DECIMAL(20, 0))", f"CAST({width} AS DECIMAL(20, 0))"
    # greatest passes NULL over, a mask must not.
    return f"CASE WHEN {text} IS NOT NULL THEN CAST(greatest({wide} - pmod({wide}, {step}), {least}) AS {name}) END"


BUCKET: Final = MaskKind(
    name="bucket",
    columns=NUMBERS,
    arguments=(Argument("width", "write a positive width of the column's type", _width),),
    keyed_by=None,
    needs_other_rows=False,
    shows_nothing=False,
    nulls=Nulls.KEEPS,
    iceberg_action=None,
    python=_bucket,
    spark=_bucket_sql,
    dialects={"hive": Refusal("Hive divides numbers of different types by rules of its own"), **NO_MASKS},
    result="the lower end of the value's bucket, not below the type's least value; NaN and infinities stay",
)
