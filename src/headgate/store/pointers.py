"""Where the current metadata of native tables and views lies: swapped only by compare-and-swap."""

from sqlalchemy import insert, select, update

from headgate.model.errors import Conflict
from headgate.store import tables as t
from headgate.store.database import Read, Write

_p = t.pointers.c


def location(read: Read, object: int) -> str | None:
    found: str | None = read.execute(select(_p.location).where(_p.object == object)).scalar_one_or_none()
    return found


def point(tx: Write, object: int, location: str) -> None:
    """The first pointer of a new table or view."""
    tx.execute(insert(t.pointers).values(object=object, location=location))


def swap(tx: Write, object: int, expected: str, location: str) -> None:
    """Move a pointer, if it still is where the caller believes it to be."""
    moved = tx.execute(
        update(t.pointers).where(_p.object == object, _p.location == expected).values(location=location)
    ).rowcount
    if not moved:
        raise Conflict(
            "the table was changed by somebody else", hint="refresh it and commit again", about="commit"
        )
