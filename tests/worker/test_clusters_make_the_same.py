"""Promise: on a cluster and through Spark Connect the same jobs make the same, also when a part of Spark dies."""

import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from headgate.store import ledger
from tests.postgres import free_port
from tests.real.server import COMMAND, environment
from tests.worker.spark_servers import cluster, connect_server
from tests.worker.stand import QUICK, Stand, leaks, seen, standing

pytestmark = [
    pytest.mark.real,
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning"),
]

SPARK = f"""\
[spark]
memory = "1g"
[spark.options]
"spark.driver.host" = "127.0.0.1"
"spark.driver.bindAddress" = "127.0.0.1"
"spark.driver.extraJavaOptions" = "{QUICK}"
"spark.executor.extraJavaOptions" = "{QUICK}"
"spark.executor.memory" = "600m"
"""


@pytest.fixture(scope="module")
def stand(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stand]:
    folder = tmp_path_factory.mktemp("stand")
    (folder / "spark.toml").write_text(SPARK)
    (folder / "plain.toml").write_text("")
    with standing(folder, f"sqlite:///{folder}/headgate.db") as stand:
        yield stand


@contextmanager
def worker(stand: Stand, config: str, *flags: str) -> Iterator[Path]:
    """`headgate worker`, told to stop in the end; its log."""
    log = stand.folder / f"worker{len(list(stand.folder.glob('worker*')))}.log"
    command = [
        *COMMAND,
        "worker",
        "--home",
        str(stand.folder),
        "--config",
        str(stand.folder / config),
        *flags,
    ]
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out, env=environment())
    try:
        yield log
        process.send_signal(signal.SIGTERM)
        assert process.wait(120) == 0, log.read_text()
        assert not leaks(log.read_text())
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def until(true: Callable[[], Any], log: Path) -> None:
    ends = time.monotonic() + 300
    while not true():
        assert time.monotonic() < ends, log.read_text()
        time.sleep(0.02)


def states(stand: Stand, name: str) -> set[str]:
    return {row.state for row in stand.entries(name)}


def truth(stand: Stand, name: str) -> list[Any]:
    """What is known of copies but for where they lie."""
    return sorted(
        (f.records, sorted(f.metrics.lower_bounds.items())) for c in stand.copies(name) for f in c.files
    )


def test_a_cluster_that_loses_a_worker_makes_the_same(stand: Stand, shared_spark: Any) -> None:
    rows = stand.table("here", 12)
    assert stand.waits("here")
    stand.finish(shared_spark)
    stand.table("there", 12)
    stand.table("later", 12)
    assert stand.waits("there")
    with (
        cluster(stand.folder / "cluster") as spark,
        worker(stand, "spark.toml", "--spark-master", spark.url) as log,
    ):
        until(lambda: states(stand, "there") == {ledger.MADE}, log)
        assert stand.waits("later")
        until(lambda: stand.lying("later"), log)
        spark.workers[0].kill()
        assert states(stand, "later") == {ledger.MAKING}, "it is in the middle"
        until(lambda: states(stand, "later") == {ledger.MADE}, log)
    for name in ("here", "there", "later"):
        assert stand.rows(name) == seen(rows)
        assert len(stand.copies(name)) == 12
        assert truth(stand, name) == truth(stand, "here")
    assert {row.attempts for row in stand.entries("later")} == {1}, "Spark itself made up for it"


def test_spark_connect_makes_the_same_and_is_found_again(stand: Stand) -> None:
    rows = stand.table("connected", 2)
    apart = stand.table("merged", 2, by=3)
    port = free_port()
    server = connect_server(stand.folder / "connect", port)
    try:
        assert stand.waits("connected")
        with worker(stand, "plain.toml", "--spark-remote", f"sc://127.0.0.1:{port}") as log:
            until(lambda: states(stand, "connected") == {ledger.MADE}, log)
            assert stand.rows("connected") == seen(rows)
            assert stand.waits("merged")
            until(lambda: states(stand, "merged") == {ledger.MADE}, log)
            assert stand.rows("merged") == seen(apart)
            assert [len(copy.files) for copy in stand.copies("merged")] == [1, 1], "emails cut no file"
            server.kill()
            server = connect_server(stand.folder / "connect", port)
            rows += stand.append("connected", rows[:3])
            assert stand.waits("connected")
            until(lambda: states(stand, "connected") == {ledger.MADE}, log)
    finally:
        server.kill()
    assert sorted(stand.rows("connected"), key=repr) == sorted(seen(rows), key=repr)
