"""Tags and policies on objects and columns. Every change is journaled."""

from sqlalchemy import delete, insert, select

from headgate.model.changes import LabelSet
from headgate.store import tables as t
from headgate.store.database import Read, Write

_a = t.assignments.c


def places(read: Read, label: int) -> list[tuple[int, int, str | None]]:
    """Where a label is: object, field and value, in the order of the objects."""
    query = select(_a.object, _a.field, _a.value).where(_a.label == label).order_by(_a.object, _a.field)
    return [(row.object, row.field, row.value) for row in read.execute(query)]


def put(tx: Write, label: int, object: int, field: int, value: str | None) -> None:
    """Make a label stand on an object or column with exactly this value."""
    _delete(tx, label, object, field)
    tx.execute(
        insert(t.assignments).values(
            label=label, object=object, field=field, value=value, creator=tx.actor, created_at=tx.now
        )
    )
    tx.journal(LabelSet(label, object, field, value, True))


def take(tx: Write, label: int, object: int, field: int) -> None:
    """Take a label off an object or column; what is not there stays away."""
    if _delete(tx, label, object, field):
        tx.journal(LabelSet(label, object, field, None, False))


def _delete(tx: Write, label: int, object: int, field: int) -> bool:
    where = (_a.label == label) & (_a.object == object) & (_a.field == field)
    return bool(tx.execute(delete(t.assignments).where(where)).rowcount)
