"""Waiting for copies: a look is repeated until what it needs is ready, each time under a permit of that moment."""

import threading
import time
from collections.abc import Callable
from typing import Final, TypeVar

from headgate.steward.kernel import Kernel
from headgate.steward.permits import Permit
from headgate.steward.reads.copies.governed import NotReady

T = TypeVar("T")

PATIENCE: Final = 20.0
"""Seconds that a client waits for a table to be made ready before it is told to come back. DuckDB hangs up after 30."""
MOST_WAITING: Final = 16
"""How many may wait so at a time; a server whose threads all wait answers nobody."""


class Waiting:
    def __init__(self, kernel: Kernel, patience: float | None = None) -> None:
        self.kernel = kernel
        self.patience = PATIENCE if patience is None else patience
        self._places = threading.Semaphore(MOST_WAITING)
        self.on_waited: Callable[[str, float], object] = lambda outcome, seconds: None
        """Is called after a client waited: how it ended, and how long it took."""

    def in_request(self, permit: Permit, look: Callable[[Permit], T]) -> T:
        """What `look` answers once copies are ready, as long as a client waits for it."""
        return self.wait(permit, look, self.patience, self._places)

    def wait(
        self,
        permit: Permit,
        look: Callable[[Permit], T],
        patience: float,
        places: threading.Semaphore | None = None,
    ) -> T:
        """What `look` answers once copies are ready.

        INVARIANT: every look is under a permit of that moment, so who lost a right while waiting gets nothing.
        """
        try:
            return look(permit)
        except NotReady:
            if places is not None and not places.acquire(blocking=False):
                self.on_waited("crowded", 0.0)
                raise
        began, outcome = time.monotonic(), "refused"
        try:
            ends, pause = began + patience, 0.05
            while True:
                time.sleep(pause)
                pause = min(pause * 1.5, 1.0)
                permit = self.kernel.permit(permit.identity, permit.op, permit.ref)
                try:
                    found = look(permit)
                except NotReady:
                    if time.monotonic() > ends:
                        outcome = "late"
                        raise
                else:
                    outcome = "ready"
                    return found
        finally:
            self.on_waited(outcome, time.monotonic() - began)
            if places is not None:
                places.release()
