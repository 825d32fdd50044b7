"""Lowering to PartiQL, as Lake Formation takes it in data cells filters: no functions and no typed constants."""

from collections.abc import Mapping
from typing import ClassVar

from headgate.language.ast import Expr
from headgate.language.errors import LoweringError
from headgate.language.lower.plain import PlainPrinter
from headgate.model.schema import BOOLEAN, INT, LONG, STRING, Schema, Type


def lower(expr: Expr, schema: Schema, columns: Mapping[int, str] | None = None) -> str:
    """The PartiQL of a bound and folded expression; `columns` replaces the text of single columns."""
    return PartiQLPrinter(schema, columns).print(expr)


class PartiQLPrinter(PlainPrinter):
    """Prints PartiQL."""

    target: ClassVar[str] = "partiql"
    types: ClassVar[Mapping[Type, str]] = {BOOLEAN: "", INT: "", LONG: "", STRING: ""}

    def quote(self, name: str) -> str:
        if name != name.lower():
            raise LoweringError(self.target, "Glue's columns are in lower case", "rename the column")
        return super().quote(name)

    def string(self, text: str) -> str:
        if not text.isprintable() or "\\" in text:
            raise LoweringError(
                self.target, "a string holds a backslash or what does not print", "change the value"
            )
        return super().string(text)
