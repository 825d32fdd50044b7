"""Two clocks that differ: tokens that are too young or too old, leases that end early, requests that storage refuses."""

import datetime as dt
from typing import Final

from headgate.steward.doctor.finding import DoctorFinding
from headgate.store import Store
from headgate.store.database import clock

MOST: Final = 30.0
"""Seconds. Issuers of tokens are allowed as much; storage refuses what is signed a quarter of an hour off."""


def clocks(store: Store) -> list[DoctorFinding]:
    """Compare this machine's clock with that of the store."""
    with store.read() as read:
        there = clock(read.connection)
    apart = abs((dt.datetime.now(dt.UTC) - there).total_seconds())
    if apart <= MOST:
        return []
    return [
        DoctorFinding(
            "clock",
            f"this machine's clock and the store's are {apart:.0f} s apart",
            "have both machines set their clocks by NTP",
        )
    ]
