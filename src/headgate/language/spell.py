"""Bound expressions written out for people, in the policy language itself."""

from typing import Any, Final

from headgate.language import values
from headgate.language.ast import Call, Column, Expr, Literal
from headgate.language.bind import shown
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
    UUID,
    DecimalType,
    Schema,
    Type,
)

_INFIX: Final = frozenset({"=", "<>", "<", "<=", ">", ">=", "+", "-", "*", "/", "%"})
_TYPED: Final = frozenset(
    {DATE, TIME, TIMESTAMP, TIMESTAMPTZ, TIMESTAMP_NS, TIMESTAMPTZ_NS, UUID, FLOAT, DOUBLE}
)


def spell(expr: Expr, schema: Schema) -> str:
    """An expression in the names that its columns have now."""
    match expr:
        case Literal(value=value, type=type):
            return _literal(value, type)
        case Column(ids=ids):
            return shown(schema.by_id[ids[-1]].path)
        case Call(op="and" | "or" as op, args=args):
            return f" {op.upper()} ".join(_inner(a, schema) for a in args)
        case Call(op="not", args=(Call(op="is_null", args=(arg,)),)):
            return f"{_inner(arg, schema)} IS NOT NULL"
        case Call(op="not", args=(Call(op="in", args=args),)):
            return f"{_inner(args[0], schema)} NOT IN ({_list(args[1:], schema)})"
        case Call(op="not", args=(arg,)):
            return f"NOT {_inner(arg, schema)}"
        case Call(op="is_null", args=(arg,)):
            return f"{_inner(arg, schema)} IS NULL"
        case Call(op="in", args=args):
            return f"{_inner(args[0], schema)} IN ({_list(args[1:], schema)})"
        case Call(op="like", args=(left, right)):
            return f"{_inner(left, schema)} LIKE {spell(right, schema)}"
        case Call(op="cast", args=(arg,), type=type):
            return f"CAST({spell(arg, schema)} AS {str(type).upper()})"
        case Call(op="case", args=args):
            pairs = zip(args[:-1:2], args[1::2], strict=True)
            branches = " ".join(f"WHEN {spell(c, schema)} THEN {spell(r, schema)}" for c, r in pairs)
            return f"CASE {branches} ELSE {spell(args[-1], schema)} END"
        case Call(op=op, args=(left, right)) if op in _INFIX:
            return f"{_inner(left, schema)} {op} {_inner(right, schema)}"
        case Call(op=op, args=args):
            return f"{op}({_list(args, schema)})"
    raise TypeError(f"bind and fold {expr!r} before writing it out")


def _inner(expr: Expr, schema: Schema) -> str:
    """An operand; in parentheses if it is made of others."""
    plain = not isinstance(expr, Call) or expr.op not in (
        {"and", "or", "not", "in", "is_null", "like"} | _INFIX
    )
    return spell(expr, schema) if plain else f"({spell(expr, schema)})"


def _list(args: tuple[Expr, ...], schema: Schema) -> str:
    return ", ".join(spell(a, schema) for a in args)


def _literal(value: Any, type: Type) -> str:
    if value is None:
        return "NULL"
    text = values.to_text(type, value)
    if type == STRING:
        return "'" + text.replace("'", "''") + "'"
    if type in (INT, LONG) or isinstance(type, DecimalType):
        return text
    if type == BOOLEAN:
        return text.upper()
    return f"{str(type).upper()} '{text}'" if type in _TYPED else f"X'{text}'"
