"""The journal read for its own sake: what changed, and when."""

from collections.abc import Iterator
from typing import Final

import msgspec
from sqlalchemy import select

from headgate.model.changes import Change
from headgate.store import tables as t
from headgate.store.database import Store

_AT_ONCE: Final = 1000
_changes: Final = msgspec.json.Decoder(list[Change])
_j = t.journal.c


class JournalEntry(msgspec.Struct, frozen=True):
    """What became so with a revision, and when."""

    revision: int
    at: str
    changes: list[Change]


def entries(store: Store, after: int = 0) -> Iterator[JournalEntry]:
    """All entries after a revision in their order, read a part at a time."""
    while True:
        with store.read() as read:
            rows = read.execute(
                select(_j.revision, _j.at, _j.changes)
                .where(_j.revision > after)
                .order_by(_j.revision)
                .limit(_AT_ONCE)
            ).all()
        for row in rows:
            yield JournalEntry(row.revision, row.at, _changes.decode(row.changes))
        if len(rows) < _AT_ONCE:
            return
        after = rows[-1].revision
