"""Lowering to GoogleSQL, as the predicates of row access policies are written."""

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from headgate.language import values
from headgate.language.ast import Expr
from headgate.language.errors import LoweringError
from headgate.language.lower.plain import BackslashPrinter
from headgate.model.schema import DecimalType, Schema

_WHOLE: Final = 29
_SCALE: Final = 9


def lower(expr: Expr, schema: Schema, columns: Mapping[int, str] | None = None) -> str:
    """The GoogleSQL of a bound and folded expression; `columns` replaces the text of single columns."""
    return BigQueryPrinter(schema, columns).print(expr)


class BigQueryPrinter(BackslashPrinter):
    """Prints GoogleSQL."""

    target: ClassVar[str] = "bigquery"

    def decimal(self, value: Any, type_: DecimalType) -> str:
        # A bare number with a point would be a double there.
        if type_.scale > _SCALE or type_.precision - type_.scale > _WHOLE:
            raise LoweringError(self.target, f"NUMERIC does not hold {type_}", "use a narrower column")
        return f"NUMERIC '{values.to_text(type_, value)}'"
