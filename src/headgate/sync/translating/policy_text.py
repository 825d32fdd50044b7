"""Bound filters and masks as texts of the policy language, with the types of the columns they speak of.

INVARIANT: the types are given only if the text is sure to be read as the same filter or mask again.
"""

from collections.abc import Iterable
from typing import Final

from headgate.language.ast import Expr, columns
from headgate.language.bind import bind, shown
from headgate.language.canonical import canonical, text
from headgate.language.errors import LanguageError
from headgate.language.masks.mask import ColumnMask, bind_mask, parse_mask
from headgate.language.parse import parse
from headgate.language.spell import spell
from headgate.model.schema import DecimalType, Field, Schema, SchemaError, Simple, Type
from headgate.sync.snapshots.facts import Columns

FAILURES: Final = (LanguageError, SchemaError, ValueError, ArithmeticError, RecursionError, TypeError)
"""What may come of a text that somebody else wrote."""
NO_ROW: Final = "false"
"""The filter that lets nothing through, in every dialect."""
NOTHING: Final = "NULL"
"""The mask that shows nothing, in every dialect."""


class Typed:
    """Some columns of a table by name and type: none if one of them lies inside another or has no simple type."""

    def __init__(self, ids: Iterable[int], schema: Schema) -> None:
        found = [schema.by_id[id] for id in sorted(ids)]
        plain = all(len(located.ids) == 1 and _is_simple(located.field.type) for located in found)
        fields = tuple(Field(at.field.id, at.field.name, at.field.type) for at in found) if plain else ()
        self.schema = Schema(fields)
        self.columns: Columns = tuple((field.name, str(field.type)) for field in fields)


def _is_simple(type: Type) -> bool:
    return isinstance(type, Simple | DecimalType)


def filter_text(expr: Expr, schema: Schema) -> tuple[str, Columns]:
    """A canonical filter as text."""
    sql, typed = spell(expr, schema), Typed(columns(expr), schema)
    try:
        same = text(canonical(bind(parse(sql), typed.schema))) == text(expr)
    except FAILURES:
        same = False
    return sql, typed.columns if same else ()


def mask_text(mask: ColumnMask | None, id: int, schema: Schema) -> tuple[str, Columns]:
    """A mask of a column as text; of none, the one that shows nothing."""
    typed = Typed({id}, schema)
    if mask is None:
        return NOTHING, typed.columns
    sql = _mask_sql(mask, schema)
    try:
        same = bind_mask(parse_mask(sql), typed.schema, id).text == mask.text
    except FAILURES:
        same = False
    return sql, typed.columns if same else ()


def _mask_sql(mask: ColumnMask, schema: Schema) -> str:
    if mask.expr is not None:
        return spell(mask.expr, schema)
    column = shown(schema.by_id[mask.column.field_id].path)
    constants = (f"'{arg}'" if isinstance(arg, str) else str(arg) for arg in mask.args)
    return f"{mask.name}({', '.join((column, *constants))})"
