"""Which of a table's own files the readers of a restricted view were given: one row for each set, however often it was."""

import hashlib

from sqlalchemy import insert, select

from headgate.store import tables as t
from headgate.store.database import Store, now

_g = t.given_files.c


def keep(store: Store, object: int, view: str, files: bytes) -> None:
    """Keep a set of files, if it is not kept already."""
    digest = hashlib.sha256(files).hexdigest()
    known = select(_g.digest).where(_g.view == view, _g.digest == digest)
    with store.read() as read:
        if read.execute(known).first() is not None:
            return
    with store.append() as connection:
        # Looked up again where nobody else writes: two servers may give the same files at once.
        if connection.execute(known).first() is None:
            row = {"view": view, "digest": digest, "object": object, "files": files, "at": now()}
            connection.execute(insert(t.given_files).values(row))


def find(store: Store, view: str) -> list[tuple[int, bytes]]:
    """The sets of files of a view, each with its table."""
    with store.read() as read:
        rows = read.execute(select(_g.object, _g.files).where(_g.view == view).order_by(_g.digest))
        return [(row.object, row.files) for row in rows]
