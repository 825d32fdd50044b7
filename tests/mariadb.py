"""A real MariaDB for tests: started in a folder of its own as an ordinary user, and gone afterwards.

`mariadb_server` gives a running server, to every test by `tests/conftest.py`; `running()` is for use outside of pytest.
"""

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pymysql
import pytest

from tests.peers import lacking
from tests.postgres import free_port

_UNPRIVILEGED = ("mysql", "nobody")


class NotStarted(Exception):
    """There is no such server here, or it does not start."""


class Server(msgspec.Struct, frozen=True):
    """Where a server listens, and its administrator."""

    port: int
    user: str = "headgate"
    password: str = "headgate"

    def connect(self, user: str | None = None, password: str | None = None) -> "pymysql.Connection[Any]":
        return pymysql.connect(
            host="127.0.0.1",
            port=self.port,
            user=user or self.user,
            password=self.password if user is None else (password or ""),
            autocommit=True,
        )


def _binaries() -> tuple[str, str]:
    path = f"{os.environ.get('PATH', '')}:/usr/sbin"
    server, install = shutil.which("mariadbd", path=path), shutil.which("mariadb-install-db", path=path)
    if not server or not install:
        raise NotStarted("no mariadbd: install Debian's package 'mariadb-server'")
    return server, install


def _as_ordinary_user(folder: Path) -> list[str]:
    if os.geteuid() != 0:
        return []
    for user in _UNPRIVILEGED:
        try:
            shutil.chown(folder, user)
        except LookupError:
            continue
        return ["runuser", "-u", user, "--"]
    raise NotStarted("no unprivileged user to run MariaDB as")


@contextmanager
def running() -> Iterator[Server]:
    """A MariaDB server on loopback."""
    program, install = _binaries()
    folder = Path(tempfile.mkdtemp(prefix="headgate-mariadb-"))
    process: subprocess.Popen[bytes] | None = None
    try:
        become = _as_ordinary_user(folder)
        folder.chmod(0o755)
        server = Server(free_port())
        init = folder / "init.sql"
        init.write_text(
            f"CREATE USER IF NOT EXISTS '{server.user}'@'127.0.0.1' IDENTIFIED BY '{server.password}';\n"
            f"GRANT ALL PRIVILEGES ON *.* TO '{server.user}'@'127.0.0.1' WITH GRANT OPTION;\n"
        )
        # The server's user reads it, whatever umask this process has.
        init.chmod(0o644)
        subprocess.run(
            [
                *become,
                install,
                "--no-defaults",
                f"--datadir={folder}/data",
                "--auth-root-authentication-method=normal",
                "--skip-test-db",
            ],
            check=True,
            capture_output=True,
            cwd=folder,
            timeout=120,
        )
        process = subprocess.Popen(
            [
                *become,
                program,
                "--no-defaults",
                f"--datadir={folder}/data",
                # Its own: several servers would share the machine's, and its names.
                f"--tmpdir={folder}",
                f"--port={server.port}",
                "--bind-address=127.0.0.1",
                f"--socket={folder}/socket",
                f"--init-file={init}",
                "--skip-name-resolve",
                "--innodb-flush-log-at-trx-commit=0",
                "--innodb-buffer-pool-size=32M",
            ],
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        wait_for("MariaDB", server, process)
        yield server
    finally:
        if process is not None:
            process.terminate()
            process.wait(30)
        shutil.rmtree(folder, ignore_errors=True)


def wait_for(what: str, server: Server, process: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + 180
    while True:
        try:
            server.connect().close()
            return
        except pymysql.Error:
            if process.poll() is not None or time.monotonic() > deadline:
                raise NotStarted(f"{what} did not start") from None
            time.sleep(0.1)


@pytest.fixture(scope="session")
def mariadb_server() -> Iterator[Server]:
    server = running()
    try:
        address = server.__enter__()
    except NotStarted as reason:
        lacking("MariaDB", reason)
        return
    yield address
    server.__exit__(None, None, None)
