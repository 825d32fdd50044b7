"""Lowering to PostgreSQL. Arithmetic on double precision raises there where it overflows, so it is refused."""

from collections.abc import Mapping
from typing import Any, ClassVar

from headgate.language.ast import Call, Expr, Literal, type_of
from headgate.language.lower.sql import Printer
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
    TIMESTAMPTZ,
    UUID,
    Schema,
    Type,
)


def lower(expr: Expr, schema: Schema, columns: Mapping[int, str] | None = None) -> str:
    """The PostgreSQL of a bound and folded expression; `columns` replaces the text of single columns."""
    return PostgresPrinter(schema, columns).print(expr)


class PostgresPrinter(Printer):
    """Prints PostgreSQL."""

    target = "postgres"
    types: ClassVar[Mapping[Type, str]] = {
        BOOLEAN: "boolean",
        INT: "integer",
        LONG: "bigint",
        FLOAT: "real",
        DOUBLE: "double precision",
        STRING: "text",
        UUID: "uuid",
        BINARY: "bytea",
        DATE: "date",
        TIME: "time",
        TIMESTAMP: "timestamp",
        TIMESTAMPTZ: "timestamptz",
    }
    literal_words: ClassVar[Mapping[Type, str]] = {
        DATE: "DATE",
        TIME: "TIME",
        TIMESTAMP: "TIMESTAMP",
        TIMESTAMPTZ: "TIMESTAMPTZ",
        UUID: "UUID",
    }

    def path(self, parts: tuple[str, ...]) -> str:
        head = self.quote(parts[0])
        return head if len(parts) == 1 else f"({head})." + ".".join(self.quote(p) for p in parts[1:])

    def string(self, text: str) -> str:
        # E'…' reads backslashes the same whatever standard_conforming_strings says.
        plain = super().string(text)
        return "E" + plain.replace("\\", "\\\\") if "\\" in text else plain

    def binary(self, data: bytes) -> str:
        return f"decode('{data.hex()}', 'hex')"

    def literal(self, value: Any, type_: Type) -> str:
        text = super().literal(value, type_)
        return f"CAST({text} AS text)" if type_ == STRING else text

    def operand(self, expr: Expr) -> str:
        text = super().operand(expr)
        return f'({text} COLLATE "C")' if type_of(expr) == STRING else text

    def op_like(self, call: Call) -> str:
        return f"({self.operand(call.args[0])} LIKE {self.print(call.args[1])})"

    def op_arithmetic(self, call: Call) -> str:
        self._no_doubles(call)
        return super().op_arithmetic(call)

    def op_divide(self, call: Call) -> str:
        self._no_doubles(call)
        return super().op_divide(call)

    def _no_doubles(self, call: Call) -> None:
        if call.type == DOUBLE:
            self.cannot(call, "arithmetic on double precision raises on overflow", "use integers or decimals")

    def op_trim(self, call: Call) -> str:
        name = "btrim" if call.op == "trim" else call.op
        return f"{name}({self.print(call.args[0])}, ' ')"

    def op_ends_with(self, call: Call) -> str:
        text, end = (self.print(a) for a in call.args)
        return f'((right({text}, char_length({end})) COLLATE "C") = {end})'

    def op_contains(self, call: Call) -> str:
        return f"({self.function('strpos', *call.args)} > 0)"

    def op_cast(self, call: Call) -> str:
        return f"CAST({self.in_utc(call.args[0])} AS {self.type_name(call.type)})"

    def op_date_trunc(self, call: Call) -> str:
        unit, moment = call.args
        assert isinstance(unit, Literal)
        text = f"date_trunc('{unit.value}', CAST({self.in_utc(moment)} AS timestamp))"
        if type_of(moment) == TIMESTAMPTZ:
            return f"({text} AT TIME ZONE 'UTC')"
        return f"CAST({text} AS {self.type_name(type_of(moment))})"
