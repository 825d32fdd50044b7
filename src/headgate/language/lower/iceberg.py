"""Lowering to Iceberg expressions, as JSON in the older `term` form or the newer form with field-id references.

Iceberg's logic has two values: `x <> 5` keeps rows where x is NULL, SQL's does not. So nothing is lowered by NOT: each
expression is asked for the rows where it is true, or for those where it is false, and says `not-null` where needed.

INVARIANT: `widened` keeps every row that the filter keeps, at every depth and under every NOT; `exact` keeps no other.
"""

import json
from typing import Any, Final
from typing import Literal as OneOf

from headgate.language import values
from headgate.language.ast import Call, Column, Expr, Literal
from headgate.language.errors import LoweringError
from headgate.language.evaluate import evaluate
from headgate.language.lower.ranges import ValueRange, step
from headgate.language.types import is_float
from headgate.model.schema import (
    BINARY,
    BOOLEAN,
    INT,
    LONG,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NS,
    TIMESTAMPTZ,
    TIMESTAMPTZ_NS,
    FixedType,
    ListType,
    MapType,
    Schema,
    SchemaError,
    Simple,
    StructType,
    Type,
)

Form = OneOf["term", "reference"]
Mode = OneOf["exact", "widened"]
_NAMES: Final = {"=": "eq", "<>": "not-eq", "<": "lt", "<=": "lt-eq", ">": "gt", ">=": "gt-eq"}
_NEGATED: Final = {"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_NAN_ABOVE: Final = frozenset({">", ">="})


def lower(expr: Expr, schema: Schema, *, form: Form, mode: Mode) -> Any:
    """The Iceberg expression, as JSON values, that is true where the filter is true.

    `exact` raises where Iceberg cannot say the same; `widened` keeps more rows there instead.
    """
    return _Lowering(schema, form, exact=mode == "exact").rows(expr, want=True)


class _Lowering:
    def __init__(self, schema: Schema, form: Form, *, exact: bool) -> None:
        self._schema = schema
        self._form = form
        self._exact = exact

    def rows(self, expr: Expr, *, want: bool) -> Any:
        """The rows where `expr` is true, or where it is false; unknown is neither."""
        try:
            return self._rows(expr, want)
        except LoweringError:
            if self._exact:
                raise
            return True

    def _rows(self, expr: Expr, want: bool) -> Any:
        match expr:
            case Literal(value=value):
                return value is want
            case Column():
                return self._predicate("eq", expr, Literal(want, BOOLEAN))
            case Call(op="not", args=args):
                return self.rows(args[0], want=not want)
            case Call(op="and" | "or" as op, args=args):
                parts = [self.rows(a, want=want) for a in args]
                return _all(parts) if (op == "and") == want else _any(parts)
            case Call(op="is_null", args=(Column() as column,)):
                return self._test("is-null" if want else "not-null", column)
            case Call(op="is_nan", args=(Column() as column,)):
                return (
                    self._test("is-nan", column)
                    if want
                    else self._present(column, self._test("not-nan", column))
                )
            case Call(op="in", args=args):
                return self._membership(expr, args, want)
            case Call(op="starts_with", args=(Column() as column, Literal(value=str() as prefix))):
                return self._starts_with(column, prefix, want)
            case Call(op="like", args=(Column() as column, Literal(value=str() as pattern))):
                return self._like(expr, column, pattern, want)
            case Call(op="coalesce", args=(inner, Literal(value=False))) if want:
                return self.rows(inner, want=True)
            case Call(op=op, args=(left, right)) if op in _NAMES:
                return self._comparison(op if want else _NEGATED[op], left, right, expr)
        return self._cannot(expr)

    def _cannot(self, expr: Expr) -> Any:
        what = getattr(expr, "op", type(expr).__name__)
        raise LoweringError(
            "iceberg",
            f"{what} here has no equal in Iceberg expressions",
            "compare a column with constants by =, <>, <, <=, >, >=, IN, IS NULL, starts_with or LIKE 'x%'",
            expr.at,
        )

    # -- leaves -----------------------------------------------------------------------------------------------------

    def _comparison(self, op: str, left: Expr, right: Expr, whole: Expr) -> Any:
        if isinstance(left, Literal):
            op, left, right = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}.get(op, op), right, left
        match left, right:
            case Call(op="coalesce", args=(Column() as column, Literal() as default)), Literal():
                # A default stands in for NULL: the rows by value, and those without one if the default passes.
                instead = evaluate(Call(op, (default, right), BOOLEAN), {})
                parts = [self._comparison(op, column, right, whole)]
                return _any([*parts, self._test("is-null", column)] if instead else parts)
            case Call(
                op="substring", args=(Column() as column, Literal(value=1), Literal(value=count))
            ), Literal(value=str() as start):
                if op in ("=", "<>") and len(start) == count:
                    return self._starts_with(column, start, op == "=")
            case Call(), Literal() if right.value is not None and (found := step(left, right)):
                return self._step(op, found, whole)
        if not isinstance(left, Column):
            return self._cannot(whole)
        if isinstance(right, Column) and self._form == "reference":
            return self._two_columns(op, left, right)
        if not isinstance(right, Literal) or right.value is None:
            return self._cannot(whole)
        if is_float(left.type):
            return self._float_comparison(op, left, right)
        out = self._predicate(_NAMES[op], left, right)
        return self._present(left, out) if op == "<>" else out

    def _step(self, op: str, found: ValueRange, whole: Expr) -> Any:
        column, first, after = found
        match op:
            case "=":
                return _all(
                    [
                        self._comparison(">=", column, first, whole),
                        self._comparison("<", column, after, whole),
                    ]
                )
            case "<>":
                return _any(
                    [
                        self._comparison("<", column, first, whole),
                        self._comparison(">=", column, after, whole),
                    ]
                )
            case "<" | ">=":
                return self._comparison(op, column, first, whole)
        return self._comparison("<" if op == "<=" else ">=", column, after, whole)

    def _float_comparison(self, op: str, column: Column, literal: Literal) -> Any:
        value, nan = literal.value, self._test("is-nan", column)
        if value != value:
            number = self._present(column, self._test("not-nan", column))
            by_op = {
                "=": nan,
                ">=": nan,
                "<>": number,
                "<": number,
                ">": False,
                "<=": self._test("not-null", column),
            }
            return by_op[op]
        if value in (float("inf"), float("-inf")):
            return self._cannot(literal)
        if value == 0:
            return self._zero_comparison(op, column)
        out = self._predicate(_NAMES[op], column, literal)
        if op in _NAN_ABOVE:
            return _any([out, nan])
        return self._present(column, out) if op == "<>" else out

    def _zero_comparison(self, op: str, column: Column) -> Any:
        # Some readers order -0.0 before 0.0; SQL holds them equal.
        plus, minus = Literal(0.0, column.type), Literal(-0.0, column.type)
        match op:
            case "=" | "<>":
                both = [self._predicate(_NAMES[op], column, zero) for zero in (plus, minus)]
                return _any(both) if op == "=" else self._present(column, _all(both))
            case ">" | ">=":
                bound = plus if op == ">" else minus
                return _any([self._predicate(_NAMES[op], column, bound), self._test("is-nan", column)])
        return self._predicate(_NAMES[op], column, minus if op == "<" else plus)

    def _two_columns(self, op: str, left: Column, right: Column) -> Any:
        if left.type != right.type:
            return self._cannot(left)
        out: Any = {"type": _NAMES[op], "left": self._reference(left), "right": self._reference(right)}
        if is_float(left.type):
            nan_left, nan_right = self._test("is-nan", left), self._test("is-nan", right)
            match op:
                case ">":
                    out = _any([out, _all([nan_left, self._test("not-nan", right)])])
                case ">=":
                    out = _any([out, nan_left])
                case "<":
                    out = _any([out, _all([self._test("not-nan", left), nan_right])])
                case "<=":
                    out = _any([out, nan_right])
        return self._present(left, self._present(right, out))

    def _membership(self, whole: Expr, args: tuple[Expr, ...], want: bool) -> Any:
        column, items = args[0], [a for a in args[1:] if isinstance(a, Literal) and a.value is not None]
        if not isinstance(column, Column) or len(items) != len(args) - 1:
            return self._cannot(whole)
        if is_float(column.type):
            parts = [self._float_comparison("=" if want else "<>", column, item) for item in items]
            return _any(parts) if want else _all(parts)
        out = self._predicate("in" if want else "not-in", column, *items)
        return out if want else self._present(column, out)

    def _starts_with(self, column: Column, prefix: str, want: bool) -> Any:
        if not prefix:
            return self._test("not-null", column) if want else False
        out = self._predicate("starts-with" if want else "not-starts-with", column, Literal(prefix, STRING))
        return out if want else self._present(column, out)

    def _like(self, whole: Expr, column: Column, pattern: str, want: bool) -> Any:
        prefix = pattern.split("%")[0].split("_")[0]
        rest = pattern[len(prefix) :]
        if not rest:
            return self._comparison("=" if want else "<>", column, Literal(prefix, STRING), whole)
        if not rest.strip("%") or (want and not self._exact):
            return self._starts_with(column, prefix, want)
        return self._cannot(whole)

    # -- JSON -------------------------------------------------------------------------------------------------------

    def _present(self, column: Column, predicate: Any) -> Any:
        return _all([self._test("not-null", column), predicate]) if column.nullable else predicate

    def _reference(self, column: Column) -> Any:
        located = self._schema.find(column.field_id)
        if located is None or located.field.type != column.type:
            raise LoweringError(
                "iceberg", f"field {column.field_id} is gone or changed its type", "bind it again", column.at
            )
        if isinstance(column.type, StructType | ListType | MapType) or column.type == Simple("variant"):
            raise LoweringError("iceberg", f"{column.type} cannot be tested", "test a field of it", column.at)
        if self._form == "reference":
            return {"type": "reference", "id": column.field_id}
        dotted = ".".join(located.path)
        try:
            self._schema.named(dotted)
        except SchemaError as e:
            raise LoweringError("iceberg", str(e), "use the reference form", column.at) from e
        return dotted

    def _test(self, name: str, column: Column) -> Any:
        if name in ("is-null", "not-null") and not column.nullable:
            return name == "not-null"
        located = self._schema.find(column.field_id)
        if name in ("is-null", "not-null") and located is not None and located.field.required:
            # Readers take a required field for never NULL, even where the struct around it is.
            raise LoweringError(
                "iceberg", "a required field of an optional struct is not tested for NULL", at=column.at
            )
        key = "child" if self._form == "reference" else "term"
        return {"type": name, key: self._reference(column)}

    def _predicate(self, name: str, column: Column, *literals: Literal) -> Any:
        reference, found = self._reference(column), [literal_json(item) for item in literals]
        if name in ("in", "not-in"):
            if self._form == "term":
                return {"type": name, "term": reference, "values": found}
            typed: Any = {"type": "literals", "values": found, "data-type": str(column.type)}
            return {"type": name, "child": reference, "values": typed}
        if self._form == "term":
            return {"type": name, "term": reference, "value": found[0]}
        typed = {"type": "literal", "value": found[0], "data-type": str(column.type)}
        return {"type": name, "left": reference, "right": typed}


