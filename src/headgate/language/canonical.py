"""One form for all spellings of a restriction, and its digest.

Every rule holds under three-valued logic; the two that need a filter, where unknown is as good as false, are applied
only at the places where that is so (`_in_filter`).
"""

import hashlib
import json
from collections.abc import Iterable
from typing import Final

from headgate.language import values
from headgate.language.ast import FALSE, TRUE, Call, Column, Expr, Fact, Literal, Name, type_of
from headgate.language.evaluate import evaluate, order_key
from headgate.language.types import can_be_null, fit, is_exact
from headgate.model.schema import BOOLEAN, DOUBLE, FLOAT, STRING

_NEGATED: Final = {"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_FLIPPED: Final = {"=": "=", "<>": "<>", "<": ">", ">": "<", "<=": ">=", ">=": "<="}
_STRICT: Final = frozenset(
    {"not", "=", "<>", "<", "<=", ">", ">=", "+", "-", "*", "/", "%", "like", "cast", "lower", "upper", "length", "concat",
     "trim", "ltrim", "rtrim", "starts_with", "ends_with", "contains", "substring", "year", "month", "day", "hour",
     "date_trunc", "is_nan"}
)  # fmt: skip


def canonical(expr: Expr, *, as_filter: bool = True) -> Expr:
    """The canonical form of a bound and folded expression; of a filter unless told otherwise."""
    out = _simplify(expr)
    return _in_filter(out) if as_filter else out


def digest(expr: Expr) -> str:
    """The SHA-256 of the text form, as hex."""
    return hashlib.sha256(text(expr).encode()).hexdigest()


def text(expr: Expr) -> str:
    """A stable text of an expression: columns as #id, constants with their type."""
    match expr:
        case Literal(value=None, type=type_):
            return f"null:{type_}"
        case Literal(value=value, type=type_):
            return f"{type_}:{json.dumps(value) if type_ == STRING else values.to_text(type_, value)}"
        case Column(ids=ids):
            return f"#{ids[-1]}"
        case Name(parts=parts):
            return json.dumps(parts)
        case Fact(kind=kind, key=key, value=value):
            return f"@{kind}{json.dumps([key, value])}"
        case Call(op="cast", args=args, type=type_):
            return f"(cast {text(args[0])} {type_})"
        case Call(op=op, args=args):
            return f"({op} {' '.join(text(a) for a in args)})"


def _simplify(expr: Expr) -> Expr:
    if isinstance(expr, Literal):
        zero = expr.type in (FLOAT, DOUBLE) and expr.value == 0
        return Literal(0.0, expr.type) if zero else expr
    if not isinstance(expr, Call):
        return expr
    args = tuple(_simplify(a) for a in expr.args)
    call = Call(expr.op, args, expr.type)
    if expr.op in _STRICT and any(isinstance(a, Literal) and a.value is None for a in args):
        return Literal(None, expr.type)
    if args and all(isinstance(a, Literal) for a in args):
        return _simplify(Literal(evaluate(call, {}), expr.type))
    match expr.op:
        case "and" | "or":
            return _logic(expr.op, args)
        case "not":
            return _negate(args[0])
        case "in":
            return _membership(args)
        case "=" | "<>" | "<" | "<=" | ">" | ">=":
            return _compare(expr.op, *args)
        case "is_null":
            return call if can_be_null(args[0]) else FALSE
        case "coalesce":
            return _coalesce(call)
        case "case":
            return _case(call)
        case "+" | "*":
            return Call(expr.op, tuple(sorted(args, key=text)), expr.type)
        case "concat":
            return _concat(call)
        case "cast" if type_of(args[0]) == expr.type:
            return args[0]
    return call


def _negate(expr: Expr) -> Expr:
    match expr:
        case Literal(value=value):
            return Literal(None if value is None else not value, BOOLEAN)
        case Call(op="not", args=args):
            return args[0]
        case Call(op="and" | "or" as op, args=args):
            return _logic("or" if op == "and" else "and", tuple(_negate(a) for a in args))
        case Call(op=op, args=args) if op in _NEGATED:
            return _compare(_NEGATED[op], *args)
    return Call("not", (expr,), BOOLEAN)


def _compare(op: str, left: Expr, right: Expr) -> Expr:
    literal_left = isinstance(left, Literal)
    by_text = op in ("=", "<>") and text(left) > text(right)
    if literal_left or (not isinstance(right, Literal) and (by_text or op in (">", ">="))):
        op, left, right = _FLIPPED[op], right, left
    if isinstance(right, Literal) and right.type == BOOLEAN and right.value is not None:
        return left if right.value is (op == "=") else _negate(left)
    if isinstance(right, Literal) and (narrow := _without_widening(left, right)):
        return _compare(op, *narrow)
    return Call(op, (left, right), BOOLEAN)


def _without_widening(left: Expr, right: Literal) -> tuple[Expr, Literal] | None:
    """Compare in the narrower type where the constant fits it: widening keeps order and equality."""
    if not isinstance(left, Call) or left.op != "cast" or right.value is None:
        return None
    inner = type_of(left.args[0])
    exact = is_exact(inner) and is_exact(left.type)
    fitted = fit(right, inner) if exact or (inner, left.type) == (FLOAT, DOUBLE) else None
    return None if fitted is None else (left.args[0], fitted)


def _membership(args: tuple[Expr, ...]) -> Expr:
    operand, items = args[0], args[1:]
    if isinstance(operand, Literal):
        return _logic("or", tuple(_simplify(Call("=", (operand, item), BOOLEAN)) for item in items))
    parts = [_simplify(Call("=", (operand, item), BOOLEAN)) for item in items]
    return _logic("or", tuple(parts))


def _equals(expr: Expr, op: str) -> tuple[Expr, list[Literal]] | None:
    """The operand and constants of `x = c` or `x IN (…)` for op `or`, of their negations for op `and`."""
    if op == "and" and isinstance(expr, Call) and expr.op == "not":
        inner = expr.args[0]
        return _equals(inner, "or") if isinstance(inner, Call) and inner.op == "in" else None
    if (
        isinstance(expr, Call)
        and expr.op == ("=" if op == "or" else "<>")
        and isinstance(expr.args[1], Literal)
    ):
        return expr.args[0], [expr.args[1]]
    if op == "or" and isinstance(expr, Call) and expr.op == "in":
        items = [a for a in expr.args[1:] if isinstance(a, Literal)]
        return (expr.args[0], items) if len(items) == len(expr.args) - 1 else None
    return None


def _logic(op: str, args: Iterable[Expr]) -> Expr:
    decisive, neutral = (TRUE, FALSE) if op == "or" else (FALSE, TRUE)
    flat: list[Expr] = []
    for arg in args:
        flat.extend(arg.args if isinstance(arg, Call) and arg.op == op else [arg])
    if decisive in flat:
        return decisive
    sets: dict[str, tuple[Expr, dict[str, Literal]]] = {}
    kept: dict[str, Expr] = {}
    for arg in flat:
        if arg == neutral:
            continue
        if found := _equals(arg, op):
            operand, items = found
            sets.setdefault(text(operand), (operand, {}))[1].update((text(i), i) for i in items)
        else:
            kept[text(arg)] = arg
    for operand, found_items in sets.values():
        grouped = _grouped(op, operand, list(found_items.values()))
        kept[text(grouped)] = grouped
    kept = _absorb(op, kept)
    parts = tuple(kept[key] for key in sorted(kept))
    if not parts:
        return neutral
    return parts[0] if len(parts) == 1 else Call(op, parts, BOOLEAN)


def _grouped(op: str, operand: Expr, items: list[Literal]) -> Expr:
    if len(items) == 1:
        return Call("=" if op == "or" else "<>", (operand, items[0]), BOOLEAN)
    members = Call("in", (operand, *sorted(items, key=lambda i: order_key(i.value))), BOOLEAN)
    return members if op == "or" else Call("not", (members,), BOOLEAN)


def _absorb(op: str, parts: dict[str, Expr]) -> dict[str, Expr]:
    """Drop `x OR y` beside x under AND, and the other way round: x decides alone."""
    inner = "or" if op == "and" else "and"

    def absorbed(expr: Expr) -> bool:
        return isinstance(expr, Call) and expr.op == inner and any(text(a) in parts for a in expr.args)

    return {key: part for key, part in parts.items() if not absorbed(part)}


def _coalesce(call: Call) -> Expr:
    kept: list[Expr] = []
    for arg in call.args:
        for part in arg.args if isinstance(arg, Call) and arg.op == "coalesce" else (arg,):
            if (isinstance(part, Literal) and part.value is None) or part in kept:
                continue
            kept.append(part)
            if not can_be_null(part):
                return kept[0] if len(kept) == 1 else Call("coalesce", tuple(kept), call.type)
    if not kept:
        return Literal(None, call.type)
    return kept[0] if len(kept) == 1 else Call("coalesce", tuple(kept), call.type)


def _case(call: Call) -> Expr:
    kept: list[Expr] = []
    default = call.args[-1]
    for condition, result in zip(call.args[:-1:2], call.args[1::2], strict=True):
        if isinstance(condition, Literal):
            if condition.value is not True:
                continue
            default = result
            break
        kept += [condition, result]
    while kept and kept[-1] == default:
        kept = kept[:-2]
    return Call("case", (*kept, default), call.type) if kept else default


def _concat(call: Call) -> Expr:
    parts: list[Expr] = []
    for arg in call.args:
        for part in arg.args if isinstance(arg, Call) and arg.op == "concat" else (arg,):
            last = parts[-1] if parts else None
            if isinstance(part, Literal) and isinstance(last, Literal):
                parts[-1] = Literal(last.value + part.value, STRING)
            elif part != Literal("", STRING):
                parts.append(part)
    return parts[0] if len(parts) == 1 else Call("concat", tuple(parts), STRING)


def _in_filter(expr: Expr) -> Expr:
    """Where unknown drops the row as false does: NULL becomes FALSE, and `x IS TRUE` becomes x."""
    match expr:
        case Literal(value=None):
            return FALSE
        case Call(op="coalesce", args=(inner, last)) if last == FALSE:
            return _in_filter(inner)
        case Call(op="and" | "or" as op, args=args):
            return _logic(op, tuple(_in_filter(a) for a in args))
    return expr
