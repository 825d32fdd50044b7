"""How much is on the ledger of copies, over all tables: what a server tells its operator, and names no table."""

from datetime import datetime
from typing import Final

import msgspec
from sqlalchemy import func, select

from headgate.store import tables as t
from headgate.store.database import Store, clock
from headgate.store.reads.ledger import FAILED, MADE, MAKING, WANTED

STATES: Final = (WANTED, MAKING, MADE, FAILED)


class Backlog(msgspec.Struct, frozen=True):
    """Copies by state, and for how many seconds the one that waits the longest has been wanted."""

    copies: dict[str, int]
    oldest: float


def measured(store: Store) -> Backlog:
    """The backlog of this moment, by the store's own clock."""
    c = t.lens_copies.c
    with store.read() as read:
        counted = {row.state: row.count for row in read.execute(
            select(c.state, func.count().label("count")).group_by(c.state)
        )}  # fmt: skip
        first = read.execute(select(func.min(c.asked_at)).where(c.state.in_((WANTED, MAKING)))).scalar()
        waits = (
            0.0 if first is None else (clock(read.connection) - datetime.fromisoformat(first)).total_seconds()
        )
    return Backlog({state: counted.get(state, 0) for state in STATES}, max(0.0, waits))
