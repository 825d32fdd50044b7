"""Securable objects in the store: create, read, alter, drop. Every change is journaled."""

from collections.abc import Collection, Iterator
from typing import Any

import msgspec
from sqlalchemy import delete, func, insert, select, update

from headgate.model.changes import (
    LabelSet,
    ObjectGone,
    ObjectPut,
    OwnerSet,
    PolicySet,
    PrincipalGone,
    RoleGrants,
    RoleHeld,
)
from headgate.model.errors import AlreadyExists, Conflict, NotFound
from headgate.model.objects import ObjectType, clip
from headgate.model.records import ObjectRecord, audit_of
from headgate.store import tables as t
from headgate.store.database import Read, Write, rows
from headgate.store.metadata import catalog_folders, dropped, sources, writers
from headgate.store.reads import mask_keys

_o = t.objects.c


def create(
    tx: Write,
    parent: int,
    metalake: int,
    type: ObjectType,
    name: str,
    *,
    comment: str | None = None,
    properties: dict[str, str] | None = None,
    body: dict[str, Any] | None = None,
) -> int:
    """Add an object and return its id, which no other object ever gets. A metalake has parent and metalake 0."""
    if find(tx, parent, type, name) is not None:
        raise AlreadyExists(f"{type} '{clip(name)}' already exists", about=type)
    row = _new(tx, parent, metalake, type, name) | {
        "comment": comment,
        "properties": msgspec.json.encode(properties or {}),
        "body": msgspec.json.encode(body or {}),
    }
    made = tx.execute(insert(t.objects).values(row)).inserted_primary_key[0]
    tx.journal(ObjectPut(made, parent, type, name))
    return int(made)


def create_many(
    tx: Write, parent: int, metalake: int, type: ObjectType, names: Collection[str]
) -> dict[str, int]:
    """Add plain objects of one type, and give the ids of all; those that are there already stay as they are."""
    found = ids(tx, parent, type, names)
    rows = [_new(tx, parent, metalake, type, name) for name in dict.fromkeys(names) if name not in found]
    if rows:
        made = {row.name: row.id for row in tx.execute(insert(t.objects).returning(_o.id, _o.name), rows)}
        tx.journal(*(ObjectPut(made[row["name"]], parent, type, row["name"]) for row in rows))
        found |= made
    return found


def _new(tx: Write, parent: int, metalake: int, type: ObjectType, name: str) -> dict[str, Any]:
    return {
        "parent": parent,
        "metalake": metalake,
        "type": type.value,
        "name": name,
        "properties": b"{}",
        "body": b"{}",
        "in_use": True,
        "version": 1,
        "creator": tx.actor,
        "created_at": tx.now,
    }


def get(read: Read, id: int) -> ObjectRecord | None:
    row = read.execute(select(t.objects).where(_o.id == id)).one_or_none()
    return None if row is None else _record(row)


def present(read: Read, id: int) -> ObjectRecord:
    """As `get`, for an object that was just decided upon."""
    found = get(read, id)
    if found is None:
        raise NotFound("the object does not exist any more", hint="somebody else dropped it")
    return found


def find(read: Read, parent: int, type: ObjectType, name: str) -> ObjectRecord | None:
    row = read.execute(
        select(t.objects).where(_o.parent == parent, _o.type == type.value, _o.name == name)
    ).one_or_none()
    return None if row is None else _record(row)


def ids(read: Read, parent: int, type: ObjectType, names: Collection[str]) -> dict[str, int]:
    """The ids of those of these names that exist below a parent."""
    asked = list(names)
    return {
        row.name: row.id
        for start in range(0, len(asked), 500)
        for row in read.execute(
            select(_o.id, _o.name).where(
                _o.parent == parent, _o.type == type.value, _o.name.in_(asked[start : start + 500])
            )
        )
    }


def in_parent(read: Read, parent: int, type: ObjectType) -> Iterator[ObjectRecord]:
    """All objects of a type directly below a parent."""
    return map(_record, rows(read, select(t.objects).where(_o.parent == parent, _o.type == type.value)))


def many(read: Read, ids: list[int]) -> list[ObjectRecord]:
    """These objects, in the order asked; those that are gone are left out."""
    found: dict[int, ObjectRecord] = {}
    for start in range(0, len(ids), 500):
        chunk = ids[start : start + 500]
        for row in read.execute(select(t.objects).where(_o.id.in_(chunk))):
            found[row.id] = _record(row)
    return [found[id] for id in ids if id in found]


def with_properties(read: Read) -> list[ObjectRecord]:
    """All objects of which any property is kept, the older first."""
    rows = read.execute(select(t.objects).where(_o.properties != b"{}").order_by(_o.id))
    return [_record(row) for row in rows]


def in_use(read: Read, type: ObjectType) -> list[ObjectRecord]:
    """All objects of a type that were not taken out of use, the older first."""
    wanted = select(t.objects).where(_o.type == type.value, _o.in_use).order_by(_o.id)
    return [_record(row) for row in read.execute(wanted)]


def has_children(read: Read, id: int, *types: ObjectType) -> bool:
    query = select(func.count()).where(_o.parent == id)
    if types:
        query = query.where(_o.type.in_([type.value for type in types]))
    return bool(read.execute(query).scalar_one())


