"""A test leaves nothing behind that makes another one fail: no private process, and no server that nobody needs."""

import ast
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import CONNECT_MODE, UMASK

TESTS = Path(__file__).parent
SHARED = "tests.conftest"


@pytest.mark.xdist_group("umask")
@pytest.mark.parametrize("turn", ["first", "second"])
def test_a_test_that_makes_its_process_private_leaves_the_next_one_as_it_was(turn: str) -> None:
    private = 0o077 if UMASK != 0o077 else 0o027
    assert os.umask(private) == UMASK, turn


@pytest.mark.xdist_group("connect")
@pytest.mark.parametrize("turn", ["first", "second"])
def test_a_test_that_asks_spark_connect_leaves_the_next_one_its_own_spark(turn: str) -> None:
    pytest.importorskip("pyspark.sql.connect")
    from pyspark.sql import SparkSession

    assert CONNECT_MODE not in os.environ, turn
    opened = SparkSession.builder.remote("sc://127.0.0.1:1").create()
    assert CONNECT_MODE in os.environ
    opened.client.close()


def test_what_lives_longer_than_a_test_is_made_once() -> None:
    """To pytest, a fixture that two modules import is two fixtures: two servers until the end of the run."""
    modules = dict(parsed())
    lasting = {(name, made) for name, tree in modules.items() for made in lasting_fixtures(tree)}
    assert ("tests.minio", "minio") in lasting
    imported = {
        (importer, f"{statement.module}.{name.name}")
        for importer, tree in modules.items()
        for statement in ast.walk(tree)
        if isinstance(statement, ast.ImportFrom)
        for name in statement.names
        if (statement.module, name.name) in lasting
    }
    assert (SHARED, "tests.minio.minio") in imported
    assert sorted(found for found in imported if found[0] != SHARED) == [], f"only {SHARED} imports them"


def parsed() -> Iterator[tuple[str, ast.Module]]:
    for path in TESTS.rglob("*.py"):
        name = ".".join((TESTS.name, *path.relative_to(TESTS).with_suffix("").parts))
        yield name.removesuffix(".__init__"), ast.parse(path.read_text())


def lasting_fixtures(tree: ast.Module) -> Iterator[str]:
    """Fixtures that say a scope: who says none lives for one test."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            for decorator in node.decorator_list:
                if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "pytest.fixture":
                    yield from (node.name for word in decorator.keywords if word.arg == "scope")
