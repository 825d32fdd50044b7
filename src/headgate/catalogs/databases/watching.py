"""Watching a conversation with a database: ended from this side, however long and however much the other side talks."""

import os
import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

_PAUSE: Final = 0.02
"""Seconds between two looks."""
_INFO: Final = 136
_RECEIVED: Final = struct.Struct("=128xQ")
"""Of what Linux tells of a connection: the bytes that came."""


@contextmanager
def watched(driver: Any, seconds: float, largest: int) -> Iterator[None]:
    """Cut a conversation after so many seconds, or once it brought so many bytes: whoever waits for an answer gets an error.

    INVARIANT: asked of the socket, as the client's library keeps all that comes before anybody may look at it. Where the
    system does not count (elsewhere than on Linux), only the time ends it.
    """
    if not hasattr(driver, "fileno"):
        yield
        return
    wire: socket.socket | None = None
    # Here and not in the thread: a driver may wrap the socket meanwhile. One that is closed already needs no watch.
    with suppress(Exception):
        wire = socket.socket(fileno=os.dup(driver.fileno()))
    if wire is None:
        yield
        return
    over = threading.Event()
    watch = threading.Thread(target=_watch, args=(wire, over, seconds, largest), daemon=True)
    watch.start()
    try:
        yield
    finally:
        over.set()


def _watch(wire: socket.socket, over: threading.Event, seconds: float, largest: int) -> None:
    ends = time.monotonic() + seconds
    with suppress(Exception), wire:
        before = _received(wire)
        while not over.wait(_PAUSE):
            if time.monotonic() > ends or _received(wire) - before > largest:
                wire.shutdown(socket.SHUT_RDWR)
                return


def _received(wire: socket.socket) -> int:
    kind = getattr(socket, "TCP_INFO", None)
    if kind is None:
        return 0
    info = wire.getsockopt(socket.IPPROTO_TCP, kind, _INFO)
    return int(_RECEIVED.unpack(info)[0]) if len(info) == _INFO else 0
