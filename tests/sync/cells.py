"""A few rows, and what is seen of them: through the rules of a source, or through the SQL that a target applies."""

import sqlite3
from collections.abc import Iterable, Mapping
from typing import Any

from headgate.language.bind import bind
from headgate.language.evaluate import by_field_id, keeps
from headgate.language.masks.mask import bind_mask, parse_mask
from headgate.language.masks.python import apply
from headgate.language.parse import parse
from headgate.sync.snapshots.facts import Mask, RowFilter, Securable
from headgate.sync.translating.dialects import OWN, schema_of

Row = dict[str, Any]
ROWS: list[Row] = [
    {"x": x, "y": y} for x, y in ((1, 1), (5, 2), (9, None), (10, 1), (40, 2), (95, 3), (99, 1), (None, 1))
]
COLUMNS = (("x", "int"), ("y", "int"))
SCHEMA = schema_of(COLUMNS)


def rows_where(table: Securable, name: str, sql: str, *people: Any) -> RowFilter:
    """A row filter in the policy language."""
    return RowFilter(table, name, sql, *people, dialect=OWN, columns=COLUMNS)


def masked(column: Securable, name: str, sql: str, *people: Any) -> Mask:
    """A mask in the policy language."""
    return Mask(column, name, sql, *people, dialect=OWN, columns=COLUMNS)


def through_rules(table: Securable, rules: Iterable[RowFilter | Mask]) -> list[Row]:
    """What rules in the policy language show; of a column with two different masks nothing."""
    here = [rule for rule in rules if rule.object.path[:3] == table.path]
    filters = [bind(parse(rule.sql), SCHEMA) for rule in here if isinstance(rule, RowFilter)]
    masks: dict[str, set[str]] = {}
    for rule in here:
        if isinstance(rule, Mask):
            masks.setdefault(rule.object.path[3], set()).add(rule.sql)
    found = []
    for row in ROWS:
        if all(keeps(filter, by_field_id(SCHEMA, row)) for filter in filters):
            shown = {}
            for name, value in row.items():
                said = masks.get(name, set())
                if not said:
                    shown[name] = value
                elif len(said) == 1:
                    field = SCHEMA.by_path[name,].field.id
                    shown[name] = apply(bind_mask(parse_mask(next(iter(said))), SCHEMA, field), value)
            found.append(shown)
    return found


def through_sql(columns: Iterable[str], predicate: str, masks: Mapping[str, str]) -> list[Row]:
    """What SQL of a target shows of these columns, asked of a database that reads the quotes of all of them."""
    names = list(columns)
    if not names:
        return []
    with sqlite3.connect(":memory:") as database:
        database.execute("CREATE TABLE t (x INT, y INT)")
        database.executemany("INSERT INTO t VALUES (:x, :y)", ROWS)
        asked = ", ".join(masks.get(name, name) for name in names)
        rows = database.execute(f"SELECT {asked} FROM t WHERE {predicate or 'TRUE'}").fetchall()
    return [dict(zip(names, row, strict=True)) for row in rows]


def within(inner: list[Row], outer: list[Row]) -> bool:
    """Whether each row is a row of the other, or a part of one; each of the other's used once.

    A cell that is NULL tells nothing: a mask of an earlier push may stay where the source shows the cell.
    """
    left = list(outer)
    hidden = []
    for row in inner:
        match = next((other for other in left if row.items() <= other.items()), None)
        if match is not None:
            left.remove(match)
        elif None in row.values():
            hidden.append({name: value for name, value in row.items() if value is not None})
        else:
            return False
    for row in sorted(hidden, key=len, reverse=True):
        match = next((other for other in left if row.items() <= other.items()), None)
        if match is None:
            return False
        left.remove(match)
    return True
