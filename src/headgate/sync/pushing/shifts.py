"""Who gains and loses what between two states of a system."""

import heapq
from collections.abc import Iterator
from typing import Final

from headgate.sync.access import actions
from headgate.sync.access.effective import Effective, beyond
from headgate.sync.pushing.results import Shift

MOST_LISTED: Final = 100_000
"""Gains, and losses, that a plan lists one by one."""


def shifts(more: Effective, less: Effective) -> tuple[Shift, ...]:
    """What users may do by the one and not by the other."""
    return tuple(sorted(_shifts(more, less)))


def listed(more: Effective, less: Effective) -> tuple[tuple[Shift, ...], int]:
    """The first of what users may do by the one and not by the other, and how many there are beside."""
    found = tuple(heapq.nsmallest(MOST_LISTED, _shifts(more, less)))
    if len(found) < MOST_LISTED:
        return found, 0
    return found, sum(1 for _ in _shifts(more, less)) - len(found)


def _shifts(more: Effective, less: Effective) -> Iterator[Shift]:
    return (
        Shift(user, object, action)
        for user, extra in beyond(more, less).items()
        for object, action in extra
        if action not in actions.GATES
    )
