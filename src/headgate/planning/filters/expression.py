"""Iceberg's JSON expressions: both spellings, with names or field ids, as pyiceberg expressions without NOT.

NOT is pushed down while parsing, so that a predicate nothing may be concluded from can be replaced by one constant
wherever it stands: by *true* where files are chosen (nothing is lost), by *false* where something must be proven. Each
predicate also keeps how it is sent back to the client (see `residual`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal, DecimalException
from typing import Any

from pyiceberg.expressions import (
    AlwaysFalse,
    AlwaysTrue,
    And,
    BooleanExpression,
    BoundPredicate,
    EqualTo,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNaN,
    IsNull,
    LessThan,
    LessThanOrEqual,
    NotEqualTo,
    NotIn,
    NotNaN,
    NotNull,
    NotStartsWith,
    Or,
    StartsWith,
)
from pyiceberg.expressions.literals import Literal, literal
from pyiceberg.expressions.visitors import bind
from pyiceberg.schema import Schema
from pyiceberg.types import (
    BinaryType,
    DecimalType,
    FixedType,
    IntegerType,
    LongType,
    NestedField,
    PrimitiveType,
    TimestampNanoType,
    TimestamptzNanoType,
)

from headgate.planning.errors import InvalidFilterError, UnknownColumnError
from headgate.planning.request import NO_VEIL, Veil

Json = dict[str, Any]

UNARY = {"is-null": IsNull, "not-null": NotNull, "is-nan": IsNaN, "not-nan": NotNaN}
COMPARISON = {
    "lt": LessThan,
    "lt-eq": LessThanOrEqual,
    "gt": GreaterThan,
    "gt-eq": GreaterThanOrEqual,
    "eq": EqualTo,
    "not-eq": NotEqualTo,
    "starts-with": StartsWith,
    "not-starts-with": NotStartsWith,
}
SETS = {"in": In, "not-in": NotIn}
NEGATED = {
    "is-null": "not-null",
    "is-nan": "not-nan",
    "lt": "gt-eq",
    "lt-eq": "gt",
    "eq": "not-eq",
    "starts-with": "not-starts-with",
    "in": "not-in",
}
NEGATED |= {other: name for name, other in NEGATED.items()}
FLIPPED = {"lt": "gt", "lt-eq": "gt-eq", "gt": "lt", "gt-eq": "lt-eq", "eq": "eq", "not-eq": "not-eq"}
NANOSECOND_TYPES = (TimestampNanoType, TimestamptzNanoType)  # pyiceberg has no literals for them
DEEPEST = 200


@dataclass(frozen=True)
class Leaf:
    """One predicate of a filter, with no NOT before it."""

    predicate: BoundPredicate | None
    """None if nothing may be concluded from it."""
    wire: Json
    """The predicate as it is sent back to the client."""
    any_row: Json
    """Selects every row and is not the constant *true*, for where the predicate itself cannot be sent back."""


@dataclass(frozen=True)
class Junction:
    """Two parts of a filter, joined by AND or by OR."""

    conjunction: bool
    left: Node
    right: Node


Node = bool | Leaf | Junction


@dataclass(frozen=True)
class BoundFilter:
    """A bound filter in both readings: which files may have a matching row, and which have no other."""

    may: BooleanExpression
    must: BooleanExpression
    is_true: bool
    node: Node = True


@dataclass(frozen=True)
class _FilterReader:
    schema: Schema
    case_sensitive: bool
    veil: Veil
    where: str

    def read(self, node: Any, negated: bool, depth: int = 0) -> Node:
        if depth > DEEPEST:
            raise InvalidFilterError(f"expressions nest deeper than {DEEPEST}")
        if isinstance(node, bool):
            return node != negated
        if not isinstance(node, dict) or not isinstance(node.get("type"), str):
            raise InvalidFilterError(f"{_short(node)} is no expression")
        kind = node["type"].lower().replace("_", "-")
        if kind in ("true", "false") or (kind == "literal" and isinstance(node.get("value"), bool)):
            value = node["value"] if kind == "literal" else kind == "true"
            return bool(value != negated)
        if kind == "not":
            return self.read(_member(node, "child"), not negated, depth + 1)
        if kind in ("and", "or"):
            left = self.read(_member(node, "left"), negated, depth + 1)
            right = self.read(_member(node, "right"), negated, depth + 1)
            return Junction((kind == "and") != negated, left, right)
        if kind in UNARY or kind in COMPARISON or kind in SETS:
            return self.predicate(kind, node, negated)
        raise InvalidFilterError(f"the operation {_short(node['type'])} is unknown")

    def predicate(self, kind: str, node: dict[str, Any], negated: bool) -> Node:
        term, value = _operands(kind, node)
        if _is_literal(term) and kind in FLIPPED:
            kind, term, value = FLIPPED[kind], value, term["value"]
        field, name, transformed = self.field(term)
        if field.field_id in self.veil.hidden_field_ids:
            # As for a column that is not there at all: whether it exists is hidden too.
            raise UnknownColumnError(name, self.where)
        self.check_literals(field, kind, value)
        bound = self.bound(kind, field, name, value, transformed, negated)
        if isinstance(bound, AlwaysTrue | AlwaysFalse):
            return isinstance(bound, AlwaysTrue)
        any_row = _any_row(_sent_name(term, name))
        if (
            isinstance(field.field_type, BinaryType | FixedType)
            or field.field_id in self.veil.masked_field_ids
        ):
            # Bytes come back to Java's client as text, which it cannot compare with them. Of a masked column, the
            # files do not hold what the client asks for.
            return Leaf(bound, any_row, any_row)
        return Leaf(bound, _wire(NEGATED[kind] if negated else kind, _sent(term, name), value), any_row)

    def bound(
        self, kind: str, field: NestedField, name: str, value: Any, transformed: bool, negated: bool
    ) -> Any:
        """The predicate in pyiceberg's terms, or a constant; None if nothing may be concluded from it."""
        if (
            transformed
            or field.field_id in self.veil.masked_field_ids
            or isinstance(field.field_type, NANOSECOND_TYPES)
        ):
            return None
        if kind in ("is-null", "not-null") and "." in name and field not in self.schema.fields:
            return None  # a required field of an optional struct can be null all the same
        if not isinstance(field.field_type, PrimitiveType):
            if kind not in ("is-null", "not-null"):
                raise InvalidFilterError(f"column {name} is not of a primitive type")
            return None
        if negated:
            kind = NEGATED[kind]
        try:
            return bind(self.schema, _unbound(kind, name, field.field_type, value), True)
        except (TypeError, ValueError, DecimalException) as error:
            raise InvalidFilterError(
                f"{kind} on column {name} of type {field.field_type}: {error}"
            ) from error

    def check_literals(self, field: NestedField, kind: str, value: Any) -> None:
        if kind in SETS and not isinstance(value, list):
            raise InvalidFilterError(f"{kind} on {field.name} needs a list of values")
        for item in value if kind in SETS else [value] if kind in COMPARISON else []:
            if item is None or isinstance(item, list | dict):
                raise InvalidFilterError(f"{kind} on {field.name} needs a literal, not {_short(item)}")

    def field(self, term: Any) -> tuple[NestedField, str, bool]:
        """The column of a term, its full name, and whether a transform stands before it."""
        if isinstance(term, dict) and term.get("type") == "transform":
            field, name, _ = self.field(term.get("term"))
            return field, name, True
        column = term
        if isinstance(term, dict) and term.get("type") == "reference":
            column = term.get("id", term.get("field-id", term.get("term", term.get("name"))))
        if isinstance(column, bool) or not isinstance(column, str | int):
            raise InvalidFilterError(f"{_short(term)} is no column")
        return *find_column(self.schema, column, self.case_sensitive, self.where), False


