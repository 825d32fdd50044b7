"""Masks of dates and timestamps: the first instant of the period that holds the value, in UTC."""

import datetime as dt
from typing import Any, Final

from headgate.language import values
from headgate.language.ast import Call, Literal
from headgate.language.evaluate import truncate
from headgate.language.lower.spark import SparkPrinter
from headgate.language.masks.kind import NO_MASKS, Argument, ColumnMask, Columns, MaskKind, Nulls, Refusal
from headgate.language.masks.python import Secrets
from headgate.language.masks.spark import SparkSecrets
from headgate.model.schema import DATE, STRING, TIMESTAMP, TIMESTAMP_NS, TIMESTAMPTZ, TIMESTAMPTZ_NS, Type

RANGES: Final = ("day", "week", "month", "quarter", "year")
_HIVE: Final = Refusal("Hive's functions of dates depend on the session's time zone")


def _cut(unit: str, moment: Any) -> Any:
    if not isinstance(moment, int):
        return truncate(unit, moment)
    day = values.EPOCH + dt.timedelta(days=moment // 86_400_000_000_000)
    first = truncate(unit, day)
    assert isinstance(first, dt.datetime)
    return values.micros(first) * 1000


def _cut_sql(unit: str, mask: ColumnMask, printer: SparkPrinter) -> str:
    return printer.print(Call("date_trunc", (Literal(unit, STRING), mask.column), mask.column.type))


def _truncate(name: str, unit: str) -> MaskKind:
    return MaskKind(
        name=name,
        columns=Columns.of(DATE, TIMESTAMP, TIMESTAMPTZ, TIMESTAMP_NS, TIMESTAMPTZ_NS),
        arguments=(),
        keyed_by=None,
        needs_other_rows=False,
        shows_nothing=False,
        nulls=Nulls.KEEPS,
        iceberg_action=name.replace("_", "-"),
        python=lambda mask, value, secrets: _cut(unit, value),
        spark=lambda mask, printer, secrets: _cut_sql(unit, mask, printer),
        dialects={"hive": _HIVE, **NO_MASKS},
        result=f"the first instant of the {unit}, in UTC",
    )


TRUNCATE_TO_YEAR: Final = _truncate("truncate_to_year", "year")
TRUNCATE_TO_MONTH: Final = _truncate("truncate_to_month", "month")


def _range(given: Literal, type_: Type) -> str | None:
    return given.value if given.value in RANGES else None


def _date_range(mask: ColumnMask, moment: Any, secrets: Secrets) -> Any:
    return truncate(mask.args[0], moment)


def _date_range_sql(mask: ColumnMask, printer: SparkPrinter, secrets: SparkSecrets) -> str:
    return _cut_sql(mask.args[0], mask, printer)


DATE_RANGE: Final = MaskKind(
    name="date_range",
    columns=Columns.of(DATE, TIMESTAMP, TIMESTAMPTZ),
    arguments=(
        Argument(
            " | ".join(repr(r) for r in RANGES),
            "name the range: " + ", ".join(repr(r) for r in RANGES),
            _range,
        ),
    ),
    keyed_by=None,
    needs_other_rows=False,
    shows_nothing=False,
    nulls=Nulls.KEEPS,
    iceberg_action=None,
    python=_date_range,
    spark=_date_range_sql,
    dialects={"hive": _HIVE, **NO_MASKS},
    result="the first instant of the range, in UTC",
)
