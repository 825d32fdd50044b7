"""The ledger of governed copies: what somebody wants, what is being made, what is made, and what could not be made.

A copy is one row, named by its key. Workers take rows by lease; whoever holds the lease when it says "made" is believed,
everyone else's files are nobody's. So a copy is recorded once, whatever dies and whoever comes second.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from enum import Enum
from math import isqrt
from typing import Any, Final, TypeVar

import msgspec
from sqlalchemy import delete, func, or_, select, update
from sqlalchemy.dialects import postgresql, sqlite

from headgate.store import tables as t
from headgate.store.database import Store, clock, now, stored_time

T = TypeVar("T")

WANTED: Final = "wanted"
MAKING: Final = "making"
MADE: Final = "made"
FAILED: Final = "failed"

LEASE: Final = timedelta(seconds=30)
"""How long a worker that says nothing is believed to be alive."""
TRIES: Final = 5
TOGETHER: Final = 2
"""How often copies are tried together with many others; then with few, then alone."""
COOLING: Final = timedelta(minutes=1)
"""How long a copy that could not be made is not tried again; then whoever asks for it starts anew."""

_c, _v, _s, _d = t.lens_copies.c, t.lens_views.c, t.lens_snapshots.c, t.lens_documents.c
_CHUNK: Final = 500


class Fault(Enum):
    """Whose fault it is that copies could not be made."""

    JOB = "job"
    """The job's: perhaps that of one of its files, and perhaps it passes."""
    INPUT = "input"
    """Of one of its files, or of all of them, and it does not pass."""
    AROUND = "around"
    """Of no file: what jobs need did not work."""


class LensRecord(msgspec.Struct, frozen=True):
    """A restricted lens over a table that somebody had. `view` is its copy id."""

    object: int
    view: str
    lens: str
    catalog: int
    folder: str
    identity: bytes
    """Who had it last: what they see now tells whether anybody can still have it."""
    used_at: str


class CopyRecord(msgspec.Struct, frozen=True):
    """A copy as the ledger has it; `body` is what is known of it once it is made."""

    key: str
    state: str
    reason: str | None
    cooling: bool
    """Whether it failed so lately that it is not tried again yet."""
    body: bytes | None


class Wanted(msgspec.Struct, frozen=True):
    """A copy that somebody wants: its key and its source, as bytes that mean nothing here."""

    key: str
    source: bytes


class Batch(msgspec.Struct, frozen=True):
    """Copies of one snapshot through one lens that a worker has leased."""

    worker: str
    object: int
    view: str
    snapshot: int
    document: str
    wanted: tuple[Wanted, ...]
    attempts: int
    """How often the most tried of them was tried, this time included."""


class LensProgress(msgspec.Struct, frozen=True):
    """How far the copies of a lens are, by state, and why the last one failed."""

    object: int
    view: str
    lens: str
    used_at: str
    wanted: int = 0
    making: int = 0
    made: int = 0
    failed: int = 0
    reason: str | None = None


# -- lenses -----------------------------------------------------------------------------------------------------------


def used(store: Store, record: LensRecord) -> None:
    """Remember that somebody has a lens."""
    changed = {name: getattr(record, name) for name in ("identity", "used_at", "folder")}
    with store.append() as connection:
        connection.execute(
            _insert(connection)(t.lens_views)
            .values(msgspec.structs.asdict(record))
            .on_conflict_do_update(index_elements=["object", "view"], set_=changed)
        )


def announce(store: Store, record: LensRecord) -> None:
    """Make a lens known that nobody has used yet; one that is known stays as it is."""
    with store.append() as connection:
        connection.execute(
            _insert(connection)(t.lens_views).values(msgspec.structs.asdict(record)).on_conflict_do_nothing()
        )


def view(store: Store, object: int, view: str) -> LensRecord | None:
    found = _views(store, select(t.lens_views).where(_v.object == object, _v.view == view))
    return found[0] if found else None


def views(store: Store, object: int | None = None, since: str = "") -> list[LensRecord]:
    """The lenses over a table (None: over all) that were used since then."""
    wanted = select(t.lens_views).where(_v.used_at >= since).order_by(_v.object, _v.view)
    return _views(store, wanted if object is None else wanted.where(_v.object == object))


def progress(store: Store, objects: Sequence[int]) -> list[LensProgress]:
    """How far the copies of these tables are."""
    counts: dict[tuple[int, str], dict[str, int]] = {}
    reasons: dict[tuple[int, str], str] = {}
    known: list[LensRecord] = []
    with store.read() as read:
        for some in _chunks(objects):
            for row in read.execute(
                select(_c.object, _c.view, _c.state, func.count().label("count"), func.max(_c.reason))
                .where(_c.object.in_(some))
                .group_by(_c.object, _c.view, _c.state)
            ):
                counts.setdefault((row.object, row.view), {})[row.state] = row.count
                if row[4] is not None:
                    reasons[row.object, row.view] = row[4]
            rows = read.execute(select(t.lens_views).where(_v.object.in_(some))).all()
            known += [_view(row) for row in rows]
    return [
        LensProgress(
            v.object,
            v.view,
            v.lens,
            v.used_at,
            **counts.get((v.object, v.view), {}),
            reason=reasons.get((v.object, v.view)),
        )
        for v in sorted(known, key=lambda v: (v.object, v.view))
    ]


