"""The plain dialects keep the rows that the reference keeps, and refuse whatever might be read otherwise somewhere."""

import sqlite3

import pytest

from headgate.language.bind import bind
from headgate.language.canonical import canonical
from headgate.language.errors import LoweringError
from headgate.language.evaluate import by_field_id, keeps
from headgate.language.lower import bigquery, hive, partiql
from headgate.language.masks.hive import lower_mask
from headgate.language.masks.mask import bind_mask, parse_mask
from headgate.language.parse import parse
from headgate.model.schema import Field, Schema, parse_simple_type

TYPES = {
    "n": "int",
    "big": "long",
    "s": "string",
    "flag": "boolean",
    "d": "double",
    "day": "date",
    "Odd": "string",
}
SCHEMA = Schema(
    tuple(Field(id, name, parse_simple_type(type)) for id, (name, type) in enumerate(TYPES.items(), 1))
)
ROWS = [
    {"n": n, "big": n, "s": s, "flag": flag, "d": None, "day": None, "Odd": s}
    for n in (-5, 0, 7, None)
    for s in ("EU", "O'Brien", "a_b", "", None)
    for flag in (True, False, None)
]
PLAIN = (
    "n < 5", "n >= -5 AND big <> 7", "n IN (0, 7) OR s = 'EU'", "NOT (n = 0)", "n NOT IN (0)", "s IS NULL",
    "s = 'O''Brien'", "s LIKE 'a%'", "flag", "NOT flag", "flag OR n IS NOT NULL", "s <> '' AND NOT (n < 0 OR flag)",
)  # fmt: skip
HARD = (
    "n + 1 < 5", "lower(s) = 'eu'", "n < big", "d < 1.5", "coalesce(n, 0) < 5", "s || 'x' = 'ax'",
)  # fmt: skip
DIALECTS = {"hive": hive.lower, "bigquery": bigquery.lower, "partiql": partiql.lower}


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("text", PLAIN)
def test_a_plain_filter_keeps_the_same_rows(dialect: str, text: str) -> None:
    expr = canonical(bind(parse(text), SCHEMA))
    said = DIALECTS[dialect](expr, SCHEMA)
    # The database below doubles quotes where others escape them.
    said = said.replace("\\'", "''")
    with sqlite3.connect(":memory:") as database:
        database.execute("CREATE TABLE t (id, n, big, s, flag)")
        for id, row in enumerate(ROWS):
            values = (id, row["n"], row["big"], row["s"], row["flag"])
            database.execute("INSERT INTO t VALUES (?, ?, ?, ?, ?)", values)
        kept = {id for (id,) in database.execute(f"SELECT id FROM t WHERE {said}")}
    assert kept == {id for id, row in enumerate(ROWS) if keeps(expr, by_field_id(SCHEMA, row))}
    assert kept


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("text", HARD)
def test_what_might_be_read_otherwise_is_refused(dialect: str, text: str) -> None:
    with pytest.raises(LoweringError):
        DIALECTS[dialect](canonical(bind(parse(text), SCHEMA)), SCHEMA)


@pytest.mark.parametrize(
    ("dialect", "text"),
    [
        ("hive", "s = '${{USER.x}}'"),
        ("hive", "s = '{col}'"),
        ("partiql", "s = 'a\\b'"),
        ("partiql", "day = DATE '2024-01-01'"),
        ("partiql", "\"Odd\" = 'x'"),
    ],
)
def test_what_a_system_would_take_for_something_else_is_refused(dialect: str, text: str) -> None:
    with pytest.raises(LoweringError):
        DIALECTS[dialect](canonical(bind(parse(text), SCHEMA)), SCHEMA)


@pytest.mark.parametrize("mask", ["bucket(n, 10)", "token(s, 'key')", "sha256(n)", "date_range(day, 'year')"])
def test_a_mask_that_hive_does_not_say_exactly_is_refused(mask: str) -> None:
    column = SCHEMA.by_path[mask.partition("(")[2].rstrip(")").split(",")[0],]
    with pytest.raises(LoweringError):
        lower_mask(bind_mask(parse_mask(mask), SCHEMA, column.field.id), SCHEMA)


@pytest.mark.parametrize(
    ("mask", "said"),
    [
        ("replace_with_null(s)", "NULL"),
        ("constant('x')", "'x'"),
        ("mask_to_fixed_value(s)", "'XXXXXXXX'"),
        ("sha256(s)", "sha2(`s`, 256)"),
    ],
)
def test_masks_in_hiveql(mask: str, said: str) -> None:
    column = SCHEMA.by_path["s",]
    assert lower_mask(bind_mask(parse_mask(mask), SCHEMA, column.field.id), SCHEMA) == said
