"""Promise: a server's worker lives and dies with it, costs nothing while nobody needs it, and what a killed server was asked
is answered by the next."""

import os
import signal
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.real.server import RunningServer, running
from tests.worker.stand import ICE, QUICK, Stand, leaks, path_of, seen, standing

pytestmark = [
    pytest.mark.real,
    pytest.mark.spark,
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning"),
]


@pytest.fixture(scope="module")
def stand(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stand]:
    folder = tmp_path_factory.mktemp("stand")
    options = f'"spark.driver.extraJavaOptions" = "{QUICK}"'
    spark = f'[spark]\nmaster = "local[1]"\nmemory = "1g"\noptions = {{ {options} }}\n'
    (folder / "headgate.toml").write_text(spark)
    with standing(folder, f"sqlite:///{folder}/headgate.db") as stand:
        yield stand


def below(pid: int) -> dict[int, str]:
    """The processes that a process started, and those that they did, with their commands."""
    parents: dict[int, int] = {}
    commands: dict[int, str] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            stat = (folder / "stat").read_text()
            commands[int(folder.name)] = (folder / "cmdline").read_text().replace("\0", " ")
        except OSError:
            continue
        state, parent = stat.rpartition(")")[2].split()[:2]
        if state != "Z":
            parents[int(folder.name)] = int(parent)
    found: dict[int, str] = {}
    waiting = {pid}
    while waiting:
        waiting = {child for child, parent in parents.items() if parent in waiting}
        found |= {child: commands[child] for child in waiting}
    return found


def workers(server: RunningServer) -> set[int]:
    return {pid for pid, command in below(server.process.pid).items() if "headgate.worker" in command}


def jvms(server: RunningServer) -> set[int]:
    return {pid for pid, command in below(server.process.pid).items() if "java" in command.split(" ")[0]}


def until(true: Callable[[], Any], seconds: float = 300) -> None:
    ends = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < ends, "it never came to be"
        time.sleep(0.2)


def is_there(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_it_comes_back_when_it_dies_works_when_asked_and_ends_with_its_server(stand: Stand) -> None:
    rows = stand.table("supervised", 1)
    server = RunningServer(stand.folder, "--dev")
    try:
        until(lambda: workers(server))
        (first,) = workers(server)
        os.kill(first, signal.SIGKILL)
        until(lambda: workers(server) - {first})
        assert jvms(server) == set(), "nobody has asked for anything that needs Spark"
        until(lambda: server.ask("ann", "GET", f"{ICE}/supervised").status_code == 200)
        assert stand.rows("supervised") == seen(rows)
        assert jvms(server)
        started = below(server.process.pid)
        server.process.kill()
        server.process.wait()
        until(lambda: not any(is_there(pid) for pid in started))
    finally:
        server.kill()
    log = server.log.read_text()
    assert "copies made" in log
    assert not leaks(log)


def test_a_plan_of_a_killed_server_goes_on_in_the_next(stand: Stand, shared_spark: Any) -> None:
    stand.table("planned", 1)
    server = RunningServer(stand.folder, "--dev", "--no-worker")
    try:
        assert workers(server) == set()
        submitted = server.ask("ann", "POST", f"{ICE}/planned/plan", {}).json()
        assert submitted["status"] == "submitted"
    finally:
        server.kill()
    with sqlite3.connect(stand.folder / "headgate.db") as store:
        # As if the time had passed after which a silent process is taken to be gone.
        store.execute("UPDATE plans SET until = '2020-01-01T00:00:00.000Z'")
    store.close()
    with running(stand.folder, "--dev", "--no-worker") as again:
        path = f"{ICE}/planned/plan/{submitted['plan-id']}"
        assert again.ask("ann", "GET", path).json()["status"] == "submitted"
        assert again.ask("bob", "GET", path).status_code == 404

        def done() -> bool:
            # The plan that is taken up again may ask for its copies at any time.
            stand.finish(shared_spark)
            return bool(again.ask("ann", "GET", path).json()["status"] != "submitted")

        until(done)
        answer = again.ask("ann", "GET", path)
        assert answer.json()["status"] == "completed", answer.text
        files = {task["data-file"]["file-path"] for task in answer.json()["file-scan-tasks"]}
        assert {path_of(file) for file in files} == stand.recorded("planned")
        assert again.stop() == 0
    assert "plan taken over" in again.log.read_text()
