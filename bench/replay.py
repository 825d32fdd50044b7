"""A server that costs nothing: it asks another once, and from then on answers the same request with the same bytes.

What a client needs beside it is the client's own work. A plan through such a server is as fast as any server can make it.
"""

from __future__ import annotations

import http.client
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import urlsplit

Recorded = tuple[int, str, bytes]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Headers and body go out together.
    wbufsize = 1 << 16
    server: Replay

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def do_HEAD(self) -> None:
        self._answer()

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        status, kind, answer = self.server.ask(self.command, self.path, body, dict(self.headers))
        self.send_response_only(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer)


class Replay(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, uri: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.origin = urlsplit(uri)
        self._recorded: dict[tuple[str, str, bytes], Recorded] = {}

    @property
    def uri(self) -> str:
        return f"http://127.0.0.1:{self.server_port}{self.origin.path}"

    def ask(self, method: str, path: str, body: bytes, headers: dict[str, str]) -> Recorded:
        key = (method, path, body)
        if key not in self._recorded:
            self._recorded[key] = self._asked(method, path, body, headers)
        return self._recorded[key]

    def _asked(self, method: str, path: str, body: bytes, headers: dict[str, str]) -> Recorded:
        # What the other sends is told on as it is, so it must not be packed.
        told = {name: value for name, value in headers.items() if name.lower() != "accept-encoding"}
        connection = http.client.HTTPConnection(self.origin.netloc)
        connection.request(method, path, body, told)
        answer = connection.getresponse()
        kind = answer.getheader("Content-Type", "application/json")
        recorded = (answer.status, kind, answer.read())
        connection.close()
        return recorded


@contextmanager
def replaying(uri: str) -> Iterator[str]:
    """The address of a server that answers as the one at `uri` did when it was first asked."""
    server = Replay(uri)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.uri
    finally:
        server.shutdown()
        server.server_close()
