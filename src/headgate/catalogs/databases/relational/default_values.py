"""Default values of columns: literals and the functions that tell the time, both ways. INVARIANT: nothing else is written."""

import re
from typing import Final

from headgate.catalogs.databases.relational.statements import Piece, QuotedText, Word
from headgate.model import tables as t
from headgate.model.errors import IllegalArgument
from headgate.model.objects import clip

_NUMBER: Final = re.compile(r"[+-]?\d{1,64}(\.\d{1,64})?([eE][+-]?\d{1,4})?", re.ASCII)
_CAST: Final = re.compile(r"'((?:[^']|'')*)'::[\w .\[\](),\"]+")
_QUOTED: Final = re.compile(r"'((?:[^'\\]|''|\\.)*)'", re.DOTALL)
_NOW: Final = re.compile(
    r"(current_timestamp|now|current_date|current_time|localtimestamp)(\(\d?\))?", re.IGNORECASE
)
_NUMBERS: Final = ("byte", "short", "integer", "long", "float", "double", "decimal")
_LONGEST: Final = 10_000


def default_pieces(column: t.TableColumn) -> tuple[Piece, ...] | None:
    """What stands after DEFAULT, or None if the column has none."""
    value = column.default_value
    if value is None:
        return None
    if value.type == "function" and _NOW.fullmatch(value.function_name or "") and not value.func_args:
        word = (value.function_name or "").lower()
        return (Word("CURRENT_TIMESTAMP" if word == "now" else word.upper()),)
    if value.type != "literal":
        raise IllegalArgument(
            f"the default value of column '{clip(column.name)}' is no literal",
            hint="use a literal or the function current_timestamp",
        )
    if value.data_type == "null" or value.value is None:
        return (Word("NULL"),)
    text = str(value.value)
    if len(text) > _LONGEST or "\x00" in text:
        raise IllegalArgument(f"the default value of column '{clip(column.name)}' is too long")
    kind = column.type if isinstance(column.type, str) else ""
    if kind == "boolean":
        if text.lower() not in ("true", "false"):
            raise IllegalArgument(
                f"the default value of column '{clip(column.name)}' is neither true nor false"
            )
        return (Word(text.upper()),)
    if kind.partition("(")[0].removesuffix(" unsigned") in _NUMBERS:
        if not _NUMBER.fullmatch(text):
            raise IllegalArgument(f"the default value of column '{clip(column.name)}' is no number")
        return (Word(text),)
    return (QuotedText(text),)


def literal(text: str, type: t.DataType) -> t.Expression:
    return t.Expression("literal", type if isinstance(type, str) else "string", text)


def shown_default(text: str | None, type: t.DataType) -> t.Expression | None:
    """A default value as its database writes it: an expression in SQL."""
    if text is None or text.upper() == "NULL" or text.upper().startswith("NULL::"):
        return None
    if _NOW.fullmatch(text):
        return t.Expression("function", function_name=text.partition("(")[0].lower(), func_args=())
    if _NUMBER.fullmatch(text) or text.lower() in ("true", "false"):
        return literal(text, type)
    cast = _CAST.fullmatch(text)
    if cast is not None:
        return literal(cast[1].replace("''", "'"), type)
    quoted = _QUOTED.fullmatch(text)
    if quoted is not None:
        return literal(re.sub(r"\\(.)", r"\1", quoted[1].replace("''", "'"), flags=re.DOTALL), type)
    if text.lower() in ("b'1'", "b'0'"):
        return literal("true" if text[2] == "1" else "false", type)
    return t.Expression("unparsed", unparsed_expression=text)
