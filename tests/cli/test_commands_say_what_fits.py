"""Promise: exit codes are those of docs/commands.md, and what a command says to do next fits its error and can be done."""

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import typer.main

import headgate
from headgate.cli.answers import read
from headgate.cli.app import app
from headgate.cli.command import names, pairs
from headgate.cli.failure import Denied, Failure, Usage
from headgate.doors.gravitino.errors import error as answer_for
from headgate.model import errors as e
from tests.cli.in_process import Run, commands, done
from tests.conftest import Api
from tests.real.server import COMMAND, environment, headgate_here

SOURCE = Path(headgate.__file__).parent


@pytest.fixture
def run(api: Api) -> Iterator[Run]:
    with commands(api) as run:
        done(run("metalake", "create", "--name", "lake"))
        yield run


# -- what was answered ----------------------------------------------------------------------------------------------


def failure(error: e.HeadgateError, *, signed_by_token: bool = True) -> Failure:
    made = answer_for(error)
    with pytest.raises(Failure) as raised:
        read(
            httpx.Response(made.status, json=made.body, headers=made.headers), signed_by_token=signed_by_token
        )
    return raised.value


CODES = [
    (e.IllegalArgument("x"), Usage, 2),
    (e.IllegalPrivilege("x"), Usage, 2),
    (e.Unauthenticated("x"), Denied, 3),
    (e.Forbidden("x"), Denied, 3),
    (e.NotFound("x"), Failure, 1),
    (e.AlreadyExists("x"), Failure, 1),
    (e.Conflict("x"), Failure, 1),
    (e.Unsupported("x"), Failure, 1),
    (e.ConnectionFailed("x"), Failure, 1),
    (e.Unavailable("x"), Failure, 1),
    (e.HeadgateError("x"), Failure, 1),
]


@pytest.mark.parametrize(("error", "kind", "code"), CODES, ids=lambda each: type(each).__name__)
def test_an_error_of_the_server_ends_with_its_code(error: e.HeadgateError, kind: type, code: int) -> None:
    found = failure(error)
    assert (type(found), found.code) == (kind, code)


def test_what_the_server_says_to_do_next_is_said_once_and_nothing_else_is_guessed() -> None:
    for kind in (e.AlreadyExists, e.Forbidden, e.NotFound, e.Conflict, e.Unauthenticated, e.IllegalArgument):
        found = failure(kind("it is so", hint="do – that; 100 %"))
        assert (found.message, found.next) == ("it is so", "do – that; 100 %")


def test_where_the_server_says_nothing_the_next_step_fits_the_error() -> None:
    assert "choose another name" in (failure(e.AlreadyExists("x", about="role")).next or "")
    assert "enable" in (failure(e.NotInUse("x", about="catalog")).next or "")
    assert "disable" in (failure(e.InUse("x", about="catalog")).next or "")
    assert failure(e.NotFound("x", about="role")).next == "'headgate role list' shows what is there"
    assert "headgate" not in (failure(e.NotFound("x", about="file")).next or "")
    assert "HEADGATE_TOKEN" in (failure(e.Unauthenticated("x")).next or "")
    assert "--dev" in (failure(e.Unauthenticated("x"), signed_by_token=False).next or "")
    assert "address" in (failure(e.ConnectionFailed("x")).next or "")


def test_a_connection_test_that_fails_ends_as_the_same_error_elsewhere() -> None:
    for code, kind in ((1001, Usage), (1008, Denied), (1007, Failure)):
        with pytest.raises(Failure) as raised:
            read(httpx.Response(200, json={"code": code, "message": "x"}))
        assert type(raised.value) is kind


# -- every hint of the source ---------------------------------------------------------------------------------------


def hints() -> Iterator[tuple[str, str]]:
    """What errors say to do next, with where they stand."""
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if path.name == "answers.py" and isinstance(node, ast.Constant) and isinstance(node.value, str):
                # What fits an answer is chosen from tables and functions of this module.
                yield f"{path.relative_to(SOURCE)}:{node.lineno}", node.value
            if isinstance(node, ast.Call):
                name = getattr(node.func, "id", getattr(node.func, "attr", ""))
                own = node.args[1:2] if name in ("Failure", "Usage", "Denied") else []
                for part in (*own, *(k.value for k in node.keywords if k.arg in ("hint", "next", "look"))):
                    text = "".join(
                        piece.value if isinstance(piece.value, str) else ""
                        for piece in ast.walk(part)
                        if isinstance(piece, ast.Constant)
                    )
                    yield f"{path.relative_to(SOURCE)}:{part.lineno}", text


def test_every_command_and_option_that_a_hint_names_is_there() -> None:
    whole = typer.main.get_command(app)
    wrong = []
    count = 0
    # `--packages` is an option of the script that starts a Spark Connect server.
    options = set(_options(whole)) | {"--dev", "--packages"}
    for where, text in hints():
        for words in re.findall(r"headgate ((?:[a-z][a-z-]*\b ?)+)", text):
            count += 1
            at = whole
            for word in words.split():
                below = getattr(at, "commands", None)
                if below is None:
                    break
                if word not in below:
                    wrong.append(f"{where}: there is no 'headgate {words}'")
                    break
                at = below[word]
        wrong += [
            f"{where}: nothing has {option}"
            for option in re.findall(r"(?<![\w-])--[a-z][a-z-]+", text)
            if option not in options
        ]
    assert count > 10
    assert wrong == []


