"""Lowering to MySQL and MariaDB. Strings compare as UTF-8 bytes, whatever the column's collation says.

What they do not have is refused: structs, zones, NaN, UUIDs, truncation of moments, case folding of ASCII alone, and
arithmetic on doubles that does not raise on overflow.
"""

from collections.abc import Mapping
from typing import ClassVar

from headgate.language.ast import Call, Expr, type_of
from headgate.language.errors import LoweringError
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
    TIMESTAMPTZ,
    Schema,
    Type,
)


def lower(expr: Expr, schema: Schema, columns: Mapping[int, str] | None = None) -> str:
    """The MySQL of a bound and folded expression; `columns` replaces the text of single columns."""
    return MySqlPrinter(schema, columns).print(expr)


class MySqlPrinter(Printer):
    """Prints MySQL."""

    target = "mysql"
    types: ClassVar[Mapping[Type, str]] = {
        BOOLEAN: "SIGNED",
        INT: "SIGNED",
        LONG: "SIGNED",
        DOUBLE: "DOUBLE",
        FLOAT: "FLOAT",
        STRING: "CHAR",
        BINARY: "BINARY",
        DATE: "DATE",
        TIME: "TIME(6)",
        TIMESTAMP: "DATETIME(6)",
    }

    def quote(self, name: str) -> str:
        if "\0" in name:
            raise LoweringError(self.target, "a name holds a NUL character", "rename the column")
        return "`" + name.replace("`", "``") + "`"

    def path(self, parts: tuple[str, ...]) -> str:
        if len(parts) > 1:
            raise LoweringError(self.target, "there are no structs", "leave this target out")
        return self.quote(parts[0])

    def string(self, text: str) -> str:
        # Backslashes mean different things under different modes; bytes never do.
        if text.isprintable() and "\\" not in text:
            return "_utf8mb4" + super().string(text)
        return f"_utf8mb4 X'{text.encode().hex()}'"

    def double(self, value: float, type_: Type) -> str:
        text = to_text(type_, value)
        if text in ("NaN", "Infinity", "-Infinity"):
            raise LoweringError(self.target, f"there is no {text}", "leave the comparison out")
        return f"({text}{'' if 'e' in text else 'e0'})"

    def operand(self, expr: Expr) -> str:
        text = self.print(expr)
        return f"CAST(CONVERT({text} USING utf8mb4) AS BINARY)" if type_of(expr) == STRING else text

    def op_like(self, call: Call) -> str:
        text = f"CONVERT({self.print(call.args[0])} USING utf8mb4) COLLATE utf8mb4_bin"
        return f"({text} LIKE {self.print(call.args[1])})"

    def op_arithmetic(self, call: Call) -> str:
        if call.type == DOUBLE:
            self.cannot(call, "arithmetic on doubles raises on overflow", "use integers or decimals")
        return super().op_arithmetic(call)

    def op_divide(self, call: Call) -> str:
        self.cannot(call, "division raises on overflow", "multiply instead")

    def op_cast(self, call: Call) -> str:
        if type_of(call.args[0]) == BOOLEAN and call.type == STRING:
            text = self.print(call.args[0])
            return f"(CASE WHEN {text} THEN _utf8mb4'true' WHEN NOT {text} THEN _utf8mb4'false' END)"
        if type_of(call.args[0]) == TIMESTAMPTZ:
            self.cannot(call, "there is no timestamp with time zone", "leave this target out")
        return super().op_cast(call)

    def _no_case(self, call: Call) -> str:
        self.cannot(
            call, f"{call.op} cannot be kept to ASCII letters", "compare the letters as they are stored"
        )

    op_lower = op_upper = _no_case

    def op_length(self, call: Call) -> str:
        return f"CHAR_LENGTH(CONVERT({self.print(call.args[0])} USING utf8mb4))"

    def op_concat(self, call: Call) -> str:
        return self.function("CONCAT", *call.args)

    def op_starts_with(self, call: Call) -> str:
        text, start = (self.operand(a) for a in call.args)
        return f"(LEFT({text}, LENGTH({start})) = {start})"

    def op_ends_with(self, call: Call) -> str:
        text, end = (self.operand(a) for a in call.args)
        return f"(RIGHT({text}, LENGTH({end})) = {end})"

    def op_contains(self, call: Call) -> str:
        text, part = (self.operand(a) for a in call.args)
        return f"(LOCATE({part}, {text}) > 0)"

    def in_utc(self, moment: Expr) -> str:
        if type_of(moment) == TIMESTAMPTZ:
            self.cannot(moment, "there is no timestamp with time zone", "leave this target out")
        return self.print(moment)

    def op_date_part(self, call: Call) -> str:
        return f"EXTRACT({call.op.upper()} FROM {self.in_utc(call.args[0])})"

    def op_date_trunc(self, call: Call) -> str:
        self.cannot(call, "there is no date_trunc", "compare with the first and last day instead")

    def op_is_nan(self, call: Call) -> str:
        self.cannot(call, "there is no NaN", "leave is_nan out")
