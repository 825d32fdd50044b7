"""Starts the metastore, and gives its port as the fixture `hive_metastore`."""

import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.maven import jars, java
from tests.peers import Missing, lacking
from tests.postgres import free_port

_MAIN = "org.apache.hadoop.hive.metastore.HiveMetaStore"


_THREE = Path(__file__).parent / "pom.xml"
_LOCKS = Path(__file__).parent / "LockTables.java"
_FOUR = Path(__file__).parent / "four" / "pom.xml"


@contextmanager
def running(pom: Path = _THREE) -> Iterator[int]:
    """A Hive Metastore on loopback; gives its port."""
    classpath = f"{jars(pom)}/*"
    folder = Path(tempfile.mkdtemp(prefix="headgate-hive-"))
    port = free_port()
    settings = {
        "javax.jdo.option.ConnectionURL": f"jdbc:derby:{folder}/db;create=true",
        "metastore.warehouse.dir": f"file:{folder}/warehouse",
        "metastore.schema.verification": "false",
        "datanucleus.schema.autoCreateAll": "true",
        "metastore.thrift.bind.host": "127.0.0.1",
        "metastore.expression.proxy": "org.apache.hadoop.hive.metastore.DefaultPartitionExpressionProxy",
        # The defaults name a task that is not in the standalone jar.
        "metastore.task.threads.always": "org.apache.hadoop.hive.metastore.events.EventCleanerTask",
    }
    said = [word for name, value in settings.items() for word in ("--hiveconf", f"{name}={value}")]
    options = [
        "-Xmx512m",
        f"-Dderby.system.home={folder}",
        "-Dderby.system.durability=test",
        "--add-opens=java.base/java.net=ALL-UNNAMED",
    ]
    _make_lock_tables(classpath, folder)
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [java(), *options, "-cp", classpath, _MAIN, "-p", str(port), *said],
            cwd=folder,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        try:
            _wait(port, process, folder / "log")
            yield port
        finally:
            process.terminate()
            process.wait(30)
            shutil.rmtree(folder, ignore_errors=True)


def _make_lock_tables(classpath: str, folder: Path) -> None:
    """Without these a metastore answers everything but questions for locks."""
    quiet = f"-Dderby.stream.error.file={folder}/derby.log"
    subprocess.run([java(), quiet, "-cp", classpath, _LOCKS, f"{folder}/db"], cwd=folder, check=True)


def _wait(port: int, process: "subprocess.Popen[bytes]", log: Path) -> None:
    deadline = time.monotonic() + 180
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            if process.poll() is not None or time.monotonic() > deadline:
                raise Missing(f"the metastore did not start: {log.read_text()[-400:]}") from None
            time.sleep(0.2)


def _offered(pom: Path) -> Iterator[int]:
    server = running(pom)
    try:
        port = server.__enter__()
    except Missing as reason:
        lacking("a Hive Metastore", reason)
        raise
    yield port
    server.__exit__(None, None, None)


@pytest.fixture(scope="session")
def hive_metastore() -> Iterator[int]:
    """Version 3.1, for the whole run."""
    yield from _offered(_THREE)


@pytest.fixture(scope="session")
def hive_metastore_four() -> Iterator[int]:
    """Version 4.0, which lacks calls that version 3 still had."""
    yield from _offered(_FOUR)