def left_waiting(store: Store, patience: timedelta) -> int:
    """How many copies have been asked for that long ago and wait, while none is being made."""
    with store.read() as read:
        time = clock(read.connection)
        making = (_c.state == MAKING) & (_c.until >= stored_time(time))
        if read.execute(select(_c.key).where(making).limit(1)).first() is not None:
            return 0
        old = (_c.asked_at < stored_time(time - patience)) & _waits(stored_time(time))
        return int(read.execute(select(func.count()).select_from(t.lens_copies).where(old)).scalar_one())


# -- copies -----------------------------------------------------------------------------------------------------------


def entries(store: Store, keys: Sequence[str]) -> dict[str, CopyRecord]:
    """What the ledger has under these keys."""
    found: dict[str, CopyRecord] = {}
    with store.read() as read:
        time = stored_time(clock(read.connection))
        for some in _chunks(keys):
            for row in read.execute(
                select(_c.key, _c.state, _c.reason, _c.after, _c.body).where(_c.key.in_(some))
            ):
                cooling = row.state == FAILED and row.after > time
                found[row.key] = CopyRecord(row.key, row.state, row.reason, cooling, row.body)
    return found


def want(
    store: Store, object: int, view: str, snapshot: int, document: str, wanted: Iterable[Wanted]
) -> None:
    """Ask for copies. One that is there or in the making already stays as it is; one that is wanted is looked for in this
    document from now on, as the former may be gone by then; one that failed is tried again once it has cooled off."""
    of = {"snapshot": snapshot, "document": document}
    fresh: dict[str, Any] = {
        "object": object,
        "view": view,
        **of,
        "state": WANTED,
        "attempts": 0,
        "worker": None,
        "until": None,
        "reason": None,
        "body": None,
        "made_at": None,
    }
    with store.append() as connection:
        time = stored_time(clock(connection))
        fresh |= {"after": time, "asked_at": time}
        statement = _insert(connection)(t.lens_copies)
        for some in _chunks(list(wanted)):
            connection.execute(
                statement.on_conflict_do_update(
                    index_elements=["key"],
                    set_=fresh,
                    where=(_c.state == FAILED) & (_c.after <= time),
                ),
                [{"key": one.key, "source": one.source, **fresh} for one in some],
            )
            keys = [one.key for one in some]
            connection.execute(
                update(t.lens_copies)
                .where(_c.key.in_(keys), _c.state == WANTED, _c.document != document)
                .values(**of)
            )


def anew(store: Store, keys: Sequence[str]) -> None:
    """Forget what was made under these keys, because it no longer fits; whoever wants them asks again."""
    with store.append() as connection:
        for some in _chunks(keys):
            connection.execute(delete(t.lens_copies).where(_c.key.in_(some), _c.state == MADE))


def take(store: Store, worker: str, most: int) -> Batch | None:
    """Lease copies that wait: the longest waiting one, and what waits for the same snapshot and lens."""
    with store.read() as read:
        # Cheap, and mostly the answer: nothing waits.
        waits = _waits(stored_time(clock(read.connection)))
        if read.execute(select(_c.key).where(waits).limit(1)).first() is None:
            return None
    with store.append() as connection:
        time = clock(connection)
        _give_up(connection, time)
        waits = _waits(stored_time(time))
        first = connection.execute(
            select(_c.object, _c.view, _c.snapshot, _c.document, _c.attempts)
            .where(waits)
            .order_by(_c.attempts, _c.asked_at)
            .limit(1)
            .with_for_update(skip_locked=True)
        ).first()
        if first is None:
            return None
        # What went wrong twice is tried with few others, then alone: one damaged file does not take others down with it.
        together = _c.attempts < TOGETHER if first.attempts < TOGETHER else _c.attempts == first.attempts
        rows = connection.execute(
            select(_c.key, _c.source, _c.attempts)
            .where(
                waits,
                together,
                _c.object == first.object,
                _c.view == first.view,
                _c.snapshot == first.snapshot,
                _c.document == first.document,
            )
            .order_by(_c.attempts, _c.asked_at)
            .limit(_at_once(first.attempts, most))
            .with_for_update(skip_locked=True)
        ).all()
        for some in _chunks([row.key for row in rows]):
            connection.execute(
                update(t.lens_copies)
                .where(_c.key.in_(some))
                .values(state=MAKING, worker=worker, until=_lease(time), attempts=_c.attempts + 1)
            )
    return Batch(
        worker,
        first.object,
        first.view,
        first.snapshot,
        first.document,
        tuple(Wanted(row.key, row.source) for row in rows),
        1 + max(row.attempts for row in rows),
    )


