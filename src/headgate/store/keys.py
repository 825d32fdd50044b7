"""Secrets that the server made for itself: made once, the same for all its processes."""

import secrets

from sqlalchemy import insert, select

from headgate.store import tables as t
from headgate.store.database import Store


def key(store: Store, name: str) -> bytes:
    """The key of that name, 32 random bytes; made by whoever asks first."""
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
