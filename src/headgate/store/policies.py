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
    revision: int = 0
    """0 for what was written before revisions were kept with it."""


def document_of(body: dict[str, Any]) -> str:
    """The document of a policy as it is journaled: the same text for the same policy."""
    return msgspec.json.encode(body["content"], order="sorted").decode()


RENEWED: Final = "renew"
"""The action of somebody who says anew what a policy says already: its words are theirs from then on."""


def say(
    tx: Write, record: ObjectRecord, on: str | None, action: str, groups: frozenset[str] | None = None
) -> None:
    """Journal what a policy says now, and keep it in its history.

    `on` names its object as it is called now; `groups` are those that the actor's token told, None if it told none.
    """
    _keep(tx, record, on, action, groups)
    authorship = _authorship(tx, record.id).get(record.id, _NOBODYS)
    tx.journal(_set(record.id, record.body, authorship))


def silence(tx: Write, record: ObjectRecord, on: str | None) -> None:
    """Keep in its history that a policy is dropped; dropping its object tells the journal."""
    _keep(tx, record, on, "drop", None)


def _keep(
    tx: Write, record: ObjectRecord, on: str | None, action: str, groups: frozenset[str] | None
) -> None:
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
            groups=None if groups is None else msgspec.json.encode(sorted(groups)).decode(),
            revision=tx.base + 1,
        )
    )


def history(read: Read, policy: int) -> list[Version]:
    """All that a policy ever said, oldest first."""
    found = read.execute(select(t.policy_history).where(_h.policy == policy).order_by(_h.version))
    return [_version(row) for row in found]


def histories(read: Read, metalake: int) -> dict[int, list[Version]]:
    """All that the policies of a metalake ever said, those that are gone too, by policy and oldest first."""
    query = select(t.policy_history).where(_h.metalake == metalake).order_by(_h.policy, _h.version)
    found: dict[int, list[Version]] = {}
    for row in read.execute(query):
        found.setdefault(row.policy, []).append(_version(row))
    return found


def _version(row: Any) -> Version:
    return Version(
        row.version,
        row.name,
        row.on,
        msgspec.json.decode(row.document),
        row.enabled,
        row.action,
        row.actor,
        row.at,
        row.revision,
    )


class _Authorship(msgspec.Struct, frozen=True):
    """Who ever wrote a policy, and of whoever wrote what it says now what their token told then, and when."""

    authors: tuple[str, ...] = ()
    groups: tuple[str, ...] | None = None
    since: int = 0


_NOBODYS: Final = _Authorship()


def _authorship(read: Read, policy: int | None = None) -> dict[int, _Authorship]:
    """Whose words a policy, or every policy, says, by its id."""
    query = select(_h.policy, _h.actor, _h.document, _h.action, _h.groups, _h.revision).order_by(
        _h.policy, _h.version
    )
    actors: dict[int, set[str]] = {}
    latest: dict[int, Any] = {}
    for row in read.execute(query if policy is None else query.where(_h.policy == policy)):
        actors.setdefault(row.policy, set()).add(row.actor)
        last = latest.get(row.policy)
        if last is None or last.document != row.document or row.action == RENEWED:
            # Who enables it, renames it or gives it another comment did not choose its words.
            latest[row.policy] = row
    return {
        id: _Authorship(
            (*sorted(actors[id] - {row.actor}), row.actor),
            None if row.groups is None else tuple(msgspec.json.decode(row.groups)),
            row.revision,
        )
        for id, row in latest.items()
    }


def _set(id: int, body: dict[str, Any], authorship: _Authorship) -> PolicySet:
    return PolicySet(
        id, document_of(body), body["enabled"], authorship.authors, authorship.groups, authorship.since
    )


def all_set(read: Read) -> Iterator[PolicySet]:
    """What every policy says, for compiling from everything."""
    o = t.objects.c
    authorship = _authorship(read)
    for row in rows(read, select(o.id, o.body).where(o.type == ObjectType.POLICY.value)):
        body = msgspec.json.decode(row.body)
        if body.get("policyType") == OWN:
            yield _set(row.id, body, authorship.get(row.id, _NOBODYS))