def find_column(
    schema: Schema, column: str | int, case_sensitive: bool, where: str
) -> tuple[NestedField, str]:
    """A column by field id or full name, with its name as the schema spells it."""
    try:
        field = schema.find_field(column, case_sensitive=case_sensitive)
    except ValueError as error:
        raise UnknownColumnError(column, where) from error
    name = schema.find_column_name(field.field_id)
    if name is None:
        raise UnknownColumnError(column, where)
    return field, name


def read_filter(
    node: Any, schema: Schema, *, case_sensitive: bool, veil: Veil = NO_VEIL, where: str
) -> BoundFilter:
    """Parse and bind a JSON expression; predicates on masked columns say nothing, hidden ones are unknown. None is *true*."""
    if node is None or node is True:
        return BoundFilter(AlwaysTrue(), AlwaysTrue(), True)
    read = _FilterReader(schema, case_sensitive, veil, where).read(node, negated=False)
    may, must = _folded(read, AlwaysTrue()), _folded(read, AlwaysFalse())
    return BoundFilter(may, must, must == AlwaysTrue(), read)


def _folded(node: Node, unknown: BooleanExpression) -> BooleanExpression:
    """A filter as one expression, with a constant in the place of predicates that nothing may be concluded from."""
    if isinstance(node, bool):
        return AlwaysTrue() if node else AlwaysFalse()
    if isinstance(node, Leaf):
        return unknown if node.predicate is None else node.predicate
    left, right = _folded(node.left, unknown), _folded(node.right, unknown)
    return And(left, right) if node.conjunction else Or(left, right)


