"""Where the current metadata of native tables lies: swapped only by compare-and-swap."""

from typing import Final

from sqlalchemy import bindparam, exists, insert, select, update

from headgate.model.errors import Conflict
from headgate.store import tables as t
from headgate.store.database import Lookup, Store, Write
from headgate.store.metadata.places import IS_CONTESTED, contested_by

_p = t.pointers.c

_LOCATION: Final = Lookup(
    select(
        _p.location,
        # Asked along with the location: a second question would cost every load as much as the first.
        exists(select(t.places.c.id).where(t.places.c.object == _p.object, IS_CONTESTED)),
    ).where(_p.object == bindparam("table"))
)


def location(store: Store, object: int) -> str | None:
    """Where the metadata of a table lies now. Refuses a table whose place is an older object's."""
    found = store.look_up(_LOCATION, table=object)
    if found is None:
        return None
    if found[1]:
        raise contested_by()
    return str(found[0])


def point(tx: Write, object: int, location: str) -> None:
    """The first pointer of a new table."""
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
