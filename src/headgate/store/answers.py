"""Answers to requests that carried an idempotency key, so that a request sent again is answered again, not done again."""

import zlib

import msgspec
from sqlalchemy import delete, func, insert, select

from headgate.model.errors import Conflict
from headgate.store import tables as t
from headgate.store.database import Store, now

MOST: int = 10_000
"""How many answers are kept; the oldest go first."""

_a = t.answers.c


class KeptAnswer(msgspec.Struct, frozen=True):
    """What was answered, and a digest of what had been asked."""

    request: str
    status: int
    body: bytes


def find(store: Store, key: str) -> KeptAnswer | None:
    with store.read() as read:
        row = read.execute(select(t.answers).where(_a.key == key, _a.expires_at > now())).one_or_none()
    return None if row is None else KeptAnswer(row.request, row.status, zlib.decompress(row.answer))


def keep(store: Store, key: str, answer: KeptAnswer, expires_at: str) -> None:
    """Keep an answer. One that another process kept for the same key meanwhile stays."""
    packed = zlib.compress(answer.body, 1)
    try:
        with store.append() as connection:
            connection.execute(delete(t.answers).where((_a.expires_at <= now()) | (_a.key == key)))
            count = connection.execute(select(func.count()).select_from(t.answers)).scalar_one()
            if count >= MOST:
                oldest = select(_a.key).order_by(_a.expires_at).limit(MOST // 10)
                connection.execute(delete(t.answers).where(_a.key.in_(oldest)))
            connection.execute(
                insert(t.answers).values(
                    key=key,
                    request=answer.request,
                    status=answer.status,
                    answer=packed,
                    expires_at=expires_at,
                )
            )
    except Conflict:
        return
