"""How requests are read from a connection: by the fast parser, and by the patient one what the fast one cannot take."""

from typing import Final

from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_OWN_METHOD: Final = b"CLOSE "
"""Gravitino's client says goodbye with a method of its own."""
_UPGRADE: Final = b"\nupgrade:"
"""Java's client offers HTTP/2 with every request; the fast parser would take the body for the other protocol's."""


class HttpProtocol(HttpToolsProtocol):
    """One connection. What it hands over stays with the patient parser until the connection closes."""

    _inside = False
    """Whether a request has begun that is not read to its end."""

    def on_message_begin(self) -> None:
        self._inside = True
        super().on_message_begin()

    def on_message_complete(self) -> None:
        self._inside = False
        super().on_message_complete()

    def data_received(self, data: bytes) -> None:
        # INVARIANT: parsers change only between two requests, so both always agree on where one begins.
        between = not self._inside and (self.cycle is None or self.cycle.response_complete)
        if between and (data.startswith(_OWN_METHOD) or _UPGRADE in data.partition(b"\r\n\r\n")[0].lower()):
            self._hand_over(data)
        else:
            super().data_received(data)

    def _hand_over(self, data: bytes) -> None:
        self._unset_keepalive_if_required()
        self.connections.discard(self)
        patient = H11Protocol(self.config, self.server_state, self.app_state, self.loop)
        patient.connection_made(self.transport)
        self.transport.set_protocol(patient)
        patient.data_received(data)
