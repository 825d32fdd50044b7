"""Which catalogs take their tables from which other servers."""

from collections.abc import Iterable

from sqlalchemy import delete, insert, select

from headgate.store import tables as t
from headgate.store.database import Read, Write

_s = t.catalog_sources.c


def holders(read: Read, sources: Iterable[str]) -> list[int]:
    """The catalogs that have one of these sources."""
    query = select(_s.catalog).where(_s.source.in_(list(sources))).order_by(_s.catalog).distinct()
    return list(read.execute(query).scalars())


def claim(tx: Write, catalog: int, wanted: Iterable[str]) -> list[int]:
    """Let a catalog have these sources and no others; the catalogs that have one of those which are new to it.

    Whether the caller may share them is for the caller's transaction to decide.
    """
    before = set(tx.execute(select(_s.source).where(_s.catalog == catalog)).scalars())
    sources = set(wanted)
    more = sorted(sources - before)
    others = holders(tx, more)
    tx.execute(delete(t.catalog_sources).where(_s.catalog == catalog, _s.source.not_in(sources)))
    if more:
        tx.execute(insert(t.catalog_sources), [{"catalog": catalog, "source": source} for source in more])
    return others


def forget(tx: Write, catalog: int) -> None:
    """A catalog that is dropped has none."""
    tx.execute(delete(t.catalog_sources).where(_s.catalog == catalog))
