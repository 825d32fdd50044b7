"""The connections of a process, watched: who keeps one without using it loses it, and no crowd keeps others out.

One timer looks at all of them once a second, so a request costs nothing for being watched.
"""

import asyncio
import enum
import resource
from typing import Any, Final, Protocol
from weakref import WeakKeyDictionary

import structlog
from uvicorn.server import ServerState

MOST: Final = 2048
"""Connections of one process at a time; fewer where it may not open so many files."""
HEAD: Final = 10.0
"""Seconds in which the first line and the headers of a request must be there, counted from the connection's begin."""
BODY: Final = 20.0
"""Seconds that a body may take in any case; a long one gets more, as long as it comes fast enough."""
RATE: Final = 16 * 1024
"""Bytes in a second that are fast enough."""
IDLE: Final = 75.0
"""Seconds between two requests. Longer than clients keep a connection: who closes first must not be the server."""
STALLED: Final = 30.0
"""Seconds in which a client must take at least something of its answer."""

log = structlog.get_logger("headgate.http")


class Wait(enum.IntEnum):
    """What a connection waits for from its client. Under pressure the lowest goes first."""

    FIRST = 0
    """The head of the first request."""
    IDLE = 1
    HEAD = 2
    BODY = 3


_PATIENCE: Final = {Wait.FIRST: HEAD, Wait.IDLE: IDLE + 5, Wait.HEAD: HEAD, Wait.BODY: BODY}


class WatchedConnection(Protocol):
    """What is watched of a connection."""

    transport: asyncio.Transport
    watched: "Watched"
    cycle: Any
    """The request at hand, or the last one."""

    def waits_for(self) -> Wait | None:
        """What the client owes; None while the server itself is at work."""


class Watched:
    """What was last seen of one connection."""

    __slots__ = ("before", "received", "seen", "since")

    def __init__(self) -> None:
        self.received = 0
        """Bytes that came in so far."""
        self.before = 0
        self.since = 0.0
        self.seen: Any = None

    def look(self, connection: WatchedConnection, now: float) -> None:
        """Close the connection if nothing has happened on it for too long."""
        transport = connection.transport
        wait, unsent = connection.waits_for(), transport.get_write_buffer_size()
        seen = (wait, connection.cycle, unsent, transport.is_closing())
        if seen != self.seen:
            self.seen, self.since, self.before = seen, now, self.received
            return
        quiet = now - self.since
        if unsent or transport.is_closing():
            if quiet > STALLED:
                transport.abort()
        elif wait is not None:
            earned = (self.received - self.before) / RATE if wait is Wait.BODY else 0.0
            if quiet > _PATIENCE[wait] + earned:
                transport.close()


class Watch:
    """All connections of one process."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._connections: dict[WatchedConnection, None] = {}
        self._looking = False
        files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        # The other half is for the store, the lake and whatever else a process opens.
        self.most = MOST if files == resource.RLIM_INFINITY else max(16, min(MOST, files // 2))

    def admit(self, connection: WatchedConnection) -> None:
        """Watch a connection from now on; where there are too many, the one of least use goes."""
        connection.watched.since = self._loop.time()
        if len(self._connections) >= self.most:
            self._make_room(connection)
        self._connections[connection] = None
        if not self._looking:
            self._looking = True
            self._loop.call_later(1.0, self._look)

    def forget(self, connection: WatchedConnection) -> None:
        self._connections.pop(connection, None)

    def _make_room(self, newest: WatchedConnection) -> None:
        waiting = [
            (wait, one.watched.since, n, one)
            for n, one in enumerate(self._connections)
            if (wait := one.waits_for()) is not None
        ]
        gone = min(waiting)[3] if waiting else newest
        self._connections.pop(gone, None)
        gone.transport.abort()
        log.warning("too many connections", most=self.most)

    def _look(self) -> None:
        now = self._loop.time()
        for connection in list(self._connections):
            connection.watched.look(connection, now)
        self._looking = bool(self._connections)
        if self._looking:
            self._loop.call_later(1.0, self._look)


_watches: "WeakKeyDictionary[ServerState, Watch]" = WeakKeyDictionary()


def watch_of(server: ServerState, loop: asyncio.AbstractEventLoop) -> Watch:
    """The watch of a server process."""
    found = _watches.get(server)
    if found is None:
        found = _watches[server] = Watch(loop)
    return found


def allow_many_files(wanted: int = 4 * MOST) -> None:
    """Let this process open as many files as it is allowed to, up to what its connections can need."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, most), hard))
