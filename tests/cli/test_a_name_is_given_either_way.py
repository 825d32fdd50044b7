"""Promise: what a command is about is named with an option or without one, and never two things at once."""

import json
from collections.abc import Iterator

import pytest
import typer.main

from headgate.cli.app import app
from tests.cli.in_process import Run, commands, done
from tests.conftest import Api


@pytest.fixture
def run(api: Api) -> Iterator[Run]:
    with commands(api) as run:
        done(run("metalake", "create", "lake"))
        done(run("catalog", "create", "c", "--provider", "lakehouse-iceberg"))
        done(run("schema", "create", "c.s"))
        done(run("table", "create", "c.s.t", "--columns", "id:long"))
        yield run


@pytest.mark.parametrize(
    "words",
    [
        ("c.s.t",),
        ("t", "--catalog", "c", "--schema", "s"),
        ("s.t", "--catalog", "c"),
        ("--catalog", "c", "--schema", "s", "--name", "t"),
        ("c.s.t", "--catalog", "c", "--name", "t"),
        ("t", "--catalog", "c", "--schema", "s", "--name", "t"),
        ("c.s", "--name", "t"),
    ],
)
def test_every_spelling_of_a_table_is_that_table(run: Run, words: tuple[str, ...]) -> None:
    assert json.loads(done(run("table", "details", *words, "--output", "json")))["name"] == "t"
    assert "t" in done(run("table", "list", "c.s"))
    assert "s" in done(run("schema", "list", "c"))


def test_a_user_is_created_and_removed_without_an_option(run: Run) -> None:
    assert "ann.b@example.org" in done(run("user", "create", "ann.b@example.org"))
    assert "ann.b@example.org" in done(run("user", "details", "--name", "ann.b@example.org"))
    done(run("user", "delete", "ann.b@example.org", "--name", "ann.b@example.org"))
    assert run("user", "details", "ann.b@example.org").returncode == 1


@pytest.mark.parametrize(
    "words",
    [
        ("user", "create", "ann", "--name", "bob"),
        ("user", "create"),
        ("table", "details", "c.s.t", "--schema", "other"),
        ("table", "details", "t", "--catalog", "c", "--schema", "s", "--name", "u"),
        ("table", "details", "t"),
        ("table", "delete", "a.c.s.t"),
        ("schema", "details", "--name", "s"),
    ],
)
def test_two_names_or_half_a_name_are_wrong_usage_and_do_nothing(run: Run, words: tuple[str, ...]) -> None:
    result = run(*words)
    assert (result.returncode, result.stdout) == (2, ""), result.stderr
    assert "next:" in result.stderr
    assert json.loads(done(run("user", "list", "--output", "json")))[0]["name"] == "admin"
    assert len(json.loads(done(run("user", "list", "--output", "json")))) == 1


def test_every_command_that_takes_a_name_takes_it_either_way() -> None:
    """`--name` is written once: a command that has it has the place as well."""

    def walk(at: object, path: str) -> Iterator[tuple[str, object]]:
        for name, below in getattr(at, "commands", {}).items():
            yield from walk(below, f"{path} {name}")
        if not getattr(at, "commands", {}):
            yield path, at

    lacking = [
        path
        for path, at in walk(typer.main.get_command(app), "headgate")
        if any("--name" in parameter.opts for parameter in at.params)  # type: ignore[attr-defined]
        and not any(parameter.param_type_name == "argument" for parameter in at.params)  # type: ignore[attr-defined]
    ]
    assert lacking == []
