"""Which tables share the tokens of a mask's key.

INVARIANT: each table has tokens of its own, unless it was joined with others; a list that was emptied and begun anew has a
new key.
"""

import secrets
from collections.abc import Iterator

from sqlalchemy import delete, insert, select

from headgate.model.changes import KeyTable
from headgate.store import tables as t
from headgate.store.database import Read, Write, rows

_k = t.mask_key_tables.c


def _joined(read: Read, metalake: int, name: str) -> dict[int, str]:
    query = select(_k.table, _k.pool).where((_k.metalake == metalake) & (_k.name == name))
    return {row.table: row.pool for row in read.execute(query)}


def join(tx: Write, metalake: int, name: str, table: int) -> None:
    """Let a table share a key with those that share it already."""
    pools = _joined(tx, metalake, name)
    if table not in pools:
        pool = next(iter(pools.values()), None) or secrets.token_hex(16)
        tx.execute(insert(t.mask_key_tables).values(metalake=metalake, name=name, table=table, pool=pool))
        tx.journal(KeyTable(metalake, name, table, pool))


def leave(tx: Write, metalake: int, name: str, table: int) -> None:
    """Let a table have tokens of its own again."""
    where = (_k.metalake == metalake) & (_k.name == name) & (_k.table == table)
    if tx.execute(delete(t.mask_key_tables).where(where)).rowcount:
        tx.journal(KeyTable(metalake, name, table, None))


def leave_all(tx: Write, table: int) -> None:
    """A table that is dropped shares nothing."""
    for row in tx.execute(select(_k.metalake, _k.name).where(_k.table == table)).all():
        leave(tx, row.metalake, row.name, table)


def forget(tx: Write, metalake: int, name: str) -> None:
    """A key that no policy named any more is named anew: no tables share it."""
    for table in sorted(_joined(tx, metalake, name)):
        leave(tx, metalake, name, table)


def all_shared(read: Read) -> Iterator[KeyTable]:
    for row in rows(read, select(t.mask_key_tables)):
        yield KeyTable(row.metalake, row.name, row.table, row.pool)
