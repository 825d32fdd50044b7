"""Dropped objects whose places are still theirs: what is kept of them, and how one comes back."""

from collections.abc import Callable, Iterable
from typing import Any, Final

import msgspec
from sqlalchemy import delete, insert, select

from headgate.model.errors import IllegalArgument, NotFound
from headgate.model.objects import SCHEMA_SEPARATOR, ObjectType
from headgate.model.privileges import PrivilegeBits
from headgate.store import access, labels
from headgate.store import tables as t
from headgate.store.database import Read, Write
from headgate.store.metadata import outside_tables, places, writers

_d = t.dropped_objects.c
_o = t.objects.c

PLACED: Final = frozenset({ObjectType.TABLE, ObjectType.VIEW, ObjectType.FILESET})
"""What has places."""

Label = tuple[int, int, str | None]
"""A tag or policy, the field it was on (0 for the object itself) and its value."""
_labels: Final = msgspec.json.Decoder(list[Label])
_denials: Final = msgspec.json.Decoder(list[tuple[int, int]])
_ids: Final = msgspec.json.Decoder(list[int])


class Dropped(msgspec.Struct, frozen=True):
    """What is kept of a dropped object."""

    object: int
    metalake: int
    catalog: int
    parent: int
    """The schema that it lay in last."""
    type: ObjectType
    name: str
    """Its name below the metalake, as it was called last."""
    owner: int | None
    labels: list[Label]
    denials: list[tuple[int, int]]
    """Roles, and what they denied on it."""
    document: str | None
    """Where its metadata lay last, if that was kept here."""
    under_policies: bool
    """Whether a policy stood on it, or on what it lay in, when it was dropped."""
    kept_by: frozenset[int] | None
    """What it lay in then and was kept from people by: what a policy or a tag stood on, or a role denied something on.
    None if that is not known."""
    at: str


def keep(tx: Write, object: int) -> None:
    """Keep what an object that is about to be dropped needs to come back, if it has places."""
    if not places.leave(tx, object):
        return
    row = tx.execute(select(t.objects).where(_o.id == object)).one()
    catalog, name = _whereabouts(tx, row)
    owner, around = _owner(tx, object), _around(tx, object)
    a, g = t.assignments.c, t.role_grants.c
    on = tx.execute(select(a.label, a.field, a.value).where(a.object == object).order_by(a.label, a.field))
    document = tx.execute(select(t.pointers.c.location).where(t.pointers.c.object == object)).scalar()
    denied = tx.execute(select(g.role, g.deny).where(g.object == object, g.deny != 0).order_by(g.role))
    tx.execute(
        insert(t.dropped_objects).values(
            object=object,
            metalake=row.metalake,
            catalog=catalog,
            parent=row.parent,
            type=row.type,
            name=name,
            owner=owner,
            labels=msgspec.json.encode([tuple(each) for each in on]),
            denials=msgspec.json.encode([tuple(each) for each in denied]),
            document=document,
            under_policies=_under_policies(tx, [object, *around]),
            kept_by=msgspec.json.encode(sorted(_restricting(tx, around))),
            at=tx.now,
        )
    )


def get(read: Read, object: int) -> Dropped | None:
    row = read.execute(select(t.dropped_objects).where(_d.object == object)).one_or_none()
    if row is None:
        return None
    return Dropped(
        row.object,
        row.metalake,
        row.catalog,
        row.parent,
        ObjectType(row.type),
        row.name,
        row.owner,
        _labels.decode(row.labels),
        _denials.decode(row.denials),
        row.document,
        row.under_policies,
        None if row.kept_by is None else frozenset(_ids.decode(row.kept_by)),
        row.at,
    )


def bring_back(tx: Write, former: Dropped, object: int) -> None:
    """Give a new object all that a dropped one had: its places, tags, policies, owner and what roles denied on it.

    INVARIANT: in the transaction that makes the new object, so nobody ever sees it without what restricts it. Tags,
    policies, roles and owners that were removed meanwhile stay away.
    """
    hand_on(tx, former, object)
    p = t.principals.c
    if tx.execute(select(p.id).where(p.id == former.owner)).first() is not None:
        assert former.owner is not None
        access.set_owner(tx, object, former.owner)


def hand_on(tx: Write, former: Dropped, object: int) -> None:
    """Give an object the places of a dropped one, with the tags, policies and denials that restrict them."""
    places.hand_over(tx, former.object, object)
    outside_tables.hand_over(tx, former.object, object)
    writers.hand_over(tx, former.object, object)
    a = t.assignments.c
    on = tx.execute(select(a.label, a.field, a.value).where(a.object == object))
    own = {(row.label, row.field): row.value for row in on}
    for label, field, value in former.labels:
        if not _is_there(tx, former.metalake, label):
            continue
        if own.get((label, field), value) != value:
            raise IllegalArgument(
                "what lay there was tagged otherwise, and one of the two values would be lost",
                hint="choose another location, or give both the same tags first",
            )
        labels.put(tx, label, object, field, value)
    roles = [(role, object) for role, _ in former.denials if _is_there(tx, former.metalake, role)]
    granted, denied = access.grants_at(tx, roles), dict(former.denials)
    for at in roles:
        bits = granted.get(at, PrivilegeBits())
        access.set_grants(tx, *at, PrivilegeBits(bits.allow, bits.deny | denied[at[0]]))
    forget(tx, former.object)


