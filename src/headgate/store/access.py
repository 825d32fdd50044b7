"""Principals, roles, grants and owners in the store. Every change is journaled."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

import msgspec
from sqlalchemy import Table, bindparam, delete, insert, select, tuple_, update

from headgate.model.changes import (
    GroupMember,
    OwnerSet,
    PrincipalGone,
    PrincipalPut,
    RoleGrants,
    RoleHeld,
    UserRemoved,
)
from headgate.model.errors import AlreadyExists, IllegalArgument
from headgate.model.objects import clip
from headgate.model.principals import Attributes, PrincipalKind
from headgate.model.privileges import PrivilegeBits
from headgate.model.records import PrincipalRecord, attributes_of, audit_of
from headgate.store import tables as t
from headgate.store.database import Read, Write

_p = t.principals.c
_g = t.role_grants.c
_h = t.role_holders.c
_CHUNK: Final = 400
"""How many keys are asked for at once: below the number of parameters that any database takes."""


def add_principal(
    tx: Write,
    metalake: int,
    kind: PrincipalKind,
    name: str,
    *,
    external_id: str | None = None,
    enabled: bool = True,
    attributes: Attributes | None = None,
) -> int:
    if find_principal(tx, metalake, kind, name) is not None:
        raise AlreadyExists(f"{kind} '{clip(name)}' already exists in this metalake", about=kind)
    made = tx.execute(
        insert(t.principals).values(
            metalake=metalake,
            kind=kind.value,
            name=name,
            external_id=external_id,
            enabled=enabled,
            attributes=msgspec.json.encode(attributes or {}),
            creator=tx.actor,
            created_at=tx.now,
        )
    ).inserted_primary_key[0]
    tx.journal(PrincipalPut(made, metalake, kind, name, enabled, attributes or {}))
    return int(made)


def find_principal(read: Read, metalake: int, kind: PrincipalKind, name: str) -> PrincipalRecord | None:
    row = read.execute(
        select(t.principals).where(_p.metalake == metalake, _p.kind == kind.value, _p.name == name)
    ).one_or_none()
    return None if row is None else _principal(row)


def principals(
    read: Read, metalake: int, kind: PrincipalKind, names: Iterable[str] | None = None
) -> list[PrincipalRecord]:
    """The users or groups of a metalake by name; only those named, if names are given."""
    query = select(t.principals).where(_p.metalake == metalake, _p.kind == kind.value).order_by(_p.name)
    found = [_principal(row) for row in read.execute(query)]
    if names is None:
        return found
    wanted = set(names)
    return [record for record in found if record.name in wanted]


def principal_ids(read: Read, metalake: int, kind: PrincipalKind, names: Collection[str]) -> dict[str, int]:
    """The ids of those of these names that exist."""
    asked = list(names)
    return {
        row.name: row.id
        for start in range(0, len(asked), _CHUNK)
        for row in read.execute(
            select(_p.id, _p.name).where(
                _p.metalake == metalake,
                _p.kind == kind.value,
                _p.name.in_(asked[start : start + _CHUNK]),
            )
        )
    }


def set_attributes(tx: Write, record: PrincipalRecord, attributes: Attributes) -> None:
    tx.execute(
        update(t.principals)
        .where(_p.id == record.id)
        .values(attributes=msgspec.json.encode(attributes), modifier=tx.actor, modified_at=tx.now)
    )
    tx.journal(PrincipalPut(record.id, record.metalake, record.kind, record.name, record.enabled, attributes))


def remove_principal(tx: Write, record: PrincipalRecord) -> None:
    forget_principal(tx, record.id)
    tx.execute(delete(t.principals).where(_p.id == record.id))
    tx.journal(PrincipalGone(record.id))
    if record.kind is PrincipalKind.USER:
        _remember_removed(tx, record)


def _remember_removed(tx: Write, record: PrincipalRecord) -> None:
    removed, key = t.removed_users, {"metalake": record.metalake, "name": record.name}
    tx.execute(delete(removed).where(removed.c.metalake == record.metalake, removed.c.name == record.name))
    tx.execute(insert(removed).values(**key, revision=tx.revision))
    tx.journal(UserRemoved(record.metalake, record.name, tx.revision))


def forget_principal(tx: Write, id: int) -> None:
    """Take away every role, membership and ownership of a principal."""
    for row in tx.execute(select(t.role_holders).where(t.role_holders.c.principal == id)).all():
        tx.journal(RoleHeld(row.role, id, False))
    tx.execute(delete(t.role_holders).where(t.role_holders.c.principal == id))
    members = t.group_members
    for row in tx.execute(select(members).where((members.c.group == id) | (members.c.member == id))).all():
        tx.journal(GroupMember(row.group, row.member, False))
    tx.execute(delete(members).where((members.c.group == id) | (members.c.member == id)))
    for row in tx.execute(select(t.owners).where(t.owners.c.principal == id)).all():
        tx.journal(OwnerSet(row.object, None))
    tx.execute(delete(t.owners).where(t.owners.c.principal == id))


# -- groups -----------------------------------------------------------------------------------------------------


def members(read: Read, group: int) -> list[PrincipalRecord]:
    query = (
        select(t.principals)
        .join(t.group_members, t.group_members.c.member == _p.id)
        .where(t.group_members.c.group == group)
        .order_by(_p.kind, _p.name)
    )
    return [_principal(row) for row in read.execute(query)]


def set_members(tx: Write, group: PrincipalRecord, wanted: Iterable[PrincipalRecord]) -> None:
    """Make exactly these the members of a group; a group that would contain itself is refused."""
    after = {record.id: record for record in wanted}
    before = {record.id for record in members(tx, group.id)}
    for record in after.values():
        if record.kind is PrincipalKind.GROUP and _reaches(tx, record.id, group.id):
            raise IllegalArgument(
                f"group '{clip(record.name)}' already contains group '{clip(group.name)}'",
                hint="groups may not contain each other",
            )
    for id in sorted(before - after.keys()):
        tx.execute(
            delete(t.group_members).where(t.group_members.c.group == group.id, t.group_members.c.member == id)
        )
        tx.journal(GroupMember(group.id, id, False))
    for id in sorted(after.keys() - before):
        tx.execute(insert(t.group_members).values(group=group.id, member=id))
        tx.journal(GroupMember(group.id, id, True))
    if before != after.keys():
        _stamp(tx, t.principals, {group.id})


def _reaches(read: Read, start: int, goal: int) -> bool:
    """Whether the group `start` is or contains the group `goal`."""
    seen, waiting = {start}, [start]
    while waiting:
        now = waiting.pop()
        if now == goal:
            return True
        for row in read.execute(select(t.group_members.c.member).where(t.group_members.c.group == now)):
            if row.member not in seen:
                seen.add(row.member)
                waiting.append(row.member)
    return False


# -- roles ------------------------------------------------------------------------------------------------------


def roles_held(read: Read, principals: Iterable[int]) -> dict[int, list[str]]:
    """The names of the roles that each of these principals holds, sorted."""
    ids = list(principals)
    found: dict[int, list[str]] = {id: [] for id in ids}
    for start in range(0, len(ids), 500):
        query = (
            select(t.role_holders.c.principal, t.objects.c.name)
            .join(t.objects, t.objects.c.id == t.role_holders.c.role)
            .where(t.role_holders.c.principal.in_(ids[start : start + 500]))
            .order_by(t.objects.c.name)
        )
        for row in read.execute(query):
            found[row.principal].append(row.name)
    return found


def hold_role(tx: Write, role: int, principal: int, held: bool) -> None:
    """Give a role to a principal or take it away; what is so already stays so."""
    hold_roles(tx, [(role, principal)], held)


def hold_roles(tx: Write, pairs: Collection[tuple[int, int]], held: bool) -> None:
    """Give roles to principals or take them away, each pair a role and a principal."""
    now = {
        (row.role, row.principal)
        for chunk in _chunks(pairs)
        for row in tx.execute(select(_h.role, _h.principal).where(tuple_(_h.role, _h.principal).in_(chunk)))
    }
    new = [pair for pair in dict.fromkeys(pairs) if (pair in now) != held]
    if not new:
        return
    if held:
        tx.execute(insert(t.role_holders), [{"role": role, "principal": who} for role, who in new])
    else:
        tx.execute(
            delete(t.role_holders).where(
                _h.role == bindparam("a_role"), _h.principal == bindparam("a_principal")
            ),
            [{"a_role": role, "a_principal": who} for role, who in new],
        )
    tx.journal(*(RoleHeld(role, who, held) for role, who in new))
    _stamp(tx, t.principals, {who for _, who in new})


def grants_of(read: Read, role: int) -> list[tuple[int, PrivilegeBits]]:
    """What a role allows and denies, by object, in the order of the objects' ids."""
    query = select(t.role_grants).where(_g.role == role).order_by(_g.object)
    return [(row.object, PrivilegeBits(row.allow, row.deny)) for row in read.execute(query)]


