"""Lowering to Trino. NaN there is unequal to itself and beyond any order, so comparisons of doubles say what they mean."""

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from headgate.language.ast import Call, Expr, Literal, type_of
from headgate.language.lower.sql import Printer
from headgate.language.values import to_text
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
    UUID,
    Schema,
    Type,
)

_ZONED: Final = frozenset({TIMESTAMPTZ, TIMESTAMPTZ_NS})


def lower(expr: Expr, schema: Schema, columns: Mapping[int, str] | None = None) -> str:
    """The Trino SQL of a bound and folded expression; `columns` replaces the text of single columns."""
    return TrinoPrinter(schema, columns).print(expr)


class TrinoPrinter(Printer):
    """Prints Trino's SQL."""

    target = "trino"
    types: ClassVar[Mapping[Type, str]] = {
        BOOLEAN: "boolean",
        INT: "integer",
        LONG: "bigint",
        FLOAT: "real",
        DOUBLE: "double",
        STRING: "varchar",
        UUID: "uuid",
        BINARY: "varbinary",
        DATE: "date",
        TIME: "time(6)",
        TIMESTAMP: "timestamp(6)",
        TIMESTAMPTZ: "timestamp(6) with time zone",
        TIMESTAMP_NS: "timestamp(9)",
        TIMESTAMPTZ_NS: "timestamp(9) with time zone",
    }
    literal_words: ClassVar[Mapping[Type, str]] = {
        DATE: "DATE",
        TIME: "TIME",
        TIMESTAMP: "TIMESTAMP",
        TIMESTAMPTZ: "TIMESTAMP",
        TIMESTAMP_NS: "TIMESTAMP",
        TIMESTAMPTZ_NS: "TIMESTAMP",
        UUID: "UUID",
    }

    def double(self, value: float, type_: Type) -> str:
        return f"{'REAL' if type_ == FLOAT else 'DOUBLE'} '{to_text(type_, value)}'"

    def literal(self, value: Any, type_: Type) -> str:
        text = super().literal(value, type_)
        return text.replace("+00:00'", " +00:00'") if type_ in _ZONED else text

    def comparison(self, call: Call) -> str:
        if type_of(call.args[0]) not in (FLOAT, DOUBLE):
            return super().comparison(call)
        op, (left, right) = call.op, call.args
        if op in (">", ">="):
            op, left, right = ("<" if op == ">" else "<="), right, left
        if op == "<>":
            return f"(NOT {self.comparison(Call('=', (left, right), BOOLEAN, call.at))})"
        a, b = self.print(left), self.print(right)
        plain = f"{a} {op} {b}"
        if _is_number(right) or (_is_number(left) and op == "="):
            return f"({plain})"
        if _is_number(left):
            return f"({plain} OR is_nan({b}))"
        match op:
            case "=":
                return f"({plain} OR (is_nan({a}) AND is_nan({b})))"
            case "<":
                return f"({plain} OR (NOT is_nan({a}) AND is_nan({b})))"
            case _:
                return f"({plain} OR ({a} IS NOT NULL AND is_nan({b})))"

    def op_length(self, call: Call) -> str:
        return f"CAST({self.function('length', *call.args)} AS integer)"

    def op_ends_with(self, call: Call) -> str:
        text, end = (self.print(a) for a in call.args)
        fits = f"length({text}) >= length({end})"
        return f"({fits} AND substring({text}, length({text}) - length({end}) + 1) = {end})"

    def op_contains(self, call: Call) -> str:
        return f"({self.function('strpos', *call.args)} > 0)"

    def op_is_nan(self, call: Call) -> str:
        return self.function("is_nan", *call.args)

    def op_cast(self, call: Call) -> str:
        return f"CAST({self.in_utc(call.args[0])} AS {self.type_name(call.type)})"

    def op_date_trunc(self, call: Call) -> str:
        unit, moment = call.args
        assert isinstance(unit, Literal)
        return f"date_trunc('{unit.value}', {self.in_utc(moment)})"


def _is_number(expr: Expr) -> bool:
    return isinstance(expr, Literal) and expr.value == expr.value
