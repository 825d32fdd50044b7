"""The doctor: what is wrong with a store and its folder, and what to do about it. One check per module.

Takes no permit: it is for the operator, who opens the store itself, and for the log of a server that starts.
"""

from collections.abc import Callable
from typing import Final

from headgate.steward.doctor.finding import DoctorFinding
from headgate.steward.doctor.overlaps import overlaps
from headgate.steward.doctor.unread import unread
from headgate.store import Store

__all__ = ["CHECKS", "DoctorFinding", "examine"]

CHECKS: Final[tuple[Callable[[Store], list[DoctorFinding]], ...]] = (overlaps, unread)


def examine(store: Store) -> list[DoctorFinding]:
    """Everything that any check finds."""
    return [finding for check in CHECKS for finding in check(store)]
