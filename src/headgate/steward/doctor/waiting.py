"""Copies that nobody makes: readers wait for a worker that does not run, or cannot work."""

import datetime as dt
from typing import Final

from headgate.steward.doctor.finding import DoctorFinding
from headgate.store import Store, ledger

PATIENCE: Final = dt.timedelta(minutes=5)


def waiting(store: Store) -> list[DoctorFinding]:
    """Say how many copies have been waiting for long, while none is being made."""
    left = ledger.left_waiting(store, PATIENCE)
    if not left:
        return []
    return [
        DoctorFinding(
            "worker",
            f"{left} governed {'copy waits' if left == 1 else 'copies wait'} for a worker, and none is being made",
            "run 'headgate worker', or 'headgate serve' without --no-worker; its log says why it does not work",
        )
    ]
