"""Secrets that the server made for itself: made once, the same for all its processes."""

import hmac
import secrets
from enum import StrEnum

from sqlalchemy import insert, select

from headgate.store import tables as t
from headgate.store.database import Store


class Use(StrEnum):
    """What a key is for.

    INVARIANT: no two uses share a key, so nothing that one of them shows helps against another.
    """

    PLAN_TASKS = "plan-tasks"
    PSEUDONYMS = "mask"
    """`token`, by metalake and the name in the policy."""
    QUERY_LOCAL = "salt"
    """`sha256_query_local`, by table and lens."""
    NOISE = "noise"
    """`noisy`, by table."""
    ORDER = "order"
    """The order of rows in copies, by table."""
    VIEWS = "views"
    """The names of views, by table."""


def key(store: Store, use: Use, *of: int | str) -> bytes:
    """The key for one use of one thing, 32 random bytes; made by whoever asks first."""
    name = "|".join((use.value, *map(str, of)))
    wanted = select(t.keys.c.value).where(t.keys.c.name == name)
    with store.read() as read:
        found: bytes | None = read.execute(wanted).scalar_one_or_none()
    if found is not None:
        return found
    with store.append() as connection:
        found = connection.execute(wanted).scalar_one_or_none()
        if found is None:
            found = secrets.token_bytes(32)
            connection.execute(insert(t.keys).values(name=name, value=found))
        return found


def lens_name(store: Store, table: int, lens: str) -> str:
    """What a lens is called wherever anybody sees it: equal lenses of a table alike, and nothing to check a guess against."""
    return hmac.digest(key(store, Use.VIEWS, table), b"lens\0" + lens.encode(), "sha256").hex()