def beat(store: Store, batch: Batch) -> bool:
    """Extend a lease; False if another worker has taken the work over."""
    with store.append() as connection:
        return _mine(connection, batch, until=_lease(clock(connection))) == len(batch.wanted)


def made(store: Store, batch: Batch, copies: Sequence[tuple[str, bytes]]) -> frozenset[str]:
    """Record what was made; answers the keys under which it is what counts: those that were still leased to this worker.

    INVARIANT: the only place where a copy comes to be named. What is not recorded here is no copy.

    INVARIANT: saying it twice answers the same, so who does not know whether the store heard may say it again.
    """
    recorded: set[str] = set()
    time = now()
    with store.append() as connection:
        for key, body in copies:
            done = connection.execute(
                update(t.lens_copies)
                .where(_c.key == key, _c.state == MAKING, _c.worker == batch.worker)
                .values(state=MADE, body=body, worker=None, until=None, reason=None, made_at=time)
            )
            if done.rowcount or body == connection.execute(select(_c.body).where(_c.key == key)).scalar():
                recorded.add(key)
    return frozenset(recorded)


def failed(store: Store, batch: Batch, reason: str, fault: Fault) -> None:
    """Say that copies could not be made: they wait and are tried again, until that has been tried often enough.

    What was tried with others is not given up for what may be another's fault.
    """
    if fault is Fault.AROUND:
        over, wait = batch.attempts >= TOGETHER, timedelta(seconds=5)
    elif len(batch.wanted) > 1:
        over, wait = False, timedelta(seconds=0 if fault is Fault.INPUT else 2 ** (batch.attempts - 1))
    else:
        over = fault is Fault.INPUT or batch.attempts >= TRIES
        wait = timedelta(seconds=2 ** (batch.attempts - 1))
    apart = {} if over or fault is not Fault.INPUT else {"attempts": max(batch.attempts, TOGETHER)}
    with store.append() as connection:
        after = clock(connection) + (COOLING if over else wait)
        _mine(
            connection,
            batch,
            state=FAILED if over else WANTED,
            reason=reason,
            after=stored_time(after),
            worker=None,
            until=None,
            **apart,
        )


def void(store: Store, batch: Batch) -> None:
    """Forget that copies were wanted: nobody has that lens any more."""
    with store.append() as connection:
        for some in _chunks([one.key for one in batch.wanted]):
            connection.execute(
                delete(t.lens_copies).where(_c.key.in_(some), _c.state == MAKING, _c.worker == batch.worker)
            )


# -- governed metadata ------------------------------------------------------------------------------------------------


def snapshots(store: Store, object: int, view: str, shape: str) -> dict[int, bytes]:
    """The governed snapshots of a lens in one shape of the table, by id."""
    with store.read() as read:
        rows = read.execute(
            select(_s.snapshot, _s.body).where(_s.object == object, _s.view == view, _s.shape == shape)
        )
        return {row.snapshot: row.body for row in rows}


def names(store: Store, object: int, view: str, shape: str) -> dict[int, bytes]:
    """What the governed snapshots of a lens name, by id."""
    with store.read() as read:
        rows = read.execute(
            select(_s.snapshot, _s.names).where(_s.object == object, _s.view == view, _s.shape == shape)
        )
        return {row.snapshot: row.names for row in rows}


def keep_snapshot(
    store: Store, object: int, view: str, snapshot: int, shape: str, body: bytes, names: bytes
) -> bytes:
    """Keep a governed snapshot; answers the one that counts, which is the first."""
    key = {"object": object, "view": view, "snapshot": snapshot, "shape": shape}
    kept: bytes = _first(
        store, t.lens_snapshots, key, {"body": body, "names": names, "made_at": now()}, "body"
    )
    return kept


def document(store: Store, object: int, view: str, source: str) -> str | None:
    """Where the governed document lies that was made from this."""
    with store.read() as read:
        found: str | None = read.execute(
            select(_d.location).where(_d.object == object, _d.view == view, _d.source == source)
        ).scalar_one_or_none()
        return found


def keep_document(store: Store, object: int, view: str, source: str, location: str) -> str:
    """Keep where a governed document lies; answers the one that counts, which is the first."""
    key = {"object": object, "view": view, "source": source}
    kept: str = _first(store, t.lens_documents, key, {"location": location, "made_at": now()}, "location")
    return kept


# -- garbage ----------------------------------------------------------------------------------------------------------


