"""Row filters and masks from one dialect to another, by way of the policy language.

A snapshot of Headgate holds them in the policy language with the types of their columns, and the language lowers them. Text of
another system means the same only in that system, until it is read back over the columns of a table. INVARIANT: a rule is
rendered exactly or not at all; if it is not, nothing that it would restrict is granted either.
"""

from typing import Final

import msgspec

from headgate.language.ast import FALSE, Expr, columns, facts
from headgate.language.bind import bind
from headgate.language.canonical import canonical
from headgate.language.lift import MASKS, ROWS, lift, lift_mask
from headgate.language.masks.mask import bind_mask, parse_mask
from headgate.language.parse import parse
from headgate.language.spell import spell
from headgate.model.schema import Field, Schema, parse_simple_type
from headgate.sync.snapshots.facts import Columns, Mask, RowFilter
from headgate.sync.translating.policy_text import FAILURES, NO_ROW, NOTHING, Typed, filter_text, mask_text

OWN: Final = "headgate"
"""The policy language, after everything about the request has been folded in."""


def render_in(rule: RowFilter | Mask, dialect: str | None) -> str | None:
    """The SQL of a rule in a dialect, or None if the dialect cannot express it."""
    if dialect is None or hides_all(rule):
        return None
    if isinstance(rule, Mask) and rule.sql == NOTHING:
        return NOTHING
    if rule.dialect != OWN:
        return rule.sql if rule.dialect == dialect else None
    try:
        schema = schema_of(rule.columns)
        if isinstance(rule, RowFilter):
            rows = ROWS.get(dialect)
            return None if rows is None else rows(_condition(rule.sql, schema), schema)
        masks = MASKS.get(dialect)
        if masks is None:
            return None
        return masks(bind_mask(parse_mask(rule.sql), schema, _column(rule, schema)), schema)
    except FAILURES:
        return None


def understood(rule: RowFilter | Mask, schema: Schema) -> RowFilter | Mask | None:
    """The same rule in the policy language over the columns of a table, or None where that is not exact."""
    try:
        if isinstance(rule, RowFilter):
            sql, typed = (NO_ROW, ()) if hides_all(rule) else _filter(rule, schema)
        else:
            sql, typed = _mask(rule, schema)
    except FAILURES:
        return None
    if not typed and sql not in (NO_ROW, NOTHING):
        return None
    return msgspec.structs.replace(rule, sql=sql, dialect=OWN, columns=typed)


def _filter(rule: RowFilter, schema: Schema) -> tuple[str, Columns]:
    if rule.dialect != OWN:
        expr = lift(rule.sql, rule.dialect, schema)
        return (NO_ROW, ()) if expr == FALSE else filter_text(expr, schema)
    own = schema_of(rule.columns)
    meant, here = _condition(rule.sql, own), _condition(rule.sql, schema)
    typed = Typed(columns(here), schema).columns
    # INVARIANT: over columns of other types the same words may mean something else; what asks for the request always may.
    if facts(meant) or spell(meant, own) != spell(here, schema) or not _kinds(typed) <= _kinds(rule.columns):
        raise ValueError("it means something else here")
    if here == FALSE:
        return NO_ROW, ()
    plain = filter_text(here, schema)
    return plain if plain[1] else (rule.sql, typed)


def _mask(rule: Mask, schema: Schema) -> tuple[str, Columns]:
    column = _column(rule, schema)
    if rule.sql == NOTHING:
        return mask_text(None, column, schema)
    if rule.dialect != OWN:
        return mask_text(lift_mask(rule.sql, rule.dialect, schema, column), column, schema)
    own = schema_of(rule.columns)
    meant = bind_mask(parse_mask(rule.sql), own, _column(rule, own))
    here = bind_mask(parse_mask(rule.sql), schema, column)
    plain, typed = mask_text(here, column, schema), Typed({column}, schema).columns
    same = mask_text(meant, meant.column.field_id, own)[0] == plain[0]
    if not same or not _kinds(typed) <= _kinds(rule.columns):
        raise ValueError("it means something else here")
    return plain if plain[1] else (rule.sql, typed)


def _kinds(columns: Columns) -> set[tuple[str, str]]:
    """Columns with what their types have in common: numbers of one sort compare alike however wide they are."""
    wide = {"int": "long", "float": "double"}
    return {(name, wide.get(type, type.partition("(")[0])) for name, type in columns}


def _column(rule: Mask, schema: Schema) -> int:
    found = schema.by_path.get(rule.object.path[3:])
    if found is None:
        raise ValueError(f"there is no {rule.object}")
    return found.field.id


def _condition(sql: str, schema: Schema) -> Expr:
    return canonical(bind(parse(sql), schema))


def hides_all(rule: RowFilter | Mask) -> bool:
    """Whether a filter lets no row through: granting nothing expresses the same."""
    return isinstance(rule, RowFilter) and rule.sql.strip("() ").lower() == NO_ROW


def shows_all(rule: RowFilter | Mask) -> bool:
    """Whether a filter lets every row through, and so is none."""
    return isinstance(rule, RowFilter) and rule.sql.strip("() ").lower() == "true"


def schema_of(columns: Columns) -> Schema:
    """The columns as a schema; raises SchemaError for a type that is none."""
    return Schema(tuple(Field(n, name, parse_simple_type(type)) for n, (name, type) in enumerate(columns, 1)))
