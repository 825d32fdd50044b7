"""Real Spark servers from the pyspark package: a standalone cluster, and Spark Connect; gone afterwards."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pyspark

from headgate.pipelines.needs import RUNTIME, SQLITE
from tests.postgres import free_port
from tests.worker.stand import QUICK

HOME = Path(pyspark.__file__).parent


class SparkProcess:
    """One JVM, and those that it starts."""

    def __init__(self, log: Path, *command: str) -> None:
        self.log = log
        with log.open("ab") as out:
            self.process = subprocess.Popen(
                [str(HOME / "bin" / "spark-class"), *command],
                stdout=out,
                stderr=out,
                env={**os.environ, "SPARK_HOME": str(HOME), "SPARK_DAEMON_JAVA_OPTS": QUICK},
                cwd=log.parent,
                start_new_session=True,
            )

    def wait_for(self, text: str) -> None:
        ends = time.monotonic() + 240
        while text not in self.log.read_text(errors="replace"):
            assert self.process.poll() is None, self.log.read_text()[-2000:]
            assert time.monotonic() < ends, self.log.read_text()[-2000:]
            time.sleep(0.1)

    def kill(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


class Cluster:
    """A master and two workers of one core each."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        port = free_port()
        deploy = "org.apache.spark.deploy"
        address = ("--host", "127.0.0.1", "--port")
        self.url = f"spark://127.0.0.1:{port}"
        self.master = SparkProcess(
            folder / "master.log", f"{deploy}.master.Master", *address, str(port), "--webui-port", "0"
        )
        self.workers = [
            SparkProcess(
                folder / f"worker-{n}.log",
                f"{deploy}.worker.Worker",
                *address,
                "0",
                *("--webui-port", "0", "--cores", "1", "--memory", "1g", "--work-dir", str(folder / f"w{n}")),
                self.url,
            )
            for n in range(2)
        ]
        for worker in self.workers:
            worker.wait_for("Successfully registered with master")

    def close(self) -> None:
        for process in (*self.workers, self.master):
            process.kill()


@contextmanager
def cluster(folder: Path) -> Iterator[Cluster]:
    started = Cluster(folder)
    try:
        yield started
    finally:
        started.close()


def connect_server(folder: Path, port: int, packages: Sequence[str] = (RUNTIME, SQLITE)) -> SparkProcess:
    """A Spark Connect server with what jobs need, on local disks unless `packages` say more."""
    folder.mkdir(parents=True, exist_ok=True)
    server = SparkProcess(
        folder / "connect.log",
        "org.apache.spark.deploy.SparkSubmit",
        *("--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "--master", "local[1]"),
        *("--packages", ",".join(packages), "--driver-memory", "1g", "--driver-java-options", QUICK),
        *("--conf", f"spark.connect.grpc.binding.port={port}"),
        *("--conf", "spark.connect.grpc.binding.address=127.0.0.1", "--conf", "spark.ui.enabled=false"),
        "spark-internal",
    )
    ends = time.monotonic() + 240
    while not _answers(port):
        assert server.process.poll() is None, server.log.read_text()[-2000:]
        assert time.monotonic() < ends, server.log.read_text()[-2000:]
        time.sleep(0.2)
    return server


_QUESTION: Final = """
import sys
from headgate.pipelines.needs import NO_TABLES
from headgate.pipelines.session import SparkSettings, open_session
session = open_session(SparkSettings(remote=sys.argv[1], work=NO_TABLES))
assert session.range(1).collect()[0].id == 0
session.stop()
"""


def _answers(port: int) -> bool:
    """Whether a session is served: a port that is open may belong to a server that does not answer yet."""
    with socket.socket() as probe:
        if probe.connect_ex(("127.0.0.1", port)) != 0:
            return False
    asking = [sys.executable, "-c", _QUESTION, f"sc://127.0.0.1:{port}"]
    try:
        return subprocess.run(asking, capture_output=True, timeout=60).returncode == 0
    except subprocess.TimeoutExpired:
        return False
