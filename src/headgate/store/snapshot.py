"""The whole state as changes: what the decision point compiles from when the journal does not reach."""

from collections.abc import Iterator

from sqlalchemy import select

from headgate.model import changes as c
from headgate.model.objects import ObjectType
from headgate.model.principals import PrincipalKind
from headgate.model.records import attributes_of
from headgate.store import policies
from headgate.store import tables as t
from headgate.store.database import Read, Store, rows
from headgate.store.metadata import writers
from headgate.store.reads import mask_keys


def everything(store: Store) -> tuple[int, list[c.Change]]:
    """All governance state and the revision it stands for, read as one consistent view."""
    with store.read() as read:
        revision = read.execute(select(t.state.c.revision)).scalar_one()
        return revision, list(_changes(read))


def _changes(read: Read) -> Iterator[c.Change]:
    yield from _objects(read)
    p = t.principals.c
    for row in rows(read, select(p.id, p.metalake, p.kind, p.name, p.enabled, p.attributes)):
        yield c.PrincipalPut(
            row.id,
            row.metalake,
            PrincipalKind(row.kind),
            row.name,
            row.enabled,
            attributes_of(row.attributes),
        )
    for row in rows(read, select(t.removed_users)):
        yield c.UserRemoved(row.metalake, row.name, row.revision)
    for row in rows(read, select(t.group_members)):
        yield c.GroupMember(row.group, row.member, True)
    for row in rows(read, select(t.role_holders)):
        yield c.RoleHeld(row.role, row.principal, True)
    for row in rows(read, select(t.role_grants)):
        yield c.RoleGrants(row.role, row.object, row.allow, row.deny)
    for row in rows(read, select(t.owners)):
        yield c.OwnerSet(row.object, row.principal)
    for row in rows(read, select(t.assignments)):
        yield c.LabelSet(row.label, row.object, row.field, row.value, True)

    yield from policies.all_set(read)
    yield from writers.all_written(read)
    yield from mask_keys.all_shared(read)


def _objects(read: Read) -> Iterator[c.Change]:
    """Parents before children. A rename may leave a parent with a higher id than its child, so ids alone do not do."""
    o = t.objects.c
    waiting: dict[int, list[c.ObjectPut]] = {}
    seen = {0}
    for row in rows(read, select(o.id, o.parent, o.type, o.name, o.in_use).order_by(o.id)):
        put = c.ObjectPut(row.id, row.parent, ObjectType(row.type), row.name, row.in_use)
        ready = [put]
        while ready:
            next = ready.pop()
            if next.parent not in seen:
                waiting.setdefault(next.parent, []).append(next)
                continue
            seen.add(next.id)
            yield next
            ready.extend(waiting.pop(next.id, ()))
