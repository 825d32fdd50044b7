"""Policies of Headgate's own: what they say, journaled, and what they said, kept for good."""

from collections.abc import Iterator
from typing import Any, Final

import msgspec
from sqlalchemy import func, insert, select

from headgate.model.changes import PolicySet
from headgate.model.objects import ObjectType
from headgate.model.records import ObjectRecord
from headgate.store import tables as t
from headgate.store.database import Read, Write, rows

OWN: Final = "headgate"
"""The type of policy that Headgate itself evaluates."""

_h = t.policy_history.c


class Version(msgspec.Struct, frozen=True):
    """What a policy said from some moment on, and who made it so."""

    version: int
    name: str
    on: str | None
    document: dict[str, Any]
    enabled: bool
    action: str
    actor: str
    at: str


def document_of(body: dict[str, Any]) -> str:
    """The document of a policy as it is journaled: the same text for the same policy."""
    return msgspec.json.encode(body["content"], order="sorted").decode()


def say(tx: Write, record: ObjectRecord, on: str | None, action: str) -> None:
    """Journal what a policy says now, and keep it in its history. `on` names its object as it is called now."""
    _keep(tx, record, on, action)
    authors = _authors(tx, record.id).get(record.id, ())
    tx.journal(PolicySet(record.id, document_of(record.body), record.body["enabled"], authors))


def silence(tx: Write, record: ObjectRecord, on: str | None) -> None:
    """Keep in its history that a policy is dropped; dropping its object tells the journal."""
    _keep(tx, record, on, "drop")


def _keep(tx: Write, record: ObjectRecord, on: str | None, action: str) -> None:
    last = tx.execute(select(func.max(_h.version)).where(_h.policy == record.id)).scalar_one()
    tx.execute(
        insert(t.policy_history).values(
            policy=record.id,
            version=(last or 0) + 1,
            metalake=record.metalake,
            name=record.name,
            on=on,
            document=msgspec.json.encode(record.body["content"]),
            enabled=record.body["enabled"],
            action=action,
            actor=tx.actor,
            at=tx.now,
        )
    )


def history(read: Read, policy: int) -> list[Version]:
    """All that a policy ever said, oldest first."""
    found = read.execute(select(t.policy_history).where(_h.policy == policy).order_by(_h.version))
    return [
        Version(
            row.version,
            row.name,
            row.on,
            msgspec.json.decode(row.document),
            row.enabled,
            row.action,
            row.actor,
            row.at,
        )
        for row in found
    ]


def _authors(read: Read, policy: int | None = None) -> dict[int, tuple[str, ...]]:
    """Who ever wrote a policy, or every policy, by its id; whoever wrote what it says now is the last of them."""
    query = select(_h.policy, _h.actor, _h.document).order_by(_h.policy, _h.version)
    actors: dict[int, set[str]] = {}
    written: dict[int, tuple[bytes, str]] = {}
    for row in read.execute(query if policy is None else query.where(_h.policy == policy)):
        actors.setdefault(row.policy, set()).add(row.actor)
        if row.policy not in written or written[row.policy][0] != row.document:
            # Who enables it, renames it or gives it another comment did not choose its words.
            written[row.policy] = (row.document, row.actor)
    return {id: (*sorted(actors[id] - {writer}), writer) for id, (_, writer) in written.items()}


def all_set(read: Read) -> Iterator[PolicySet]:
    """What every policy says, for compiling from everything."""
    o = t.objects.c
    authors = _authors(read)
    for row in rows(read, select(o.id, o.body).where(o.type == ObjectType.POLICY.value)):
        body = msgspec.json.decode(row.body)
        if body.get("policyType") == OWN:
            yield PolicySet(row.id, document_of(body), body["enabled"], authors.get(row.id, ()))
