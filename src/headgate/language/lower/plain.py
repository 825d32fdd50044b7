"""What the plainest dialects have in common: columns compared with constants, and nothing whose meaning differs between them.

They stand for systems that nobody can ask here what they make of an expression, so whatever might be read otherwise is refused.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from headgate.language import values
from headgate.language.ast import Call, Column, Expr, Literal, type_of
from headgate.language.errors import LoweringError
from headgate.language.lower.sql import Printer
from headgate.model.schema import BOOLEAN, DATE, INT, LONG, STRING, DecimalType, Type

_LOGIC: Final = frozenset({"and", "or", "not", "is_null"})
_COMPARED: Final = frozenset({"=", "<>", "<", "<=", ">", ">=", "in", "like"})


class PlainPrinter(Printer):
    """Prints comparisons, IN, LIKE and IS NULL under AND, OR and NOT."""

    types: ClassVar[Mapping[Type, str]] = {BOOLEAN: "", INT: "", LONG: "", STRING: "", DATE: ""}

    def print(self, expr: Expr) -> str:
        if isinstance(expr, Call):
            if expr.op not in _LOGIC | _COMPARED:
                self.cannot(expr, f"{expr.op} is not said alike everywhere", "compare columns with constants")
            if expr.op in _COMPARED:
                self._check_sides(expr)
        if isinstance(expr, Column) and expr.type == BOOLEAN:
            return f"({super().print(expr)} = TRUE)"
        return super().print(expr)

    def _check_sides(self, call: Call) -> None:
        """INVARIANT: of each comparison one side is a column and the others are constants of its type."""
        first, *rest = call.args
        same = all(type_of(item) == type_of(first) for item in rest)
        constants = all(isinstance(item, Literal) and item.value is not None for item in rest)
        if not isinstance(first, Column) or first.type == BOOLEAN or not constants or not same:
            self.cannot(call, "a column is compared with constants only", "compare columns with constants")

    def check_column(self, column: Column) -> None:
        if len(column.ids) > 1 or not (column.type in self.types or isinstance(column.type, DecimalType)):
            self.cannot(column, f"a column of type {column.type} cannot be used", "use another column")

    def literal(self, value: Any, type_: Type) -> str:
        if type_ in (INT, LONG):
            return str(value) if value >= 0 else f"({value})"
        if isinstance(type_, DecimalType):
            return self.decimal(value, type_)
        if type_ not in self.types:
            raise LoweringError(self.target, f"there are no constants of type {type_}", "use another column")
        return super().literal(value, type_)

    def decimal(self, value: Any, type_: DecimalType) -> str:
        """A decimal constant."""
        return values.to_text(type_, value)

    def operand(self, expr: Expr) -> str:
        return self.print(expr)


class BackslashPrinter(PlainPrinter):
    """For dialects that quote names with backticks and escape with backslashes inside of strings."""

    def quote(self, name: str) -> str:
        if any(sign in name for sign in "`\\\0"):
            raise LoweringError(
                self.target, f"the name {name!r} cannot be written for certain", "rename the column"
            )
        return f"`{name}`"

    def string(self, text: str) -> str:
        if not text.isprintable():
            raise LoweringError(
                self.target, "a string holds characters that do not print", "change the value"
            )
        return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
