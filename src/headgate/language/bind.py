"""Names to field ids, and type checking; what comes out is typed through and through."""

import ipaddress
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Final

from headgate.language.ast import Call, Column, Expr, Fact, Literal, Name, type_of, walk
from headgate.language.errors import NOWHERE, ExpressionTypeError, Position, UnknownColumnNameError
from headgate.language.types import (
    MAX_DIGITS,
    MOMENTS,
    cast_allowed,
    coerce,
    common,
    digits,
    is_comparable,
    is_exact,
    is_float,
    is_ordered,
    unify,
)
from headgate.language.vocabulary import COMPARISONS
from headgate.model.schema import (
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    LONG,
    STRING,
    TIMESTAMP,
    TIMESTAMPTZ,
    UNKNOWN,
    DecimalType,
    Schema,
    Type,
)

TRUNCATIONS: Final = ("year", "quarter", "month", "week", "day", "hour")
REQUEST_ONLY: Final = Schema(())
"""The schema for conditions about the request alone: it has no columns."""


def bind(
    expr: Expr, schema: Schema, aliases: Mapping[str, int] | None = None, *, expect: Type | None = BOOLEAN
) -> Expr:
    """Bind `expr` to the field ids of `schema` and check its types.

    `aliases` are names from a policy's `columns`, to field ids; an alias goes before a column of the same name.
    `expect` is the type the whole must have, None for any.
    """
    bound = _Binder(schema, aliases or {}).bind(expr)
    if expect is None:
        return bound
    if type_of(bound) not in (expect, UNKNOWN):
        raise ExpressionTypeError(
            f"this is of type {type_of(bound)}, not {expect}", "write a condition", bound.at
        )
    return coerce(bound, expect)


def resolve(
    parts: tuple[str, ...], schema: Schema, aliases: Mapping[str, int], at: Position = NOWHERE
) -> Column:
    """The column that a path names; nested fields by one part per level."""
    path = parts
    if parts[0] in aliases:
        root = schema.find(aliases[parts[0]])
        if root is None:
            raise UnknownColumnNameError(
                parts, f"the column behind {parts[0]!r} is gone", "change the policy's columns", at
            )
        path = (*root.path, *parts[1:])
    located = schema.by_path.get(path)
    if located is None:
        raise UnknownColumnNameError(parts, f"no column {shown(parts)}", _suggest(parts, schema, aliases), at)
    if located.inside:
        raise ExpressionTypeError(
            f"{shown(parts)} lies inside a list or map",
            "an expression sees whole columns and struct fields only",
            at,
        )
    return Column(located.ids, located.field.type, located.nullable, at)


def shown(parts: tuple[str, ...]) -> str:
    """A column as it is written in an expression."""
    return ".".join(p if p.isidentifier() else f'"{p}"' for p in parts)


def _suggest(parts: tuple[str, ...], schema: Schema, aliases: Mapping[str, int]) -> str:
    names = {shown(located.path): located.path for located in schema.walk() if not located.inside}
    dotted = schema.by_path.get((".".join(parts),))
    if dotted is not None:
        return f'the column\'s own name holds a dot: write "{dotted.field.name}"'
    close = get_close_matches(shown(parts), [*names, *aliases], n=3, cutoff=0.6)
    lowered = [n for n in names if n.lower() == shown(parts).lower()]
    found = list(dict.fromkeys([*lowered, *close]))
    if found:
        return "did you mean " + " or ".join(found) + "; names are case-sensitive"
    return "the table has " + ", ".join(list(names)[:20]) if names else "columns cannot be used here"


class _Binder:
    def __init__(self, schema: Schema, aliases: Mapping[str, int]) -> None:
        self._schema = schema
        self._aliases = aliases

    def bind(self, expr: Expr) -> Expr:
        match expr:
            case Name(parts=parts, at=at):
                return resolve(parts, self._schema, self._aliases, at)
            case Call(op=op, args=args, type=type_, at=at):
                if op == "interval":
                    raise ExpressionTypeError(
                        "an interval stands beside a date", "write current_date - INTERVAL 30 DAY", at
                    )
                if op in ("+", "-") and isinstance(args[1], Call) and args[1].op == "interval":
                    return self._add_days(op, args[0], args[1], at)
                return check(op, tuple(self.bind(a) for a in args), type_, at)
            case _:
                return expr

    def _add_days(self, op: str, moment: Expr, interval: Call, at: Position) -> Expr:
        bound, amount = self.bind(moment), interval.args[0]
        assert isinstance(amount, Literal)
        if type_of(bound) != DATE or _has_column(bound):
            raise ExpressionTypeError(
                "intervals are added to current_date or a constant date only",
                "move the interval to the other side of the comparison",
                at,
            )
        return Call(
            "add_days", (bound, Literal(amount.value if op == "+" else -amount.value, INT, at)), DATE, at
        )


def check(op: str, args: tuple[Expr, ...], type_: Type, at: Position) -> Call:
    """A call over bound arguments, typed, with the casts it needs."""
    if op in COMPARISONS or op == "in":
        return _comparison(op, args, at)
    if op in ("+", "-", "*"):
        return _arithmetic(op, args, at)
    if op == "cast":
        return _cast(args[0], type_, at)
    return _RULES[op](op, args, at)


