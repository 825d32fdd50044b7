"""The reference evaluator: SQL's three-valued logic over one row of Python values.

NULL is None. NaN equals itself and is greater than every other number. Strings compare by code point. Division by zero
is NULL. The other engines are made to agree with this module, not the other way round.
"""

import datetime as dt
import operator
from collections.abc import Callable, Mapping
from typing import Any, Final

from headgate.language.ast import Call, Column, Expr, Literal, type_of
from headgate.language.types import convert
from headgate.language.values import EXACT
from headgate.model.schema import DecimalType, Field, ListType, MapType, Schema, StructType

Row = Mapping[int, Any]
_ASCII_LOWER: Final = {ord(c): ord(c) + 32 for c in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}
_ASCII_UPPER: Final = {lower: upper for upper, lower in _ASCII_LOWER.items()}


def evaluate(expr: Expr, row: Row) -> Any:
    """The value of a bound and folded expression for one row, keyed by field id."""
    match expr:
        case Literal(value=value):
            return value
        case Column(ids=ids):
            value = row
            for field_id in ids:
                if value is None:
                    return None
                value = value.get(field_id)
            return value
        case Call(op="and" | "or" as op, args=args):
            return _logic(op, args, row)
        case Call(op="case", args=args):
            for condition, result in zip(args[:-1:2], args[1::2], strict=True):
                if evaluate(condition, row) is True:
                    return evaluate(result, row)
            return evaluate(args[-1], row)
        case Call(op="coalesce", args=args):
            return next((value for a in args if (value := evaluate(a, row)) is not None), None)
        case Call(op="is_null", args=args):
            return evaluate(args[0], row) is None
        case Call(op="in", args=args):
            return _membership([evaluate(a, row) for a in args])
        case Call(op=op, args=args):
            found = [evaluate(a, row) for a in args]
            return None if any(v is None for v in found) else _STRICT[op](expr, *found)
    raise TypeError(f"bind and fold {expr!r} before evaluating it")


def keeps(expr: Expr, row: Row) -> bool:
    """Whether a row filter keeps the row: true does, false and unknown do not."""
    return evaluate(expr, row) is True


def by_field_id(schema: Schema, row: Mapping[str, Any]) -> dict[int, Any]:
    """A row keyed by column names, as one keyed by field ids; structs too, at every depth."""
    return {field.id: _keyed(field, row.get(field.name)) for field in schema.fields}


def _keyed(field: Field, value: Any) -> Any:
    if value is None:
        return None
    match field.type:
        case StructType(fields):
            return {f.id: _keyed(f, value.get(f.name)) for f in fields}
        case ListType(element):
            return [_keyed(element, v) for v in value]
        case MapType(key, item):
            pairs = value.items() if isinstance(value, Mapping) else value
            return {_keyed(key, k): _keyed(item, v) for k, v in pairs}
    return value


def _logic(op: str, args: tuple[Expr, ...], row: Row) -> bool | None:
    decisive, unknown = op == "or", False
    for arg in args:
        value = evaluate(arg, row)
        if value is not None and value == decisive:
            return decisive
        unknown = unknown or value is None
    return None if unknown else not decisive


def _membership(found: list[Any]) -> bool | None:
    value, items = found[0], found[1:]
    if value is None:
        return None
    if any(item is not None and order_key(item) == order_key(value) for item in items):
        return True
    return None if any(item is None for item in items) else False


def order_key(value: Any) -> Any:
    """What a value is compared by: NaN equals itself and comes after every number."""
    if isinstance(value, float):
        return (1, 0.0) if value != value else (0, value)
    return value


def _compare(compare: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    return lambda call, a, b: bool(compare(order_key(a), order_key(b)))


def _arithmetic(
    on_floats: Callable[[Any, Any], Any], on_decimals: Callable[[Any, Any], Any]
) -> Callable[..., Any]:
    def apply(call: Call, a: Any, b: Any) -> Any:
        if isinstance(call.type, DecimalType):
            return on_decimals(a, b)
        return on_floats(a, b)

    return apply


def _multiply(call: Call, a: Any, b: Any) -> Any:
    return EXACT.multiply(a, b) if isinstance(call.type, DecimalType) else a * b


def _divide(call: Call, a: float, b: float) -> float | None:
    return None if b == 0 else a / b


def _modulo(call: Call, a: int, b: int) -> int:
    return a % b if a >= 0 else -(-a % b)


def _like(call: Call, text: str, pattern: str) -> bool:
    """Match % and _ by going back to the last % only: never more than length times length steps."""
    at = in_pattern = 0
    last_percent, resume = -1, 0
    while at < len(text):
        if in_pattern < len(pattern) and pattern[in_pattern] == "%":
            last_percent, resume = in_pattern, at
            in_pattern += 1
        elif in_pattern < len(pattern) and pattern[in_pattern] in ("_", text[at]):
            at, in_pattern = at + 1, in_pattern + 1
        elif last_percent >= 0:
            resume += 1
            at, in_pattern = resume, last_percent + 1
        else:
            return False
    return not pattern[in_pattern:].strip("%")


def _substring(call: Call, text: str, start: int, length: int | None = None) -> str:
    return text[start - 1 :] if length is None else text[start - 1 : start - 1 + length]


def _truncate(call: Call, unit: str, moment: dt.date) -> dt.date:
    return truncate(unit, moment)


def truncate(unit: str, moment: dt.date) -> dt.date:
    """The first instant of the year, quarter, month, week (Monday), day or hour that holds `moment`."""
    if isinstance(moment, dt.datetime):
        moment = moment.replace(minute=0, second=0, microsecond=0)
        moment = moment if unit == "hour" else moment.replace(hour=0)
    match unit:
        case "year":
            return moment.replace(month=1, day=1)
        case "quarter":
            return moment.replace(month=(moment.month - 1) // 3 * 3 + 1, day=1)
        case "month":
            return moment.replace(day=1)
        case "week":
            return moment - dt.timedelta(days=moment.weekday())
    return moment


def _cast(call: Call, value: Any) -> Any:
    return convert(value, type_of(call.args[0]), call.type)


_STRICT: Final[Mapping[str, Callable[..., Any]]] = {
    "not": lambda call, a: not a,
    "=": _compare(operator.eq),
    "<>": _compare(operator.ne),
    "<": _compare(operator.lt),
    "<=": _compare(operator.le),
    ">": _compare(operator.gt),
    ">=": _compare(operator.ge),
    "+": _arithmetic(operator.add, EXACT.add),
    "-": _arithmetic(operator.sub, EXACT.subtract),
    "*": _multiply,
    "/": _divide,
    "%": _modulo,
    "like": _like,
    "cast": _cast,
    "lower": lambda call, a: a.translate(_ASCII_LOWER),
    "upper": lambda call, a: a.translate(_ASCII_UPPER),
    "length": lambda call, a: len(a),
    "concat": lambda call, *parts: "".join(parts),
    "trim": lambda call, a: a.strip(" "),
    "ltrim": lambda call, a: a.lstrip(" "),
    "rtrim": lambda call, a: a.rstrip(" "),
    "starts_with": lambda call, a, b: a.startswith(b),
    "ends_with": lambda call, a, b: a.endswith(b),
    "contains": lambda call, a, b: b in a,
    "substring": _substring,
    "year": lambda call, a: a.year,
    "month": lambda call, a: a.month,
    "day": lambda call, a: a.day,
    "hour": lambda call, a: a.hour,
    "date_trunc": _truncate,
    "is_nan": lambda call, a: a != a,
    "add_days": lambda call, a, b: a + dt.timedelta(days=b),
}
