"""Rules in the SQL of other systems read back as what was lowered, or not at all."""

import random
from typing import Any

import pytest
from tests.language.strategies import random_condition, random_schema, random_simple_condition

from headgate.language.ast import Expr
from headgate.language.bind import bind
from headgate.language.canonical import canonical, text
from headgate.language.errors import LanguageError
from headgate.language.lift import MASKS, ROWS, lift, lift_mask
from headgate.language.masks.mask import bind_mask, parse_mask
from headgate.language.parse import parse
from headgate.language.spell import spell
from headgate.model.schema import Field, Schema, parse_simple_type

TYPES = {"n": "int", "big": "long", "s": "string", "Odd": "string", "flag": "boolean", "day": "date"}
TYPES |= {"price": "decimal(10, 2)"}
SCHEMA = Schema(
    tuple(Field(id, name, parse_simple_type(type)) for id, (name, type) in enumerate(TYPES.items(), 1))
)
SAID = (
    "n < 5", "n > 90 OR big = 2", "n IN (1, 3) AND s IS NOT NULL", "NOT (n = -5)", "s = 'O''Brien'", "flag",
    "NOT flag OR n IS NULL", "s LIKE 'a%'", "\"Odd\" = 'EU'", "big BETWEEN -3 AND 5000000000",
)  # fmt: skip
"""What lowers to every dialect, with the names that allow it, and back."""
MORE = {
    "postgres": ("n % 2 = 1", "coalesce(n, 0) < 3", "day >= DATE '2024-01-31'", "price < 1.5"),
    "hive": ("day >= DATE '2024-01-31'", "price < 1.5", "s = 'a\\b'"),
    "bigquery": ("day >= DATE '2024-01-31'", "price < 1.5", "s = 'a\\b'"),
    "redshift": (),
}


def told(source: str) -> Expr:
    return canonical(bind(parse(source), SCHEMA))


@pytest.mark.parametrize(
    ("dialect", "source"),
    [
        (dialect, source)
        for dialect, more in MORE.items()
        for source in (*SAID, *more)
        if dialect != "redshift" or "Odd" not in source
    ],
)
def test_what_was_lowered_reads_back(dialect: str, source: str) -> None:
    expr = told(source)
    assert text(lift(ROWS[dialect](expr, SCHEMA), dialect, SCHEMA)) == text(expr)


@pytest.mark.parametrize(
    ("dialect", "written", "meant"),
    [
        ("hive", "n < 10", "n < 10"),
        ("hive", "ODD = 'EU' and (N >= 1)", "\"Odd\" = 'EU' AND n >= 1"),
        ("hive", "not n = 5", "n <> 5"),
        ("hive", "n between 1 and 3", "n >= 1 AND n <= 3"),
        ("bigquery", "n != 3 OR `s` IN ('a', 'b')", "n <> 3 OR s IN ('a', 'b')"),
        ("redshift", "n=1 or big=2 or n=3", "n IN (1, 3) OR big = 2"),
        ("postgres", "N > 1 AND NOT big IS NULL", "n > 1 AND big IS NOT NULL"),
    ],
)
def test_plain_comparisons_are_read_however_they_are_written(dialect: str, written: str, meant: str) -> None:
    assert text(lift(written, dialect, SCHEMA)) == text(told(meant))


@pytest.mark.parametrize(
    ("dialect", "written"),
    [
        ("postgres", "s = 'EU'"),  # by whatever collation the column has
        ("postgres", '"N" = 1'),
        ("postgres", "n::int = 1"),
        ("postgres", "current_date > day"),
        ("postgres", "n BETWEEN SYMMETRIC 3 AND 1"),
        ("postgres", "s = E'a\\nb'"),
        ("postgres", "n = 1; SELECT 1"),
        ("postgres", "n IN (SELECT 1)"),
        ("postgres", "n < 5 -- all of it"),
        ("hive", "n < 5 /* all of it */"),
        ("hive", "n = '5'"),
        ("hive", "s = 5"),
        ("hive", "n <=> 5"),
        ("hive", "t.n = 5"),
        ("hive", "s = 'a\\d'"),
        ("hive", "s RLIKE 'a.*'"),
        ("hive", "s LIKE 'a' ESCAPE '!'"),
        ("hive", "lower(s) = 'eu'"),
        ("hive", "n < 5.0"),
        ("hive", "nobody = 5"),
        ("hive", "{USER} = s"),
        ("bigquery", "SESSION_USER() = s"),
        ("bigquery", "n ="),
        ("redshift", "n = big"),
        ("trino", "n = 5"),
        ("hive", ""),
    ],
)
def test_what_might_mean_something_else_is_not_read(dialect: str, written: str) -> None:
    with pytest.raises(LanguageError):
        lift(written, dialect, SCHEMA)


def test_where_two_columns_differ_by_case_alone_none_is_chosen() -> None:
    both = Schema((*SCHEMA.fields, Field(20, "N", parse_simple_type("int"))))
    with pytest.raises(LanguageError):
        lift("n < 5", "hive", both)
    assert spell(lift('"N" < 5', "postgres", both), both) == "N < 5"


@pytest.mark.parametrize("dialect", ROWS)
@pytest.mark.parametrize("make", [random_condition, random_simple_condition])
def test_nothing_reads_back_as_something_else(dialect: str, make: Any) -> None:
    rng, read = random.Random(7), 0
    for _ in range(150):
        schema = random_schema(rng)
        try:
            expr = canonical(bind(parse(make(rng, schema)), schema))
            found = lift(ROWS[dialect](expr, schema), dialect, schema)
        except (LanguageError, ArithmeticError):
            continue
        assert text(found) == text(expr)
        read += 1
    assert read


@pytest.mark.parametrize(
    "source",
    [
        "mask_alphanum(s)", "show_first_4(s)", "show_last_4(s)", "show_first_4_strict(s)", "show_last_4_strict(s)",
        "prefix(s, 12)", "sha256(s)", "constant('x')",
    ],
)  # fmt: skip
def test_masks_read_back(source: str) -> None:
    mask = bind_mask(parse_mask(source), SCHEMA, 3)
    assert lift_mask(MASKS["hive"](mask, SCHEMA), "hive", SCHEMA, 3).text == mask.text


@pytest.mark.parametrize(
    "written", ["mask_show_last_n(s, 4, 'x', 'x', 'x', -1, '1')", "upper(s)", "sha2(`Odd`, 256)", "5", "s ="]
)
def test_masks_that_the_language_has_not_are_not_read(written: str) -> None:
    with pytest.raises(LanguageError):
        lift_mask(written, "hive", SCHEMA, 3)
