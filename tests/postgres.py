"""A real PostgreSQL for tests: started in a folder of its own as an ordinary user, and gone afterwards.

`postgres_server` gives the address of the running server; `postgres_url` gives the URL of a new, empty database in it.
Every test has both by `tests/conftest.py`; `running()` is for use outside of pytest.
"""

import os
import secrets
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from tests.peers import lacking

_UNPRIVILEGED = ("postgres", "nobody")


class NoPostgres(Exception):
    """There is no PostgreSQL here."""


def _binaries() -> Path:
    """The folder of initdb and pg_ctl; Debian keeps them out of the path."""
    found = shutil.which("initdb")
    if found:
        return Path(found).resolve().parent
    folders = sorted(
        Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda p: int(p.parent.parent.name)
    )
    if folders:
        return folders[-1].parent
    raise NoPostgres("no initdb: install Debian's package 'postgresql'")


def _as_ordinary_user(folder: Path) -> list[str]:
    """PostgreSQL refuses to run as root: the words before a command that make it somebody else's."""
    if os.geteuid() != 0:
        return []
    for user in _UNPRIVILEGED:
        try:
            shutil.chown(folder, user)
        except LookupError:
            continue
        return ["runuser", "-u", user, "--"]
    raise NoPostgres("no unprivileged user to run PostgreSQL as")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Postgres:
    """A server that can be stopped, as a power cut would, and started again."""

    def __init__(self, folder: Path) -> None:
        self._binaries = _binaries()
        self._become = _as_ordinary_user(folder)
        self._folder = folder
        self._port = free_port()
        self.address = f"headgate@127.0.0.1:{self._port}"
        self._run("initdb", "-U", "headgate", "-A", "trust", "-E", "UTF8", "--no-sync")

    def start(self) -> None:
        options = f"-p {self._port} -k {self._folder} -c listen_addresses=127.0.0.1 -c fsync=off"
        options += " -c max_connections=200"
        self._run("pg_ctl", "-w", "-l", str(self._folder / "log"), "-o", options, "start")

    def stop(self) -> None:
        self._run("pg_ctl", "-w", "-m", "immediate", "stop")

    def _run(self, program: str, *arguments: str) -> None:
        subprocess.run(
            [*self._become, str(self._binaries / program), "-D", str(self._folder / "data"), *arguments],
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=self._folder,
            timeout=120,
        )


@contextmanager
def stoppable() -> Iterator[Postgres]:
    """A PostgreSQL server of the test's own."""
    folder = Path(tempfile.mkdtemp(prefix="headgate-pg-"))
    try:
        server = Postgres(folder)
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def running() -> Iterator[str]:
    """A PostgreSQL server on loopback; gives ``headgate@127.0.0.1:port``."""
    with stoppable() as server:
        yield server.address


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    server = running()
    try:
        address = server.__enter__()
    except NoPostgres as reason:
        lacking("PostgreSQL", reason)
        return
    yield address
    server.__exit__(None, None, None)


def new_database(address: str) -> str:
    """The URL of a new, empty database."""
    name = f"t{secrets.token_hex(6)}"
    with psycopg.connect(f"postgresql://{address}/postgres", autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
    return f"postgresql://{address}/{name}"


@pytest.fixture
def postgres_url(postgres_server: str) -> str:
    return new_database(postgres_server)


@pytest.fixture(params=["sqlite", "postgresql"])
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty store, once on SQLite and once on PostgreSQL."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/store.db"
    url: str = request.getfixturevalue("postgres_url")
    return url