def literal_json(literal: Literal) -> Any:
    """A constant as Iceberg's single-value JSON."""
    value, type_ = literal.value, literal.type
    if type_ in (BOOLEAN, INT, LONG, STRING) or is_float(type_):
        return value
    return _text(type_, value)


def _text(type_: Type, value: Any) -> str:
    text = values.to_text(type_, value)
    if type_ in (TIMESTAMP, TIMESTAMPTZ, TIMESTAMP_NS, TIMESTAMPTZ_NS):
        return text.replace(" ", "T", 1)
    if type_ == BINARY or isinstance(type_, FixedType):
        return text.upper()
    return text


def _all(parts: list[Any]) -> Any:
    return _join("and", parts, decisive=False)


def _any(parts: list[Any]) -> Any:
    return _join("or", parts, decisive=True)


def _join(name: str, parts: list[Any], *, decisive: bool) -> Any:
    if decisive in [part for part in parts if isinstance(part, bool)]:
        return decisive
    # Told apart by text: 0.0 and -0.0, 1 and true are equal in Python.
    kept = list({to_text(part): part for part in parts if not isinstance(part, bool)}.values())
    if not kept:
        return not decisive
    out = kept[0]
    for part in kept[1:]:
        out = {"type": name, "left": out, "right": part}
    return out


def to_text(predicate: Any) -> str:
    """The JSON text of a lowered expression."""
    return json.dumps(predicate, ensure_ascii=False, allow_nan=False)
