"""How fast a remote service may be asked: what it asks us to wait is waited, and what it is too busy for is asked again.

Pushes to one target run one after the other, so the waits need no randomness to keep callers apart.
"""

import time
from collections.abc import Callable
from email.utils import parsedate_to_datetime
from typing import TypeVar

from headgate.model.errors import ConnectionFailed, HeadgateError

Answer = TypeVar("Answer")


class Busy(HeadgateError):
    """The service is too busy for this request; `after` is the wait it asks for, in seconds, if it says."""

    def __init__(self, message: str, after: float | None = None) -> None:
        super().__init__(message, about="sync")
        self.after = after


class Pacing:
    """Asks again after a wait: the one that the service names, or one that doubles from try to try."""

    def __init__(
        self,
        sleep: Callable[[float], None] = time.sleep,
        now: Callable[[], float] = time.time,
        first: float = 0.5,
        longest: float = 60.0,
        patience: float = 300.0,
    ) -> None:
        self.sleep = sleep
        self.now = now
        self.first = first
        self.longest = longest
        self.patience = patience
        """How long one request may wait in all before it counts as failed."""

    def __call__(self, ask: Callable[[], Answer]) -> Answer:
        wait, waited = self.first, 0.0
        while True:
            try:
                return ask()
            except Busy as busy:
                pause = wait if busy.after is None else max(busy.after, 0.0)
                if waited + pause > self.patience:
                    raise ConnectionFailed(
                        f"the service stayed too busy for {waited:.0f} seconds",
                        hint=f"push again later ({busy})",
                        about="sync",
                    ) from busy
            self.sleep(pause)
            waited += max(pause, self.first)
            wait = min(wait * 2, self.longest)

    def retry_after(self, header: str | None) -> float | None:
        """The wait that a Retry-After header asks for: seconds, or a date."""
        if header is None:
            return None
        if header.strip().isdigit():
            return float(header)
        try:
            return max(0.0, parsedate_to_datetime(header).timestamp() - self.now())
        except ValueError:
            return None
