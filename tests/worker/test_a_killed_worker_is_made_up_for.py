"""Promise: a worker killed at any point leaves nothing that a reader sees, and its work is finished once."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from headgate.model.secrets import Secret
from headgate.settings.server import HANDOVER, Settings
from headgate.store import ledger
from tests.openings import opened
from tests.real.server import environment
from tests.worker.dying import POINTS
from tests.worker.stand import QUICK, Stand, leaks, seen, standing
from tests.worker.times import Clock

pytestmark = [
    pytest.mark.spark,
    pytest.mark.real,
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning"),
]

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def stand(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stand]:
    folder = tmp_path_factory.mktemp("stand")
    with standing(folder, f"sqlite:///{folder}/store.db") as stand:
        yield stand


def worker(stand: Stand, point: str) -> "subprocess.CompletedProcess[str]":
    """A worker process of its own, until it ends."""
    settings = Settings(
        home=str(stand.folder),
        store=Secret(str(stand.store.url)),
        warehouse=f"{stand.folder}/warehouse",
        openings=opened(stand.folder),
        spark_master="local[1]",
        spark_memory="1g",
        spark_options={"spark.driver.extraJavaOptions": QUICK},
    )
    return subprocess.run(
        [sys.executable, "-m", "tests.worker.dying", point],
        env=environment(**{HANDOVER: settings.handed_over()}),
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


@pytest.mark.parametrize("point", list(POINTS))
def test_killed_at(point: str, stand: Stand, shared_spark: Any, clock: Clock) -> None:
    rows = stand.table(point, 2)
    assert stand.waits(point)
    ended = worker(stand, point)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    assert not leaks(ended.stdout + ended.stderr)

    finished = point == "after_commit"
    written = stand.lying(point)
    assert bool(written) == (point != "before_write"), "it died where it should"
    states = {row.state for row in stand.entries(point)}
    assert states == ({ledger.MADE} if finished else {ledger.MAKING})
    if not finished:
        assert stand.waits(point), "a reader sees nothing of what the dead one did"
        assert stand.finish(shared_spark) == 0, "as long as it may be alive, nobody takes its work"
        clock.forward(ledger.LEASE + timedelta(seconds=1))

    assert stand.finish(shared_spark) == (0 if finished else 1)
    assert stand.rows(point) == seen(rows)
    assert [row.state for row in stand.entries(point)] == [ledger.MADE] * 2
    left = stand.lying(point) - stand.recorded(point)
    assert left == (set() if finished else written), "what the dead one wrote is named by nothing"
    assert stand.finish(shared_spark) == 0, "and nothing is done twice"


def test_spark_killed_in_the_middle_of_a_job_is_started_again(stand: Stand) -> None:
    rows = stand.table("jvm", 2)
    assert stand.waits("jvm")
    ended = worker(stand, "jvm")
    assert ended.returncode == 0, ended.stderr
    assert "Spark is gone" in ended.stdout + ended.stderr
    assert not leaks(ended.stdout + ended.stderr)
    assert {(row.state, row.attempts) for row in stand.entries("jvm")} == {(ledger.MADE, 2)}
    assert stand.rows("jvm") == seen(rows)
    assert stand.lying("jvm") == stand.recorded("jvm"), "a job that failed deletes what it wrote"
