"""Promise: what cannot be accepted is refused when written, with the place and what to write instead."""

import pytest

from headgate.language.bind import REQUEST_ONLY, bind
from headgate.language.errors import (
    ExpressionTypeError,
    LanguageError,
    Position,
    UnknownColumnNameError,
    UnknownNameError,
)
from headgate.language.parse import parse
from headgate.model.schema import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    LONG,
    STRING,
    TIMESTAMP,
    UUID,
    VARIANT,
    DecimalType,
    Field,
    FixedType,
    ListType,
    MapType,
    Schema,
    StructType,
)  # fmt: skip

SCHEMA = Schema(
    (
        Field(1, "region", STRING), Field(2, "age", INT), Field(3, "total", LONG), Field(4, "rate", DOUBLE),
        Field(5, "price", DecimalType(30, 2)), Field(6, "born", DATE), Field(7, "seen", TIMESTAMP), Field(8, "id", UUID),
        Field(9, "raw", BINARY), Field(10, "ok", BOOLEAN), Field(11, "code", FixedType(2)), Field(12, "doc", VARIANT),
        Field(13, "home", StructType((Field(14, "zip", STRING), Field(15, "geo.hash", STRING)))),
        Field(16, "tags", ListType(Field(17, "element", STRING))),
        Field(18, "props", MapType(Field(19, "key", STRING, True), Field(20, "value", STRING))),
        Field(21, "a.b", STRING),
    )
)  # fmt: skip


@pytest.mark.parametrize(
    ("source", "place", "message"),
    [
        ("", (1, 1), "an empty expression"),
        ("region = 'EU'; DROP TABLE t", (1, 14), "several statements"),
        ("region = 'EU' -- hidden", (1, 15), "comments"),
        ("region /* or true */ = 'EU'", (1, 8), "comments"),
        ("region {# or true #} = 'EU'", (1, 8), "comments"),
        ("region = 'EU\u202e'", (1, 13), "direction-changing"),
        ("region =\u200b 'EU'", (1, 9), "invisible"),
        ("region = 'E\x00U'", (1, 12), "control character"),
        ("region = 'EU", (1, 1), "never closed"),
        ("region IN (SELECT r FROM t)", (1, 12), "sub-queries"),
        ("EXISTS (SELECT 1)", (1, 1), "sub-queries"),
        ("region = (VALUES ('a'))", (1, 11), "sub-queries"),
        ("a JOIN b", (1, 3), "joins"),
        ("rand() < 0.5", (1, 1), "changes from call to call"),
        ("uuid() = id", (1, 1), "changes from call to call"),
        ("seen < now()", (1, 8), "changes from call to call"),
        ("seen < CURRENT_TIMESTAMP", (1, 8), "changes from call to call"),
        ("count(age) > 1", (1, 1), "looks at many rows"),
        ("lower(region) OVER () = 'a'", (1, 15), "window"),
        ("sleep(10) = 1", (1, 1), "unknown function sleep"),
        ("pg_catalog.sleep(10) = 1", (1, 1), "functions of schemas"),
        ("age = 1 = 2", (1, 9), "chained"),
        ("(age, total) = (1, 2)", (1, 5), "tuples"),
        ("region LIKE 'a!%' ESCAPE '!'", (1, 19), "no ESCAPE"),
        ("age IN ()", (1, 5), "empty list"),
        ("age = 1_000", (1, 7), "not a number"),
        ("age = 0xFF", (1, 7), "not a number"),
        ("age = $1", (1, 7), "unexpected"),
        ("age = :x", (1, 7), "unexpected"),
        ("age::text = '1'", (1, 4), "unexpected"),
        ("`age` = 1", (1, 1), "unexpected"),
        ("größe = 1", (1, 1), "unexpected"),
        ("age =\n  1 +", (2, 6), "unexpected the end"),
        ("born = DATE '2024-02-30'", (1, 13), "day is out of range"),
        ("born = DATE '30.2.2024'", (1, 13), "not a date"),
        ("seen = TIMESTAMP '2024-01-01 00:00:00+01:00'", (1, 18), "takes no offset"),
        ("context.weather = 'x'", (1, 1), "unknown context.weather"),
        ("principal.a.b = 'x'", (1, 1), "takes one name"),
        ("is_member(region)", (1, 1), "plain strings"),
        ("CAST(age AS money) = 1", (1, 13), "unknown type"),
        ("age = 12345678901234567890123456789012345678901", (1, 7), "more than 38 digits"),
        ("CASE age END", (1, 10), "unexpected"),
        ("show_last_4(region) = 'a'", (1, 1), "unknown function"),
    ],
)
def test_what_is_not_an_expression_is_refused_with_its_place(
    source: str, place: tuple[int, int], message: str
) -> None:
    with pytest.raises(LanguageError) as refused:
        parse(source)
    assert message in refused.value.message
    assert refused.value.at == Position(*place)
    assert refused.value.fix


