"""Promise: `headgate` alone names the one thing that is missing, and a command that is there to mend it."""

import re
from pathlib import Path

import typer.main

from headgate.cli.app import app
from tests.cli.in_process import commands, done
from tests.conftest import Api
from tests.real.server import headgate_here


def advised(text: str) -> str:
    """What is said; every command that it names is there."""
    whole = typer.main.get_command(app)
    for words in re.findall(r":\s+headgate ((?:[a-z][a-z-]+ ?)+)", text):
        at = whole
        for word in words.split():
            below = getattr(at, "commands", None)
            if below is None:
                break
            assert word in below, words
            at = below[word]
    assert "headgate --help" in text
    assert len(text.splitlines()) <= 8, "a few lines"
    return text


def test_without_a_server_it_says_how_to_start_or_name_one() -> None:
    text = advised(done(headgate_here(HEADGATE_URL="http://127.0.0.1:1")))
    assert "No server answers at http://127.0.0.1:1" in text
    assert "headgate serve --dev" in text


def test_each_state_names_what_comes_next(api: Api, tmp_path: Path) -> None:
    here = {"HEADGATE_METALAKE": "", "XDG_CONFIG_HOME": str(tmp_path)}
    with commands(api) as run:
        assert "nobody is signed in" in advised(done(run(user="", **here)))
        assert "headgate metalake create" in advised(done(run(**here)))
        assert "user of no metalake" in advised(done(run(user="ann", **here)))
        done(run("metalake", "create", "lake"))
        assert "export HEADGATE_METALAKE=lake" in advised(done(run(**here)))
        assert "headgate catalog create" in advised(done(run()))
        assert "no user of a metalake 'lake'" in advised(done(run(user="ann")))
        done(run("catalog", "create", "c", "--provider", "lakehouse-iceberg"))
        assert "headgate schema list c" in advised(done(run()))
        done(run("user", "create", "ann"))
        assert "no catalog that you may see" in advised(done(run(user="ann")))


def test_a_name_that_the_server_does_not_believe_is_said(api: Api) -> None:
    with commands(api) as run:
        assert "sign in again" in advised(done(run(HEADGATE_TOKEN="hg_0_x")))
