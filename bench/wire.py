"""A client that costs next to nothing: prepared requests over open connections, so that the server is what is measured.

A general HTTP client in Python needs longer for a request than the servers measured here need to answer it, and would
make all of them look alike.
"""

from __future__ import annotations

import gzip
import json
import selectors
import socket
import time
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

_CHUNK = 1 << 20


@dataclass(frozen=True)
class Target:
    """A server and what every request to it carries."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def address(self) -> tuple[str, int]:
        parts = urlsplit(self.url)
        assert parts.hostname is not None
        return parts.hostname, parts.port or 80

    def request(self, method: str, path: str, body: Any = None, **headers: str) -> bytes:
        """A request as it goes over the wire; `path` comes behind that of the server."""
        content = b"" if body is None else json.dumps(body).encode()
        told = {
            "Host": "{}:{}".format(*self.address),
            "Accept": "application/json",
            **({"Content-Type": "application/json"} if content else {}),
            "Content-Length": str(len(content)),
            **self.headers,
            **headers,
        }
        lines = [
            f"{method} {urlsplit(self.url).path}{path} HTTP/1.1",
            *(f"{k}: {v}" for k, v in told.items()),
        ]
        return "\r\n".join([*lines, "", ""]).encode() + content


class Connection:
    """One open connection with one request under way at a time."""

    def __init__(self, target: Target) -> None:
        self.socket = socket.create_connection(target.address)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._received = bytearray()
        self._head = -1
        self._length: int | None = None

    def send(self, request: bytes) -> None:
        self._received = bytearray()
        self._head, self._length = -1, None
        self.socket.sendall(request)

    def receive(self) -> bool:
        """Take what has come; True once the answer is whole."""
        data = self.socket.recv(_CHUNK)
        if not data:
            raise AssertionError(f"the server closed the connection after {bytes(self._received[:200])!r}")
        self._received += data
        if self._head < 0:
            end = self._received.find(b"\r\n\r\n")
            if end < 0:
                return False
            self._head = end + 4
            told = self._headers()
            self._length = (
                None if "chunked" in told.get("transfer-encoding", "") else int(told["content-length"])
            )
        if self._length is None:
            return self._received.endswith(b"\r\n0\r\n\r\n")
        return len(self._received) >= self._head + self._length

    def ask(self, request: bytes) -> bytes:
        """Send a request and wait for the body of its answer, which must be a success."""
        self.send(request)
        while not self.receive():
            pass
        return self.answer()

    def answer(self) -> bytes:
        """The body of an answer that has come."""
        status = bytes(self._received[9:12])
        body = bytes(self._received[self._head :])
        if status not in (b"200", b"204"):
            raise AssertionError(f"{status.decode()}: {body[:500]!r}")
        if self._length is None:
            body = _joined(body)
        encoding = self._headers().get("content-encoding", "")
        if encoding == "gzip":
            return gzip.decompress(body)
        return zlib.decompress(body) if encoding == "deflate" else body

    @property
    def succeeded(self) -> bool:
        return self._received[9:12] in (b"200", b"204")

    def close(self) -> None:
        self.socket.close()

    def _headers(self) -> dict[str, str]:
        lines = bytes(self._received[: self._head]).decode("latin-1").split("\r\n")[1:]
        pairs = (line.partition(":") for line in lines if line)
        return {name.lower(): value.strip().lower() for name, _, value in pairs}


def _joined(body: bytes) -> bytes:
    """The content of a chunked body."""
    found, at = bytearray(), 0
    while True:
        end = body.index(b"\r\n", at)
        size = int(body[at:end].partition(b";")[0], 16)
        if size == 0:
            return bytes(found)
        found += body[end + 2 : end + 2 + size]
        at = end + 2 + size + 2


def storm(
    target: Target, request: Callable[[int, int], bytes], requests: int, clients: int
) -> tuple[list[float], float]:
    """So many clients ask without a pause until all requests are answered: each one's milliseconds, and all seconds.

    A request is made from its own number and that of its client.
    """
    connections = [Connection(target) for _ in range(clients)]
    times: list[float] = []
    begun: dict[int, float] = {}
    sent = 0
    with selectors.DefaultSelector() as selector:
        start = time.perf_counter()
        for place, connection in enumerate(connections):
            selector.register(connection.socket, selectors.EVENT_READ, place)
            begun[place] = time.perf_counter()
            connection.send(request(sent, place))
            sent += 1
        while len(times) < requests:
            for key, _ in selector.select(timeout=60) or _silent():
                connection = connections[key.data]
                if not connection.receive():
                    continue
                times.append((time.perf_counter() - begun[key.data]) * 1000)
                if not connection.succeeded:
                    connection.answer()
                if sent < requests:
                    begun[key.data] = time.perf_counter()
                    connection.send(request(sent, key.data))
                    sent += 1
        seconds = time.perf_counter() - start
    for connection in connections:
        connection.close()
    return times, seconds


def _silent() -> list[Any]:
    raise AssertionError("the server has not answered for a minute")
