"""Promise: no expression takes longer than its size and its row allow: that it computes, whoever else uses the machine."""

import time

from headgate.language.bind import bind
from headgate.language.canonical import canonical, digest
from headgate.language.evaluate import evaluate
from headgate.language.fold import Request, fold
from headgate.language.parse import parse
from headgate.model.schema import INT, STRING, Field, Schema

SCHEMA = Schema((Field(1, "s", STRING), Field(2, "a", INT)))


def test_patterns_that_make_regular_expressions_explode_are_harmless() -> None:
    expr = bind(parse("s LIKE '" + "%a" * 30 + "b'"), SCHEMA)
    begun = time.thread_time()
    assert evaluate(expr, {1: "a" * 5000}) is False
    assert time.thread_time() - begun < 2


def test_the_largest_expression_is_handled_in_seconds() -> None:
    source = " OR ".join(f"(a = {i} AND s <> '{i}')" for i in range(2200))
    begun = time.thread_time()
    expr = canonical(fold(bind(parse(source), SCHEMA), Request("ann")).expr)
    assert len(digest(expr)) == 64
    assert evaluate(expr, {1: "x", 2: 2199}) is True
    assert time.thread_time() - begun < 20
