"""The mask that is written as an expression over its column, or as `constant(v)`."""

from typing import Any, Final

from headgate.language.ast import Literal
from headgate.language.errors import LoweringError
from headgate.language.evaluate import evaluate
from headgate.language.lower.spark import SparkPrinter
from headgate.language.lower.sql import Printer
from headgate.language.masks.kind import NO_MASKS, ColumnMask, Columns, MaskKind, Nulls
from headgate.language.masks.python import Secrets
from headgate.language.masks.spark import SparkSecrets
from headgate.model.schema import ListType, MapType, StructType, Type

CONSTANT: Final = "constant"
"""The name by which a constant may be written like a mask."""


def is_plain(type_: Type) -> bool:
    """Whether a type is neither a struct nor a list nor a map."""
    return not isinstance(type_, StructType | ListType | MapType)


def _python(mask: ColumnMask, value: Any, secrets: Secrets) -> Any:
    assert mask.expr is not None
    row: Any = value
    for field_id in reversed(mask.column.ids):
        row = {field_id: row}
    return evaluate(mask.expr, row)


def _spark(mask: ColumnMask, printer: SparkPrinter, secrets: SparkSecrets) -> str:
    assert mask.expr is not None
    return printer.print(mask.expr)


def _hive(mask: ColumnMask, printer: Printer) -> str:
    if mask.expr == Literal(None, mask.column.type):
        return "NULL"
    if not isinstance(mask.expr, Literal):
        raise LoweringError(
            printer.target, f"an expression over {mask.column.type} is not said exactly there"
        )
    return printer.print(mask.expr)


EXPRESSION: Final = MaskKind(
    name="expression",
    columns=Columns(
        "plain columns", is_plain, "use mask_to_fixed_value or hide it", "{type} takes no expression"
    ),
    arguments=(),
    keyed_by=None,
    needs_other_rows=False,
    shows_nothing=False,
    # What an expression makes of NULL is its own affair; whether it can be NULL is checked when it is bound.
    nulls=Nulls.REPLACES,
    iceberg_action=None,
    python=_python,
    spark=_spark,
    dialects={"hive": _hive, **NO_MASKS},
    result="of the column's type; never NULL for a required column",
)
