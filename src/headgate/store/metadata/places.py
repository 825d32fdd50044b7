"""Whose folder is whose, over all metalakes and catalogs: a place belongs to one object for ever.

Only deleting the files of an object releases its places. What is dropped keeps them, so that nobody reaches its files by
making something else there.
"""

import os
import re
from collections.abc import Iterable
from typing import Any, Final

import msgspec
from sqlalchemy import bindparam, delete, insert, literal_column, or_, select, update

from headgate.model.errors import Forbidden, IllegalArgument
from headgate.model.objects import ObjectType, clip
from headgate.model.places import above, normal, overlap, within
from headgate.model.principals import PrincipalKind
from headgate.store import tables as t
from headgate.store.database import Lookup, Read, Store, Write
from headgate.store.metadata import catalog_folders, writers

LIVE: Final = "live"
DROPPED: Final = "dropped"
PURGED: Final = "purged"
"""Dropped, and its files are being deleted: it does not come back, and the place is free once they are gone."""
STAGED: Final = "staged"
CONTESTED: Final = "contested"
"""The place was an older object's when the registry began: the younger is refused until that one's files are gone."""

_LONGEST: Final = 1_500
_NO_AUTHORITY: Final = re.compile(r"^([a-z][a-z0-9+.-]*):/(?!/)")
_ENOUGH: Final = 20
"""More overlapping rows than any claim can be excused of."""

_p = t.places.c
_o = t.objects.c
_u = t.principals.c
IS_CONTESTED: Final = _p.state == literal_column(f"'{CONTESTED}'")
_CONTESTED: Final = Lookup(select(_p.id).where(_p.object == bindparam("object"), IS_CONTESTED))


class PlaceRecord(msgspec.Struct, frozen=True):
    """A place as it is stored."""

    id: int
    place: str
    object: int
    catalog: int
    state: str
    uuid: str | None
    source: str
    holder: str
    since: str


def canonical(place: str) -> str:
    """The one name of a place: links of local paths are followed, and nothing can mean another place than it says."""
    uri = _NO_AUTHORITY.sub(r"\1:///", normal(place)).rstrip("/")
    scheme, separator, rest = uri.partition("://")
    path = rest if scheme == "s3" else rest.removeprefix("/")
    if (
        not separator
        or (scheme == "file" and not rest.startswith("/"))
        or any(part in ("", ".", "..") for part in path.split("/"))
        or len(uri.encode()) > _LONGEST
    ):
        raise IllegalArgument(
            f"the location '{clip(place, 200)}' cannot be used",
            hint="use an absolute path or a URI, without empty segments and '..'",
        )
    return f"file://{os.path.realpath(rest)}" if scheme == "file" else uri


def claim(
    tx: Write, object: int, wanted: Iterable[str], *, uuid: str | None = None, source: str = ""
) -> None:
    """Make places and a table's uuid an object's own, or refuse what is, or ever was, somebody else's.

    `source` names the other server that vouches for the table, if there is one.

    INVARIANT: no two objects, live or dropped, have places of which one lies in the other; no two have one uuid.
    """
    mine = of(tx, object)
    catalog = mine[0].catalog if mine else _catalog(tx, object)
    _check_uuid(tx, object, catalog, uuid)
    for place in dict.fromkeys(map(canonical, wanted)):
        if any(within(place, row.place) for row in mine):
            continue
        staged = _check(tx, object, catalog, place, source)
        if staged is None:
            mine.append(_insert(tx, object, catalog, place, LIVE, uuid, source))
        else:
            values = {"object": object, "state": LIVE, "uuid": uuid}
            tx.execute(update(t.places).where(_p.id == staged.id).values(values))
            mine.append(staged)
    if uuid is not None:
        tx.execute(update(t.places).where(_p.object == object).values(uuid=uuid))


def stage(tx: Write, catalog: int, wanted: Iterable[str], uuid: str | None, source: str = "") -> None:
    """Keep the places of a staged table for the caller, who is given access to them and may make the table later."""
    _check_uuid(tx, 0, catalog, uuid)
    for place in dict.fromkeys(map(canonical, wanted)):
        if _check(tx, 0, catalog, place, source) is None:
            _insert(tx, 0, catalog, place, STAGED, uuid, source)


