"""Functions that keep order, as ranges of the column itself: year(d) = 2024 is d from 2024-01-01 to before 2025-01-01."""

import datetime as dt
from typing import NamedTuple

from headgate.language.ast import Call, Column, Expr, Literal
from headgate.language.evaluate import truncate
from headgate.model.schema import DATE, TIMESTAMP, TIMESTAMPTZ, Type


class ValueRange(NamedTuple):
    """The values of a column that a function takes to one result: from `first` to before `after`."""

    column: Column
    first: Literal
    after: Literal


def step(expr: Expr, result: Literal) -> ValueRange | None:
    """The step of a column where a function of it gives `result`; None if there is no such step."""
    match expr:
        case Call(op="year", args=(Column() as column,)):
            found = _year(result.value)
        case Call(op="date_trunc", args=(Literal(value=str() as unit), Column() as column)):
            found = _truncated(unit, result.value)
        case Call(op="cast", args=(Column(type=source) as column,)) if source in (TIMESTAMP, TIMESTAMPTZ):
            found = _truncated("day", result.value) if expr.type == DATE else None
        case _:
            return None
    if found is None:
        return None
    first, after = (Literal(_as(column.type, moment), column.type) for moment in found)
    return ValueRange(column, first, after)


def _year(year: int) -> tuple[dt.date, dt.date] | None:
    return (dt.date(year, 1, 1), dt.date(year + 1, 1, 1)) if 1 <= year < 9999 else None


def _truncated(unit: str, moment: dt.date) -> tuple[dt.date, dt.date] | None:
    if truncate(unit, moment) != moment:
        return None
    try:
        match unit:
            case "hour":
                return moment, moment + dt.timedelta(hours=1)
            case "day" | "week":
                return moment, moment + dt.timedelta(days=1 if unit == "day" else 7)
        months = {"month": 1, "quarter": 3, "year": 12}[unit]
        index = moment.year * 12 + moment.month - 1 + months
        return moment, moment.replace(year=index // 12, month=index % 12 + 1)
    except (OverflowError, ValueError):
        return None


def _as(type_: Type, moment: dt.date) -> dt.date:
    if type_ == DATE:
        return dt.date(moment.year, moment.month, moment.day)
    if not isinstance(moment, dt.datetime):
        moment = dt.datetime(moment.year, moment.month, moment.day)
    return moment.replace(tzinfo=dt.UTC if type_ == TIMESTAMPTZ else None)
