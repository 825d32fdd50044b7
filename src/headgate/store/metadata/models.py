"""Versions of models and the aliases that point to them."""

from typing import Any

import msgspec
from sqlalchemy import delete, insert, select, update

from headgate.model.errors import AlreadyExists
from headgate.model.objects import clip
from headgate.model.records import VersionRecord, audit_of
from headgate.store import tables as t
from headgate.store.database import Read, Write

_v = t.model_versions.c
_a = t.model_aliases.c


def versions(read: Read, model: int) -> list[VersionRecord]:
    """All versions of a model, the oldest first."""
    names: dict[int, list[str]] = {}
    for row in read.execute(select(t.model_aliases).where(_a.model == model).order_by(_a.alias)):
        names.setdefault(row.version, []).append(row.alias)
    rows = read.execute(select(t.model_versions).where(_v.model == model).order_by(_v.version))
    return [_record(row, names.get(row.version, [])) for row in rows]


def version(read: Read, model: int, version: int | str) -> VersionRecord | None:
    """One version of a model, by its number or by an alias."""
    number = version if isinstance(version, int) else _aliased(read, model, version)
    if number is None:
        return None
    row = read.execute(select(t.model_versions).where(_v.model == model, _v.version == number)).one_or_none()
    if row is None:
        return None
    aliases = select(_a.alias).where(_a.model == model, _a.version == number).order_by(_a.alias)
    return _record(row, list(read.execute(aliases).scalars()))


def add(tx: Write, model: int, number: int, body: dict[str, Any]) -> None:
    tx.execute(
        insert(t.model_versions).values(
            model=model,
            version=number,
            body=msgspec.json.encode(body),
            creator=tx.actor,
            created_at=tx.now,
        )
    )


def alter(tx: Write, model: int, number: int, body: dict[str, Any]) -> None:
    tx.execute(
        update(t.model_versions)
        .where(_v.model == model, _v.version == number)
        .values(body=msgspec.json.encode(body), modifier=tx.actor, modified_at=tx.now)
    )


def remove(tx: Write, model: int, number: int) -> None:
    tx.execute(delete(t.model_aliases).where(_a.model == model, _a.version == number))
    tx.execute(delete(t.model_versions).where(_v.model == model, _v.version == number))


def name(tx: Write, model: int, number: int, alias: str) -> None:
    """Let an alias point to a version. INVARIANT: within a model an alias points to one version."""
    taken = _aliased(tx, model, alias)
    if taken is not None and taken != number:
        raise AlreadyExists(
            f"alias '{clip(alias)}' already points to version {taken}",
            hint="take it off that version first",
            about="model-alias",
        )
    if taken is None:
        tx.execute(insert(t.model_aliases).values(model=model, alias=alias, version=number))


def unname(tx: Write, model: int, number: int, alias: str) -> None:
    tx.execute(delete(t.model_aliases).where(_a.model == model, _a.version == number, _a.alias == alias))


def _aliased(read: Read, model: int, alias: str) -> int | None:
    query = select(_a.version).where(_a.model == model, _a.alias == alias)
    found: int | None = read.execute(query).scalar_one_or_none()
    return found


def _record(row: Any, aliases: list[str]) -> VersionRecord:
    return VersionRecord(row.version, msgspec.json.decode(row.body), tuple(aliases), audit_of(row))