def grants_on(read: Read, role: int, object: int) -> PrivilegeBits:
    return grants_at(read, [(role, object)]).get((role, object), PrivilegeBits())


def grants_at(read: Read, places: Collection[tuple[int, int]]) -> dict[tuple[int, int], PrivilegeBits]:
    """What roles say of objects, by role and object; where a role says nothing there is no entry."""
    return {
        (row.role, row.object): PrivilegeBits(row.allow, row.deny)
        for chunk in _chunks(places)
        for row in read.execute(select(t.role_grants).where(tuple_(_g.role, _g.object).in_(chunk)))
    }


def set_grants(tx: Write, role: int, object: int, bits: PrivilegeBits) -> None:
    """Make exactly this what a role says of an object."""
    put_grants(tx, {(role, object): bits})


def put_grants(tx: Write, wanted: Mapping[tuple[int, int], PrivilegeBits]) -> None:
    """Make exactly this what roles say of objects, by role and object."""
    now = grants_at(tx, wanted)
    new = {place: bits for place, bits in wanted.items() if now.get(place, PrivilegeBits()) != bits}
    gone = [{"a_role": role, "an_object": object} for role, object in new if (role, object) in now]
    if gone:
        tx.execute(
            delete(t.role_grants).where(_g.role == bindparam("a_role"), _g.object == bindparam("an_object")),
            gone,
        )
    rows = [
        {"role": role, "object": object, "allow": bits.allow, "deny": bits.deny}
        for (role, object), bits in new.items()
        if bits.allow or bits.deny
    ]
    if rows:
        tx.execute(insert(t.role_grants), rows)
    tx.journal(*(RoleGrants(role, object, m.allow, m.deny) for (role, object), m in new.items()))
    _stamp(tx, t.objects, {role for role, _ in new})


