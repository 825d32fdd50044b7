"""Promise: two spellings of one restriction have one canonical form and one digest."""

import pytest

from headgate.language.bind import bind
from headgate.language.canonical import canonical, digest, text
from headgate.language.parse import parse
from headgate.model.schema import BOOLEAN, DATE, DOUBLE, INT, LONG, STRING, DecimalType, Field, Schema

SCHEMA = Schema(
    (
        Field(1, "a", INT), Field(2, "b", INT), Field(3, "s", STRING), Field(4, "ok", BOOLEAN), Field(5, "day", DATE),
        Field(6, "x", DOUBLE), Field(7, "must", STRING, True), Field(8, "price", DecimalType(9, 2)), Field(9, "n", LONG),
    )
)  # fmt: skip


def form(source: str) -> str:
    return text(canonical(bind(parse(source), SCHEMA)))


@pytest.mark.parametrize(
    "spellings",
    [
        ["a = 1 AND b = 2", "b = 2 AND a = 1", "(b = 2) and (1 = a)", "NOT (a <> 1 OR b <> 2)", "a = 1 AND b = 2 AND a = 1"],
        ["a > 1", "1 < a", "NOT a <= 1", "NOT (NOT (a > 1))", "not 1 >= a", "(a > 1) IS TRUE"],
        ["a IN (1, 2, 3)", "a = 3 OR a = 2 OR a = 1", "a IN (3, 2, 1, 1)", "a IN (1, 2) OR 3 = a"],
        ["a NOT IN (1, 2)", "a <> 1 AND a <> 2", "NOT (a = 1 OR a = 2)", "NOT a IN (2, 1)"],
        ["a BETWEEN 1 AND 5", "a >= 1 AND a <= 5", "5 >= a AND NOT a < 1"],
        ["a NOT BETWEEN 1 AND 5", "a < 1 OR a > 5"],
        ["ok", "ok = TRUE", "TRUE = ok", "ok <> FALSE", "NOT NOT ok"],
        ["NOT ok", "ok = FALSE", "ok <> TRUE"],
        ["a = 1", "a = 1 OR a = 1", "a IN (1)", "a = 1 AND TRUE", "a = 1 OR FALSE", "a = 1 OR (a = 1 AND b = 2)", "a = 2 - 1"],
        ["a < b", "b > a", "NOT (a >= b)"],
        ["a = b", "b = a"],
        ["a + b > n", "n < b + a"],
        ["s = 'ab'", "s = 'a' || 'b'", "s = lower('AB')", "s = substring('abc', 1, 2)"],
        ["FALSE", "a = 1 AND FALSE", "1 = 2", "NULL", "a > nullif(1, 1)", "must IS NULL", "NOT (TRUE OR a = 1)"],
        ["TRUE", "must IS NOT NULL", "a = 1 OR 1 = 1", "NOT FALSE"],
        ["day >= DATE '2024-01-01'", "day >= '2024-01-01'", "DATE '2024-01-01' <= day"],
        ["x = 0.0", "x = -0.0", "x = 0", "0 = x"],
        ["price > 1", "price > 1.0", "price > 1.00", "1 < price"],
        ["CASE WHEN ok THEN a = 1 ELSE a = 1 END", "a = 1"],
        ["CASE WHEN TRUE THEN a = 1 ELSE b = 1 END", "a = 1"],
        ["coalesce(s, NULL, 'x') = 'y'", "coalesce(s, coalesce(s, 'x')) = 'y'", "'y' = coalesce(s, 'x', 'z')"],
        ["s IN ('a', must)", "s = must OR s = 'a'"],
        ["extract(year FROM day) = 2024", "year(day) = 2024"],
    ],
)  # fmt: skip
def test_spellings_meet(spellings: list[str]) -> None:
    assert len({form(s) for s in spellings}) == 1, {s: form(s) for s in spellings}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a = 1", "b = 1"), ("a > 1", "a >= 1"), ("a = 1 AND b = 2", "a = 1 OR b = 2"), ("s = '1'", "a = 1"),
        ("a IS NULL", "a IS NOT NULL"), ("NOT ok", "ok IS NOT TRUE"), ("a <> 1", "a <> 1 OR a IS NULL"),
        ("s = 'a'", "s = 'A'"), ("a / 2 > 1e0", "a > 2"), ("a = a", "TRUE"), ("ok OR NOT ok", "TRUE"),
        ("s LIKE 'a%'", "s LIKE 'a_'"), ("s = 'null:string'", "s IS NULL"),
    ],
)  # fmt: skip
def test_what_differs_stays_apart(one: str, other: str) -> None:
    assert form(one) != form(other)


def test_the_text_and_digest_are_stable_and_speak_of_field_ids() -> None:
    expr = canonical(bind(parse("s IN ('é', 'a\"b') AND a > 1"), SCHEMA))
    assert text(expr) == '(and (> #1 int:1) (in #3 string:"a\\"b" string:"\\u00e9"))'
    assert digest(expr) == digest(canonical(bind(parse("1 < a AND s IN ('a\"b', 'é')"), SCHEMA)))
    renamed = Schema(tuple(Field(f.id, f"new_{f.name}", f.type, f.required) for f in SCHEMA.fields))
    assert digest(canonical(bind(parse("new_a > 1"), renamed))) == digest(
        canonical(bind(parse("a > 1"), SCHEMA))
    )