def _options(command: object) -> Iterator[str]:
    for parameter in getattr(command, "params", ()):
        yield from parameter.opts
    for below in getattr(command, "commands", {}).values():
        yield from _options(below)


@pytest.mark.parametrize(
    "words",
    [
        ("sync", "undo", "--to", "headgate:lake"),
        ("sync", "in-step", "--from", "headgate:lake", "--to", "headgate:two"),
        ("policy", "delete", "--name", "p"),
        ("classify", "--catalog", "c", "--apply"),
    ],
)
def test_a_command_that_must_ask_advises_only_what_there_is(run: Run, words: tuple[str, ...]) -> None:
    result = run(*words)
    assert result.returncode == 2
    assert "add --yes" in result.stderr
    at = typer.main.get_command(app)
    for word in words:
        at = getattr(at, "commands", {}).get(word, at)
    own = {option for parameter in at.params for option in parameter.opts}
    # What stands in quotation marks is another command.
    advised = re.findall(r"--[a-z-]+", re.sub(r"'headgate [^']*'", "", result.stderr))
    assert set(advised) <= own


# -- usage ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "url", ["localhost:8090", "headgate.example", "//host", "ftp://host", "http://", "http://[::1"]
)
def test_an_address_without_its_scheme_is_wrong_usage_that_says_how_to_write_it(url: str) -> None:
    result = headgate_here("metalake", "list", "--login", "admin", HEADGATE_URL=url)
    assert (result.returncode, result.stdout) == (2, "")
    assert url in result.stderr
    assert "http://host:8090" in result.stderr


def test_nobody_signed_in_is_denied() -> None:
    result = headgate_here("metalake", "list", HEADGATE_URL="http://127.0.0.1:1")
    assert result.returncode == 3
    assert "HEADGATE_TOKEN" in result.stderr


def test_commas_of_values_are_kept(run: Run) -> None:
    assert pairs([r"hosts=a\,b,k=v", r"path=C:\x"]) == {"hosts": "a,b", "k": "v", "path": r"C:\x"}
    assert names(r"a\,b, c ,,") == ["a,b", "c"]
    with pytest.raises(Usage, match="twice"):
        pairs(["a=1", "a=2"])
    create = ("catalog", "create", "--name", "c", "--provider", "lakehouse-iceberg")
    done(run(*create, "--properties", r"teams=a\,b\,c,stage=test", "--properties", "note=x"))
    shown = done(run("catalog", "details", "--name", "c", "--output", "yaml"))
    assert "teams: a,b,c" in shown
    assert "note: x" in shown
    assert r"'\,'" in headgate_here("catalog", "create", "--help").stdout.replace("\n", " ")


def test_tokens_are_made_at_the_server_that_is_named_and_nowhere_else(run: Run, tmp_path: Path) -> None:
    home = tmp_path / "home"
    for verb in (("create", "--user", "ann"), ("list",), ("revoke", "--id", "x")):
        refused = headgate_here("token", *verb, HEADGATE_URL="http://headgate", HEADGATE_HOME=str(home))
        assert (refused.returncode, refused.stdout) == (3, "")
        assert "HEADGATE_TOKEN" in refused.stderr
        assert "--home" in refused.stderr
    assert not home.exists()
    made = done(run("token", "create", "--user", "ann")).strip()
    assert "ann" in done(run("token", "list"))
    assert run("token", "create", "--user", "ann", user="bob").returncode == 3
    done(run("token", "revoke", "--id", made.split("_")[1]))
    assert run("token", "list", "--home", str(home)).returncode == 1, "a store that is named is opened"


@pytest.mark.slow
def test_without_spark_it_is_said_how_to_install_it(tmp_path: Path) -> None:
    """As in an environment that never had it: a process of its own, which finds no pyspark."""
    without = "import sys; sys.modules['pyspark'] = None\n"
    for words, code in (
        (("worker", "--home", str(tmp_path)), "from headgate.cli import main; main()"),
        ((), "from headgate.pipelines.session import *; open_session(SparkSettings())"),
        ((), "from headgate.pipelines.session import *; open_session(SparkSettings(remote='sc://h'))"),
        (
            (),
            "from headgate.cli.operations.spark import open_spark\n"
            "from headgate.pipelines.needs import NO_TABLES\n"
            "open_spark('local[1]', None, work=NO_TABLES)",
        ),
    ):
        ran = subprocess.run(
            [COMMAND[0], "-c", without + code, *words],
            capture_output=True,
            text=True,
            env=environment(PATH=os.environ["PATH"]),
            check=False,
        )
        assert ran.returncode == 1
        assert "not installed" in ran.stderr
        wanted = "headgate[connect]" if "remote" in code else "headgate[spark]"
        if "open_spark" not in code:
            assert wanted in ran.stderr
    assert sys.modules.get("pyspark", sys) is not None
