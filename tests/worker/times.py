"""A clock that tests turn."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any


class Clock:
    """The true time, and what the test added to it."""

    def __init__(self, true: Callable[[Any], datetime]) -> None:
        self._true = true
        self._ahead = timedelta()

    def __call__(self, connection: Any) -> datetime:
        return self._true(connection) + self._ahead

    def forward(self, by: timedelta) -> None:
        self._ahead += by