def _has_column(expr: Expr) -> bool:
    return any(isinstance(node, Column) for node in walk(expr))


def _need(arg: Expr, what: str, *types: Type) -> Expr:
    if type_of(arg) == UNKNOWN:
        return coerce(arg, types[0])
    if type_of(arg) not in types:
        wanted = " or ".join(str(t) for t in types)
        raise ExpressionTypeError(
            f"{what} takes {wanted}, not {type_of(arg)}", "cast it, or use another column", arg.at
        )
    return arg


def _booleans(op: str, args: tuple[Expr, ...], at: Position) -> Call:
    return Call(op, tuple(_need(a, op.upper(), BOOLEAN) for a in args), BOOLEAN, at)


def _comparison(op: str, args: tuple[Expr, ...], at: Position) -> Call:
    for arg in args:
        if isinstance(arg, Literal) and arg.value is None:
            raise ExpressionTypeError(
                f"comparing with NULL by {op.upper()} is never true", "write IS NULL", arg.at
            )
    for arg in args:
        if not is_comparable(type_of(arg)):
            raise ExpressionTypeError(
                f"{type_of(arg)} cannot be compared", "only IS NULL works on it; use a field of it", arg.at
            )
    unified = unify(args, at)
    type_ = type_of(unified[0])
    if op not in ("=", "<>", "in") and not is_ordered(type_):
        raise ExpressionTypeError(f"{type_} has no order that all engines share", "compare it by = or IN", at)
    return Call(op, unified, BOOLEAN, at)


def _is_null(op: str, args: tuple[Expr, ...], at: Position) -> Call:
    return Call(op, args, BOOLEAN, at)


def _like(op: str, args: tuple[Expr, ...], at: Position) -> Call:
    pattern = args[1]
    if not isinstance(pattern, Literal) or pattern.type != STRING:
        raise ExpressionTypeError(
            "the pattern of LIKE is a plain string", "use starts_with, ends_with or contains", pattern.at
        )
    if "\\" in pattern.value:
        raise ExpressionTypeError(
            "LIKE has no escape character", "use starts_with, ends_with or contains", pattern.at
        )
    return Call(op, (_need(args[0], "LIKE", STRING), pattern), BOOLEAN, at)


def _arithmetic(op: str, args: tuple[Expr, ...], at: Position) -> Call:
    left, right = args
    types = {type_of(left), type_of(right)}
    for arg in args:
        if isinstance(arg, Literal) and arg.value is None:
            raise ExpressionTypeError("arithmetic with NULL is always NULL", "write NULL", arg.at)
        if not is_exact(type_of(arg)) and not is_float(type_of(arg)):
            raise ExpressionTypeError(
                f"{op} takes numbers, not {type_of(arg)}", "cast it, or use || for strings", arg.at
            )
    if any(is_float(t) for t in types):
        left, right = unify(args, at)
        return Call(op, (coerce(left, DOUBLE), coerce(right, DOUBLE)), DOUBLE, at)
    if types == {INT}:
        return Call(op, (coerce(left, LONG), coerce(right, LONG)), LONG, at)
    one, two = digits(left), digits(right)
    if op == "*":
        result = _decimal(one.precision + two.precision, one.scale + two.scale, at)
        return Call(op, (coerce(left, one), coerce(right, two)), result, at)
    scale = max(one.scale, two.scale)
    result = _decimal(max(one.precision - one.scale, two.precision - two.scale) + scale + 1, scale, at)
    return Call(op, (coerce(left, result), coerce(right, result)), result, at)


def _decimal(precision: int, scale: int, at: Position) -> DecimalType:
    if precision > MAX_DIGITS:
        raise ExpressionTypeError(
            f"the result can have {precision} digits, more than {MAX_DIGITS}",
            "use narrower columns, or CAST(column AS DOUBLE)",
            at,
        )
    return DecimalType(precision, scale)


def _negate(op: str, args: tuple[Expr, ...], at: Position) -> Call:
    return _arithmetic("-", (Literal(0, INT, at), args[0]), at)


def _divide(op: str, args: tuple[Expr, ...], at: Position) -> Call:
    for arg in args:
        if isinstance(type_of(arg), DecimalType) and not isinstance(arg, Literal):
            raise ExpressionTypeError(
                "engines round the division of decimals differently", "multiply by the inverse", arg.at
            )
        if not is_exact(type_of(arg)) and not is_float(type_of(arg)):
            raise ExpressionTypeError(f"/ takes numbers, not {type_of(arg)}", "cast it", arg.at)
    if isinstance(args[1], Literal) and args[1].value == 0:
        raise ExpressionTypeError("division by zero", "divide by something else", args[1].at)
    return Call(op, (coerce(args[0], DOUBLE), coerce(args[1], DOUBLE)), DOUBLE, at)