def check(tx: Read, object: int, catalog: int, place: str, *, user: str = "", source: str = "") -> None:
    """Refuse a place that an object (0 for a new one) could not claim."""
    _check_folder(tx, catalog or _catalog(tx, object), canonical(place))
    for row in _overlapping(tx, object, canonical(place)):
        if not _excused(row, catalog, canonical(place), _holder(tx, catalog, user), source):
            raise taken(place)


def check_file(tx: Read, object: int, file: str) -> None:
    """Refuse a file that lies in somebody else's place."""
    found = tx.execute(select(t.places).where(_p.place.in_(above(canonical(file))), _p.object != object))
    if found.first() is not None:
        raise taken(file)


def catalogs_near(read: Read, folder: str) -> set[int]:
    """The catalogs of objects, and those of governed copies, of which something lies in a folder or around it."""
    query = select(_p.catalog, _p.place).where(or_(*catalog_folders.around(_p.place, folder)))
    return {row.catalog for row in read.execute(query) if overlap(row.place, folder)}


def around(read: Read, file: str) -> list[PlaceRecord]:
    """The places that a file lies in, or would lie in."""
    query = select(t.places).where(_p.place.in_(above(canonical(file)))).order_by(_p.id)
    return [_record(row) for row in read.execute(query)]


def of(read: Read, object: int) -> list[PlaceRecord]:
    """All places of an object."""
    return [_record(row) for row in read.execute(select(t.places).where(_p.object == object).order_by(_p.id))]


def holds(read: Read, object: int, place: str) -> bool:
    """Whether a place is the object's own already."""
    return any(within(canonical(place), row.place) for row in of(read, object))


def staged_by(read: Read, catalog: int, user: str, place: str) -> bool:
    """Whether a user staged a table of a catalog at exactly this place."""
    query = select(_p.holder).where(
        _p.place == canonical(place), _p.state == STAGED, _p.catalog == catalog, _p.holder != ""
    )
    found = read.execute(query).scalars().all()
    return bool(found) and _holder(read, catalog, user) in found


def dropped_at(read: Read, place: str) -> PlaceRecord | None:
    """The place of a dropped object that is exactly this one."""
    query = select(t.places).where(_p.place == canonical(place), _p.state == DROPPED).order_by(_p.id)
    row = read.execute(query).first()
    return None if row is None else _record(row)


def leave(tx: Write, object: int) -> bool:
    """Keep the places of an object that is dropped; whether it has any. What was an older object's stays that one's."""
    tx.execute(delete(t.places).where(_p.object == object, _p.state == CONTESTED))
    tx.execute(update(t.places).where(_p.object == object, _p.state == LIVE).values(state=DROPPED))
    return bool(of(tx, object))


def purge(tx: Write, object: int) -> None:
    """Nobody gets the places of an object before its files are gone, as they are deleted only after it was dropped."""
    tx.execute(update(t.places).where(_p.object == object, _p.state == LIVE).values(state=PURGED))


def hand_over(tx: Write, dropped: int, object: int) -> None:
    """Give all places of a dropped object to the one that it comes back as."""
    values = {"object": object, "state": LIVE}
    tx.execute(update(t.places).where(_p.object == dropped).values(values))


def release(tx: Write, object: int, gone: Iterable[str]) -> None:
    """Let go of places whose files are gone. A younger object that had one of them too is no longer refused."""
    for place in map(canonical, gone):
        tx.execute(delete(t.places).where(_p.object == object, _p.place == place))
        for row in _overlapping(tx, object, place):
            if row.state == CONTESTED and not _overlapping(tx, row.object, row.place):
                tx.execute(update(t.places).where(_p.id == row.id).values(state=LIVE))
    if not of(tx, object):
        tx.execute(delete(t.dropped_objects).where(t.dropped_objects.c.object == object))
        tx.execute(delete(t.outside_tables).where(t.outside_tables.c.object == object))
        tx.execute(delete(t.replaced_columns).where(t.replaced_columns.c.object == object))
        if tx.execute(select(_o.id).where(_o.id == object)).first() is None:
            writers.forget(tx, object)


def check_uncontested(store: Store, object: int) -> None:
    """Refuse an object whose place is an older object's."""
    if store.look_up(_CONTESTED, object=object) is not None:
        raise contested_by()


def contested(read: Read) -> list[tuple[PlaceRecord, PlaceRecord]]:
    """Every place that two objects have: the younger's, which is refused, and the older's."""
    found = map(_record, read.execute(select(t.places).where(_p.state == CONTESTED).order_by(_p.id)).all())
    return [(row, other) for row in found for other in _overlapping(read, row.object, row.place)]


