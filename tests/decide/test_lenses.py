"""One file per rule of lenses: what each person sees of a table, asserted on sample rows."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from headgate.decide.trials.trial import World
from headgate.decide.trials.trial_cases import TrialCase, failures, read_cases
from headgate.language.policies.documents import load

FILES = sorted((Path(__file__).parent / "lenses").glob("*.yaml"))


def read(file: Path) -> tuple[World, tuple[TrialCase, ...]]:
    described: dict[str, Any] = yaml.safe_load(file.read_text())
    world = World.of(described["lake"]).governed_by(load(described["policies"], file.name))
    return world, read_cases(described["tests"])


CASES = [(file, case.test) for file in FILES for case in read(file)[1]]


@pytest.mark.parametrize(("file", "test"), CASES, ids=[f"{f.stem}: {t}" for f, t in CASES])
def test_scenario(file: Path, test: str) -> None:
    world, cases = read(file)
    case = next(case for case in cases if case.test == test)
    assert failures(world, case) == []


@pytest.mark.parametrize("file", FILES, ids=[file.stem for file in FILES])
def test_without_its_policies_every_file_fails(file: Path) -> None:
    described = yaml.safe_load(file.read_text())
    bare = World.of(described["lake"])
    told = [failures(bare, case) for case in read_cases(described["tests"])]
    assert any(told), "a scenario that passes without policies shows nothing"
