"""`headgate test`: tests of policies, on a lake that is described and not there."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headgate.cli.command import ReportOutput, verbs
from headgate.cli.failure import Failure, Usage
from headgate.cli.junit import JunitCase, as_junit, keep
from headgate.cli.output import Format, ReportFormat, done, show
from headgate.cli.policies import documents

if TYPE_CHECKING:
    from headgate.language.policies.policy import Policy

app = verbs()

Tests = Annotated[
    list[Path] | None,
    typer.Argument(help="Files of tests, or folders of *.test.yaml; else those beside the policies."),
]
Policies = Annotated[Path | None, typer.Option("-f", "--from", help="The policies: a folder or a file.")]
Junit = Annotated[Path | None, typer.Option("--junit", help="Also write a JUnit report to this file.")]


@app.command("test")
def run_tests(
    tests: Tests = None,
    source: Policies = None,
    junit: Junit = None,
    output: ReportOutput = ReportFormat.TABLE,
) -> None:
    """Run tests of policies: as this person, in these circumstances, the table shows this. Needs no server."""
    policies = () if source is None else _policies(documents.read(source)["files"])
    format = Format(output)
    results: list[dict[str, str]] = []
    for file in _files(tests or ([source] if source is not None and source.is_dir() else [])):
        results += _run(file, policies)
    wrong = [result for result in results if result["result"] != "passed"]
    keep(_report(results), junit)
    if format is Format.JUNIT:
        print(_report(results), end="")
    elif format is Format.TABLE and not wrong:
        done(f"{len(results)} tests passed", None, format)
    else:
        show(results if format is not Format.TABLE else wrong, ("file", "test", "result"), format)
    if wrong:
        raise Failure(f"{len(wrong)} of {len(results)} tests failed", "'result' says what was seen instead")
    if not results:
        raise Usage("there are no tests", "write some under 'tests:'; docs/policies.md says how")


def _report(results: list[dict[str, str]]) -> str:
    """One suite for each file, one case for each test."""
    files: dict[str, list[JunitCase]] = {}
    for result in results:
        failure = "" if result["result"] == "passed" else result["result"]
        case = JunitCase(result["file"], result["test"], "failure" if failure else "", failure)
        files.setdefault(result["file"], []).append(case)
    return as_junit(files.items())


def _files(named: list[Path]) -> list[Path]:
    found: list[Path] = []
    for path in named:
        if path.is_dir():
            found += sorted(path.rglob("*.test.yaml"))
        elif path.is_file():
            found.append(path)
        else:
            raise Usage(f"{path} is not there", "name a file of tests, or a folder with *.test.yaml")
    return found


def _run(file: Path, policies: tuple["Policy", ...]) -> list[dict[str, str]]:
    # Only this command decides by itself; the others start faster without these rooms.
    from headgate.decide.trials.trial import World
    from headgate.decide.trials.trial_cases import failures, read_cases

    described = _described(file)
    own = described.get("policies")
    if own is not None:
        policies = (*policies, *_read([(str(file), str(own))]))
    world = World.of(described["lake"]).governed_by(policies)
    return [
        {"file": str(file), "test": case.test, "result": "; ".join(failures(world, case)) or "passed"}
        for case in read_cases(described["tests"])
    ]


def _described(file: Path) -> dict[str, Any]:
    import yaml

    try:
        described = yaml.safe_load(documents.text(file))
    except yaml.YAMLError as error:
        raise Usage(f"{file} is not YAML: {error}", "check the indentation") from None
    if not isinstance(described, dict) or not {"lake", "tests"} <= described.keys():
        raise Usage(f"{file} holds no tests", "describe the lake under 'lake:' and the tests under 'tests:'")
    return described


def _policies(files: list[dict[str, str]]) -> tuple["Policy", ...]:
    return _read([(file["file"], file["text"]) for file in files])


def _read(files: list[tuple[str | None, str]]) -> tuple["Policy", ...]:
    from headgate.language.errors import LanguageError
    from headgate.language.policies.documents import load_all

    try:
        return load_all(files)
    except LanguageError as error:
        raise Usage(str(error), "correct the policy") from None
