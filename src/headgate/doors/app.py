"""A server process put together from its settings."""

import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

import msgspec

from headgate import logs
from headgate.doors.arrival import Receive
from headgate.doors.authentication import Authentication, Scheme, SimpleScheme, anonymous
from headgate.doors.authentication.own import OwnTokenScheme
from headgate.doors.authentication.simple import is_loopback
from headgate.doors.gravitino import GravitinoDoor
from headgate.doors.headgate import HeadgateDoor
from headgate.doors.iceberg import IcebergDoor
from headgate.doors.observe import Metrics
from headgate.doors.openapi import with_document
from headgate.doors.root import RootDoor
from headgate.doors.server import Scope, Send, Server
from headgate.settings.server import Settings
from headgate.steward import Steward, open_store

Application = Callable[[Scope, Receive, Send], Awaitable[None]]

_FORWARDED: Final = frozenset({b"forwarded", b"x-forwarded-for", b"x-forwarded-host", b"x-real-ip", b"via"})


def create(settings: Settings) -> Application:
    """The server: its store, steward, schemes and doors."""
    steward = Steward(
        open_store(settings.store.hidden),
        service_admins=settings.service_admins,
        warehouse=settings.warehouse,
        openings=settings.openings,
        index_folder=Path(settings.home) / "index",
        connections=settings.connections,
    )
    metrics = Metrics()
    steward.answering.evaluations.on_lookup = metrics.evaluated
    steward.waiting.on_waited = metrics.waited
    doors = with_document([GravitinoDoor(), IcebergDoor(), HeadgateDoor(), RootDoor(settings, metrics)])
    authentication = Authentication(schemes(settings, steward), anonymous if settings.dev else None)
    server = Server(steward, authentication, doors, metrics=metrics)
    return LocalServer(server) if settings.dev else server


def schemes(settings: Settings, steward: Steward) -> list[Scheme]:
    """The ways to prove who one is, as configured. Without any setting: Headgate's own tokens only."""
    accepted: list[Scheme] = [OwnTokenScheme(steward.tokens)]
    if settings.oidc:
        # Cryptography is large: only a server that trusts an issuer needs it.
        from headgate.doors.authentication.oidc import OidcScheme

        accepted.append(OidcScheme(settings.oidc))
    if settings.dev:
        accepted.append(SimpleScheme())
    return accepted


def from_environment() -> Application:
    """For the processes that `headgate serve` starts: the settings are handed over in the environment."""
    logs.configure()
    os.umask(0o077)
    return create(Settings.taken_over(os.environ))


class LocalServer:
    """A development server: answers only what was sent on this machine to this machine.

    A proxy on this machine would make everyone look local. A web page of others could speak from the browser of
    someone who is, to this address or to a name of its own that was pointed at it. All show in the headers.
    """

    def __init__(self, server: Server) -> None:
        self._server = server

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and (reason := _not_local(scope)):
            body = msgspec.json.encode({"code": 1008, "type": "ForbiddenException", "message": reason})
            headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
            await send({"type": "http.response.start", "status": 403, "headers": headers})
            await send({"type": "http.response.body", "body": body})
            return
        await self._server(scope, receive, send)


def _not_local(scope: Scope) -> str | None:
    hosts = [value.decode("latin-1") for name, value in scope["headers"] if name == b"host"]
    if any(name in _FORWARDED for name, _ in scope["headers"]):
        return "a server in development mode does not answer through a proxy: start it without --dev"
    if any(not is_loopback(_without_port(host)) for host in hosts):
        return "a server in development mode answers to 127.0.0.1 and localhost only: start it without --dev"
    origins = [value.decode("latin-1") for name, value in scope["headers"] if name == b"origin"]
    if any(not is_loopback(_without_port(origin.partition("://")[2])) for origin in origins):
        return "a server in development mode does not answer web pages of others: start it without --dev"
    return None


def _without_port(host: str) -> str:
    if host.startswith("["):
        return host.partition("]")[0] + "]"
    return host.partition(":")[0]
