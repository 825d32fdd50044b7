"""Audit events of reads, written in groups by a thread of their own: a read must not wait for a disk of its own."""

import threading
import time
from typing import Final

import structlog

from headgate.model.errors import Unavailable
from headgate.store import audit
from headgate.store.audit import Event
from headgate.store.database import Store

FLUSH_SECONDS: Final = 0.05
MOST: Final = 10_000
"""How many events may wait; more mean that they are not written as fast as they come."""

log = structlog.get_logger("headgate.audit")


class AuditBuffer:
    """Takes events at once and writes them within a moment.

    INVARIANT: while events cannot be written, no further ones are taken, so nothing is read that nobody will know of
    beyond what waits here.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._waiting: list[Event] = []
        self._turn = threading.Condition()
        self._writing = threading.Lock()
        self._thread: threading.Thread | None = None
        self._failed: str | None = None
        self._closed = False

    def add(self, event: Event) -> None:
        """Take an event, or refuse what it tells of because it could not be kept."""
        with self._turn:
            if self._failed is not None or len(self._waiting) >= MOST:
                raise Unavailable(
                    "the audit trail cannot be written, so nothing is read",
                    hint=self._failed or "too many reads wait for it: retry later",
                )
            self._waiting.append(event)
            if self._thread is None and not self._closed:
                self._thread = threading.Thread(target=self._run, name="audit", daemon=True)
                self._thread.start()
            self._turn.notify()

    def flush(self) -> None:
        """Write what waits now; what cannot be written goes on waiting."""
        with self._writing:
            with self._turn:
                events = self._waiting
                self._waiting = []
            if not events:
                return
            try:
                audit.record_all(self._store, events)
                failed = None
            except Exception as error:  # whatever it is, reads must stop until it is over
                failed = str(error)[:200]
                log.error("audit", reason=failed, waiting=len(events))
            with self._turn:
                self._failed = failed
                if failed is not None:
                    self._waiting = [*events, *self._waiting]

    def close(self) -> None:
        """Write what waits and stop."""
        with self._turn:
            self._closed = True
            thread, self._thread = self._thread, None
            self._turn.notify()
        if thread is not None:
            thread.join(timeout=10)
        self.flush()

    def _run(self) -> None:
        while True:
            with self._turn:
                while not self._waiting and not self._closed:
                    self._turn.wait()
                if self._closed:
                    return
            # Whoever comes meanwhile is written with it.
            time.sleep(FLUSH_SECONDS / 2 if self._failed is None else 1)
            self.flush()
