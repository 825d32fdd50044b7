"""Row filters and masks in the SQL of a target.

A snapshot of Headgate says them in the policy language with the types of their columns, and the language lowers them. Text of
any other system means the same only in that system. INVARIANT: what cannot be said exactly is not said; then nothing that it
would restrict is granted either.
"""

from collections.abc import Callable, Mapping
from typing import Final

from headgate.language.ast import Expr
from headgate.language.bind import bind
from headgate.language.canonical import canonical
from headgate.language.errors import LanguageError
from headgate.language.lower import bigquery, hive, partiql, postgres
from headgate.language.masks.hive import lower_mask as hive_mask
from headgate.language.masks.mask import Mask as BoundMask
from headgate.language.masks.mask import bind_mask, parse_mask
from headgate.language.parse import parse
from headgate.model.schema import Field, Schema, SchemaError, parse_simple_type
from headgate.sync.facts import Columns, Mask, RowFilter

OWN: Final = "headgate"
"""The policy language, after everything about the request has been folded in."""
NOTHING: Final = "NULL"
"""The mask that shows nothing, in every dialect."""

_FAILURES: Final = (LanguageError, SchemaError, ValueError, ArithmeticError, RecursionError)
_ROWS: Final[Mapping[str, Callable[[Expr, Schema], str]]] = {
    "postgres": postgres.lower,
    "hive": hive.lower,
    "bigquery": bigquery.lower,
    "redshift": partiql.lower,
}
_MASKS: Final[Mapping[str, Callable[[BoundMask, Schema], str]]] = {"hive": hive_mask}


def said_in(rule: RowFilter | Mask, dialect: str | None) -> str | None:
    """The SQL of a rule in a dialect, or None where it cannot be said there."""
    if dialect is None or hides_all(rule):
        return None
    if isinstance(rule, Mask) and rule.sql == NOTHING:
        return NOTHING
    if rule.dialect != OWN:
        return rule.sql if rule.dialect == dialect else None
    try:
        schema = schema_of(rule.columns)
        if isinstance(rule, RowFilter):
            rows = _ROWS.get(dialect)
            return None if rows is None else rows(canonical(bind(parse(rule.sql), schema)), schema)
        masks = _MASKS.get(dialect)
        column = schema.by_path.get(rule.object.path[3:])
        if masks is None or column is None:
            return None
        return masks(bind_mask(parse_mask(rule.sql), schema, column.field.id), schema)
    except _FAILURES:
        return None


def hides_all(rule: RowFilter | Mask) -> bool:
    """Whether a filter lets no row through: that is said by granting nothing."""
    return isinstance(rule, RowFilter) and rule.sql.strip("() ").lower() == "false"


def shows_all(rule: RowFilter | Mask) -> bool:
    """Whether a filter lets every row through, and so is none."""
    return isinstance(rule, RowFilter) and rule.sql.strip("() ").lower() == "true"


def schema_of(columns: Columns) -> Schema:
    """The columns as a schema; raises SchemaError for a type that is none."""
    return Schema(tuple(Field(n, name, parse_simple_type(type)) for n, (name, type) in enumerate(columns, 1)))
