"""Real clients of somebody else's, each in an environment of its own, and a real server for them."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GRAVITINO = "apache-gravitino==1.3.1"


@pytest.fixture(scope="session")
def gravitino_python() -> Path:
    """The Python of an environment that has the unmodified client; made once and kept."""
    home = ROOT / ".cache" / "gravitino-client"
    python, complete = home / "bin" / "python", home / GRAVITINO
    if not complete.exists():
        uv = shutil.which("uv")
        assert uv is not None, "uv makes the environment of the client: install uv"
        subprocess.run([uv, "venv", "-q", "--clear", "--python", sys.executable, home], check=True)
        subprocess.run([uv, "pip", "install", "-q", "--python", python, GRAVITINO], check=True)
        complete.touch()
    return python


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """The address of a real server with an empty store."""
    command = [sys.executable, "-m", "tests.real.server", str(tmp_path)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        assert address, "the server did not start"
        yield address
        process.terminate()
