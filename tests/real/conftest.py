"""Real clients of somebody else's, each in an environment of its own, and a real server for them."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.postgres import postgres_server, postgres_url, store_url
from tests.real.server import running

__all__ = ["duckdb_python", "gravitino_python", "postgres_server", "postgres_url", "server", "store_url"]

ROOT = Path(__file__).parents[2]
GRAVITINO = "apache-gravitino==1.3.1"
DUCKDB = ["duckdb==1.5.5", *(f"duckdb-extension-{name}==1.5.5" for name in ("iceberg", "avro", "httpfs"))]


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
    with running(tmp_path, "--dev") as server:
        yield server.url


@pytest.fixture(scope="session")
def duckdb_python() -> Path:
    """The Python of an environment that has DuckDB and its extensions; made once and kept."""
    home = ROOT / ".cache" / "duckdb-client"
    python, complete = home / "bin" / "python", home / "duckdb-1.5.5"
    if not complete.exists():
        uv = shutil.which("uv")
        assert uv is not None, "uv makes the environment of the client: install uv"
        subprocess.run([uv, "venv", "-q", "--clear", "--python", sys.executable, home], check=True)
        subprocess.run([uv, "pip", "install", "-q", "--python", python, *DUCKDB], check=True)
        complete.touch()
    return python
