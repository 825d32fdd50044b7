"""How requests are read from a connection: by the fast parser, and by the patient one what the fast one cannot take."""

import asyncio
from typing import Any, Final

import h11
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from headgate.doors.connections import Wait, Watched, watch_of

MAX_HEAD: Final = 64 * 1024
"""Bytes of a request's first line and headers."""
_OWN_METHOD: Final = b"CLOSE "
"""Gravitino's client says goodbye with a method of its own."""
_UPGRADE: Final = b"\nupgrade:"
"""Java's client offers HTTP/2 with every request; the fast parser would take the body for the other protocol's."""


class HttpProtocol(HttpToolsProtocol):
    """One connection. What it hands over stays with the patient parser until the connection closes."""

    _inside = False
    """Whether a request has begun that is not read to its end."""
    _headed = False
    """Whether its headers are all there."""
    _head = 0
    """Bytes of its head so far."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self.watched = Watched()
        self._watch = watch_of(server_state, self.loop)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._watch.admit(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._watch.forget(self)
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        self._inside, self._headed, self._head = True, False, 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._headed = True
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._inside = False
        super().on_message_complete()

    def waits_for(self) -> Wait | None:
        cycle: Any = self.cycle
        if self.flow.read_paused:
            return None
        if self._inside and self._headed:
            return Wait.BODY
        if cycle is None:
            return Wait.FIRST
        if self._inside:
            return Wait.HEAD
        return Wait.IDLE if cycle.response_complete else None

    def data_received(self, data: bytes) -> None:
        self.watched.received += len(data)
        # INVARIANT: parsers change only between two requests, so both always agree on where one begins.
        between = not self._inside and (self.cycle is None or self.cycle.response_complete)
        if between and (data.startswith(_OWN_METHOD) or _UPGRADE in data.partition(b"\r\n\r\n")[0].lower()):
            self._hand_over(data)
            return
        super().data_received(data)
        if self._inside and not self._headed:
            self._head += len(data)
            if self._head > MAX_HEAD and not self.transport.is_closing():
                self.send_400_response("The head of the request is too long.")

    def _hand_over(self, data: bytes) -> None:
        self._unset_keepalive_if_required()
        self.connections.discard(self)
        self._watch.forget(self)
        patient = PatientProtocol(self.config, self.server_state, self.app_state, self.loop)
        patient.connection_made(self.transport)
        self.transport.set_protocol(patient)
        patient.data_received(data)


class PatientProtocol(H11Protocol):
    """A connection read by the patient parser, watched like the others."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self.watched = Watched()
        self._watch = watch_of(server_state, self.loop)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._watch.admit(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._watch.forget(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self.watched.received += len(data)
        super().data_received(data)

    def waits_for(self) -> Wait | None:
        cycle: Any = self.cycle
        if self.flow.read_paused:
            return None
        if self.conn.their_state is h11.SEND_BODY:
            return Wait.BODY
        if cycle is None:
            return Wait.FIRST
        if not cycle.response_complete:
            return None
        return Wait.HEAD if self.conn.trailing_data[0] else Wait.IDLE