def _wire(kind: str, term: Any, value: Any) -> Json:
    """A predicate in the spelling that every client reads, with the literals that the client sent."""
    if kind in UNARY:
        return {"type": kind, "term": term}
    return {"type": kind, "term": term, "values" if kind in SETS else "value": value}


def _any_row(name: str) -> Json:
    return {"type": "or", "left": _wire("is-null", name, None), "right": _wire("not-null", name, None)}


def _sent(term: Any, name: str) -> Any:
    """The column as the client named it; pyiceberg reads only plain names, and sends no transforms."""
    if isinstance(term, dict) and term.get("type") == "transform":
        return {**term, "term": _sent(term.get("term"), name)}
    return _sent_name(term, name)


def _sent_name(term: Any, name: str) -> str:
    while isinstance(term, dict) and "term" in term:
        term = term["term"]
    return term if isinstance(term, str) else name


def _operands(kind: str, node: dict[str, Any]) -> tuple[Any, Any]:
    """Column and literal of a predicate, in the `term`/`value` or in the `left`/`right` (`child`, `values`) spelling."""
    old, new = "term" in node, "left" in node or "child" in node
    if old == new:
        raise InvalidFilterError(f"{kind} needs either term and value or left and right")
    if old:
        keys = ("values", "value") if kind in SETS else ("value", "literal")
        term, value = node["term"], next((node[key] for key in keys if key in node), None)
    elif kind in UNARY:
        term, value = node.get("child", node.get("left")), None
    elif kind in SETS and "child" in node:
        term, value = node["child"], _member(node, "values")
    else:
        term, value = _member(node, "left"), _member(node, "right")
    if (
        isinstance(value, dict)
        and value.get("type") in ("literal", "literals", "list")
        and not _is_column(value)
    ):
        value = value.get("values", value.get("value"))
    if kind in SETS and isinstance(value, list):
        value = [item["value"] if _is_literal(item) else item for item in value]
    return term, value


def _is_literal(node: Any) -> bool:
    return isinstance(node, dict) and node.get("type") == "literal" and "value" in node


def _is_column(node: dict[str, Any]) -> bool:
    return node.get("type") in ("reference", "transform")


def _member(node: dict[str, Any], key: str) -> Any:
    if key not in node:
        raise InvalidFilterError(f"{_short(node['type'])} lacks {key}")
    return node[key]


def _unbound(kind: str, name: str, field_type: PrimitiveType, value: Any) -> Any:
    if kind in UNARY:
        return UNARY[kind](name)
    if kind in SETS:
        literals = {_literal(field_type, item) for item in value}
        return SETS[kind](name, literals)
    make: Callable[..., BooleanExpression] = COMPARISON[kind]
    return make(name, _literal(field_type, value))


def _literal(field_type: PrimitiveType, value: Any) -> Literal[Any]:
    """A JSON literal for a column; Java sends dates and timestamps as the integers that the format stores."""
    if isinstance(field_type, BinaryType | FixedType) and isinstance(value, str):
        return literal(bytes.fromhex(value)).to(field_type)
    if (
        isinstance(field_type, DecimalType)
        and isinstance(value, int | float | str)
        and not isinstance(value, bool)
    ):
        number = Decimal(str(value))
        if number != round(number, field_type.scale):
            raise ValueError(f"{value} has more than {field_type.scale} decimal places")
        return literal(round(number, field_type.scale)).to(field_type)
    if isinstance(field_type, IntegerType | LongType) and isinstance(value, str):
        return literal(int(value)).to(field_type)
    return literal(value).to(field_type)


def _short(node: Any) -> str:
    text = repr(node)
    return text if len(text) <= 80 else text[:77] + "..."
