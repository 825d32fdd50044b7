"""Connections, transactions and the revision: how every read and every change reaches the database."""

import sqlite3
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, Final

import msgspec
from sqlalchemy import (
    Connection,
    Dialect,
    Engine,
    Select,
    create_engine,
    event,
    func,
    insert,
    make_url,
    select,
    update,
)
from sqlalchemy.exc import IntegrityError, OperationalError, ProgrammingError, SQLAlchemyError

from headgate.model.changes import Change
from headgate.model.errors import Conflict, Unavailable
from headgate.model.extras import Extra, needs
from headgate.store import migrations, tables

_changes: Final = msgspec.json.Decoder(list[Change])


class Lookup:
    """A statement with named parameters that finds one row: made once, for what every request asks.

    Its values come and go as the database has them, so it is for texts, numbers and bytes only.
    """

    def __init__(self, statement: Select[Any]) -> None:
        self._statement = statement
        self._prepared: dict[str, tuple[str, tuple[str, ...]]] = {}

    def prepared(self, dialect: Dialect) -> tuple[str, tuple[str, ...]]:
        """Its text for a database, and its parameters in their order."""
        known = self._prepared.get(dialect.name)
        if known is None:
            compiled = self._statement.compile(dialect=dialect)
            known = self._prepared[dialect.name] = (str(compiled), tuple(compiled.positiontup or ()))
        return known


_REVISION: Final = Lookup(select(tables.state.c.revision))


class Read:
    """A consistent view of the store."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    def execute(self, statement: Any, parameters: Any = None) -> Any:
        return self.connection.execute(statement, parameters)


class Write(Read):
    """One change of the store: tables, journal and revision move together or not at all."""

    def __init__(self, connection: Connection, actor: str, action: str, base: int) -> None:
        super().__init__(connection)
        self.actor = actor
        self.action = action
        self.base = base
        """The revision that is changed; no other can come between."""
        self.now = now()
        self.changes: list[Change] = []
        self.ending = False
        """Whether everything is written and the database is told to commit: from then on only it knows how this ends."""

    @property
    def revision(self) -> int:
        """The revision of the store once this is committed."""
        return self.base + 1 if self.changes else self.base

    def journal(self, *changes: Change) -> None:
        self.changes.extend(changes)


def now() -> str:
    """The time as it is stored and sent: ISO-8601, UTC, milliseconds."""
    return stored_time(datetime.now(UTC))


def stored_time(time: datetime) -> str:
    """Any time in that form, so that times compare as texts."""
    return time.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def clock(connection: Any) -> datetime:
    """The store's own time: no process's clock decides about what another holds. SQLite's processes share one machine."""
    if connection.dialect.name == "postgresql":
        time: datetime = connection.execute(select(func.clock_timestamp())).scalar_one()
        return time
    return datetime.now(UTC)


class _Own:
    """A connection that is closed as soon as nobody holds it, with its thread or with the store."""

    def __init__(self, connection: Any) -> None:
        self.connection = connection

    def __del__(self) -> None:
        self.connection.close()


