"""What cannot be read is refused with a reason, whoever sends it; nothing of it is a fault of the server."""

import asyncio
import base64
from collections.abc import Iterator
from typing import Any

import pytest

from headgate.doors.arrival import MAX_BODY, SMALL_BODY
from headgate.doors.authentication import Authentication, SimpleScheme
from headgate.doors.gravitino import GravitinoDoor
from headgate.doors.headgate import HeadgateDoor
from headgate.doors.iceberg import IcebergDoor
from headgate.doors.observe import Metrics
from headgate.doors.openapi import with_document
from headgate.doors.root import RootDoor
from headgate.doors.server import Server
from headgate.steward import Steward
from tests.conftest import Api
from tests.doors.lake import LAKE
from tests.doors.test_root import SETTINGS

ADMIN = (b"authorization", b"Basic " + base64.b64encode(b"admin:x"))
PART = b" " * 8192


class Asgi:
    """The server as its process runs it, request by request, with bodies that come in parts."""

    def __init__(self, steward: Steward) -> None:
        doors = [GravitinoDoor(), IcebergDoor(), HeadgateDoor(), RootDoor(SETTINGS, Metrics())]
        self.server = Server(steward, Authentication([SimpleScheme()]), with_document(doors))
        self.taken = 0
        self.answer: dict[bytes, bytes] = {}

    def ask(
        self,
        method: str,
        path: bytes,
        *headers: tuple[bytes, bytes],
        query: bytes = b"",
        parts: Iterator[bytes] | None = None,
    ) -> tuple[int, bytes]:
        """Status and body of one answer; `taken` counts the bytes of the body that were read for it."""
        sent: list[dict[str, Any]] = []
        waiting = parts or iter(())
        self.taken = 0

        async def receive() -> dict[str, Any]:
            part = next(waiting, None)
            self.taken += len(part or b"")
            return {"type": "http.request", "body": part or b"", "more_body": part is not None}

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        scope = {
            "type": "http",
            "method": method,
            "raw_path": path,
            "path": path.decode("latin-1"),
            "query_string": query,
            "headers": list(headers),
            "client": ("127.0.0.1", 1),
        }
        asyncio.run(self.server(scope, receive, send))
        self.answer = dict(sent[0]["headers"])
        return sent[0]["status"], sent[1]["body"]


@pytest.fixture
def asgi(steward: Steward, api: Api) -> Asgi:
    api("admin", "POST", "/api/metalakes", {"name": "lake"})
    api("admin", "POST", f"{LAKE}/catalogs", CATALOG)
    return Asgi(steward)


CATALOG = {
    "name": "cat",
    "type": "relational",
    "provider": "lakehouse-iceberg",
    "properties": {"catalog-backend": "native"},
}
ROUTES = [
    ("GET", b"/health/live"),
    ("GET", b"/configs"),
    ("GET", b"/api/metalakes"),
    ("GET", b"/api/openapi.json"),
    ("POST", b"/api/headgate/check"),
    ("GET", b"/iceberg/v1/config"),
    ("POST", b"/iceberg/v1/oauth/tokens"),
    ("GET", b"/iceberg/v1/lake.cat/namespaces"),
]


@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_a_query_of_too_many_fields_is_a_bad_request_on_every_door(
    asgi: Asgi, method: str, path: bytes
) -> None:
    for fields in (b"&".join(b"a%d=1" % n for n in range(101)), b"&" * 100_000):
        status, body = asgi.ask(method, path, ADMIN, query=fields)
        assert (status, b"more than 100 fields" in body) == (400, True)
    for fields in (b"a=%ff", b"a=\xff", b"a=%00", b"a=1&a=2"):
        assert asgi.ask(method, path, ADMIN, query=fields)[0] == 400, fields
    assert asgi.ask(method, path, query=b"&".join(b"a%d=1" % n for n in range(101)))[0] in (400, 401)


def test_anonymous_callers_are_told_the_same(asgi: Asgi) -> None:
    for path in (b"/health/live", b"/configs", b"/iceberg/v1/oauth/tokens"):
        method = "POST" if b"oauth" in path else "GET"
        assert asgi.ask(method, path, query=b"&" * 200)[0] == 400


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"[]",
        b"\xff",
        b'{"namespace": ',
        b'{"namespace": "text"}',
        b'{"namespace": ["\\ud800"]}',
        b'{"namespace": ["a\\u0000b"]}',
        b'{"namespace": ["a"], "properties": {"n": 99999999999999999999}}',
        b'{"namespace": ' + b"[" * 100_000,
        b"nul",
    ],
)
@pytest.mark.parametrize(
    "path", [b"/iceberg/v1/lake.cat/namespaces", b"/api/metalakes/lake/catalogs/cat/schemas"]
)
def test_a_body_that_is_not_what_it_must_be_is_a_bad_request(asgi: Asgi, path: bytes, body: bytes) -> None:
    before = asgi.server.steward.kernel.authority().revision
    status, told = asgi.ask("POST", path, ADMIN, parts=iter([body]))
    assert status == 400, told
    assert asgi.server.steward.kernel.authority().revision == before


