"""Masks as values: read, checked against a column, folded, and put into canonical form."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from headgate.language.ast import Call, Column, Expr, Literal, Name, columns, type_of
from headgate.language.bind import bind, resolve
from headgate.language.canonical import canonical, text
from headgate.language.errors import ExpressionTypeError, UnknownColumnError
from headgate.language.fold import Folded, Request, fold
from headgate.language.parse import parse
from headgate.language.types import can_be_null, coerce, is_exact, is_float
from headgate.model.schema import (
    BINARY,
    DATE,
    INT,
    LONG,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NS,
    TIMESTAMPTZ,
    TIMESTAMPTZ_NS,
    UNKNOWN,
    VARIANT,
    DecimalType,
    Field,
    ListType,
    Located,
    MapType,
    Schema,
    StructType,
    Type,
)

ICEBERG_ACTIONS: Final = {
    "mask_alphanum": "mask-alphanum",
    "mask_to_fixed_value": "mask-to-fixed-value",
    "replace_with_null": "replace-with-null",
    "show_first_4": "show-first-4",
    "show_last_4": "show-last-4",
    "truncate_to_year": "truncate-to-year",
    "truncate_to_month": "truncate-to-month",
    "sha256": "sha-256-global",
    "sha256_query_local": "sha-256-query-local",
}
OTHER_ROWS: Final = frozenset({"k_anonymous", "noisy"})
RANGES: Final = ("day", "week", "month", "quarter", "year")
_STRINGS: Final[tuple[Type, ...]] = (STRING,)
_MOMENTS: Final[tuple[Type, ...]] = (DATE, TIMESTAMP, TIMESTAMPTZ, TIMESTAMP_NS, TIMESTAMPTZ_NS)
_HASHED: Final[tuple[Type, ...]] = (STRING, INT, LONG, BINARY)
_TYPES: Final[Mapping[str, tuple[Type, ...]]] = {
    "mask_alphanum": _STRINGS,
    "show_first_4": _STRINGS,
    "show_last_4": _STRINGS,
    "show_first_4_strict": _STRINGS,
    "show_last_4_strict": _STRINGS,
    "prefix": _STRINGS,
    "truncate_to_year": _MOMENTS,
    "truncate_to_month": _MOMENTS,
    "date_range": (DATE, TIMESTAMP, TIMESTAMPTZ),
    "sha256": _HASHED,
    "sha256_query_local": _HASHED,
    "token": _HASHED,
}
MASK_NAMES: Final = frozenset(ICEBERG_ACTIONS) | OTHER_ROWS | frozenset(_TYPES) | {"bucket", "constant"}


@dataclass(frozen=True)
class Mask:
    """What becomes of one column: a named mask with constants, or an expression over the column."""

    column: Column
    name: str
    """The mask's name, `expression` for an expression."""
    args: tuple[Any, ...] = ()
    expr: Expr | None = None

    @property
    def needs_other_rows(self) -> bool:
        """Whether the result depends on other rows: only a pipeline can make it."""
        return self.name in OTHER_ROWS

    @property
    def iceberg_action(self) -> str | None:
        """The action of Iceberg's read restrictions that does the same, if there is one."""
        return ICEBERG_ACTIONS.get(self.name)

    @property
    def text(self) -> str:
        """The canonical text: equal for masks that do the same to the same column."""
        if self.expr is not None:
            return f"#{self.column.field_id} := {text(self.expr)}"
        return f"#{self.column.field_id} := {self.name}({', '.join(repr(a) for a in self.args)})"


def parse_mask(source: str) -> Expr:
    """The expression of a `mask:` entry; a mask may be called as the outermost function."""
    return parse(source, masks=MASK_NAMES)


def bind_mask(expr: Expr, schema: Schema, field_id: int, aliases: Mapping[str, int] | None = None) -> Mask:
    """Check a parsed mask against the column it is for."""
    located = schema.find(field_id)
    if located is None:
        raise UnknownColumnError(
            (f"#{field_id}",), "the masked column is gone", "change the policy's columns", expr.at
        )
    if located.in_map_key:
        raise ExpressionTypeError("the key of a map cannot be masked", "mask or hide the whole map", expr.at)
    if located.inside:
        raise ExpressionTypeError(
            "what is inside a list or map cannot be masked", "mask the whole column", expr.at
        )
    column = Column(located.ids, located.field.type, located.nullable)
    if isinstance(expr, Call) and expr.op.startswith("mask:") and expr.op != "mask:constant":
        return _bind_named(expr, schema, aliases or {}, column, located.field)
    if isinstance(expr, Call) and expr.op == "mask:constant":
        if len(expr.args) != 1 or not isinstance(expr.args[0], Literal):
            raise ExpressionTypeError("constant takes one constant", "write constant('…')", expr.at)
        expr = expr.args[0]
    return _bind_expression(expr, schema, aliases or {}, column, located)


