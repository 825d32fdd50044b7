"""Masks as HiveQL over their column, for those that Hive's functions say exactly; the others are refused."""

from headgate.language.errors import LoweringError
from headgate.language.lower.hive import HivePrinter
from headgate.language.masks.kind import ColumnMask, Refusal
from headgate.model.schema import Schema


def lower_mask(mask: ColumnMask, schema: Schema) -> str:
    """The HiveQL of a mask."""
    way = mask.kind.dialects["hive"]
    if isinstance(way, Refusal):
        raise LoweringError("hive", f"{mask.name} of {mask.column.type} is not said exactly there: {way.why}")
    return way(mask, HivePrinter(schema))
