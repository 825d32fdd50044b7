"""The doctor: what is wrong with a store and what is behind it, and what to do about it. One check per module.

Takes no permit: it is for the operator, who opens the store itself, and for the log of a server that starts.
"""

from collections.abc import Callable
from typing import Final

from headgate.catalogs.openings import Openings
from headgate.steward.doctor.clock import clocks
from headgate.steward.doctor.finding import DoctorFinding
from headgate.steward.doctor.overlaps import overlaps
from headgate.steward.doctor.storage import storage
from headgate.steward.doctor.unread import unread
from headgate.steward.doctor.waiting import waiting
from headgate.store import Store

__all__ = ["CHECKS", "DoctorFinding", "examine", "examine_whole"]

CHECKS: Final[tuple[Callable[[Store], list[DoctorFinding]], ...]] = (overlaps, unread, clocks)
"""Those that cost a look at the store: also made when a server starts."""


def examine(store: Store) -> list[DoctorFinding]:
    """Everything that any check finds."""
    return [finding for check in CHECKS for finding in check(store)]


def examine_whole(store: Store, warehouse: str, openings: Openings) -> list[DoctorFinding]:
    """As `examine`, and what takes other systems or longer: whether every catalog works, and whether anybody works for readers."""
    return [*examine(store), *waiting(store), *storage(store, warehouse, openings)]