def _stamp(tx: Write, table: Table, ids: set[int]) -> None:
    """Write down who changed these last, and when."""
    ordered = sorted(ids)
    for start in range(0, len(ordered), _CHUNK):
        chunk = ordered[start : start + _CHUNK]
        tx.execute(update(table).where(table.c.id.in_(chunk)).values(modifier=tx.actor, modified_at=tx.now))


def _chunks(keys: Collection[tuple[int, int]]) -> Iterable[list[tuple[int, int]]]:
    ordered = list(keys)
    return (ordered[start : start + _CHUNK] for start in range(0, len(ordered), _CHUNK))


# -- owners -----------------------------------------------------------------------------------------------------


def owner(read: Read, object: int) -> PrincipalRecord | None:
    row = read.execute(
        select(t.principals).join(t.owners, t.owners.c.principal == _p.id).where(t.owners.c.object == object)
    ).one_or_none()
    return None if row is None else _principal(row)


def owned(read: Read, principals: Iterable[int]) -> list[int]:
    """The objects that one of these principals owns."""
    o = t.owners.c
    return [row.object for row in read.execute(select(o.object).where(o.principal.in_(list(principals))))]


def set_owner(tx: Write, object: int, principal: int) -> None:
    tx.execute(delete(t.owners).where(t.owners.c.object == object))
    tx.execute(insert(t.owners).values(object=object, principal=principal))
    tx.journal(OwnerSet(object, principal))


def _principal(row: Any) -> PrincipalRecord:
    return PrincipalRecord(
        row.id,
        row.metalake,
        PrincipalKind(row.kind),
        row.name,
        row.external_id,
        row.enabled,
        attributes_of(row.attributes),
        audit_of(row),
    )
