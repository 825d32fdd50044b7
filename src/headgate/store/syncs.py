"""The journal of pushes to other systems: what each changed, what pushes put where, and who is pushing now.

Facts come and go as bytes; this room does not know what they mean. None of it is governance state: no revision is raised.
"""

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import msgspec
from sqlalchemy import bindparam, delete, func, insert, select, update

from headgate.model.errors import Conflict, NotFound
from headgate.store import tables as t
from headgate.store.database import Store, now

_p, _s, _m, _l = t.sync_pushes.c, t.sync_steps.c, t.sync_marks.c, t.sync_locks.c
_CHUNK = 1_000


class PushRecord(msgspec.Struct, frozen=True):
    """A push as it is journaled."""

    id: int
    target: str
    source: str
    mode: str
    state: str
    actor: str
    started_at: str
    ended_at: str | None


class PushStep(msgspec.Struct, frozen=True):
    """One change of a push. `owned` tells whether what was there before had been put there by a push."""

    position: int
    before: bytes | None
    after: bytes | None
    owned: bool
    outcome: str | None = None
    detail: str | None = None


def begin(store: Store, target: str, source: str, mode: str, actor: str, steps: Iterable[PushStep]) -> int:
    """Write down everything that a push is going to do, before it does any of it."""
    with store.append() as connection:
        made = connection.execute(
            insert(t.sync_pushes).values(
                target=target, source=source, mode=mode, state="running", actor=actor, started_at=now()
            )
        ).inserted_primary_key
        assert made is not None
        id = int(made[0])
        rows = [{"push": id, **msgspec.to_builtins(step, builtin_types=(bytes,))} for step in steps]
        for start in range(0, len(rows), _CHUNK):
            connection.execute(insert(t.sync_steps), rows[start : start + _CHUNK])
        return id


def push(store: Store, id: int) -> PushRecord:
    with store.read() as read:
        row = read.execute(select(t.sync_pushes).where(_p.id == id)).one_or_none()
    if row is None:
        raise NotFound(f"there is no push {id}", hint="list the pushes of the target")
    return PushRecord(*row)


def pushes(store: Store, target: str) -> list[PushRecord]:
    """The pushes to a target, newest first."""
    with store.read() as read:
        query = select(t.sync_pushes).where(_p.target == target).order_by(_p.id.desc())
        return [PushRecord(*row) for row in read.execute(query)]


def progress(store: Store, push: int) -> tuple[int, int]:
    """How many steps of a push are settled, and of how many."""
    with store.read() as read:
        row = read.execute(select(func.count(_s.outcome), func.count()).where(_s.push == push)).one()
    return int(row[0]), int(row[1])


def steps(store: Store, push: int) -> list[PushStep]:
    with store.read() as read:
        query = select(t.sync_steps).where(_s.push == push).order_by(_s.position)
        return [
            PushStep(row.position, row.before, row.after, row.owned, row.outcome, row.detail)
            for row in read.execute(query)
        ]


def settle(store: Store, push: int, outcomes: Iterable[tuple[int, str, str]]) -> None:
    """Write down what became of some steps."""
    rows = [{"at": position, "now": outcome, "why": detail or None} for position, outcome, detail in outcomes]
    if rows:
        with store.append() as connection:
            connection.execute(
                update(t.sync_steps)
                .where(_s.push == push, _s.position == bindparam("at"))
                .values(outcome=bindparam("now"), detail=bindparam("why")),
                rows,
            )


def finish(
    store: Store, push: int, state: str, target: str, marked: Iterable[bytes], unmarked: Iterable[bytes]
) -> None:
    """Close a push, together with the marks on what it put there or took away."""
    with store.append() as connection:
        connection.execute(update(t.sync_pushes).where(_p.id == push).values(state=state, ended_at=now()))
        gone = [{"a_digest": _digest(fact)} for fact in unmarked]
        if gone:
            connection.execute(
                delete(t.sync_marks).where(_m.target == target, _m.digest == bindparam("a_digest")), gone
            )
        known = set(connection.execute(select(_m.digest).where(_m.target == target)).scalars())
        rows = {_digest(fact): fact for fact in marked}
        new = [{"target": target, "digest": d, "fact": fact} for d, fact in rows.items() if d not in known]
        for start in range(0, len(new), _CHUNK):
            connection.execute(insert(t.sync_marks), new[start : start + _CHUNK])


def marks(store: Store, target: str) -> list[bytes]:
    """What pushes put into a target."""
    with store.read() as read:
        return list(read.execute(select(_m.fact).where(_m.target == target)).scalars())


def _digest(fact: bytes) -> str:
    return hashlib.sha256(fact).hexdigest()


# -- one at a time ----------------------------------------------------------------------------------------------


class Lock:
    """A lease on a target. It must be kept alive; one that was not can be taken by somebody else."""

    def __init__(self, store: Store, target: str, holder: str, lease: float) -> None:
        self.store = store
        self.target = target
        self.holder = holder
        self.lease = lease

    def keep(self) -> None:
        """Prolong the lease, or refuse to go on because somebody else took it."""
        with self.store.append() as connection:
            kept = connection.execute(
                update(t.sync_locks)
                .where(_l.target == self.target, _l.holder == self.holder)
                .values(until=_in(self.lease))
            ).rowcount
        if not kept:
            raise Conflict(f"the lock on '{self.target}' was lost", hint="resume the push")


@contextmanager
def locked(store: Store, target: str, lease: float = 120.0) -> Iterator[Lock]:
    """Hold a target for one push; a second one is refused, one that died is taken over when its lease has run out."""
    lock = Lock(store, target, uuid4().hex, lease)
    with store.append() as connection:
        row = connection.execute(select(t.sync_locks).where(_l.target == target)).one_or_none()
        if row is not None and row.until > now():
            raise Conflict(
                f"another push to '{target}' is running",
                hint=f"wait for it; if it died, its lock ends at {row.until}",
            )
        connection.execute(delete(t.sync_locks).where(_l.target == target))
        connection.execute(insert(t.sync_locks).values(target=target, holder=lock.holder, until=_in(lease)))
    try:
        yield lock
    finally:
        with store.append() as connection:
            connection.execute(delete(t.sync_locks).where(_l.target == target, _l.holder == lock.holder))


def _in(seconds: float) -> str:
    until = datetime.now(UTC) + timedelta(seconds=seconds)
    return until.isoformat(timespec="milliseconds").replace("+00:00", "Z")


# -- snapshots --------------------------------------------------------------------------------------------------


def keep_snapshot(store: Store, name: str, content: str, document: bytes) -> None:
    """Keep a snapshot, unless the last one of that name says the same: its content has the same hash."""
    c = t.sync_snapshots.c
    with store.append() as connection:
        last = select(c.version).where(c.name == name).order_by(c.id.desc()).limit(1)
        if connection.execute(last).scalar_one_or_none() != content:
            connection.execute(
                insert(t.sync_snapshots).values(name=name, version=content, at=now(), document=document)
            )


def last_snapshot(store: Store, name: str) -> bytes | None:
    c = t.sync_snapshots.c
    newest = select(func.max(c.id)).where(c.name == name).scalar_subquery()
    with store.read() as read:
        found: bytes | None = read.execute(select(c.document).where(c.id == newest)).scalar_one_or_none()
    return found
