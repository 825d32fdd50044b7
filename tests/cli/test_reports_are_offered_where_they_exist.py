"""Promise: `--output junit` is offered by the commands that make a report, and by no other."""

import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
import typer.main

from headgate.cli.app import app
from tests.real.server import headgate_here

EXAMPLES = Path(__file__).parents[2] / "examples" / "policies"
REPORTING = {"test", "sync push", "sync watch", "sync in-step", "sync resume", "sync undo"}


def commands(at: object = None, path: str = "") -> Iterator[tuple[str, object]]:
    at = at or typer.main.get_command(app)
    below = getattr(at, "commands", None)
    if below is None:
        yield path.strip(), at
    for name, command in (below or {}).items():
        yield from commands(command, f"{path} {name}")


@pytest.mark.slow
def test_every_command_offers_a_report_if_it_makes_one() -> None:
    offering = set()
    for path, command in commands():
        if any("--output" in parameter.opts for parameter in getattr(command, "params", ())):
            shown = " ".join(headgate_here(*path.split(), "--help").stdout.split())
            choices = re.search(r"--output <([a-z|]+)>", shown)
            assert choices is not None, path
            assert {"table", "json", "yaml"} <= set(choices[1].split("|"))
            offering |= {path} if "junit" in choices[1] else set()
        else:
            assert path in ("serve", "worker")
    assert offering == REPORTING


def test_an_answer_that_is_no_report_is_wrong_usage() -> None:
    result = headgate_here("metalake", "list", "--output", "junit", "--login", "admin")
    assert (result.returncode, result.stdout) == (2, "")


def test_tests_of_policies_are_reported_one_by_one(tmp_path: Path) -> None:
    passed = headgate_here("test", "-f", str(EXAMPLES), "--output", "junit")
    assert passed.returncode == 0, passed.stderr
    root = ElementTree.fromstring(passed.stdout)
    assert sum(int(suite.get("tests", "0")) for suite in root) == 9
    assert {suite.get("failures") for suite in root} == {"0"}
    text = (EXAMPLES / "sales.test.yaml").read_text().replace("xxx@xxxxxxx.org", "ann@example.org")
    file, report = tmp_path / "wrong.test.yaml", tmp_path / "report.xml"
    file.write_text(text)
    failed = headgate_here(
        "test", str(file), "-f", str(EXAMPLES), "--junit", str(report), "--output", "junit"
    )
    assert failed.returncode == 1
    assert report.read_text() == failed.stdout
    (suite,) = ElementTree.fromstring(failed.stdout)
    assert (suite.get("tests"), suite.get("failures")) == ("4", "1")
    assert "xxx@xxxxxxx.org" in (suite.find("testcase/failure").get("message") or "")  # type: ignore[union-attr]
    nowhere = headgate_here("test", "-f", str(EXAMPLES), "--junit", str(tmp_path / "no" / "r.xml"))
    assert nowhere.returncode == 1