def return_to(tx: Write, object: int, folders: Iterable[str], uuid: str, source: str) -> bool:
    """Bring back what the same other server had at the same place, with the same uuid; whether there was any.

    So a table that was renamed there, or whose catalog was dropped and declared again, keeps what restricts it.
    INVARIANT: only where all that restricted it reaches it, or where their master decides. Elsewhere its place stays the
    dropped one's, and it is refused.
    """
    return _returned(tx, object, folders, source, lambda known: known in (None, uuid))


def return_made(tx: Write, object: int, folders: Iterable[str], made: str, source: str) -> bool:
    """The same for a table whose system knows no uuid, only when it was made: Headgate's own uuid begins with that."""
    return _returned(tx, object, folders, source, lambda known: known is None or known.startswith(f"{made}."))


def _returned(
    tx: Write, object: int, folders: Iterable[str], source: str, same: Callable[[str | None], bool]
) -> bool:
    for folder in folders:
        row = places.dropped_at(tx, folder)
        if row is None or row.source != source or not same(row.uuid):
            continue
        former = get(tx, row.object)
        if former is not None and _is_there(tx, former.metalake, object) and _reached(tx, former, object):
            bring_back(tx, former, object)
            return True
    return False


def release(tx: Write, object: int) -> str:
    """Let go of all places of a dropped object, as its operator vouches for; its name."""
    former = get(tx, object)
    if former is None:
        raise NotFound(
            f"there is no dropped object {object}", hint="'headgate doctor' names those in the way"
        )
    places.release(tx, object, [row.place for row in places.of(tx, object)])
    return former.name


def name_of(read: Read, object: int) -> str:
    """What an object is called below its metalake, or was when it was dropped."""
    row = read.execute(select(t.objects).where(_o.id == object)).one_or_none()
    if row is not None:
        return _whereabouts(read, row)[1]
    if object == 0:
        return "a staged table"
    former = get(read, object)
    return "a dropped catalog" if former is None else former.name


def denying(read: Read, role: int) -> bool:
    """Whether a role denied something on an object that is dropped and may come back."""
    rows = read.execute(select(_d.denials).where(_d.denials != msgspec.json.encode([]))).scalars()
    return any(role == id for denials in rows for id, _ in _denials.decode(denials))


def forget(tx: Write, object: int) -> None:
    """Nothing of a dropped object is left to come back."""
    outside_tables.forget(tx, object)
    writers.forget(tx, object)
    tx.execute(delete(t.dropped_objects).where(_d.object == object))


def _is_there(read: Read, metalake: int, id: int) -> bool:
    query = select(_o.id).where(_o.id == id, _o.metalake == metalake)
    return read.execute(query).first() is not None


def _reached(read: Read, former: Dropped, object: int) -> bool:
    """Whether an object lies where all that restricted a dropped one from above restricts it too, or in a catalog of the
    metalake's owner, who may change every policy."""
    around = _around(read, object)
    if former.parent in around:
        return True
    known = former.kept_by
    if known <= set(around) if known is not None else not former.under_policies:
        return True
    catalog, metalake = (_owner(read, id) for id in around[-2:])
    return catalog is not None and catalog == metalake


def _owner(read: Read, object: int) -> int | None:
    query = select(t.owners.c.principal).where(t.owners.c.object == object)
    found: int | None = read.execute(query).scalar_one_or_none()
    return found


def _around(read: Read, object: int) -> list[int]:
    """What an object lies in: its schemas, its catalog and last the metalake."""
    found: list[int] = []
    while parent := read.execute(select(_o.parent).where(_o.id == object)).scalar_one():
        found.append(parent)
        object = parent
    return found


def _restricting(read: Read, ids: list[int]) -> set[int]:
    """Those of some objects that a policy, in force or not, or a tag stands on, or that a role denies something on.

    What lies in a tagged object is tagged like it, and a policy from further above may ask for that tag.
    """
    a, g = t.assignments.c, t.role_grants.c
    labelled = select(a.object).where(a.object.in_(ids))
    denied = select(g.object).where(g.object.in_(ids), g.deny != 0)
    return {*read.execute(labelled).scalars(), *read.execute(denied).scalars()}


def _under_policies(read: Read, ids: list[int]) -> bool:
    """Whether a policy, in force or not, stands on one of these objects."""
    a = t.assignments.c
    on = select(a.label).join(t.objects, _o.id == a.label)
    found = on.where(a.object.in_(ids), _o.type == ObjectType.POLICY.value).limit(1)
    return read.execute(found).first() is not None


def _whereabouts(read: Read, row: Any) -> tuple[int, str]:
    """The catalog of an object, and its name below the metalake. Children are dropped before what holds them."""
    catalog, parts = 0, [str(row.name)]
    schemas: list[str] = []
    while row.parent:
        row = read.execute(select(t.objects).where(_o.id == row.parent)).one()
        if row.type == ObjectType.SCHEMA.value:
            schemas.insert(0, row.name)
        elif row.type == ObjectType.CATALOG.value:
            catalog = row.id
            parts.insert(0, row.name)
    if schemas:
        parts.insert(1 if catalog else 0, SCHEMA_SEPARATOR.join(schemas))
    return catalog, ".".join(parts)