@pytest.mark.parametrize(
    ("source", "place", "message"),
    [
        ("age = 'x'", (1, 5), "do not meet"),
        ("region = principal.level AND age > principal.level", (1, 34), "do not meet"),
        ("age > rate", (1, 5), "do not meet"),
        ("price = 1e3", (1, 7), "do not meet"),
        ("age = NULL", (1, 7), "never true"),
        ("age NOT IN (1, NULL)", (1, 16), "never true"),
        ("id < UUID '123e4567-e89b-12d3-a456-426614174000'", (1, 4), "no order"),
        ("raw > X'00'", (1, 5), "no order"),
        ("ok < TRUE", (1, 4), "no order"),
        ("code = X'000000'", (1, 8), "exactly 2 bytes"),
        ("doc = 'x'", (1, 1), "cannot be compared"),
        ("home = 'x'", (1, 1), "cannot be compared"),
        ("tags.element = 'x'", (1, 1), "inside a list or map"),
        ("props.key = 'x'", (1, 1), "inside a list or map"),
        ("age / 0 > 1", (1, 7), "division by zero"),
        ("rate / 0.0 > 1e0", (1, 8), "division by zero"),
        ("price / 2 > 1e0", (1, 1), "round the division"),
        ("age % total = 1", (1, 7), "positive whole number"),
        ("age % 0 = 1", (1, 7), "positive whole number"),
        ("price * price > 1", (1, 7), "more than 37"),
        ("total * total > 1", (1, 7), "more than 37"),
        ("region + 1 = 2", (1, 1), "takes numbers"),
        ("NOT age", (1, 5), "takes boolean"),
        ("age", (1, 1), "not boolean"),
        ("region LIKE region", (1, 13), "plain string"),
        ("region LIKE principal.prefix", (1, 13), "plain string"),
        ("region LIKE 'a\\%'", (1, 13), "no escape"),
        ("CAST(region AS INT) = 1", (1, 1), "can fail"),
        ("CAST(rate AS INT) = 1", (1, 1), "can fail"),
        ("CAST(price AS DOUBLE) = 1e0", (1, 1), "can fail"),
        ("substring(region, age) = 'x'", (1, 19), "whole number"),
        ("substring(region, 0) = 'x'", (1, 19), "whole number"),
        ("date_trunc('minute', seen) = seen", (1, 12), "takes a unit"),
        ("date_trunc('hour', born) = born", (1, 12), "no hours"),
        ("born > born - INTERVAL 3 DAY", (1, 13), "current_date or a constant"),
        ("is_nan(age)", (1, 8), "float or double"),
        ("in_network(region, '10.0.0.0/8')", (1, 1), "context.address"),
        ("in_network(context.address, '10.0.0.0/99')", (1, 29), "not a network"),
        ("born = '2024-13-01'", (1, 8), "month must be"),
        ("rate = 9007199254740993", (1, 6), "do not meet"),
    ],
)
def test_types_that_do_not_fit_are_refused_with_their_place(
    source: str, place: tuple[int, int], message: str
) -> None:
    expr = parse(source)
    with pytest.raises(ExpressionTypeError) as refused:
        bind(expr, SCHEMA)
    assert message in refused.value.message
    assert refused.value.at == Position(*place)
    assert refused.value.fix


@pytest.mark.parametrize(
    ("source", "fix"),
    [
        ("regin = 'x'", "did you mean region"),
        ("Region = 'x'", "did you mean region"),
        ("a.b = 'x'", 'write "a.b"'),
        ("home.geo.hash = 'x'", 'did you mean home."geo.hash"'),
        ("\"home.zip\" = 'x'", "did you mean home.zip"),
    ],
)
def test_an_unknown_column_comes_with_a_suggestion_and_a_dot_is_never_guessed(source: str, fix: str) -> None:
    with pytest.raises(UnknownColumnNameError) as refused:
        bind(parse(source), SCHEMA)
    assert fix in refused.value.fix
    assert refused.value.at == Position(1, 1)


def test_conditions_about_the_request_have_no_columns() -> None:
    with pytest.raises(UnknownColumnNameError, match="columns cannot be used here"):
        bind(parse("region = 'x'"), REQUEST_ONLY)


def test_long_and_deep_expressions_are_refused_before_they_cost_anything() -> None:
    for source, message in (
        ("age = 1 OR " * 10_000 + "ok", "characters"),
        ("(" * 5000 + "ok" + ")" * 5000, "nested deeper"),
        ("NOT " * 5000 + "ok", "nested deeper"),
        ("age" + " + 1" * 5000 + " > 1", "nested deeper"),
        ("- " * 5000 + "age > 1", "nested deeper"),
        ("CASE WHEN ok THEN " * 500 + "ok" + " END" * 500, "nested deeper"),
        ("coalesce(" * 500 + "ok" + ")" * 500, "nested deeper"),
    ):
        with pytest.raises(LanguageError, match=message):
            parse(source)
    wide = bind(parse(" OR ".join(f"age = {i}" for i in range(4000))), SCHEMA)
    assert len(wide.args) == 4000  # type: ignore[union-attr]


def test_unknown_names_are_told_from_wrong_syntax() -> None:
    with pytest.raises(UnknownNameError):
        parse("frobnicate(age)")
