"""Answers to requests that carried an idempotency key, so that a request sent again is answered again, not done again."""

import zlib

from sqlalchemy import Connection, delete, func, insert, select

from headgate.model.errors import Conflict
from headgate.model.records import KeptAnswer
from headgate.store import tables as t
from headgate.store.database import Store, now

MOST: int = 10_000
"""How many answers are kept; the oldest go first."""

UNDER_WAY: int = 0
"""The status of a key whose request is being done right now."""

_a = t.answers.c


def find(store: Store, key: str) -> KeptAnswer | None:
    with store.read() as read:
        row = read.execute(select(t.answers).where(_a.key == key, _a.expires_at > now())).one_or_none()
    return None if row is None else KeptAnswer(row.request, row.status, zlib.decompress(row.answer))


def begin(store: Store, key: str, request: str, expires_at: str) -> bool:
    """Take a key for a request that is about to be done; False if somebody else has it, in whatever process."""
    try:
        with store.append() as connection:
            connection.execute(delete(t.answers).where(_a.expires_at <= now()))
            count = connection.execute(select(func.count()).select_from(t.answers)).scalar_one()
            if count >= MOST:
                oldest = (
                    select(_a.key).where(_a.status != UNDER_WAY).order_by(_a.expires_at).limit(MOST // 10)
                )
                connection.execute(delete(t.answers).where(_a.key.in_(oldest)))
            _insert(connection, key, KeptAnswer(request, UNDER_WAY, b""), expires_at)
    except Conflict:
        return False
    return True


def keep(store: Store, key: str, answer: KeptAnswer, expires_at: str) -> None:
    """Keep the answer to the request that took the key."""
    with store.append() as connection:
        connection.execute(delete(t.answers).where(_a.key == key))
        _insert(connection, key, answer, expires_at)


def give_up(store: Store, key: str) -> None:
    """Let go of a key whose request was not done, so that it can be sent again."""
    with store.append() as connection:
        connection.execute(delete(t.answers).where(_a.key == key, _a.status == UNDER_WAY))


def _insert(connection: Connection, key: str, answer: KeptAnswer, expires_at: str) -> None:
    packed = zlib.compress(answer.body, 1)
    values = {"key": key, "request": answer.request, "status": answer.status, "answer": packed}
    connection.execute(insert(t.answers).values(**values, expires_at=expires_at))
