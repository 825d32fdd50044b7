"""A real server process and clients that take their time: their connections end, and nobody else waits for them."""

import resource
import selectors
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import httpx
import pytest

from headgate.doors.connections import BODY, HEAD, MOST
from tests.real.server import COMMAND, RunningServer, running

pytestmark = pytest.mark.real

POST = b"POST /api/metalakes HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
SLACK = 60.0
"""Seconds that a busy machine may be late."""
LONGER = 6.0
"""Seconds by which a steady client outlasts what is allowed to a slow one."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with running(tmp_path_factory.mktemp("home"), "--dev", "--no-worker") as server:
        yield server


def connect(server: RunningServer) -> socket.socket:
    url = httpx.URL(server.url)
    return socket.create_connection((url.host, url.port or 80), timeout=60)


def open_after(connections: list[socket.socket], seconds: float) -> int:
    """How many of them the server has not closed after so long."""
    with selectors.DefaultSelector() as selector:
        for one in connections:
            one.setblocking(False)
            selector.register(one, selectors.EVENT_READ)
        until = time.monotonic() + seconds
        while selector.get_map() and time.monotonic() < until:
            for key, _ in selector.select(until - time.monotonic()):
                try:
                    gone = not key.fileobj.recv(65536)  # type: ignore[union-attr]
                except OSError:
                    gone = True
                if gone:
                    selector.unregister(key.fileobj)
        return len(selector.get_map())


def test_a_crowd_of_slow_connections_keeps_nobody_out_and_ends(server: RunningServer) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))
    crowd = min(900, resource.getrlimit(resource.RLIMIT_NOFILE)[0] - 200)
    try:
        with ExitStack() as stack:
            slow = [stack.enter_context(connect(server)) for _ in range(crowd)]
            for number, one in enumerate(slow):
                # Some say nothing, some begin and stop, some promise a body.
                one.sendall(
                    [b"", b"GET /health/live HTTP/1.1\r\nHo", POST + b"Content-Length: 9\r\n\r\n{"][
                        number % 3
                    ]
                )
            for _ in range(5):
                assert httpx.get(server.url + "/health/live", timeout=60).status_code == 200
            assert open_after(slow, max(HEAD, BODY) + SLACK) == 0
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_head_that_comes_drop_by_drop_ends(server: RunningServer) -> None:
    openings = [
        (b"", b"\r\n"),
        (b"\r\n", b"\r\n"),
        (b"GET /health/live HTTP/1.1\r\nX-A: ", b"a"),
        (b"CLOSE / HTTP/1.1\r\nX-A: ", b"a"),
        (b"GET /health/live HTTP/1.1\r\nUpgrade: h2c\r\nX-A: ", b"a"),
    ]
    with ExitStack() as stack:
        dripping = {stack.enter_context(connect(server)): drop for _, drop in openings}
        for one, (opening, _) in zip(dripping, openings, strict=True):
            one.sendall(opening)
        began = time.monotonic()
        while still := [one for one in dripping if open_after([one], 0.2)]:
            assert time.monotonic() - began < HEAD + SLACK, "it is still open"
            for one in still:
                with suppress(OSError):
                    one.sendall(dripping[one])


def test_a_body_that_comes_drop_by_drop_ends_and_a_steady_one_does_not(server: RunningServer) -> None:
    with connect(server) as slow, connect(server) as steady:
        for one in (slow, steady):
            one.sendall(POST + b"Authorization: Basic YWRtaW46\r\nTransfer-Encoding: chunked\r\n\r\n")
        began = time.monotonic()
        # Faster than it must be, for longer than a slow one may take.
        part = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
        ended: float | None = None
        while (gone := time.monotonic() - began) < BODY + LONGER or ended is None:
            assert gone < BODY + SLACK, "the slow one is still open"
            steady.sendall(part)
            if ended is None:
                try:
                    slow.sendall(b"1\r\n \r\n")
                    ended = None if open_after([slow], 0.5) else time.monotonic() - began
                except OSError:
                    ended = time.monotonic() - began
            time.sleep(0.5)
        steady.setblocking(True)
        steady.sendall(b'10\r\n{"name":"steady"\r\n1\r\n}\r\n0\r\n\r\n')
        assert steady.recv(65536).startswith(b"HTTP/1.1 200")


def test_a_connection_that_was_used_may_be_used_again_later(server: RunningServer) -> None:
    with httpx.Client(base_url=server.url) as client:
        assert client.get("/health/live").status_code == 200
        time.sleep(HEAD + 3)
        assert client.get("/health/live").status_code == 200
        assert len(client._transport._pool.connections) == 1  # type: ignore[attr-defined]


def _taken(connection: socket.socket, part: bytes) -> int:
    """How many bytes the server and the buffers in between take before the connection is closed."""
    for number in range(1 << 14):
        try:
            connection.sendall(part)
        except OSError:
            return number * len(part)
    return (1 << 14) * len(part)


def test_a_head_without_end_is_refused(server: RunningServer) -> None:
    with connect(server) as endless:
        endless.sendall(b"GET /health/live HTTP/1.1\r\nX-A: ")
        assert _taken(endless, b"a" * 65536) < 64 << 20
    assert httpx.get(server.url + "/health/live").status_code == 200


def test_who_proved_nothing_is_not_listened_to_for_long(server: RunningServer) -> None:
    with connect(server) as endless:
        endless.sendall(POST + b"Transfer-Encoding: chunked\r\n\r\n")
        assert _taken(endless, b"10000\r\n" + b" " * 0x10000 + b"\r\n") < 64 << 20


def test_more_connections_than_a_process_takes_push_out_the_idle(tmp_path: Path) -> None:
    few = ["sh", "-c", 'ulimit -n 256; exec "$@"', "sh", *COMMAND]
    with running(tmp_path, "--dev", "--no-worker", command=few) as server, ExitStack() as stack:
        crowd = [stack.enter_context(connect(server)) for _ in range(min(400, MOST))]
        for _ in range(5):
            assert httpx.get(server.url + "/health/ready", timeout=60).status_code == 200
        until = time.monotonic() + SLACK
        while (kept := open_after(crowd, 2)) > 128:
            assert time.monotonic() < until, kept
        assert kept > 0
        assert "too many connections" in server.log.read_text()


def test_a_full_log_disk_fails_no_request(tmp_path: Path) -> None:
    full = ["sh", "-c", 'exec "$@" 2>/dev/full', "sh", *COMMAND]
    with running(tmp_path, "--dev", "--no-worker", command=full) as server:
        for number in range(20):
            server.must("admin", "POST", "/api/metalakes", {"name": f"lake{number}"})
        text = server.ask("admin", "GET", "/metrics").text
        lost = next(line for line in text.splitlines() if line.startswith("headgate_log_lines_lost_total"))
        assert float(lost.split()[1]) >= 20
    assert server.process.returncode == 0
