"""Which owners share the tokens of a mask's key.

INVARIANT: tables of different owners have different keys, unless both owners were joined; a list that was emptied and begun
anew has a new key. Who made a table counts beside who owns it, so nobody makes guesses in a table and gives it away to an owner
whose tokens they want to read.
"""

import hashlib
import secrets
from collections.abc import Iterable

from sqlalchemy import delete, insert, select

from headgate.store import tables as t
from headgate.store.database import Read, Write

_k = t.mask_key_owners.c
_p = t.principals.c


def joined(read: Read, metalake: int, name: str) -> dict[int, str]:
    """The owners who share a key, each with the name of what they share."""
    query = select(_k.owner, _k.pool).where((_k.metalake == metalake) & (_k.name == name))
    return {row.owner: row.pool for row in read.execute(query)}


def pools(read: Read, metalake: int, table: int, owner: int | None, names: Iterable[str]) -> dict[str, str]:
    """What names the key of a table, for each of these keys: equal for tables that give the same tokens."""
    maker = select(t.objects.c.creator).where(t.objects.c.id == table).scalar_subquery()
    row = read.execute(
        select(
            maker.label("name"),
            select(_p.id)
            .where((_p.metalake == metalake) & (_p.kind == "user") & (_p.name == maker))
            .scalar_subquery()
            .label("id"),
        )
    ).one()
    own = f"owner {owner or 0} maker {hashlib.sha256(str(row.name).encode()).hexdigest()[:32]}"
    found = {}
    for name in sorted(names):
        shared = joined(read, metalake, name)
        both = owner in shared and row.id in shared
        found[name] = shared[owner] if both and owner is not None else own
    return found


def join(tx: Write, metalake: int, name: str, owner: int) -> None:
    """Let the tables of an owner share a key with those who share it already."""
    pools = joined(tx, metalake, name)
    if owner not in pools:
        pool = next(iter(pools.values()), None) or secrets.token_hex(16)
        tx.execute(insert(t.mask_key_owners).values(metalake=metalake, name=name, owner=owner, pool=pool))


def leave(tx: Write, metalake: int, name: str, owner: int) -> bool:
    """Let the tables of an owner have a key of their own again."""
    where = (_k.metalake == metalake) & (_k.name == name) & (_k.owner == owner)
    return bool(tx.execute(delete(t.mask_key_owners).where(where)).rowcount)


def forget(tx: Write, metalake: int, name: str) -> None:
    """A key that no policy named any more is named anew: nobody shares it."""
    tx.execute(delete(t.mask_key_owners).where((_k.metalake == metalake) & (_k.name == name)))