def contested_by() -> Forbidden:
    return Forbidden(
        "its files lie in a place that belongs to something else",
        hint="'headgate doctor' names both: drop this one, or have the other one purged",
    )


# -- inside -----------------------------------------------------------------------------------------------------


def _check(tx: Write, object: int, catalog: int, place: str, source: str) -> PlaceRecord | None:
    """Refuse what is somebody else's; the staged place of the caller's own that the claim takes over, if there is one."""
    _check_folder(tx, catalog, place)
    staged = None
    for row in _overlapping(tx, object, place):
        if not _excused(row, catalog, place, _holder(tx, catalog, tx.actor), source):
            raise taken(place)
        staged = row
    return staged


def _check_folder(read: Read, catalog: int, place: str) -> None:
    """Refuse what lies where things of another catalog do, those too that nobody has loaded here yet."""
    if catalog_folders.is_anothers(read, catalog, place):
        raise taken(place)


def _excused(row: PlaceRecord, catalog: int, place: str, holder: str, source: str) -> bool:
    """Whether a row is the place that the caller, or the server that vouches for the table, staged for it."""
    ours = (holder != "" and row.holder == holder) or (source != "" and row.source == source)
    return row.state == STAGED and row.catalog == catalog and row.place == place and ours


def _holder(read: Read, catalog: int, user: str) -> str:
    """Who holds what a user stages in a catalog; empty for somebody who is no user of its metalake.

    INVARIANT: a place is held by a user and not by a name: somebody who is added later under the name of one who was
    removed has none of theirs.
    """
    query = (
        select(_u.id)
        .join(t.objects, _o.parent == _u.metalake)
        .where(_o.id == catalog, _u.kind == PrincipalKind.USER.value, _u.name == user)
    )
    found = read.execute(query).scalar_one_or_none()
    return "" if found is None else f"#{found}"


def _overlapping(read: Read, object: int, place: str) -> list[PlaceRecord]:
    """The places of others that hold this one or lie in it; for a new object all of them."""
    query = select(t.places).where(or_(*catalog_folders.around(_p.place, place)))
    if object:
        query = query.where(_p.object != object)
    found = [_record(row) for row in read.execute(query.order_by(_p.id).limit(_ENOUGH))]
    return [row for row in found if overlap(row.place, place)]


def _check_uuid(tx: Write, object: int, catalog: int, uuid: str | None) -> None:
    if uuid is None:
        return
    for row in tx.execute(select(t.places).where(_p.uuid == uuid, _p.object != object).limit(_ENOUGH)):
        # A staged table has its uuid before it has an object.
        mine = row.source or row.holder == _holder(tx, catalog, tx.actor) != ""
        if not (row.state == STAGED and row.catalog == catalog and mine):
            raise IllegalArgument(
                "the table's uuid cannot be used", hint="it is, or was, another table's: leave it out"
            )


def _insert(
    tx: Write, object: int, catalog: int, place: str, state: str, uuid: str | None, source: str
) -> PlaceRecord:
    row = {
        "place": place,
        "object": object,
        "catalog": catalog,
        "state": state,
        "uuid": uuid,
        "source": source,
        "holder": _holder(tx, catalog, tx.actor),
        "since": tx.now,
    }
    made = tx.execute(insert(t.places).values(row)).inserted_primary_key[0]
    return PlaceRecord(id=int(made), **row)  # type: ignore[arg-type]


def _catalog(read: Read, object: int) -> int:
    """The catalog that an object lies in; 0 if it lies in none."""
    while object:
        row = read.execute(select(_o.parent, _o.type).where(_o.id == object)).one_or_none()
        if row is None:
            return 0
        if row.type == ObjectType.CATALOG.value:
            return object
        object = row.parent
    return 0


def taken(place: str) -> IllegalArgument:
    """The refusal of a place, or of a file in it, that is somebody else's."""
    return IllegalArgument(
        f"the location '{clip(place, 200)}' belongs to another table",
        hint="it is, or was, somebody else's: choose another, or leave it out",
    )


def _record(row: Any) -> PlaceRecord:
    return PlaceRecord(
        row.id,
        row.place,
        row.object,
        row.catalog,
        row.state,
        row.uuid,
        row.source,
        row.holder,
        row.since,
    )