@pytest.mark.parametrize(
    "path",
    [
        b"/api/metalakes/%ff",
        b"/api/metalakes/%ed%a0%80",
        b"/api/metalakes/a%00b",
        b"/iceberg/v1/lake.cat/namespaces/%c3%28",
        b"/iceberg/v1/lake.cat/namespaces/a%00",
        b"/iceberg/v1/%00/namespaces",
    ],
)
def test_a_path_that_is_no_text_is_a_bad_request(asgi: Asgi, path: bytes) -> None:
    assert asgi.ask("GET", path, ADMIN)[0] == 400


@pytest.mark.parametrize("size", ["²", "-1", "0", "1.5", "9" * 5000, "0x10", "1_0", "", "١"])
def test_a_size_of_a_page_is_a_plain_number(asgi: Asgi, size: str) -> None:
    query = f"pageToken=&pageSize={size}".encode()
    status = asgi.ask("GET", b"/iceberg/v1/lake.cat/namespaces", ADMIN, query=query)[0]
    assert status == (200 if size == "" else 400)


@pytest.mark.parametrize(
    "name",
    [
        b"authorization",
        b"content-length",
        b"idempotency-key",
        b"x-gravitino-active-roles",
        b"headgate-at-least",
        b"headgate-purpose",
        b"headgate-engine",
    ],
)
def test_a_header_that_means_one_thing_is_sent_once(asgi: Asgi, name: bytes) -> None:
    value = {b"authorization": ADMIN[1], b"content-length": b"0", b"headgate-at-least": b"0"}.get(
        name, b"ALL"
    )
    own = [] if name == b"authorization" else [ADMIN]
    assert asgi.ask("GET", b"/api/metalakes", *own, (name, value))[0] == 200
    for second in (value, b"other"):
        status, body = asgi.ask("GET", b"/api/metalakes", *own, (name, value), (name.title(), second))
        assert (status, name in body) == (400, True)


def test_lists_in_several_headers_are_one_list(asgi: Asgi) -> None:
    accept = [(b"accept", b"application/vnd.gravitino.v1+json"), (b"accept", b"*/*")]
    assert asgi.ask("GET", b"/api/metalakes", ADMIN, *accept)[0] == 200


@pytest.mark.parametrize("value", [b"\xb2", b"9" * 5000, b"-1", b"1e3", b""])
def test_a_number_in_a_header_is_a_plain_number(asgi: Asgi, value: bytes) -> None:
    assert asgi.ask("GET", b"/api/metalakes", ADMIN, (b"headgate-at-least", value))[0] == 400
    assert asgi.ask("GET", b"/api/metalakes", ADMIN, (b"content-length", value))[0] == 400
    client = (b"x-client-version", b"Iceberg " + value + b"." + value)
    assert asgi.ask("GET", b"/iceberg/v1/lake.cat/namespaces/s/tables/t", ADMIN, client)[0] == 404


@pytest.mark.parametrize(
    ("method", "path"), [("POST", b"/api/metalakes"), ("POST", b"/iceberg/v1/oauth/tokens")]
)
def test_who_proved_nothing_gets_little_read(asgi: Asgi, method: str, path: bytes) -> None:
    for headers in (
        [(b"content-length", str(MAX_BODY).encode())],
        [(b"transfer-encoding", b"chunked")],
        [(b"authorization", b"Bearer nonsense"), (b"content-length", str(MAX_BODY).encode())],
        [(b"authorization", b"Bearer nonsense"), (b"transfer-encoding", b"chunked")],
    ):
        status, _ = asgi.ask(method, path, *headers, parts=iter([PART] * (MAX_BODY // len(PART))))
        assert status in (400, 401, 413)
        assert asgi.taken <= SMALL_BODY + len(PART)
        assert asgi.answer[b"connection"] == b"close", "nobody waits for the rest"


def test_who_proved_who_they_are_may_send_much_and_not_too_much(asgi: Asgi) -> None:
    name = b'{"name": "sea"}'
    large = [PART] * (MAX_BODY // len(PART) - 1)
    status, body = asgi.ask("POST", b"/api/metalakes", ADMIN, parts=iter([*large, name]))
    assert status == 200, body
    assert b"connection" not in asgi.answer
    for headers in ([(b"content-length", str(MAX_BODY + 1).encode())], [(b"transfer-encoding", b"chunked")]):
        status, body = asgi.ask("POST", b"/api/metalakes", ADMIN, *headers, parts=iter([PART] * 4000))
        assert (status, b"larger than" in body) == (400, True)
        assert asgi.taken <= MAX_BODY + len(PART)
        assert asgi.answer[b"connection"] == b"close"


def test_a_form_of_too_many_fields_is_a_bad_request(asgi: Asgi) -> None:
    form = b"&".join(b"a%d=1" % n for n in range(21))
    assert asgi.ask("POST", b"/iceberg/v1/oauth/tokens", parts=iter([form]))[0] == 400


def test_a_fault_before_any_door_is_answered_by_the_door(asgi: Asgi, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> None:
        raise ZeroDivisionError("hush")

    monkeypatch.setattr(GravitinoDoor, "admit", broken)
    status, body = asgi.ask("GET", b"/api/metalakes", ADMIN)
    assert (status, b"hush" in body, b"Traceback" in body) == (500, False, False)
    assert body.startswith(b"{")
