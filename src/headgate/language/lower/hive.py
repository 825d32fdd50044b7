"""Lowering to HiveQL, as Ranger keeps it in policies: what could be taken for one of its macros is refused."""

from collections.abc import Mapping
from typing import Any, ClassVar

from headgate.language import values
from headgate.language.ast import Expr
from headgate.language.errors import LoweringError
from headgate.language.lower.plain import BackslashPrinter
from headgate.model.schema import DecimalType, Schema


def lower(expr: Expr, schema: Schema, columns: Mapping[int, str] | None = None) -> str:
    """The HiveQL of a bound and folded expression; `columns` replaces the text of single columns."""
    return HivePrinter(schema, columns).print(expr)


class HivePrinter(BackslashPrinter):
    """Prints HiveQL."""

    target: ClassVar[str] = "hive"

    def quote(self, name: str) -> str:
        return super().quote(self._checked(name))

    def string(self, text: str) -> str:
        return super().string(self._checked(text))

    def _checked(self, text: str) -> str:
        if any(sign in text for sign in "{}$"):
            raise LoweringError(self.target, f"{text!r} could be taken for a macro", "leave {, } and $ out")
        return text

    def decimal(self, value: Any, type_: DecimalType) -> str:
        return f"CAST('{values.to_text(type_, value)}' AS DECIMAL({type_.precision}, {type_.scale}))"
