"""Masks as HiveQL over their column, for those that Hive's functions say exactly; the others are refused."""

from collections.abc import Callable, Mapping
from typing import Final

from headgate.language.ast import Literal
from headgate.language.errors import LoweringError
from headgate.language.lower.hive import HivePrinter
from headgate.language.masks.mask import Mask
from headgate.language.masks.python import fixed_value
from headgate.model.schema import STRING, Schema

_KEPT: Final = "[^0-9(),.@-]"


def lower_mask(mask: Mask, schema: Schema) -> str:
    """The HiveQL of a mask."""
    printer = HivePrinter(schema)
    if mask.name == "replace_with_null" or mask.expr == Literal(None, mask.column.type):
        return "NULL"
    if mask.name == "mask_to_fixed_value":
        return printer.literal(fixed_value(mask.column.type), mask.column.type)
    if isinstance(mask.expr, Literal):
        return printer.print(mask.expr)
    made = _MASKS.get(mask.name)
    if made is None or mask.column.type != STRING:
        raise LoweringError(printer.target, f"{mask.name} of {mask.column.type} is not said exactly there")
    return made(mask, printer.print(mask.column))


def _alphanum(text: str) -> str:
    return f"regexp_replace(regexp_replace({text}, '{_KEPT}', 'x'), '[0-9]', 'n')"


def _show(first: bool, strict: bool) -> Callable[[Mask, str], str]:
    def show(mask: Mask, text: str) -> str:
        short = _alphanum(text) if strict else text
        if first:
            long = f"concat(substr({text}, 1, 4), {_alphanum(f'substr({text}, 5)')})"
        else:
            long = f"concat({_alphanum(f'substr({text}, 1, length({text}) - 4)')}, substr({text}, -4))"
        return f"CASE WHEN length({text}) <= 4 THEN {short} ELSE {long} END"

    return show


def _prefix(mask: Mask, text: str) -> str:
    count = mask.args[0]
    return (
        f"CASE WHEN length({text}) > {count} THEN concat(substr({text}, 1, {count}), '*')"
        f" WHEN {text} IS NOT NULL THEN '*' END"
    )


_MASKS: Final[Mapping[str, Callable[[Mask, str], str]]] = {
    "mask_alphanum": lambda mask, text: _alphanum(text),
    "show_first_4": _show(first=True, strict=False),
    "show_last_4": _show(first=False, strict=False),
    "show_first_4_strict": _show(first=True, strict=True),
    "show_last_4_strict": _show(first=False, strict=True),
    "prefix": _prefix,
    "sha256": lambda mask, text: f"sha2({text}, 256)",
}
