"""Another Iceberg REST catalog, served on loopback, that names any location it likes: wire-true, and not to be trusted."""

import json
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

from headgate.catalogs.iceberg import table_metadata
from headgate.model.errors import HeadgateError

Json = dict[str, Any]


class AnyRest:
    """One namespace `r` of tables; `choose` says where the next one lies that names no location itself."""

    def __init__(self) -> None:
        self.url = ""
        self.tables: dict[str, Json] = {}
        self.choose = "s3://nowhere/t"
        self.answers_changes_with: int | None = None
        """How a commit that was made is answered for; 0 ends the conversation without any."""
        self.refuses: Callable[[str, str, Any, bytes], bool] = lambda method, url, headers, body: False
        """What is answered with 403, as AWS does for what is not signed."""

    def put(self, name: str, location: str, id: str | None = None, **properties: str) -> Json:
        """Make a table of its own, without anybody asking."""
        columns = [{"id": 1, "name": "a", "type": "int", "required": False}]
        definition = {"schema": {"type": "struct", "fields": columns}, "properties": properties}
        made: Json = table_metadata.create(location, definition, uuid.UUID(id) if id else uuid.uuid4())
        self.tables[name] = made
        return made

    def answer(self, method: str, path: str, body: Json) -> tuple[int, Json | None]:
        parts = [unquote(part) for part in path.strip("/").split("/")][1:]
        match method, parts:
            case "GET", ["config"]:
                return 200, {"defaults": {}, "overrides": {}}
            case "GET", ["namespaces"]:
                return 200, {"namespaces": [["r"]]}
            case "GET", ["namespaces", "r", "tables"]:
                return 200, {"identifiers": [{"namespace": ["r"], "name": name} for name in self.tables]}
            case "GET", ["namespaces", "r", "views"]:
                return 200, {"identifiers": []}
            case "POST", ["namespaces", "r", "tables"]:
                return self._create(body)
            case "POST", ["tables", "rename"]:
                table = self.tables.pop(body["source"]["name"])
                self.tables[body["destination"]["name"]] = table
                return 204, None
            case _, ["namespaces", "r", "tables", name]:
                return self._table(method, name, body)
        return 404, _error(404, "NoSuchNamespaceException")

    def _create(self, body: Json) -> tuple[int, Json | None]:
        if body["name"] in self.tables:
            return 409, _error(409, "AlreadyExistsException")
        location = body.get("location") or self.choose
        made = table_metadata.create(location, {**body, "location": None}, uuid.uuid4())
        if not body.get("stage-create"):
            self.tables[body["name"]] = made
        return 200, _loaded(made)

    def _table(self, method: str, name: str, body: Json) -> tuple[int, Json | None]:
        if method == "POST" and name not in self.tables:
            self.tables[name] = table_metadata.applied(table_metadata.empty(2), body["updates"])
            return 200, _loaded(self.tables[name])
        if name not in self.tables:
            return 404, _error(404, "NoSuchTableException")
        if method == "DELETE":
            del self.tables[name]
            return 204, None
        if method == "POST":
            self.tables[name] = table_metadata.applied(self.tables[name], body["updates"])
        return 200, _loaded(self.tables[name])


def _loaded(metadata: Json) -> Json:
    return {"metadata-location": f"{metadata['location']}/metadata/x.metadata.json", "metadata": metadata}


def _error(code: int, type: str) -> Json:
    return {"error": {"message": type, "type": type, "code": code}}


@contextmanager
def any_rest() -> Iterator[AnyRest]:
    catalog = AnyRest()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _serve(self) -> None:
            answer: Json | None
            length = int(self.headers.get("content-length") or 0)
            sent = self.rfile.read(length)
            body = json.loads(sent or b"{}")
            try:
                if catalog.refuses(self.command, f"{catalog.url}{self.path}", self.headers, sent):
                    status, answer = 403, _error(403, "AccessDeniedException")
                else:
                    status, answer = catalog.answer(self.command, urlsplit(self.path).path, body)
            except HeadgateError as error:
                status, answer = 400, _error(400, str(error))
            said = catalog.answers_changes_with
            if said is not None and self.command == "POST":
                if said == 0:
                    self.close_connection = True
                    return
                status, answer = said, {} if said == 200 else _error(said, "CommitFailedException")
            data = b"" if answer is None else json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_DELETE = do_HEAD = _serve

        def log_message(self, format: str, *args: Any) -> None:
            """Tests are quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    catalog.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield catalog
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
