"""Promise: one expression keeps the same rows in Python, DuckDB, Iceberg and Spark."""

import random
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
    every_type,
    random_condition,
    random_rows,
    random_schema,
    random_simple_condition,
)

from headgate.language.ast import Expr
from headgate.language.bind import bind
from headgate.language.canonical import canonical, text
from headgate.language.errors import ExpressionTypeError, LoweringError
from headgate.language.evaluate import by_field_id, evaluate, keeps
from headgate.language.lower import duckdb, iceberg, postgres
from headgate.language.lower import spark as spark_sql
from headgate.language.parse import parse
from headgate.model.schema import Schema, Type

pytestmark = pytest.mark.timeout(3600)  # the thorough profile takes its time


def bound(source: str, schema: Schema) -> Expr | None:
    """The bound expression; None where it divides by zero or is too wide to be exact, which the generator may run into."""
    try:
        return bind(parse(source), schema)
    except ExpressionTypeError as e:
        if any(reason in e.message for reason in ("digits", "do not meet", "division by zero")):
            return None
        raise


Case = tuple[Schema, list[dict[str, Any]], list[str]]
SEEDS = st.integers(0, 2**64)


def case_of(seed: int, *, simple: bool = False) -> Case:
    """A random schema, with rows and conditions over it."""
    rng = random.Random(seed)
    schema = random_schema(rng)
    make = random_simple_condition if simple else random_condition
    return schema, random_rows(rng, schema), [make(rng, schema) for _ in range(12)]


def wide_case_of(seed: int, types: list[Type], *, structs: bool) -> Case:
    """Columns of every type, with many conditions: for engines where a query costs more than an expression."""
    rng = random.Random(seed)
    schema = Schema(tuple(f for f in every_type(types).fields if structs or f.name != "s"))
    return schema, random_rows(rng, schema, 12), [random_condition(rng, schema) for _ in range(50)]


@given(SEEDS)
def test_duckdb_agrees_with_the_reference(seed: int) -> None:
    schema, rows, sources = case_of(seed)
    exprs = [e for s in sources if (e := bound(s, schema)) is not None]
    if not exprs:
        return
    found = engines.in_duckdb(schema, rows, [duckdb.lower(e, schema) for e in exprs])
    for row, answers in zip(rows, found, strict=True):
        by_id = by_field_id(schema, row)
        for expr, answer in zip(exprs, answers, strict=True):
            assert answer == evaluate(expr, by_id), (duckdb.lower(expr, schema), row)


@given(SEEDS)
def test_the_canonical_form_keeps_the_same_rows_and_is_stable(seed: int) -> None:
    schema, rows, sources = case_of(seed)
    for expr in (e for s in sources if (e := bound(s, schema)) is not None):
        exact, as_filter = canonical(expr, as_filter=False), canonical(expr)
        assert text(canonical(as_filter)) == text(as_filter)
        assert text(canonical(exact, as_filter=False)) == text(exact)
        for row in rows:
            by_id = by_field_id(schema, row)
            assert evaluate(exact, by_id) is evaluate(expr, by_id)
            assert keeps(as_filter, by_id) is keeps(expr, by_id)


@given(SEEDS)
def test_exact_iceberg_expressions_keep_the_same_rows(seed: int) -> None:
    schema, rows, sources = case_of(seed, simple=True)
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


@given(SEEDS)
def test_widened_iceberg_expressions_never_drop_a_row_and_exact_ones_never_differ(seed: int) -> None:
    schema, rows, sources = case_of(seed)
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


@pytest.mark.real
def test_postgres_agrees_with_the_reference(postgres_dsn: str) -> None:
    with psycopg.connect(postgres_dsn, autocommit=True) as connection:

        @settings(max_examples=max(5, settings.default.max_examples // 10))
        @given(SEEDS)
        def agree(seed: int) -> None:
            schema, rows, sources = wide_case_of(seed, TYPES, structs=False)
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
                    assert answer == evaluate(expr, by_id), (sql, row)

        agree()


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_spark_agrees_with_the_reference(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> None:
    import pyarrow.parquet as pq

    @settings(max_examples=max(2, settings.default.max_examples // 30))
    @given(SEEDS)
    def agree(seed: int) -> None:
        schema, rows, sources = wide_case_of(seed, SPARK_TYPES, structs=True)
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
                assert answer == evaluate(expr, by_id), (spark_sql.lower(expr, schema), row)

    agree()
