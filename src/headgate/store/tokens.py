"""Headgate's own tokens in the store: never the secret, only its digest."""

from collections.abc import Sequence
from typing import Any, Final

import msgspec
from sqlalchemy import bindparam, insert, select, update

from headgate.model.records import TokenRecord
from headgate.store import tables as t
from headgate.store.database import Lookup, Store, now

_t = t.tokens.c


_FIELDS: Final = tuple(_t[field] for field in TokenRecord.__struct_fields__)
_BY_ID: Final = Lookup(select(*_FIELDS).where(_t.id == bindparam("token")))


def add(store: Store, record: TokenRecord) -> None:
    values = {field: getattr(record, field) for field in record.__struct_fields__}
    values["groups"] = msgspec.json.encode(record.groups)
    with store.append() as connection:
        connection.execute(insert(t.tokens).values(values))


def find(store: Store, id: str) -> TokenRecord | None:
    row = store.look_up(_BY_ID, token=id)
    return None if row is None else _record(row)


def every(store: Store) -> list[TokenRecord]:
    """All tokens, the newest first."""
    with store.read() as read:
        return [
            _record(row) for row in read.execute(select(*_FIELDS).order_by(_t.created_at.desc(), _t.id)).all()
        ]


def revoke(store: Store, id: str) -> bool:
    """Whether there was such a token that was not revoked before."""
    with store.append() as connection:
        done = connection.execute(
            update(t.tokens).where(_t.id == id, _t.revoked_at.is_(None)).values(revoked_at=now())
        )
        return bool(done.rowcount)


def _record(row: Sequence[Any]) -> TokenRecord:
    values = dict(zip(TokenRecord.__struct_fields__, row, strict=True))
    values["groups"] = msgspec.json.decode(values["groups"], type=tuple[str, ...])
    return TokenRecord(**values)
