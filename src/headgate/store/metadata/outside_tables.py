"""What is known of the columns of tables that other servers keep, so that nothing said of a column is lost with it.

Tags stand on field ids. A server may leave out former schemas, and a table that it makes again numbers its columns anew:
then the tags go to the columns of that name, whatever their number.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec
from sqlalchemy import bindparam, delete, insert, select, update

from headgate.model.changes import ObjectPut
from headgate.model.errors import Damaged
from headgate.model.objects import ObjectType
from headgate.model.past import NOTHING_BEFORE, KnownColumn, Past, Path, ReplacedColumn
from headgate.store import labels
from headgate.store import tables as t
from headgate.store.database import Lookup, Read, Store, Write

MOST: Final = 100_000
"""Names of columns that are kept of one table."""

_s = t.outside_tables.c
_r = t.replaced_columns.c
_columns: Final = msgspec.json.Decoder(tuple[KnownColumn, ...])
_path: Final = msgspec.json.Decoder(tuple[str, ...])
_VERSION: Final = Lookup(select(_s.version).where(_s.object == bindparam("object")))


def version(store: Store, object: int) -> int:
    """Changes whenever what is known of a table does; 0 for one that was never seen."""
    found = store.look_up(_VERSION, object=object)
    return 0 if found is None else int(found[0])


def past(read: Read, object: int) -> Past:
    """What is known of a table's columns."""
    row = read.execute(select(t.outside_tables).where(_s.object == object)).one_or_none()
    if row is None:
        return NOTHING_BEFORE
    rows = read.execute(select(t.replaced_columns).where(_r.object == object).order_by(_r.id)).all()
    replaced = tuple(ReplacedColumn(-each.id, _path.decode(each.path), each.present) for each in rows)
    return Past(_columns.decode(row.columns), row.last, replaced, row.uuid, row.version)


def remember(tx: Write, object: int, uuid: str, columns: Sequence[KnownColumn], last: int) -> bool:
    """Keep what a table's server tells of its columns now; whether it is another table than before.

    INVARIANT: asked before the table's places are claimed, which know the uuid of a table that was seen earlier. The
    revision moves for another table whether or not it has tags: that tells nobody of any.
    """
    row = tx.execute(select(t.outside_tables).where(_s.object == object)).one_or_none()
    before = () if row is None else _columns.decode(row.columns)
    known = _claimed_uuid(tx, object) if row is None else row.uuid
    replaced = known not in (None, uuid)
    if not replaced:
        columns, last = _merged(before, columns), max(last, 0 if row is None else row.last)
    else:
        _set_aside(tx, object, before)
        o = t.objects.c
        its = tx.execute(select(t.objects).where(o.id == object)).one()
        tx.journal(ObjectPut(object, its.parent, ObjectType(its.type), its.name, its.in_use))
    if len(columns) > MOST:
        raise Damaged("the table had more columns than can be kept in mind")
    values = {"uuid": uuid, "last": last, "columns": msgspec.json.encode(columns)}
    if row is None:
        tx.execute(insert(t.outside_tables).values(object=object, version=1, **values))
    elif (known, row.last, row.columns) != (uuid, last, values["columns"]):
        tx.execute(
            update(t.outside_tables).where(_s.object == object).values(version=row.version + 1, **values)
        )
    return replaced


def expect(tx: Write, object: int, names: Iterable[tuple[int, int, Path]]) -> None:
    """Keep names that columns are about to get: field, field above it, path."""
    row = tx.execute(select(t.outside_tables).where(_s.object == object)).one_or_none()
    if row is None:
        return
    columns = _columns.decode(row.columns)
    known = {(column.id, column.above, column.path) for column in columns}
    new = tuple(KnownColumn(*name, False) for name in names if tuple(name) not in known)
    if new:
        values = {"columns": msgspec.json.encode((*new, *columns)), "version": row.version + 1}
        tx.execute(update(t.outside_tables).where(_s.object == object).values(**values))


def hand_over(tx: Write, former: int, object: int) -> None:
    """Let a table that comes back under another object know what was known of it."""
    tx.execute(update(t.replaced_columns).where(_r.object == former).values(object=object))
    rows = {
        row.object: row for row in tx.execute(select(t.outside_tables).where(_s.object.in_((former, object))))
    }
    was, now = rows.get(former), rows.get(object)
    if was is None:
        return
    if now is None:
        tx.execute(update(t.outside_tables).where(_s.object == former).values(object=object))
        return
    if now.uuid != was.uuid:
        raise Damaged("the table that comes back is another one")
    columns = _merged(_columns.decode(was.columns), _columns.decode(now.columns))
    values = {"columns": msgspec.json.encode(columns), "last": max(was.last, now.last)}
    tx.execute(update(t.outside_tables).where(_s.object == object).values(version=now.version + 1, **values))
    tx.execute(delete(t.outside_tables).where(_s.object == former))


def forget(tx: Write, object: int) -> None:
    """Nothing of a table is left to come back."""
    tx.execute(delete(t.outside_tables).where(_s.object == object))
    tx.execute(delete(t.replaced_columns).where(_r.object == object))


def _merged(before: Iterable[KnownColumn], columns: Sequence[KnownColumn]) -> tuple[KnownColumn, ...]:
    """All columns under all their names, those of today last."""
    now = {(column.id, column.above, column.path) for column in columns}
    gone = (
        msgspec.structs.replace(column, present=False)
        for column in before
        if (column.id, column.above, column.path) not in now
    )
    return (*gone, *columns)


def _set_aside(tx: Write, object: int, before: Sequence[KnownColumn]) -> None:
    """Let tags stand on the names of a table's columns, as their numbers mean others from now on.

    INVARIANT: a field that nothing is known of gets a name that no column has, so its tags deny instead of being lost.
    """
    rows = tx.execute(select(t.replaced_columns).where(_r.object == object)).all()
    kept: dict[Path, Any] = {_path.decode(row.path): (row.id, row.present) for row in rows}

    def replaced(path: Path, present: bool) -> int:
        id, was = kept.get(path, (None, False))
        if id is None:
            if len(kept) >= MOST:
                raise Damaged("the table had more columns than can be kept in mind")
            values = {"object": object, "path": msgspec.json.encode(path), "present": present}
            id = tx.execute(insert(t.replaced_columns).values(values)).inserted_primary_key[0]
        elif present and not was:
            tx.execute(update(t.replaced_columns).where(_r.id == id).values(present=True))
        kept[path] = (id, was or present)
        return -int(id)

    names = {column.id: column for column in before}
    for column in before:
        replaced(column.path, column.present)
    a = t.assignments.c
    tagged = tx.execute(select(t.assignments).where(a.object == object, a.field > 0)).all()
    unknown = [KnownColumn(row.field, 0, (f"(field {row.field})",), True) for row in tagged]
    places = {column.id: column for column in unknown} | names
    # Of two tags on one name that of the column which is there counts, so it is put last.
    for row in sorted(tagged, key=lambda row: (places[row.field].present, row.field)):
        place = places[row.field]
        labels.put(tx, row.label, object, replaced(place.path, place.present), row.value)
        labels.take(tx, row.label, object, row.field)


def _claimed_uuid(read: Read, object: int) -> str | None:
    p = t.places.c
    query = select(p.uuid).where(p.object == object, p.uuid.is_not(None)).limit(1)
    found: str | None = read.execute(query).scalar_one_or_none()
    return found
