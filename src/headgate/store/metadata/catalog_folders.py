"""Folders of catalogs: where the tables of each lie, those too of another system that nobody has loaded here yet.

All folders come in the one spelling of `places.canonical`.
"""

from collections.abc import Iterable
from typing import Any

from sqlalchemy import ColumnElement, delete, insert, or_, select

from headgate.model.places import above, overlap, within
from headgate.store import tables as t
from headgate.store.database import Read, Write

_f = t.catalog_folders.c


def holders(read: Read, folders: Iterable[str], catalog: int = 0) -> list[int]:
    """The other catalogs that have a folder of which one lies in the other."""
    return sorted(
        {row.catalog for folder in folders for row in _near(read, folder) if row.catalog != catalog}
    )


def lets_go(read: Read, catalog: int, wanted: Iterable[str]) -> bool:
    """Whether a catalog has a folder that is none of these."""
    return not _of(read, catalog) <= set(wanted)


def new(read: Read, catalog: int, wanted: Iterable[str]) -> list[str]:
    """Those of the folders that a catalog does not have yet."""
    return sorted(set(wanted) - _of(read, catalog))


def claim(tx: Write, catalog: int, wanted: Iterable[str]) -> list[int]:
    """Let a catalog have these folders and no others; the catalogs that have one around or in those which are new to it.

    Whether the caller may share them is for the caller's transaction to decide.
    """
    folders = set(wanted)
    more = new(tx, catalog, folders)
    others = holders(tx, more, catalog)
    tx.execute(delete(t.catalog_folders).where(_f.catalog == catalog, _f.folder.not_in(folders)))
    if more:
        tx.execute(insert(t.catalog_folders), [{"catalog": catalog, "folder": folder} for folder in more])
    return others


def forget(tx: Write, catalog: int) -> None:
    """A catalog that is dropped has none."""
    tx.execute(delete(t.catalog_folders).where(_f.catalog == catalog))


def is_anothers(read: Read, catalog: int, place: str) -> bool:
    """Whether a place lies in, or around, a folder of another catalog, and not in one of this catalog's own."""
    found = _near(read, place)
    mine = any(row.catalog == catalog and within(place, row.folder) for row in found)
    return not mine and any(row.catalog != catalog for row in found)


def _of(read: Read, catalog: int) -> set[str]:
    return set(read.execute(select(_f.folder).where(_f.catalog == catalog)).scalars())


def _near(read: Read, place: str) -> list[Any]:
    found = read.execute(select(_f.catalog, _f.folder).where(or_(*around(_f.folder, place))))
    return [row for row in found if overlap(row.folder, place)]


def around(column: Any, place: str) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    """Whether what a column names holds a place, and whether it lies in it."""
    # What begins with "place/" sorts from there up to "place0", as "0" follows "/".
    return column.in_(above(place)), (column >= f"{place}/") & (column < f"{place}0")
