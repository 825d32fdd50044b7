"""How types meet: common types, coercion of constants, and which casts every engine does alike.

INVARIANT: no expression can overflow. Integer and decimal arithmetic widens its type by rule, and what would need more
than 37 digits is refused when it is written.
"""

import datetime as dt
import decimal
from collections.abc import Sequence
from typing import Any, Final

from headgate.language import values
from headgate.language.ast import Call, Column, Expr, Fact, Literal, type_of
from headgate.language.errors import ExpressionTypeError, Position
from headgate.model.schema import (
    BINARY,
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
    DecimalType,
    FixedType,
    Type,
)

MAX_DIGITS: Final = 37
"""One less than every engine has: Spark reserves a digit for the carry and would round instead."""
MOMENTS: Final = frozenset({DATE, TIMESTAMP, TIMESTAMPTZ})
EQUALITY_ONLY: Final = frozenset({BOOLEAN, UUID, BINARY})
ORDERED: Final = frozenset(
    {INT, LONG, FLOAT, DOUBLE, STRING, DATE, TIME, TIMESTAMP, TIMESTAMPTZ, TIMESTAMP_NS, TIMESTAMPTZ_NS}
)
_CASTS: Final = frozenset(
    {
        (INT, LONG), (INT, DOUBLE), (INT, STRING), (LONG, DOUBLE), (LONG, STRING), (FLOAT, DOUBLE), (BOOLEAN, STRING),
        (DATE, STRING), (DATE, TIMESTAMP), (TIMESTAMP, DATE), (TIMESTAMPTZ, DATE), (UUID, STRING),
    }
)  # fmt: skip
_WRITTEN_AS_TEXT: Final = frozenset({DATE, TIME, TIMESTAMP, TIMESTAMPTZ, TIMESTAMP_NS, TIMESTAMPTZ_NS, UUID})


def is_exact(type_: Type) -> bool:
    """Whether the type is an integer or decimal."""
    return type_ in (INT, LONG) or isinstance(type_, DecimalType)


def is_float(type_: Type) -> bool:
    """Whether the type is float or double."""
    return type_ in (FLOAT, DOUBLE)


def is_comparable(type_: Type) -> bool:
    """Whether = works on the type."""
    return type_ in EQUALITY_ONLY or isinstance(type_, FixedType) or is_ordered(type_)


def is_ordered(type_: Type) -> bool:
    """Whether < works on the type."""
    return type_ in ORDERED or isinstance(type_, DecimalType)


def digits(expr: Expr) -> DecimalType:
    """The decimal that holds an exact number: as narrow as the value for constants, else as its type."""
    if isinstance(expr, Literal) and expr.value is not None:
        number = decimal.Decimal(expr.value)
        scale = max(0, -int(number.as_tuple().exponent))
        return DecimalType(max(len(number.as_tuple().digits), scale, 1), scale)
    return _digits_of(type_of(expr))


def _digits_of(type_: Type) -> DecimalType:
    if isinstance(type_, DecimalType):
        return type_
    return DecimalType(10 if type_ == INT else 19, 0)


def common(types: Sequence[Type]) -> Type | None:
    """The narrowest type that holds all of them without loss, or None."""
    distinct = [t for t in dict.fromkeys(types) if t != UNKNOWN]
    if len(distinct) <= 1:
        return distinct[0] if distinct else UNKNOWN
    if all(t in (INT, LONG) for t in distinct):
        return LONG
    if all(is_exact(t) for t in distinct):
        parts = [_digits_of(t) for t in distinct]
        scale = max(p.scale for p in parts)
        precision = max(p.precision - p.scale for p in parts) + scale
        return DecimalType(precision, scale) if precision <= 38 else None
    if all(is_float(t) for t in distinct):
        return DOUBLE
    if all(t == BINARY or isinstance(t, FixedType) for t in distinct):
        return BINARY
    return None


def cast_allowed(source: Type, target: Type) -> bool:
    """Whether casting a column's value is lossless, or rounds alike in every engine."""
    if source in (target, UNKNOWN) or (source, target) in _CASTS:
        return True
    if isinstance(target, DecimalType) and is_exact(source):
        have = _digits_of(source)
        return target.scale >= have.scale and target.precision - target.scale >= have.precision - have.scale
    return isinstance(source, FixedType) and target == BINARY


def convert(value: Any, source: Type, target: Type) -> Any:
    """A non-NULL value cast from one type to another by the rules of `cast_allowed`."""
    if source == target:
        return value
    if source == STRING:
        return values.from_text(target, value)
    if target == STRING:
        return values.to_text(source, value)
    if isinstance(target, DecimalType):
        return values.to_decimal(value, target)
    if target == DOUBLE:
        return float(value)
    if target == FLOAT:
        return values.to_float(value)
    if target == DATE:
        return value.date()
    if target == TIMESTAMP:
        return dt.datetime(value.year, value.month, value.day)
    return value


