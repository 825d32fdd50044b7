"""SQLite files that somebody else made: nothing in one runs, and no question to one takes longer than it may."""

import os
import sqlite3
import time
from typing import Any, Final

from sqlalchemy import Connection, Engine, event

from headgate.model.errors import Damaged

_STEPS: Final = 10_000
"""Steps of SQLite's machine between two looks at the clock."""
_LARGEST_VALUE: Final = 256 * 1024
"""Bytes of a value or a row."""
_LARGEST_JOURNAL: Final = 256 * 1024 * 1024
"""Bytes of a journal, which SQLite plays back or reads through, whatever the time, before it answers anything."""
_ENDS: Final = "headgate_ends"
_NEVER: Final = frozenset({sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_DETACH, sqlite3.SQLITE_CREATE_VTABLE})


def guard(engine: Engine) -> None:
    """Prepare every connection of an engine to a file."""
    event.listen(engine, "connect", _prepare)
    event.listen(engine, "begin", _begin)


def allow(connection: Connection, seconds: float) -> None:
    """How long the questions of one transaction may take, all together."""
    connection.info[_ENDS] = time.monotonic() + seconds


def check_journals(file: str) -> None:
    for end in ("-wal", "-journal"):
        try:
            size = os.stat(f"{file}{end}").st_size
        except OSError:
            continue
        if size > _LARGEST_JOURNAL:
            raise Damaged("the journal of the SQLite database is too large", hint="open and close it by hand")


def _prepare(connection: Any, record: Any) -> None:
    # SQLAlchemy's own BEGIN comes from `_begin`; the driver must not add any.
    connection.isolation_level = None
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LARGEST_VALUE)
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA cell_size_check = ON")
    connection.set_authorizer(_authorize)
    connection.set_progress_handler(lambda: int(time.monotonic() > record.info.get(_ENDS, 0)), _STEPS)


def _authorize(
    action: int, first: str | None, second: str | None, database: str | None, by: str | None
) -> int:
    """INVARIANT: only what this server asks is done, and nothing that a view or a trigger of the file asks for."""
    return sqlite3.SQLITE_DENY if by is not None or action in _NEVER else sqlite3.SQLITE_OK


def _begin(connection: Connection) -> None:
    writes = connection.get_execution_options().get("headgate_write")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
