"""The line to another system: how many requests may wait for it, and how it is left alone for a moment after it failed."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from headgate.model.errors import ConnectionFailed

MOST_WAITING: Final = 16
"""Requests that one system may keep waiting, of all that the server can answer at once."""
_PATIENCE: Final = 5.0
_PAUSE: Final = 1.0


class NoAnswer(ConnectionFailed):
    """The other system cannot be reached, or takes too long."""


class NotBegun(NoAnswer):
    """The other system failed before it was asked to change anything: whether it did is no question."""


class Line:
    """The line to one system.

    INVARIANT: a system that does not answer keeps at most a few requests waiting. Once one of them gave up, all others
    fail at once, but for one that tries again after a pause: so other catalogs are not slowed, and what comes back is
    noticed without a restart.
    """

    def __init__(self, system: str, catalog: str) -> None:
        self.named = f"the {system} of catalog '{catalog}'" if catalog else f"the {system}"
        self._free = threading.BoundedSemaphore(MOST_WAITING)
        self._lock = threading.Lock()
        self._down_until: float | None = None
        self._trying = False

    @contextmanager
    def ask(self) -> Iterator[None]:
        """Around one question to the system; what cannot be answered is raised as `NoAnswer`."""
        trying = self._enter()
        try:
            yield
        except NoAnswer:
            with self._lock:
                self._down_until = time.monotonic() + _PAUSE
            raise
        except BaseException:
            # It said something: it is there.
            self._answered()
            raise
        else:
            self._answered()
        finally:
            self._free.release()
            if trying:
                with self._lock:
                    self._trying = False

    def silent(self, why: str) -> NoAnswer:
        """The error of a system that does not answer."""
        return NoAnswer(f"{self.named} does not answer", hint=why)

    def _enter(self) -> bool:
        trying = False
        with self._lock:
            if self._down_until is not None:
                if self._trying or time.monotonic() < self._down_until:
                    raise self.silent("it did not a moment ago either: ask again")
                trying = self._trying = True
        if not self._free.acquire(timeout=_PATIENCE):
            if trying:
                with self._lock:
                    self._trying = False
            raise self.silent("too many requests wait for it")
        return trying

    def _answered(self) -> None:
        if self._down_until is not None:
            with self._lock:
                self._down_until = None