def fit(literal: Literal, target: Type) -> Literal | None:
    """The constant as one of `target` if it says exactly the same there, else None."""
    value, source = literal.value, literal.type
    if value is None or source == target:
        return Literal(value, target, literal.at)
    try:
        if source == STRING and target in _WRITTEN_AS_TEXT:
            return Literal(values.from_text(target, value), target, literal.at)
        if is_exact(source) and target in (INT, LONG):
            low, high = values.INT_RANGE if target == INT else values.LONG_RANGE
            if value != int(value) or not low <= value <= high:
                return None
            return Literal(int(value), target, literal.at)
        if is_exact(source) and isinstance(target, DecimalType):
            return Literal(values.to_decimal(value, target), target, literal.at)
    except ValueError as e:
        if source == STRING:
            raise ExpressionTypeError(str(e), f"write the {target} in that form", literal.at) from e
        return None
    if is_exact(source) and is_float(target):
        near = float(value)
        if isinstance(source, DecimalType) and source.scale and target == DOUBLE:
            return Literal(near, DOUBLE, literal.at)
        near = values.to_float(near) if target == FLOAT else near
        return Literal(near, target, literal.at) if decimal.Decimal(near) == value else None
    if is_float(source) and target == FLOAT:
        near = values.to_float(value)
        return Literal(near, FLOAT, literal.at) if near == value or value != value else None
    if source == FLOAT and target == DOUBLE:
        return Literal(value, DOUBLE, literal.at)
    if source == BINARY and isinstance(target, FixedType):
        if len(value) != target.length:
            raise ExpressionTypeError(
                f"{target} holds exactly {target.length} bytes", "write as many", literal.at
            )
        return Literal(value, target, literal.at)
    return None


def coerce(expr: Expr, target: Type) -> Expr:
    """`expr` as `target`, by rewriting a constant or inserting a cast that loses nothing."""
    if isinstance(expr, Literal) and (fitted := fit(expr, target)) is not None:
        return fitted
    if type_of(expr) == target:
        return expr
    if not cast_allowed(type_of(expr), target):
        raise ExpressionTypeError(
            f"{type_of(expr)} does not become {target}", "cast one side explicitly", expr.at
        )
    return Call("cast", (expr,), target, expr.at)


def unify(args: Sequence[Expr], at: Position) -> tuple[Expr, ...]:
    """All arguments as their one common type; refuses what does not meet without loss."""
    open_ = [type_of(a) for a in args if not isinstance(a, Literal)]
    target = common(open_)
    for constant in (a for a in args if isinstance(a, Literal) and a.value is not None):
        target = None if target is None else _widen(target, constant, any_column=bool(open_))
    if target is None:
        raise _mismatch(args, at)
    return tuple(coerce(a, target) for a in args)


def _widen(target: Type, constant: Literal, *, any_column: bool) -> Type | None:
    """The narrowest type from `target` up that holds the constant exactly; None if there is none."""
    if target == UNKNOWN:
        return constant.type
    if fit(constant, target) is not None:
        return target
    if target == FLOAT and fit(constant, DOUBLE) is not None:
        return DOUBLE
    if not any_column and is_exact(target) and is_float(constant.type):
        return DOUBLE
    narrow = digits(constant) if is_exact(constant.type) and is_exact(target) else constant.type
    return common(
        [target, constant.type if constant.type in (INT, LONG) and target in (INT, LONG) else narrow]
    )


def _mismatch(args: Sequence[Expr], at: Position) -> ExpressionTypeError:
    shown = ", ".join(dict.fromkeys(str(type_of(a)) for a in args))
    types = {type_of(a) for a in args}
    fix = "cast one side explicitly"
    if any(isinstance(a, Fact) and a.kind == "attribute" for a in args):
        fix = "attributes are strings; write CAST(principal.name AS type)"
    elif any(is_float(t) for t in types) and any(is_exact(t) for t in types):
        fix = "exact and approximate numbers do not mix; write CAST(column AS DOUBLE) for an int or long"
    return ExpressionTypeError(f"types do not meet: {shown}", fix, at)


def can_be_null(expr: Expr) -> bool:
    """Whether a bound expression can be NULL for some row; errs on the side of yes."""
    match expr:
        case Literal(value=value):
            return value is None
        case Column(nullable=nullable):
            return nullable
        case Call(op="is_null"):
            return False
        case Call(op="coalesce", args=args):
            return all(can_be_null(a) for a in args)
        case Call(op="case", args=args):
            return any(can_be_null(a) for a in (*args[1::2], args[-1]))
        case Call(op=op, args=args):
            return op == "/" or any(can_be_null(a) for a in args)
        case _:
            return True
