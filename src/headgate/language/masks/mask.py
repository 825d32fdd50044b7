"""Masks as values: read, checked against a column, folded, and put into canonical form."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from headgate.language.ast import Call, Column, Expr, Literal, Name, columns, type_of
from headgate.language.bind import bind, resolve
from headgate.language.canonical import canonical
from headgate.language.errors import ExpressionTypeError, UnknownColumnNameError
from headgate.language.fold import Folded, Request, fold
from headgate.language.masks.expressions import CONSTANT, EXPRESSION
from headgate.language.masks.kind import ColumnMask, MaskKind, Nulls
from headgate.language.masks.kinds import ICEBERG_ACTIONS, MASK_NAMES, NAMED
from headgate.language.parse import parse
from headgate.language.types import can_be_null, coerce
from headgate.model.schema import UNKNOWN, Field, Located, Schema, Type

__all__ = ["ICEBERG_ACTIONS", "ColumnMask", "bind_mask", "check_together", "fold_mask", "parse_mask"]

_CONSTANT: Final = f"mask:{CONSTANT}"


def parse_mask(source: str) -> Expr:
    """The expression of a `mask:` entry; a mask may be called as the outermost function."""
    return parse(source, masks=MASK_NAMES)


def bind_mask(
    expr: Expr, schema: Schema, field_id: int, aliases: Mapping[str, int] | None = None
) -> ColumnMask:
    """Check a parsed mask against the column it is for."""
    located = schema.find(field_id)
    if located is None:
        raise UnknownColumnNameError(
            (f"#{field_id}",), "the masked column is gone", "change the policy's columns", expr.at
        )
    if located.in_map_key:
        raise ExpressionTypeError("the key of a map cannot be masked", "mask or hide the whole map", expr.at)
    if located.inside:
        raise ExpressionTypeError(
            "what is inside a list or map cannot be masked", "mask the whole column", expr.at
        )
    column = Column(located.ids, located.field.type, located.nullable)
    if isinstance(expr, Call) and expr.op.startswith("mask:") and expr.op != _CONSTANT:
        return _bind_named(expr, schema, aliases or {}, column, located.field)
    if isinstance(expr, Call) and expr.op == _CONSTANT:
        if len(expr.args) != 1 or not isinstance(expr.args[0], Literal):
            raise ExpressionTypeError("constant takes one constant", "write constant('…')", expr.at)
        expr = expr.args[0]
    return _bind_expression(expr, schema, aliases or {}, column, located)


def fold_mask(
    mask: ColumnMask, request: Request, tags: Mapping[str, str] | None = None
) -> tuple[ColumnMask, Folded]:
    """The mask with everything about the request replaced, and what that used."""
    if mask.expr is None:
        return mask, Folded(mask.column, ())
    folded = fold(mask.expr, request, tags)
    return ColumnMask(mask.column, mask.kind, (), canonical(folded.expr, as_filter=False)), folded


def check_together(masks: Iterable[ColumnMask]) -> None:
    """Refuse two masks on one column, and a mask inside a struct that is masked itself."""
    seen: dict[int, ColumnMask] = {}
    for mask in masks:
        if mask.column.field_id in seen:
            raise ExpressionTypeError(
                f"field {mask.column.field_id} is masked twice", "keep one of the masks"
            )
        seen[mask.column.field_id] = mask
    for mask in seen.values():
        outer = next((i for i in mask.column.ids[:-1] if i in seen), None)
        if outer is not None:
            raise ExpressionTypeError(
                f"field {mask.column.field_id} lies inside field {outer}, which is masked itself",
                "keep one of the masks",
            )


def _bind_expression(
    expr: Expr, schema: Schema, aliases: Mapping[str, int], column: Column, located: Located
) -> ColumnMask:
    bound = bind(expr, schema, aliases, expect=None)
    others = columns(bound) - {column.field_id}
    if others:
        shown = ", ".join(".".join(schema.by_id[i].path) for i in sorted(others))
        raise ExpressionTypeError(
            f"a mask sees only its own column, not {shown}", "leave the others out", expr.at
        )
    _check_type(EXPRESSION, column.type, expr)
    fitted = coerce(bound, column.type) if isinstance(bound, Literal) or type_of(bound) == UNKNOWN else bound
    if type_of(fitted) != column.type:
        raise ExpressionTypeError(
            f"the mask gives {type_of(fitted)}, the column is {column.type}",
            f"CAST it to {column.type}",
            expr.at,
        )
    if located.field.required and can_be_null(fitted):
        raise ExpressionTypeError(
            "the mask can be NULL, the column is required", "wrap it in coalesce(…, …)", expr.at
        )
    return ColumnMask(column, EXPRESSION, (), canonical(fitted, as_filter=False))


def _bind_named(
    expr: Call, schema: Schema, aliases: Mapping[str, int], column: Column, field: Field
) -> ColumnMask:
    kind = NAMED[expr.op.removeprefix("mask:")]
    name = kind.name
    if not expr.args:
        raise ExpressionTypeError(f"{name} takes the masked column first", f"write {name}(column)", expr.at)
    first = expr.args[0]
    named = resolve(first.parts, schema, aliases, first.at) if isinstance(first, Name) else None
    if named is None or named.field_id != column.field_id:
        raise ExpressionTypeError(f"{name} takes the masked column first", f"write {name}(column)", first.at)
    constants = [arg for arg in expr.args[1:] if isinstance(arg, Literal)]
    if len(constants) != len(expr.args) - 1:
        raise ExpressionTypeError(
            f"{name} takes constants after the column", "write them as plain values", expr.at
        )
    _check_type(kind, column.type, expr)
    if kind.nulls is Nulls.MAKES and field.required:
        raise ExpressionTypeError("a required column cannot become NULL", "use mask_to_fixed_value", expr.at)
    return ColumnMask(column, kind, _read_arguments(kind, column.type, constants, expr))


def _check_type(kind: MaskKind, type_: Type, expr: Expr) -> None:
    accepted = kind.columns
    if not accepted.holds(type_):
        message = accepted.refusal.format(name=kind.name, words=accepted.words, type=type_)
        raise ExpressionTypeError(message, accepted.instead, expr.at)


def _read_arguments(kind: MaskKind, type_: Type, given: list[Literal], expr: Call) -> tuple[Any, ...]:
    if len(given) != len(kind.arguments):
        raise ExpressionTypeError(
            f"{kind.name} takes the column and {len(kind.arguments)} constants", f"write {kind.call}", expr.at
        )
    found = []
    for literal, argument in zip(given, kind.arguments, strict=True):
        value = argument.read(literal, type_)
        if value is None:
            raise ExpressionTypeError(
                f"{kind.name} does not take {literal.value!r}", argument.fix, literal.at
            )
        found.append(value)
    return tuple(found)
