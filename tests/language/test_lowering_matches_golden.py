"""Promise: each target's text is the one in its golden file, and nothing written in a policy can break out of it."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
import sqlglot
from sqlglot import exp

from headgate.language.ast import Call, Expr, Literal
from headgate.language.bind import bind, resolve
from headgate.language.errors import LoweringError
from headgate.language.lower import duckdb, iceberg, mysql, postgres, spark, trino
from headgate.language.parse import parse
from headgate.model.schema import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    STRING,
    TIME,
    TIMESTAMP,
    TIMESTAMP_NS,
    TIMESTAMPTZ,
    UUID,
    DecimalType,
    Field,
    FixedType,
    Schema,
    StructType,
)  # fmt: skip

GOLDEN = Path(__file__).parent / "golden"
SCHEMA = Schema(
    (
        Field(1, "region", STRING), Field(2, "age", INT), Field(3, "total", LONG), Field(4, "rate", DOUBLE),
        Field(5, "price", DecimalType(9, 2)), Field(6, "born", DATE), Field(7, "seen", TIMESTAMP),
        Field(8, "at", TIMESTAMPTZ), Field(9, "id", UUID), Field(10, "raw", BINARY), Field(11, "code", FixedType(2)),
        Field(12, "ok", BOOLEAN), Field(13, "must", STRING, True), Field(14, "near", FLOAT), Field(15, "clock", TIME),
        Field(16, "nano", TIMESTAMP_NS),
        Field(17, "home", StructType((Field(18, "zip", STRING), Field(19, "geo.hash", STRING, True)))),
        Field(20, "a.b", INT), Field(21, "city", STRING),
    )
)  # fmt: skip
EXPRESSIONS = (GOLDEN / "expressions.sql").read_text().splitlines()
TARGETS: dict[str, Callable[[Expr], str]] = {
    "spark": lambda e: spark.lower(e, SCHEMA),
    "duckdb": lambda e: duckdb.lower(e, SCHEMA),
    "postgres": lambda e: postgres.lower(e, SCHEMA),
    "mysql": lambda e: mysql.lower(e, SCHEMA),
    "trino": lambda e: trino.lower(e, SCHEMA),
    "iceberg": lambda e: "\n".join(
        f"{form} {mode}: {_or_reason(lambda form=form, mode=mode: iceberg.to_text(iceberg.lower(e, SCHEMA, form=form, mode=mode)))}"  # type: ignore[misc]
        for form in ("term", "reference")
        for mode in ("exact", "widened")
    ),
}


def _or_reason(make: Callable[[], str]) -> str:
    try:
        return make()
    except LoweringError as e:
        return f"refused: {e.message}"


def bound(source: str) -> Expr:
    return bind(parse(source), SCHEMA)


@pytest.mark.parametrize("target", TARGETS)
def test_the_text_is_the_golden_one(target: str) -> None:
    pairs = [
        f"{source}\n{_or_reason(lambda s=source: TARGETS[target](bound(s)))}\n" for source in EXPRESSIONS
    ]  # type: ignore[misc]
    path = GOLDEN / f"{target}.txt"
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text("\n".join(pairs))
    assert path.read_text() == "\n".join(pairs)


@pytest.mark.parametrize("target", ["spark", "duckdb", "postgres", "mysql", "trino"])
def test_the_text_is_one_expression_of_its_dialect(target: str) -> None:
    for source in EXPRESSIONS:
        text = _or_reason(lambda s=source: TARGETS[target](bound(s)))  # type: ignore[misc]
        if not text.startswith("refused"):
            assert len(sqlglot.parse(f"SELECT {text}", read=target)) == 1


NASTY = [
    "'", "''", "\\", "\\'", "\\\\'", "'; DROP TABLE t; --", "' OR '1'='1", "/*", "--", "${x}", "\n", "\r\n", "`", '"', "%_",
    "\u2028", "é", "𝒳", "' || (SELECT 1) || '", "\\u0027", "E'", "\x1a", "\t",
]  # fmt: skip


@pytest.mark.parametrize("target", ["spark", "duckdb", "postgres", "mysql", "trino"])
@pytest.mark.parametrize("value", NASTY)
def test_no_constant_breaks_out(target: str, value: str) -> None:
    column = resolve(("region",), SCHEMA, {})
    text = TARGETS[target](Call("=", (column, Literal(value, STRING)), BOOLEAN))
    trees = sqlglot.parse(f"SELECT {text}", read=target)
    assert len(trees) == 1
    comparisons = list(trees[0].find_all(exp.EQ))  # type: ignore[union-attr]
    assert len(comparisons) == 1
    assert not list(trees[0].find_all(exp.Or, exp.Select))[1:]  # type: ignore[union-attr]


@pytest.mark.parametrize("target", ["spark", "duckdb", "postgres", "mysql", "trino"])
@pytest.mark.parametrize(
    "name", ['"', "`", '"; DROP TABLE t; --', "a`b", "'", "\\", "a b", "select", "/*", "]"]
)
def test_no_name_breaks_out(target: str, name: str) -> None:
    schema = Schema((Field(1, name, INT),))
    expr = Call("=", (resolve((name,), schema, {}), Literal(1, INT)), BOOLEAN)
    module = {"spark": spark, "duckdb": duckdb, "postgres": postgres, "mysql": mysql, "trino": trino}[target]
    tree = sqlglot.parse_one(f"SELECT {module.lower(expr, schema)}", read=target)
    assert [c.name for c in tree.find_all(exp.Column)] == [name]


def test_what_a_target_cannot_hold_is_refused() -> None:
    column = resolve(("region",), SCHEMA, {})
    for target in ("duckdb", "postgres", "trino"):
        with pytest.raises(LoweringError, match="NUL"):
            TARGETS[target](Call("=", (column, Literal("a\0b", STRING)), BOOLEAN))
    for lower in TARGETS.values():
        if lower is not TARGETS["iceberg"]:
            with pytest.raises(LoweringError, match="surrogate"):
                lower(Call("=", (column, Literal("\ud800", STRING)), BOOLEAN))
    with pytest.raises(LoweringError, match="variable"):
        spark.lower(
            resolve(("${x}",), Schema((Field(1, "${x}", BOOLEAN),)), {}), Schema((Field(1, "${x}", BOOLEAN),))
        )


def test_a_column_that_is_gone_or_changed_is_refused_not_guessed() -> None:
    expr = bound("age > 1")
    for schema in (Schema(()), Schema((Field(2, "age", STRING),))):
        for lower in (spark.lower, duckdb.lower, postgres.lower, mysql.lower, trino.lower):
            with pytest.raises(LoweringError, match="gone or changed"):
                lower(expr, schema)
        with pytest.raises(LoweringError, match="gone or changed"):
            iceberg.lower(expr, schema, form="term", mode="exact")
    renamed = Schema((Field(2, "years", INT),))
    assert spark.lower(expr, renamed) == "(`years` > 1)"
    assert iceberg.lower(expr, renamed, form="term", mode="exact")["term"] == "years"


def test_an_ambiguous_dotted_name_is_refused_in_the_term_form_only() -> None:
    schema = Schema((Field(1, "a.b", INT), Field(2, "a", StructType((Field(3, "b", INT),)))))
    expr = bind(parse("a.b > 1"), schema)
    with pytest.raises(LoweringError, match="could mean any"):
        iceberg.lower(expr, schema, form="term", mode="exact")
    assert iceberg.lower(expr, schema, form="reference", mode="exact")["left"] == {
        "type": "reference",
        "id": 3,
    }
