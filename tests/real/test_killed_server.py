"""A server that is killed in the middle of many writes loses none that it acknowledged, and leaves none half done."""

import threading
import time
from pathlib import Path

import httpx
import pytest

from tests.real.server import RunningServer, running

pytestmark = [pytest.mark.real, pytest.mark.slow]


def test_every_acknowledged_write_is_there_after_a_kill(tmp_path: Path, store_url: str) -> None:
    flags = ("--dev", "--store", store_url)
    server = RunningServer(tmp_path, *flags)
    server.must("admin", "POST", "/api/metalakes", {"name": "lake"})
    acknowledged: list[str] = []
    revisions: list[int] = []

    def writer(number: int) -> None:
        with httpx.Client(base_url=server.url, auth=("admin", ""), timeout=60) as client:
            for count in range(10_000):
                name = f"user-{number}-{count}"
                try:
                    answer = client.post("/api/metalakes/lake/users", json={"name": name})
                except httpx.HTTPError:
                    return
                assert answer.status_code == 200, answer.text
                acknowledged.append(name)
                revisions.append(int(answer.headers["Headgate-Revision"]))

    threads = [threading.Thread(target=writer, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + 180
    while len(acknowledged) < 60 and time.monotonic() < deadline:
        time.sleep(0.01)
    server.kill()
    for thread in threads:
        thread.join()
    assert len(acknowledged) >= 60
    with running(tmp_path, *flags) as again:
        found = set(again.must("admin", "GET", "/api/metalakes/lake/users")["names"])
        assert set(acknowledged) <= found
        # Beyond those, at most the one write of each writer whose answer did not arrive.
        assert len(found - set(acknowledged) - {"admin"}) <= len(threads)
        answer = again.ask("admin", "POST", "/api/metalakes/lake/users", {"name": "after"})
        assert answer.status_code == 200
        assert int(answer.headers["Headgate-Revision"]) > max(revisions)
