"""Where the current metadata of native tables lies: swapped only by compare-and-swap. And whose folder is whose."""

from typing import Final

from sqlalchemy import bindparam, insert, or_, select, update

from headgate.model.errors import Conflict, IllegalArgument
from headgate.model.objects import clip
from headgate.store import tables as t
from headgate.store.database import Lookup, Read, Store, Write

_p = t.pointers.c


_LOCATION: Final = Lookup(select(_p.location).where(_p.object == bindparam("table")))


def location(store: Store, object: int) -> str | None:
    """Where the metadata of a table lies now."""
    found = store.look_up(_LOCATION, table=object)
    return None if found is None else str(found[0])


def point(tx: Write, object: int, location: str, place: str) -> None:
    """The first pointer of a new table, whose files lie at `place`."""
    _alone(tx, object, place)
    tx.execute(insert(t.pointers).values(object=object, location=location, place=place))


def swap(tx: Write, object: int, expected: str, location: str, place: str) -> None:
    """Move a pointer, if it still is where the caller believes it to be."""
    _alone(tx, object, place)
    moved = tx.execute(
        update(t.pointers)
        .where(_p.object == object, _p.location == expected)
        .values(location=location, place=place)
    ).rowcount
    if not moved:
        raise Conflict(
            "the table was changed by somebody else", hint="refresh it and commit again", about="commit"
        )


def _alone(read: Read, object: int, place: str) -> None:
    """Refuse a folder that holds another table's, or lies in it.

    INVARIANT: no two tables share a folder, so what is given for one table's folder never reaches another's files.
    """
    parts = place.split("/")
    above = ["/".join(parts[:count]) for count in range(1, len(parts) + 1)]
    # What begins with "place/" sorts from there up to "place0", as "0" follows "/".
    below = (_p.place >= f"{place}/") & (_p.place < f"{place}0")
    clash = read.execute(
        select(_p.place).where(_p.object != object, or_(_p.place.in_(above), below)).limit(1)
    ).scalar_one_or_none()
    if clash is not None:
        raise IllegalArgument(
            f"the location '{clip(place, 200)}' belongs to another table",
            hint="choose another, or leave it out",
        )
