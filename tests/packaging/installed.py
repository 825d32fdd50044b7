"""Headgate as people install it: the wheel of this tree, in an environment that has nothing of an extra."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.environments import BARE, DEPLOYING, install_wheel, python_of
from tests.peers import ROOT, program
from tests.real.server import Result


def clean(**more: str) -> dict[str, str]:
    """An environment of a machine that knows nothing of this tree."""
    kept = {key: os.environ[key] for key in ("PATH", "LANG", "TMPDIR") if key in os.environ}
    return {**kept, "PYTHONUNBUFFERED": "1", **more}


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built as a release is. Its build needs no network: what builds it is in the environment of the tools."""
    made = tmp_path_factory.mktemp("wheel")
    tools = python_of(DEPLOYING)
    uv = program("uv", "install uv")
    quiet = ("--wheel", "--quiet", "--offline", "--no-build-isolation", "--no-config")
    subprocess.run(
        [uv, "build", *quiet, "--python", tools, "-o", made, ROOT],
        check=True,
        timeout=300,
        env=_building(tools),
    )
    (built,) = made.glob("*.whl")
    return built


def _building(tools: Path) -> dict[str, str]:
    return clean(VIRTUAL_ENV=str(tools.parents[1]))


class Installed:
    """The command of an environment with the wheel in it."""

    def __init__(self, python: Path) -> None:
        self.python = python
        self.command = python.parent / "headgate"

    def run(self, *words: str | Path, **env: str) -> Result:
        return self._ran([self.command, *words], env)

    def python_says(self, code: str) -> Result:
        return self._ran([self.python, "-I", "-c", code], {})

    def _ran(self, words: list[str | Path], env: dict[str, str]) -> Result:
        ran = subprocess.run(
            [str(word) for word in words],
            capture_output=True,
            text=True,
            timeout=200,
            env=clean(**env),
            check=False,
        )
        return Result(ran.returncode, ran.stdout, ran.stderr)


@pytest.fixture(scope="session")
def installed(wheel: Path) -> Installed:
    """The wheel in the clean environment. Everything else that is there came from the lock file, without extras."""
    python = python_of(BARE)
    install_wheel(python, wheel)
    return Installed(python)
