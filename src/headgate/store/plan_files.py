"""Which files plans named: one row for each set of files, however many plans name it."""

from sqlalchemy import insert, select

from headgate.store import tables as t
from headgate.store.database import Store, now

_p = t.plan_files.c


def keep(store: Store, metalake: str, digest: str, files: bytes) -> None:
    """Keep a set of files by its digest, if it is not kept already."""
    if find(store, metalake, digest) is not None:
        return
    with store.append() as connection:
        # Looked up again where nobody else writes: two servers may plan the same scan at once.
        known = select(_p.digest).where(_p.metalake == metalake, _p.digest == digest)
        if connection.execute(known).first() is None:
            row = {"metalake": metalake, "digest": digest, "files": files, "at": now()}
            connection.execute(insert(t.plan_files).values(row))


def find(store: Store, metalake: str, digest: str) -> bytes | None:
    """The fingerprints of a set of files, or None."""
    with store.read() as read:
        found: bytes | None = read.execute(
            select(_p.files).where(_p.metalake == metalake, _p.digest == digest)
        ).scalar_one_or_none()
    return found