def _modulo(op: str, args: tuple[Expr, ...], at: Position) -> Call:
    divisor = args[1]
    if not isinstance(divisor, Literal) or divisor.type not in (INT, LONG) or divisor.value <= 0:
        raise ExpressionTypeError(
            "% takes a positive whole number on its right", "write column % 10", divisor.at
        )
    type_ = common([type_of(_need(args[0], "%", INT, LONG)), divisor.type])
    assert type_ is not None
    return Call(op, (coerce(args[0], type_), coerce(divisor, type_)), type_, at)


def _case(op: str, args: tuple[Expr, ...], at: Position) -> Call:
    conditions = [_need(a, "WHEN", BOOLEAN) for a in args[:-1:2]]
    results = unify((*args[1::2], args[-1]), at)
    pairs = [part for pair in zip(conditions, results[:-1], strict=True) for part in pair]
    return Call(op, (*pairs, results[-1]), type_of(results[0]), at)


def _coalesce(op: str, args: tuple[Expr, ...], at: Position) -> Call:
    unified = unify(args, at)
    return Call(op, unified, type_of(unified[0]), at)


def _cast(arg: Expr, target: Type, at: Position) -> Call:
    source = type_of(arg)
    if isinstance(arg, Literal) and source not in (STRING, target):
        arg = coerce(arg, target)
    elif not cast_allowed(source, target) and (source != STRING or _has_column(arg)):
        raise ExpressionTypeError(
            f"casting {source} to {target} can fail or round differently in some engine",
            "compare in the column's own type; docs/language.md lists the casts",
            at,
        )
    return Call("cast", (arg,), target, at)


def _strings(op: str, args: tuple[Expr, ...], at: Position) -> Call:
    return Call(op, tuple(_need(a, op, STRING) for a in args), _STRING_RESULTS.get(op, STRING), at)


_STRING_RESULTS: Final[dict[str, Type]] = {
    "length": INT, "starts_with": BOOLEAN, "ends_with": BOOLEAN, "contains": BOOLEAN,
}  # fmt: skip


def _substring(op: str, args: tuple[Expr, ...], at: Position) -> Call:
    for arg, least, what in zip(args[1:], (1, 0), ("start", "length"), strict=False):
        if not isinstance(arg, Literal) or arg.type != INT or arg.value < least:
            raise ExpressionTypeError(
                f"the {what} of substring is a whole number from {least} up", "write digits", arg.at
            )
    return Call(op, (_need(args[0], "substring", STRING), *args[1:]), STRING, at)


def _date_part(op: str, args: tuple[Expr, ...], at: Position) -> Call:
    types = (TIMESTAMP, TIMESTAMPTZ) if op == "hour" else (DATE, TIMESTAMP, TIMESTAMPTZ)
    return Call(op, (_need(args[0], op, *types),), INT, at)


def _date_trunc(op: str, args: tuple[Expr, ...], at: Position) -> Call:
    unit = args[0]
    if not isinstance(unit, Literal) or unit.value not in TRUNCATIONS:
        raise ExpressionTypeError(
            "date_trunc takes a unit first", "one of " + ", ".join(repr(t) for t in TRUNCATIONS), unit.at
        )
    moment = _need(args[1], "date_trunc", *sorted(MOMENTS, key=str))
    if unit.value == "hour" and type_of(moment) == DATE:
        raise ExpressionTypeError("a date has no hours", "truncate to 'day' or longer", unit.at)
    return Call(op, (unit, moment), type_of(moment), at)


def _is_nan(op: str, args: tuple[Expr, ...], at: Position) -> Call:
    if not is_float(type_of(args[0])):
        raise ExpressionTypeError(
            f"is_nan takes float or double, not {type_of(args[0])}", "leave it out", args[0].at
        )
    return Call(op, args, BOOLEAN, at)


def _in_network(op: str, args: tuple[Expr, ...], at: Position) -> Call:
    address, network = args
    if not isinstance(address, Fact) or not isinstance(network, Literal) or network.type != STRING:
        raise ExpressionTypeError(
            "in_network compares context.address", "in_network(context.address, '10.0.0.0/8')", at
        )
    try:
        ipaddress.ip_network(network.value)
    except ValueError as e:
        raise ExpressionTypeError(f"not a network: {e}", "write one such as 10.0.0.0/8", network.at) from e
    return Call(op, args, BOOLEAN, at)


_RULES: Final[Mapping[str, Callable[[str, tuple[Expr, ...], Position], Call]]] = {
    "and": _booleans, "or": _booleans, "not": _booleans, "is_null": _is_null, "like": _like,
    "neg": _negate, "/": _divide, "%": _modulo, "case": _case, "coalesce": _coalesce,
    "lower": _strings, "upper": _strings, "length": _strings, "concat": _strings, "trim": _strings,
    "ltrim": _strings, "rtrim": _strings, "starts_with": _strings, "ends_with": _strings, "contains": _strings,
    "substring": _substring, "year": _date_part, "month": _date_part, "day": _date_part, "hour": _date_part,
    "date_trunc": _date_trunc, "is_nan": _is_nan, "in_network": _in_network,
}  # fmt: skip
