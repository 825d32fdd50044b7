"""Lowering to DuckDB."""

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
    TIMESTAMP_NS,
    TIMESTAMPTZ,
    UUID,
    DecimalType,
    Schema,
    Type,
)


def lower(expr: Expr, schema: Schema, columns: Mapping[int, str] | None = None) -> str:
    """The DuckDB SQL of a bound and folded expression; `columns` replaces the text of single columns."""
    return DuckPrinter(schema, columns).print(expr)


class DuckPrinter(Printer):
    """Prints DuckDB's SQL."""

    target = "duckdb"
    types: ClassVar[Mapping[Type, str]] = {
        BOOLEAN: "BOOLEAN",
        INT: "INTEGER",
        LONG: "BIGINT",
        FLOAT: "FLOAT",
        DOUBLE: "DOUBLE",
        STRING: "VARCHAR",
        UUID: "UUID",
        BINARY: "BLOB",
        DATE: "DATE",
        TIME: "TIME",
        TIMESTAMP: "TIMESTAMP",
        TIMESTAMPTZ: "TIMESTAMPTZ",
        TIMESTAMP_NS: "TIMESTAMP_NS",
    }
    literal_words: ClassVar[Mapping[Type, str]] = {
        DATE: "DATE",
        TIME: "TIME",
        TIMESTAMP: "TIMESTAMP",
        TIMESTAMPTZ: "TIMESTAMPTZ",
        TIMESTAMP_NS: "TIMESTAMP_NS",
    }

    def path(self, parts: tuple[str, ...]) -> str:
        # "a"."b" could be a table's column as well; struct_extract cannot.
        text = self.quote(parts[0])
        for part in parts[1:]:
            text = f"struct_extract({text}, {self.string(part)})"
        return text

    def binary(self, data: bytes) -> str:
        return f"unhex('{data.hex()}')"

    def literal(self, value: Any, type_: Type) -> str:
        return f"CAST('{value}' AS UUID)" if type_ == UUID else super().literal(value, type_)

    def op_arithmetic(self, call: Call) -> str:
        if call.op != "*" or not isinstance(call.type, DecimalType):
            return super().op_arithmetic(call)
        # Two decimals of up to 18 digits are multiplied in 64 bits, which overflow; one wider operand prevents that.
        left, right = call.args
        narrow = type_of(left)
        assert isinstance(narrow, DecimalType)
        wide = DecimalType(max(narrow.precision, 19), narrow.scale)
        product = f"(CAST({self.print(left)} AS {self.type_name(wide)}) * {self.print(right)})"
        return f"CAST({product} AS {self.type_name(call.type)})"

    def op_length(self, call: Call) -> str:
        return f"CAST({self.function('length', *call.args)} AS INTEGER)"

    def op_trim(self, call: Call) -> str:
        return f"{call.op}({self.print(call.args[0])}, ' ')"

    def in_utc(self, moment: Expr) -> str:
        text = self.print(moment)
        return f"make_timestamp(epoch_us({text}))" if type_of(moment) == TIMESTAMPTZ else text

    def op_cast(self, call: Call) -> str:
        return f"CAST({self.in_utc(call.args[0])} AS {self.type_name(call.type)})"

    def op_date_trunc(self, call: Call) -> str:
        unit, moment = call.args
        assert isinstance(unit, Literal)
        at = self.in_utc(moment)
        # DuckDB 1.5 takes date_trunc of NULL for a value when it compares it with a constant; a CASE keeps it NULL.
        text = f"CASE WHEN {at} IS NOT NULL THEN date_trunc('{unit.value}', {at}) END"
        if type_of(moment) == TIMESTAMPTZ:
            return f"make_timestamptz(epoch_us({text}))"
        return f"CAST({text} AS {self.type_name(type_of(moment))})"
