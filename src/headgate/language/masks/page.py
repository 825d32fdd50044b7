"""The table of masks in docs/masks.md, written from the records."""

from headgate.language.masks.expressions import CONSTANT, EXPRESSION
from headgate.language.masks.kind import MaskKind, Refusal
from headgate.language.masks.kinds import NAMED


def mask_table() -> str:
    """One line per mask: how it is called, for which columns, what it gives, and who else can say it."""
    lines = ["| mask | for | result | Iceberg action | HiveQL |", "|---|---|---|---|---|"]
    lines += [_line(f"`{_cell(kind.call)}`", kind) for kind in NAMED.values()]
    lines.append(_line(f"`{CONSTANT}(v)`, or any expression over the column", EXPRESSION, "constants"))
    return "\n".join(lines) + "\n"


def _line(call: str, kind: MaskKind, hive: str = "yes") -> str:
    action = f"`{kind.iceberg_action}`" if kind.iceberg_action else ""
    there = "" if isinstance(kind.dialects["hive"], Refusal) else hive
    return f"| {call} | {kind.columns.words} | {_cell(kind.result)} | {action} | {there} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