def alter(
    tx: Write,
    before: ObjectRecord,
    *,
    parent: int | None = None,
    name: str | None = None,
    comment: str | None = None,
    properties: dict[str, str] | None = None,
    body: dict[str, Any] | None = None,
    in_use: bool | None = None,
) -> None:
    """Write a changed object, provided that nobody changed it since `before` was read.

    None leaves a part as it is, and an empty comment takes the comment away.
    """
    new_parent = before.parent if parent is None else parent
    new_name = before.name if name is None else name
    moved = (new_parent, new_name) != (before.parent, before.name)
    if moved and find(tx, new_parent, before.type, new_name) is not None:
        raise AlreadyExists(f"{before.type} '{clip(new_name)}' already exists", about=before.type)
    values: dict[str, Any] = {
        "parent": new_parent,
        "name": new_name,
        "version": before.version + 1,
        "modifier": tx.actor,
        "modified_at": tx.now,
    }
    if comment is not None:
        values["comment"] = comment or None
    if properties is not None:
        values["properties"] = msgspec.json.encode(properties)
    if body is not None:
        values["body"] = msgspec.json.encode(body)
    if in_use is not None:
        values["in_use"] = in_use
    written = tx.execute(
        update(t.objects).where(_o.id == before.id, _o.version == before.version).values(values)
    ).rowcount
    if not written:
        if get(tx, before.id) is None:
            raise NotFound(f"{before.type} '{clip(before.name)}' does not exist any more", about=before.type)
        raise Conflict(
            f"{before.type} '{clip(before.name)}' was changed by somebody else",
            hint="read it again and retry",
            about=before.type,
        )
    tx.journal(
        ObjectPut(before.id, new_parent, before.type, new_name, before.in_use if in_use is None else in_use)
    )


def subtree(read: Read, id: int) -> list[tuple[int, ObjectType]]:
    """The object and everything below it, children before their parents."""
    found = [(id, ObjectType(read.execute(select(_o.type).where(_o.id == id)).scalar_one()))]
    level = [id]
    while level:
        below: list[int] = []
        for start in range(0, len(level), 500):
            for row in read.execute(select(_o.id, _o.type).where(_o.parent.in_(level[start : start + 500]))):
                found.append((row.id, ObjectType(row.type)))
                below.append(row.id)
        level = below
    return found[::-1]


def drop(tx: Write, id: int) -> None:
    """Remove an object and everything below it, with all that was granted, owned, tagged and kept about them.

    What has places keeps them, and what it takes to come back.
    """
    for gone, type in subtree(tx, id):
        if type is ObjectType.METALAKE:
            _drop_principals(tx, gone)
        if type in dropped.PLACED:
            dropped.keep(tx, gone)
        for row in tx.execute(
            select(t.role_grants).where((t.role_grants.c.object == gone) | (t.role_grants.c.role == gone))
        ).all():
            tx.journal(RoleGrants(row.role, row.object, 0, 0))
        tx.execute(
            delete(t.role_grants).where((t.role_grants.c.object == gone) | (t.role_grants.c.role == gone))
        )
        if type is ObjectType.ROLE:
            for row in tx.execute(select(t.role_holders).where(t.role_holders.c.role == gone)).all():
                tx.journal(RoleHeld(row.role, row.principal, False))
            tx.execute(delete(t.role_holders).where(t.role_holders.c.role == gone))
        touched = (t.assignments.c.object == gone) | (t.assignments.c.label == gone)
        for row in tx.execute(select(t.assignments).where(touched)).all():
            tx.journal(LabelSet(row.label, row.object, row.field, None, False))
        tx.execute(delete(t.assignments).where(touched))
        for table, column in (
            (t.owners, t.owners.c.object),
            (t.pointers, t.pointers.c.object),
            (t.statistics, t.statistics.c.object),
            (t.model_aliases, t.model_aliases.c.model),
            (t.model_versions, t.model_versions.c.model),
        ):
            tx.execute(delete(table).where(column == gone))
        if type is ObjectType.CATALOG:
            sources.forget(tx, gone)
            catalog_folders.forget(tx, gone)
        if type is ObjectType.TABLE:
            mask_keys.leave_all(tx, gone)
            if dropped.get(tx, gone) is None:
                writers.forget(tx, gone)
        tx.execute(delete(t.objects).where(_o.id == gone))
        if type is ObjectType.POLICY:
            tx.journal(PolicySet(gone, None))
        tx.journal(OwnerSet(gone, None), ObjectGone(gone))


def _drop_principals(tx: Write, metalake: int) -> None:
    from headgate.store import access

    for row in tx.execute(select(t.principals.c.id).where(t.principals.c.metalake == metalake)).all():
        access.forget_principal(tx, row.id)
        tx.journal(PrincipalGone(row.id))
    tx.execute(delete(t.principals).where(t.principals.c.metalake == metalake))
    tx.execute(delete(t.removed_users).where(t.removed_users.c.metalake == metalake))


def _record(row: Any) -> ObjectRecord:
    return ObjectRecord(
        row.id,
        row.parent,
        row.metalake,
        ObjectType(row.type),
        row.name,
        row.comment,
        msgspec.json.decode(row.properties),
        msgspec.json.decode(row.body),
        row.in_use,
        row.version,
        audit_of(row),
    )