def fold_mask(mask: Mask, request: Request, tags: Mapping[str, str] | None = None) -> tuple[Mask, Folded]:
    """The mask with everything about the request replaced, and what that used."""
    if mask.expr is None:
        return mask, Folded(mask.column, ())
    folded = fold(mask.expr, request, tags)
    return Mask(mask.column, mask.name, (), canonical(folded.expr, as_filter=False)), folded


def check_together(masks: Iterable[Mask]) -> None:
    """Refuse two masks on one column, and a mask inside a struct that is masked itself."""
    seen: dict[int, Mask] = {}
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
) -> Mask:
    bound = bind(expr, schema, aliases, expect=None)
    others = columns(bound) - {column.field_id}
    if others:
        shown = ", ".join(".".join(schema.by_id[i].path) for i in sorted(others))
        raise ExpressionTypeError(
            f"a mask sees only its own column, not {shown}", "leave the others out", expr.at
        )
    if isinstance(column.type, StructType | ListType | MapType):
        raise ExpressionTypeError(
            f"{column.type} takes no expression", "use mask_to_fixed_value or hide it", expr.at
        )
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
    return Mask(column, "expression", (), canonical(fitted, as_filter=False))


def _bind_named(expr: Call, schema: Schema, aliases: Mapping[str, int], column: Column, field: Field) -> Mask:
    name = expr.op.removeprefix("mask:")
    if not expr.args:
        raise ExpressionTypeError(f"{name} takes the masked column first", f"write {name}(column)", expr.at)
    first = expr.args[0]
    named = resolve(first.parts, schema, aliases, first.at) if isinstance(first, Name) else None
    if named is None or named.field_id != column.field_id:
        raise ExpressionTypeError(f"{name} takes the masked column first", f"write {name}(column)", first.at)
    constants = expr.args[1:]
    if not all(isinstance(a, Literal) for a in constants):
        raise ExpressionTypeError(
            f"{name} takes constants after the column", "write them as plain values", expr.at
        )
    _check_type(name, column.type, field, expr)
    return Mask(
        column, name, _check_args(name, column.type, [a for a in constants if isinstance(a, Literal)], expr)
    )


def _check_type(name: str, type_: Type, field: Field, expr: Call) -> None:
    allowed = _TYPES.get(name)
    if allowed is not None and type_ not in allowed:
        wanted = ", ".join(str(t) for t in allowed)
        raise ExpressionTypeError(
            f"{name} is for {wanted}, not {type_}", "use another mask, or hide the column", expr.at
        )
    if name in ("bucket", "noisy") and not is_exact(type_) and not is_float(type_):
        raise ExpressionTypeError(f"{name} is for numbers, not {type_}", "use another mask", expr.at)
    if name == "replace_with_null" and field.required:
        raise ExpressionTypeError("a required column cannot become NULL", "use mask_to_fixed_value", expr.at)
    if name == "mask_to_fixed_value" and not has_fixed_value(type_):
        raise ExpressionTypeError(f"{type_} has no fixed value", "hide the column", expr.at)
    if name == "k_anonymous" and isinstance(type_, StructType | ListType | MapType):
        raise ExpressionTypeError(
            f"k_anonymous is for plain columns, not {type_}", "use it on a field", expr.at
        )


def has_fixed_value(type_: Type) -> bool:
    """Whether `mask_to_fixed_value` is defined for a type."""
    if isinstance(type_, StructType):
        return all(has_fixed_value(f.type) for f in type_.fields)
    return type_ not in (VARIANT, UNKNOWN)


def _check_args(name: str, type_: Type, args: list[Literal], expr: Call) -> tuple[Any, ...]:
    wanted = {"token": 1, "bucket": 1, "date_range": 1, "prefix": 1, "k_anonymous": 1, "noisy": 1}.get(
        name, 0
    )
    if len(args) != wanted:
        raise ExpressionTypeError(
            f"{name} takes the column and {wanted} constants", "see docs/language.md", expr.at
        )
    if not wanted:
        return ()
    value = args[0].value
    match name:
        case "token":
            good, fix = args[0].type == STRING and bool(value), "name the key: token(column, 'customers')"
        case "date_range":
            good, fix = value in RANGES, "name the range: " + ", ".join(repr(r) for r in RANGES)
        case "prefix" | "k_anonymous":
            least = 1 if name == "prefix" else 2
            good, fix = args[0].type == INT and value >= least, f"write a whole number from {least} up"
        case "bucket":
            if isinstance(type_, DecimalType) and type_.precision > 36:
                raise ExpressionTypeError(
                    "buckets need room for two more digits", "narrow the column's type", expr.at
                )
            fitted = coerce(args[0], type_)
            assert isinstance(fitted, Literal)
            value = fitted.value
            good, fix = (
                value is not None and 0 < value < float("inf"),
                "write a positive width of the column's type",
            )
        case _:
            good, fix = (
                (is_exact(args[0].type) or is_float(args[0].type)) and value > 0,
                "write a positive number",
            )
    if not good:
        raise ExpressionTypeError(f"{name} does not take {value!r}", fix, args[0].at)
    return (value,)
