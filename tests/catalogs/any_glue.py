"""A server that says it is AWS Glue and answers anything: not to be trusted."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, BinaryIO

Json = dict[str, Any]


class AnyGlue:
    """`answer` says what an operation is answered with; `stream` writes the body by itself, if it is set."""

    def __init__(self) -> None:
        self.url = ""
        self.asked: list[str] = []
        self.tokens: list[str | None] = []
        """The session tokens that came along."""
        self.answer: Callable[[str, Json], Any] = lambda operation, body: {}
        self.stream: Callable[[BinaryIO], None] | None = None


@contextmanager
def any_glue() -> Iterator[AnyGlue]:
    """The server, on loopback."""
    glue = AnyGlue()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
            operation = self.headers.get("x-amz-target", "").rpartition(".")[2]
            glue.asked.append(operation)
            glue.tokens.append(self.headers.get("x-amz-security-token"))
            self.send_response(200)
            self.send_header("content-type", "application/x-amz-json-1.1")
            if glue.stream is not None:
                self.end_headers()
                glue.stream(self.wfile)  # type: ignore[arg-type]
                return
            data = json.dumps(glue.answer(operation, body)).encode()
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def handle(self) -> None:
            try:
                super().handle()
            except (BrokenPipeError, ConnectionResetError):
                """Whoever asked has heard enough."""

        def log_message(self, format: str, *args: Any) -> None:
            """Tests are quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    glue.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield glue
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
