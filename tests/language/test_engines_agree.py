"""Promise: one expression keeps the same rows in Python, DuckDB, Iceberg and Spark."""

from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyiceberg.expressions.visitors import expression_evaluator
from tests.language import engines
from tests.language.strategies import (
    SPARK_TYPES,
    TYPES,
    conditions,
    every_type,
    rows_of,
    schemas,
    simple_conditions,
)

from headgate.language.ast import Expr
from headgate.language.bind import bind
from headgate.language.canonical import canonical, text
from headgate.language.errors import ExpressionTypeError, LoweringError
from headgate.language.evaluate import by_field_id, evaluate, keeps
from headgate.language.lower import duckdb, iceberg, postgres
from headgate.language.lower import spark as spark_sql
from headgate.language.parse import parse
from headgate.model.schema import Schema

pytestmark = pytest.mark.timeout(3600)  # the thorough profile takes its time


def bound(source: str, schema: Schema) -> Expr | None:
    """The bound expression; None where it divides by zero or is too wide to be exact, which the generator may run into."""
    try:
        return bind(parse(source), schema)
    except ExpressionTypeError as e:
        if any(reason in e.message for reason in ("digits", "do not meet", "division by zero")):
            return None
        raise


@st.composite
def cases(draw: Any, simple: bool = False) -> tuple[Schema, list[dict[str, Any]], list[str]]:
    schema = draw(schemas())
    make = simple_conditions if simple else conditions
    return schema, draw(rows_of(schema)), draw(st.lists(make(schema), min_size=1, max_size=4))


@given(cases())
def test_duckdb_agrees_with_the_reference(case: Any) -> None:
    schema, rows, sources = case
    exprs = [e for s in sources if (e := bound(s, schema)) is not None]
    if not exprs:
        return
    found = engines.in_duckdb(schema, rows, [duckdb.lower(e, schema) for e in exprs])
    for row, answers in zip(rows, found, strict=True):
        by_id = by_field_id(schema, row)
        assert list(answers) == [evaluate(e, by_id) for e in exprs]


@given(cases())
def test_the_canonical_form_keeps_the_same_rows_and_is_stable(case: Any) -> None:
    schema, rows, sources = case
    for expr in (e for s in sources if (e := bound(s, schema)) is not None):
        exact, as_filter = canonical(expr, as_filter=False), canonical(expr)
        assert text(canonical(as_filter)) == text(as_filter)
        assert text(canonical(exact, as_filter=False)) == text(exact)
        for row in rows:
            by_id = by_field_id(schema, row)
            assert evaluate(exact, by_id) is evaluate(expr, by_id)
            assert keeps(as_filter, by_id) is keeps(expr, by_id)


@given(cases(simple=True))
def test_exact_iceberg_expressions_keep_the_same_rows(case: Any) -> None:
    schema, rows, sources = case
    for source in sources:
        expr = bound(source, schema)
        assert expr is not None
        try:
            readers = _readers(expr, schema, "exact")
        except LoweringError as e:
            if "Infinity" in source or "optional struct" in e.message:
                continue
            raise
        for row in rows:
            expected = keeps(expr, by_field_id(schema, row))
            assert [read(row) for read in readers] == [expected, expected], (source, row)


@given(cases())
def test_widened_iceberg_expressions_never_drop_a_row_and_exact_ones_never_differ(case: Any) -> None:
    schema, rows, sources = case
    for expr in (e for s in sources if (e := bound(s, schema)) is not None):
        for form in (expr, canonical(expr)):
            wide = _readers(form, schema, "widened")
            try:
                exact = _readers(form, schema, "exact")
            except LoweringError:
                exact = None
            for row in rows:
                expected = keeps(expr, by_field_id(schema, row))
                if expected:
                    assert [read(row) for read in wide] == [True, True], (text(form), row)
                if exact is not None:
                    assert [read(row) for read in exact] == [expected, expected], (text(form), row)


def _readers(expr: Expr, schema: Schema, mode: iceberg.Mode) -> list[Callable[[dict[str, Any]], bool]]:
    """Who decides about a row: pyiceberg for the older form, the two-valued rules for the newer one."""
    term = iceberg.lower(expr, schema, form="term", mode=mode)
    reference = iceberg.lower(expr, schema, form="reference", mode=mode)
    evaluator = expression_evaluator(engines.py_schema(schema), engines.to_pyiceberg(term, schema), True)
    return [
        lambda row: evaluator(engines.record(schema, row)),
        lambda row: engines.two_valued(reference, schema, by_field_id(schema, row)),
    ]


@st.composite
def postgres_cases(draw: Any) -> tuple[Schema, list[dict[str, Any]], list[str]]:
    schema = Schema(tuple(f for f in every_type(TYPES).fields if f.name != "s"))
    return schema, draw(rows_of(schema, 8)), draw(st.lists(conditions(schema, 2), min_size=30, max_size=30))


@pytest.mark.real
def test_postgres_agrees_with_the_reference(postgres_dsn: str) -> None:
    with psycopg.connect(postgres_dsn, autocommit=True) as connection:

        @settings(max_examples=max(5, settings.default.max_examples // 10))
        @given(postgres_cases())
        def agree(case: Any) -> None:
            schema, rows, sources = case
            exprs = []
            texts = []
            for source in sources:
                if (expr := bound(source, schema)) is None:
                    continue
                try:
                    texts.append(postgres.lower(expr, schema))
                    exprs.append(expr)
                except LoweringError as e:
                    if "double precision" not in e.message:
                        raise
            found = engines.in_postgres(connection, schema, rows, texts)
            for row, answers in zip(rows, found, strict=True):
                by_id = by_field_id(schema, row)
                for expr, answer, sql in zip(exprs, answers, texts, strict=True):
                    assert answer == evaluate(expr, by_id), sql

        agree()


@st.composite
def spark_cases(draw: Any) -> tuple[Schema, list[dict[str, Any]], list[str]]:
    schema = every_type(SPARK_TYPES)
    return schema, draw(rows_of(schema, 8)), draw(st.lists(conditions(schema, 2), min_size=40, max_size=40))


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_spark_agrees_with_the_reference(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> None:
    import pyarrow.parquet as pq

    @settings(max_examples=max(3, settings.default.max_examples // 20))
    @given(spark_cases())
    def agree(case: Any) -> None:
        schema, rows, sources = case
        exprs = [e for s in sources if (e := bound(s, schema)) is not None]
        folder = tmp_path_factory.mktemp("rows")
        pq.write_table(engines.arrow_table(schema, rows), folder / "rows.parquet")
        frame = spark.read.parquet(str(folder / "rows.parquet")).coalesce(1)
        found = frame.selectExpr(
            *(f"{spark_sql.lower(e, schema)} AS e{i}" for i, e in enumerate(exprs))
        ).collect()
        for row, answers in zip(rows, found, strict=True):
            by_id = by_field_id(schema, row)
            for expr, answer in zip(exprs, answers, strict=True):
                assert answer == evaluate(expr, by_id), spark_sql.lower(expr, schema)

    agree()
