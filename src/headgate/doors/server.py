"""The server: one ASGI application for all doors on one port."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, Protocol

import msgspec
import structlog

from headgate.doors.acts import check_acts
from headgate.doors.arrival import MAX_BODY, SMALL_BODY, Body, Receive, headers_of, too_large
from headgate.doors.authentication import Authentication
from headgate.doors.observe import Metrics
from headgate.doors.routing import Answer, DoorCall, Open, Route, Router, perform, query_of
from headgate.model.errors import HeadgateError, IllegalArgument, Unavailable
from headgate.model.principals import Identity
from headgate.steward import NotSeenYet, Steward

Scope = dict[str, Any]
Send = Callable[[dict[str, Any]], Awaitable[None]]

log = structlog.get_logger("headgate.http")

_BEGUN_ANEW: Final = 8
"""How often a request is begun anew: once for every catalog of another system that a change was to be judged by."""


class Door(Protocol):
    """A protocol: its routes, and how it says that something went wrong."""

    name: str
    prefix: str

    @property
    def routes(self) -> Sequence[Route]: ...

    def admit(self, headers: dict[str, str], route: Route | None) -> None:
        """Refuse a request in a form that this door or this route does not speak, before anything else."""

    def error(self, error: HeadgateError) -> Answer: ...

    def no_route(self, path: str, methods: list[str]) -> Answer: ...


class Server:
    """Routes a request to its door, authenticates, performs, answers."""

    def __init__(
        self,
        steward: Steward,
        authentication: Authentication,
        doors: Sequence[Door],
        *,
        threads: int = 64,
        metrics: Metrics | None = None,
    ) -> None:
        self.steward = steward
        self.authentication = authentication
        self.doors = sorted(doors, key=lambda door: -len(door.prefix))
        for door in doors:
            check_acts(steward, door.routes)
        self.routers = {door.name: Router(door.routes) for door in doors}
        self.metrics = metrics or Metrics()
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="requests")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
        elif scope["type"] == "http":
            await self._http(scope, receive, send)

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            stopping = message["type"] == "lifespan.shutdown"
            if stopping:
                await asyncio.to_thread(self.steward.close)
                self._threads.shutdown(wait=False, cancel_futures=True)
            await send({"type": message["type"] + ".complete"})
            if stopping:
                return

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = time.perf_counter()
        path: bytes = scope.get("raw_path") or scope["path"].encode()
        door = self._door(path)
        route: Route | None = None
        body: Body | None = None
        try:
            headers = headers_of(scope["headers"])
            body = Body(headers, receive)
            route, params, methods = self.routers[door.name].find(scope["method"], path)
            door.admit(headers, route)
            if route is None:
                answer = door.no_route(path.decode("latin-1"), methods)
            else:
                answer = await self._answer(door, route, params, scope, headers, body)
        except HeadgateError as error:
            answer = door.error(error)
        except Exception:
            answer = _failed(door, scope["method"], route, None)
        if body is None or body.left:
            answer.headers["Connection"] = "close"
        await _send(answer, send)
        path_shown = route.path if route else "none"
        self.metrics.seen(door.name, path_shown, scope["method"], answer.status, started)
        # The route, not the path: names and query strings are the callers' own.
        log.info(
            "request",
            door=door.name,
            method=scope["method"][:20],
            route=path_shown,
            status=answer.status,
            ms=round((time.perf_counter() - started) * 1000, 1),
        )

    async def _answer(
        self,
        door: Door,
        route: Route,
        params: dict[str, str],
        scope: Scope,
        headers: dict[str, str],
        body: Body,
    ) -> Answer:
        """Read the body, and act in a thread of its own.

        INVARIANT: of a caller who has not proved who they are, no more than a small body is read.
        """
        run = asyncio.get_running_loop().run_in_executor
        client = scope.get("client")
        address = client[0] if client else None
        identity: Identity | None = None
        raw = await body.read(SMALL_BODY)
        if raw is None:
            if route.requires is Open.ANYONE:
                raise too_large(SMALL_BODY)
            identity = await run(self._threads, self.authentication.identify, headers, address)
            if "authorization" not in headers:
                raise too_large(SMALL_BODY)
            raw = await body.read(MAX_BODY)
            if raw is None:
                raise too_large(MAX_BODY)
        return await run(
            self._threads, self._serve, door, route, params, scope, headers, raw, address, identity
        )

    def _door(self, path: bytes) -> Door:
        text = path.decode("latin-1")
        for door in self.doors:
            if text == door.prefix or text.startswith(door.prefix.rstrip("/") + "/") or not door.prefix:
                return door
        return self.doors[-1]

    def _serve(
        self,
        door: Door,
        route: Route,
        params: dict[str, str],
        scope: Scope,
        headers: dict[str, str],
        raw: bytes,
        address: str | None,
        identity: Identity | None,
    ) -> Answer:
        try:
            if identity is None and route.requires is not Open.ANYONE:
                identity = self.authentication.identify(headers, address)
            call = DoorCall(self.steward, identity, params, query_of(scope["query_string"]), headers, raw)
            result = _performed(route, call)
            answer = result if isinstance(result, Answer) else Answer(result)
            if scope["method"] not in ("GET", "HEAD") and identity is not None:
                # A caller who sends this number back is never answered from before their own change.
                answer.headers["Headgate-Revision"] = str(self.steward.kernel.reached)
            return _encoded(answer)
        except HeadgateError as error:
            if isinstance(error, Unavailable):
                log.warning("unavailable", reason=str(error))
            return door.error(error)
        except RecursionError:
            return door.error(IllegalArgument("the request is nested too deeply", hint="nest it less"))
        except Exception:
            return _failed(door, route.method, route, identity)


def _performed(route: Route, call: DoorCall) -> object:
    """What a route answers. One whose change had to be taken back to look at other systems' tables first is begun anew."""
    for _ in range(_BEGUN_ANEW):
        try:
            return perform(route, call)
        except NotSeenYet:
            continue
    return perform(route, call)


def _failed(door: Door, method: str, route: Route | None, identity: Identity | None) -> Answer:
    """The answer to what should not have happened; the log has what did."""
    path = route.path if route else "none"
    log.exception("failed", method=method[:20], route=path, user=identity.user if identity else None)
    return door.error(HeadgateError("Headgate failed to answer", hint="the server's log says why"))


def _encoded(answer: Answer) -> Answer:
    """The answer with its body as bytes, made where a fault can still be answered and nobody else waits."""
    body = answer.body
    if body is None or isinstance(body, bytes):
        return answer
    return Answer(msgspec.json.encode(body), answer.status, answer.headers, answer.media)


async def _send(answer: Answer, send: Send) -> None:
    body = _encoded(answer).body or b""
    headers = [(name.lower().encode(), value.encode("latin-1")) for name, value in answer.headers.items()]
    headers.append((b"content-length", str(len(body)).encode()))
    if body:
        headers.append((b"content-type", answer.media.encode()))
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
