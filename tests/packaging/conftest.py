"""The wheel is built and installed once for all that is asked of it."""

import subprocess
from pathlib import Path

import pytest

from tests.environments import BARE, DEPLOYING, install_wheel, python_of
from tests.packaging.installed import Installed, clean
from tests.peers import ROOT, program


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built as a release is. Its build needs no network: what builds it is in the environment of the tools."""
    made = tmp_path_factory.mktemp("wheel")
    tools = python_of(DEPLOYING)
    uv = program("uv", "install uv")
    quiet = ("--wheel", "--quiet", "--offline", "--no-build-isolation", "--no-config")
    build = [uv, "build", *quiet, "--python", tools, "-o", made, ROOT]
    subprocess.run(build, check=True, timeout=300, env=clean(VIRTUAL_ENV=str(tools.parents[1])))
    (built,) = made.glob("*.whl")
    return built


@pytest.fixture(scope="session")
def installed(wheel: Path) -> Installed:
    """The wheel in the clean environment. Everything else that is there came from the lock file, without extras."""
    python = python_of(BARE)
    install_wheel(python, wheel)
    return Installed(python)
