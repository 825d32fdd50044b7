"""The wheel is built and installed once for all that is asked of it."""

import fcntl
import os
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
    stamp, run = python.parent / "wheel-of", os.environ.get("PYTEST_XDIST_TESTRUNUID", "")
    # All workers of a run use one environment: whoever comes first puts the wheel into it, and nobody after that.
    with (python.parent / "wheel-lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not run or not stamp.exists() or stamp.read_text() != run:
            install_wheel(python, wheel)
            stamp.write_text(run)
    return Installed(python)
