"""Lowering to Spark SQL (ANSI on), as Spark reads Iceberg: uuid is a string, time and nanoseconds cannot be read.

The text does not depend on the session's time zone, on how it reads escapes, or on variable substitution.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from headgate.language.ast import Call, Column, Expr, Literal, type_of
from headgate.language.errors import LoweringError
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
    TIMESTAMPTZ_NS,
    UUID,
    Schema,
    Type,
)

_DAY: Final = 86_400_000_000
_HOUR: Final = 3_600_000_000
_UNREADABLE: Final = frozenset({TIME, TIMESTAMP_NS, TIMESTAMPTZ_NS})


def lower(expr: Expr, schema: Schema, columns: Mapping[int, str] | None = None) -> str:
    """The Spark SQL of a bound and folded expression; `columns` replaces the text of single columns."""
    return SparkPrinter(schema, columns).print(expr)


class SparkPrinter(Printer):
    """Prints Spark SQL."""

    target = "spark"
    types: ClassVar[Mapping[Type, str]] = {
        BOOLEAN: "BOOLEAN",
        INT: "INT",
        LONG: "BIGINT",
        FLOAT: "FLOAT",
        DOUBLE: "DOUBLE",
        STRING: "STRING",
        UUID: "STRING",
        BINARY: "BINARY",
        DATE: "DATE",
        TIMESTAMP: "TIMESTAMP_NTZ",
        TIMESTAMPTZ: "TIMESTAMP_LTZ",
    }
    literal_words: ClassVar[Mapping[Type, str]] = {
        DATE: "DATE",
        TIMESTAMP: "TIMESTAMP_NTZ",
        TIMESTAMPTZ: "TIMESTAMP_LTZ",
    }

    def quote(self, name: str) -> str:
        if "${" in name or "\0" in name:
            raise LoweringError(
                self.target, f"Spark would replace a variable in the name {name!r}", "rename the column"
            )
        return "`" + name.replace("`", "``") + "`"

    def check_column(self, column: Column) -> None:
        if column.type in _UNREADABLE:
            self.cannot(column, f"Spark cannot read columns of type {column.type}", "hide the column instead")

    def string(self, text: str) -> str:
        # Backslashes, quotes and ${…} mean different things under different settings; bytes never do.
        if text.isprintable() and not set(text) & set("'\\$"):
            return f"'{text}'"
        return f"CAST(X'{text.encode().hex()}' AS STRING)"

    def literal(self, value: Any, type_: Type) -> str:
        return self.string(str(value)) if type_ == UUID else super().literal(value, type_)

    def op_cast(self, call: Call) -> str:
        if type_of(call.args[0]) == TIMESTAMPTZ and call.type == DATE:
            return self._utc_date(call.args[0])
        return super().op_cast(call)

    def op_starts_with(self, call: Call) -> str:
        return self.function("startswith", *call.args)

    def op_ends_with(self, call: Call) -> str:
        return self.function("endswith", *call.args)

    def op_date_part(self, call: Call) -> str:
        moment = call.args[0]
        if type_of(moment) != TIMESTAMPTZ:
            return self.function(call.op, moment)
        if call.op == "hour":
            return f"CAST(pmod(unix_micros({self.print(moment)}), {_DAY}) div {_HOUR} AS INT)"
        return f"{call.op}({self._utc_date(moment)})"

    def op_date_trunc(self, call: Call) -> str:
        unit, moment = call.args
        assert isinstance(unit, Literal)
        text, type_ = self.print(moment), type_of(moment)
        if type_ == TIMESTAMPTZ:
            micros = f"unix_micros({text})"
            if unit.value in ("day", "hour"):
                return (
                    f"timestamp_micros({micros} - pmod({micros}, {_DAY if unit.value == 'day' else _HOUR}))"
                )
            return f"timestamp_micros(unix_date({_trunc(self._utc_date(moment), unit.value)}) * {_DAY})"
        if type_ == DATE:
            return _trunc(text, unit.value)
        date = f"CAST({text} AS DATE)"
        if unit.value == "hour":
            return f"timestampadd(HOUR, hour({text}), CAST({date} AS TIMESTAMP_NTZ))"
        return f"CAST({_trunc(date, unit.value)} AS TIMESTAMP_NTZ)"

    def _utc_date(self, moment: Expr) -> str:
        micros = f"unix_micros({self.print(moment)})"
        return f"date_from_unix_date(CAST(({micros} - pmod({micros}, {_DAY})) div {_DAY} AS INT))"


def _trunc(date: str, unit: str) -> str:
    return date if unit == "day" else f"trunc({date}, '{unit.upper()}')"