class Store:
    """A database of governance state, on SQLite or PostgreSQL."""

    def __init__(self, url: str) -> None:
        self.url = make_url(url)
        self.engine = _engine(url)
        self._own = threading.local()
        """Each thread's connection to SQLite for what every request looks up, and the change that it is making."""
        self._writer = threading.Lock()
        self.written = 0
        """The revision after the last change by this process. Only ever grows: changes run one after the other."""
        if self.engine.dialect.name == "postgresql":
            self._snapshot: Engine = self.engine.execution_options(isolation_level="REPEATABLE READ")
            self._counter: Engine = self.engine.execution_options(isolation_level="AUTOCOMMIT")
        else:
            # Any SQLite transaction reads one snapshot.
            self._snapshot = self._counter = self.engine

    def close(self) -> None:
        self._own = threading.local()
        self.engine.dispose()

    def prepare(self) -> None:
        """Bring the tables to this version; a store of a newer version is refused untouched."""
        with _unavailable(self.url):
            migrations.upgrade(self.engine)

    def check(self) -> None:
        """Make sure that the store answers and has the tables of this version."""
        with _unavailable(self.url), self.engine.connect() as connection:
            migrations.check(connection)

    @contextmanager
    def read(self) -> Iterator[Read]:
        with _unavailable(self.url), self._snapshot.connect() as connection:
            yield Read(connection)

    @contextmanager
    def write(self, actor: str, action: str) -> Iterator[Write]:
        """Change the store. Changes run one after the other, also those of other processes.

        INVARIANT: the row of the revision is locked first, so revisions commit in their order and whatever was read
        or decided inside this block still holds when it commits.
        """
        writer = self.engine.execution_options(headgate_write=True)
        with self._writer:
            with _unavailable(self.url), writer.connect() as connection, connection.begin():
                base = connection.execute(select(tables.state.c.revision).with_for_update()).scalar_one()
                change = Write(connection, actor, action, base)
                self._own.change = change
                try:
                    yield change
                finally:
                    self._own.change = None
                if change.changes:
                    connection.execute(update(tables.state).values(revision=change.revision))
                    connection.execute(
                        insert(tables.journal).values(
                            revision=change.revision,
                            at=change.now,
                            actor=actor,
                            action=action,
                            changes=msgspec.json.encode(change.changes),
                        )
                    )
                change.ending = True
            self.written = change.revision

    @contextmanager
    def joined(self, actor: str, action: str) -> Iterator[Write]:
        """As `write`; inside a change of this thread, a part of that one."""
        under_way: Write | None = getattr(self._own, "change", None)
        if under_way is not None:
            yield under_way
            return
        with self.write(actor, action) as tx:
            yield tx

    @property
    def changing(self) -> bool:
        """Whether this thread is inside a change, for which every other change waits."""
        return getattr(self._own, "change", None) is not None

    @contextmanager
    def append(self) -> Iterator[Connection]:
        """Add rows that are no governance state, such as audit events: no journal, no revision."""
        writer = self.engine.execution_options(headgate_write=True)
        with self._writer, _unavailable(self.url), writer.connect() as connection, connection.begin():
            yield connection

    def look_up(self, lookup: Lookup, **values: object) -> tuple[Any, ...] | None:
        """The one row that a lookup finds. A statement alone is one view, so no transaction is begun for it."""
        with _unavailable(self.url):
            text, names = lookup.prepared(self.engine.dialect)
            if self._counter is not self.engine:
                with self._counter.connect() as connection:
                    found = connection.exec_driver_sql(text, values).all()
            else:
                found = self._at_once(text, [values[name] for name in names])
        return tuple(found[0]) if found else None

    def _at_once(self, text: str, values: list[object]) -> list[Any]:
        """Run a statement on SQLite past SQLAlchemy and its pool, which need several times as long as the statement."""
        try:
            own: _Own | None = getattr(self._own, "open", None)
            if own is None:
                pooled = self.engine.raw_connection()
                own = self._own.open = _Own(pooled.driver_connection)
                pooled.detach()
            # All rows: a statement that is not at its end would keep its view of the store.
            return list(own.connection.execute(text, values).fetchall())
        except sqlite3.Error as error:
            self._own.open = None
            raise OperationalError(text, None, error) from error

    def revision(self) -> int:
        """The revision as it is now, for every process alike."""
        found = self.look_up(_REVISION)
        if found is None:
            raise Unavailable("the store is empty", hint="start 'headgate serve', which prepares it")
        return int(found[0])

    def changes(self, after: int, upto: int) -> list[tuple[int, list[Change]]] | None:
        """The journal between two revisions, or None if it no longer reaches back that far."""
        journal = tables.journal.c
        with self.read() as read:
            rows = read.execute(
                select(journal.revision, journal.changes)
                .where(journal.revision > after, journal.revision <= upto)
                .order_by(journal.revision)
            ).all()
        if [row.revision for row in rows] != list(range(after + 1, upto + 1)):
            return None
        return [(row.revision, _changes.decode(row.changes)) for row in rows]


def file_of(url: str) -> str | None:
    """The file that a store of that URL is; None where a server keeps it, or nothing does."""
    parsed = make_url(url)
    return parsed.database or None if parsed.get_backend_name() == "sqlite" else None


def _engine(url: str) -> Engine:
    parsed = make_url(url)
    if parsed.get_backend_name() == "sqlite":
        engine = create_engine(
            url, hide_parameters=True, connect_args={"timeout": 10, "check_same_thread": False}
        )
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
        return engine
    if parsed.get_backend_name() == "postgresql":
        with needs(Extra.POSTGRES):
            return create_engine(
                parsed.set(drivername="postgresql+psycopg"),
                hide_parameters=True,
                pool_size=16,
                max_overflow=16,
                pool_pre_ping=True,
                connect_args={"connect_timeout": 5},
            )
    raise Unavailable(
        f"no store of kind '{parsed.get_backend_name()}'", hint="use sqlite:///… or postgresql://…"
    )


def _prepare_sqlite(connection: Any, _record: Any) -> None:
    # SQLAlchemy's own BEGIN comes from `_begin_sqlite`; the driver must not add any.
    connection.isolation_level = None
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "busy_timeout=10000"):
        connection.execute(f"PRAGMA {pragma}")


def _begin_sqlite(connection: Connection) -> None:
    writes = connection.get_execution_options().get("headgate_write")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


@contextmanager
def _unavailable(url: Any) -> Iterator[None]:
    """Say plainly that the store cannot answer; the caller must deny."""
    try:
        yield
    except IntegrityError as error:
        raise Conflict(
            "somebody else changed the same thing at the same time", hint="read it again and retry"
        ) from error
    except (OperationalError, ProgrammingError) as error:
        if any(text in str(error.orig) for text in ("no such table", 'relation "state" does not exist')):
            raise Unavailable(
                f"the store {url.render_as_string(hide_password=True)} is empty",
                hint="start 'headgate serve', which prepares it",
            ) from error
        if "could not serialize" in str(error) or "deadlock" in str(error):
            raise Conflict(
                "somebody else changed the same thing at the same time", hint="read it again and retry"
            ) from error
        raise Unavailable(
            f"the store {url.render_as_string(hide_password=True)} does not answer",
            hint=str(error.orig).splitlines()[0] if error.orig else None,
        ) from error
    except SQLAlchemyError as error:
        raise Unavailable(
            f"the store {url.render_as_string(hide_password=True)} cannot be used",
            hint=str(error).splitlines()[0],
        ) from error


def rows(read: Read, statement: Any) -> Iterable[Any]:
    """Stream rows in batches, so that a million grants do not stand in memory twice."""
    return read.connection.execution_options(yield_per=10_000).execute(statement)


__all__ = ["Lookup", "Read", "Store", "Write", "now", "rows"]