class LensContents(msgspec.Struct, frozen=True):
    """Everything that the ledger has of one lens."""

    copies: dict[str, tuple[bytes | None, str | None]]
    """What is known of each copy, and since when it is there; by key."""
    snapshots: dict[tuple[int, str], tuple[bytes, bytes]]
    """The governed snapshots by id and shape, and what they name."""
    documents: dict[str, str]
    """Where governed documents lie, by what they were made from."""


def kept(store: Store, object: int, view: str) -> LensContents:
    with store.read() as read:
        copies = read.execute(
            select(_c.key, _c.body, _c.made_at).where(_c.object == object, _c.view == view)
        ).all()
        governed = read.execute(select(t.lens_snapshots).where(_s.object == object, _s.view == view)).all()
        documents = read.execute(
            select(_d.source, _d.location).where(_d.object == object, _d.view == view)
        ).all()
    return LensContents(
        {row.key: (row.body, row.made_at) for row in copies},
        {(row.snapshot, row.shape): (row.body, row.names) for row in governed},
        {row.source: row.location for row in documents},
    )


def forget(
    store: Store,
    object: int,
    view: str,
    *,
    copies: Sequence[str] = (),
    snapshots: Sequence[tuple[int, str]] = (),
    documents: Sequence[str] = (),
) -> None:
    """Forget parts of a lens's copies; their files may be deleted afterwards, never before."""
    with store.append() as connection:
        for some in _chunks(documents):
            connection.execute(
                delete(t.lens_documents).where(_d.object == object, _d.view == view, _d.source.in_(some))
            )
        for snapshot, shape in snapshots:
            connection.execute(
                delete(t.lens_snapshots).where(
                    _s.object == object, _s.view == view, _s.snapshot == snapshot, _s.shape == shape
                )
            )
        for some in _chunks(copies):
            connection.execute(delete(t.lens_copies).where(_c.key.in_(some), _c.state != MAKING))


def forget_view(store: Store, record: LensRecord) -> bool:
    """Forget all copies of a lens, unless somebody used it meanwhile."""
    with store.append() as connection:
        gone = connection.execute(
            delete(t.lens_views).where(
                _v.object == record.object, _v.view == record.view, _v.used_at == record.used_at
            )
        ).rowcount
        if gone:
            for table in (t.lens_documents, t.lens_snapshots, t.lens_copies):
                connection.execute(
                    delete(table).where(table.c.object == record.object, table.c.view == record.view)
                )
    return bool(gone)


# -- inside -----------------------------------------------------------------------------------------------------------


def _first(store: Store, table: Any, key: dict[str, Any], values: dict[str, Any], answer: str) -> Any:
    with store.append() as connection:
        connection.execute(_insert(connection)(table).values({**key, **values}).on_conflict_do_nothing())
        wanted = select(table.c[answer])
        for name, value in key.items():
            wanted = wanted.where(table.c[name] == value)
        return connection.execute(wanted).scalar_one()


def _waits(time: str) -> Any:
    """What nobody works at: wanted and due, or leased by a worker of which nothing was heard."""
    return or_((_c.state == WANTED) & (_c.after <= time), (_c.state == MAKING) & (_c.until < time))


def _at_once(attempts: int, most: int) -> int:
    if attempts < TOGETHER:
        return most
    return isqrt(most) if attempts == TOGETHER else 1


def _give_up(connection: Any, time: datetime) -> None:
    """Stop trying what no worker lived to finish: perhaps it is what they died of."""
    connection.execute(
        update(t.lens_copies)
        .where(_c.state == MAKING, _c.until < stored_time(time), _c.attempts >= TRIES)
        .values(
            state=FAILED,
            reason=f"{TRIES} workers ended before they had made it",
            after=stored_time(time + COOLING),
            worker=None,
            until=None,
        )
    )


def _mine(connection: Any, batch: Batch, **values: Any) -> int:
    count = 0
    for some in _chunks([one.key for one in batch.wanted]):
        count += connection.execute(
            update(t.lens_copies)
            .where(_c.key.in_(some), _c.state == MAKING, _c.worker == batch.worker)
            .values(**values)
        ).rowcount
    return count


def _lease(time: datetime) -> str:
    return stored_time(time + LEASE)


def _views(store: Store, wanted: Any) -> list[LensRecord]:
    with store.read() as read:
        return [_view(row) for row in read.execute(wanted)]


def _view(row: Any) -> LensRecord:
    return LensRecord(*(getattr(row, name) for name in LensRecord.__struct_fields__))


def _insert(connection: Any) -> Callable[..., Any]:
    """Inserting what may be there already is said alike by both databases, but not by standard SQL."""
    return postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert


def _chunks(items: Sequence[T]) -> Iterator[Sequence[T]]:
    return (items[n : n + _CHUNK] for n in range(0, len(items), _CHUNK))
