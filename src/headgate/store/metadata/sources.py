"""Sources: which catalogs take their tables from which other servers, each in one spelling."""

import ipaddress
from collections.abc import Iterable
from typing import Final
from urllib.parse import urlsplit

from sqlalchemy import delete, insert, select

from headgate.store import tables as t
from headgate.store.database import Read, Write

_s = t.catalog_sources.c
_USUAL: Final = (None, 80, 443)


def server_of(url: str) -> str:
    """The server behind an address: its host, and its port unless it is a usual one.

    The scheme and the path do not count: a server that answers under one answers under others too, and what it takes for
    the same path is not known here.
    """
    parts = urlsplit(url)
    host = (parts.hostname or "").rstrip(".")
    try:
        port = parts.port
    except ValueError:
        # No address that is asked: catalogs with such a port are refused.
        return parts.netloc.lower()
    try:
        address = ipaddress.ip_address(host)
        host = f"[{address}]" if address.version == 6 else str(address)
    except ValueError:
        pass
    return host if port in _USUAL else f"{host}:{port}"


def holders(read: Read, sources: Iterable[str]) -> list[int]:
    """The catalogs that have one of these sources."""
    query = select(_s.catalog).where(_s.source.in_(list(sources))).order_by(_s.catalog).distinct()
    return list(read.execute(query).scalars())


def is_taken(read: Read, named: Iterable[str], found: Iterable[str]) -> bool:
    """Whether what a catalog names leads to a source of an older catalog which names none of the same."""
    own = holders(read, named)
    return any(other < min(own, default=other + 1) for other in set(holders(read, found)) - set(own))


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
