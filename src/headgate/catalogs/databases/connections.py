"""Connections to a database: bounded in number and in time, whatever the database does."""

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

from sqlalchemy import Connection, create_engine
from sqlalchemy.exc import DBAPIError, IntegrityError, OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from headgate.catalogs.databases import sqlite_files
from headgate.catalogs.databases.addresses import DatabaseAddress
from headgate.catalogs.outside.line import MOST_WAITING, Line
from headgate.model.errors import ConnectionFailed, HeadgateError

_CONNECTING: Final = 5
"""Seconds to connect in."""
_ANSWERING: Final = 10
"""Seconds that a statement may take, as the database counts."""
_CUT: Final = 15.0
"""Seconds after which a connection is cut from this side, if the database does not even do that."""


class DatabaseConnections:
    """The connections to one database."""

    def __init__(self, address: DatabaseAddress, user: str, password: str, catalog: str) -> None:
        self.line = Line(address.system, catalog)
        self._file = "" if address.host else address.database
        self.engine = create_engine(
            address.url(),
            hide_parameters=True,
            pool_size=4,
            max_overflow=MOST_WAITING,
            pool_timeout=_CONNECTING,
            connect_args=_postgres(address, user, password) if address.host else _SQLITE,
        )
        if not address.host:
            sqlite_files.guard(self.engine)

    def close(self) -> None:
        self.engine.dispose()

    @contextmanager
    def transaction(self, *, writes: bool = False) -> Iterator[Connection]:
        """One transaction. INVARIANT: no error repeats what the database said, which quotes values and names."""
        with self.line.ask():
            try:
                with self._connection(writes) as connection, connection.begin():
                    yield connection
            except (HeadgateError, IntegrityError):
                raise
            except (OperationalError, PoolTimeout) as error:
                raise self.line.silent(_kind(error)) from None
            except SQLAlchemyError as error:
                if isinstance(error, DBAPIError) and error.connection_invalidated:
                    raise self.line.silent(_kind(error)) from None
                raise ConnectionFailed(
                    f"{self.line.named} refuses what was asked of it", hint=_kind(error)
                ) from None

    @contextmanager
    def _connection(self, writes: bool) -> Iterator[Connection]:
        """A connection that answers, and that is cut once its time is over."""
        connection = self._answering(writes)
        timer = threading.Timer(_CUT, _cut, [connection.connection.driver_connection])
        timer.daemon = True
        timer.start()
        try:
            yield connection
        finally:
            timer.cancel()
            connection.close()

    def _answering(self, writes: bool) -> Connection:
        """One that was open may be to a database that has started anew since: then a fresh one is made."""
        for fresh in (False, True):
            if self._file:
                sqlite_files.check_journals(self._file)
            connection = self.engine.connect().execution_options(headgate_write=writes)
            if self._file:
                sqlite_files.allow(connection, _CUT)
            driver = connection.connection.driver_connection
            if not hasattr(driver, "fileno"):
                return connection
            timer = threading.Timer(_CONNECTING, _cut, [driver])
            timer.daemon = True
            timer.start()
            try:
                connection.exec_driver_sql("SELECT 1")
                connection.rollback()
                return connection
            except DBAPIError:
                connection.invalidate()
                connection.close()
                if fresh:
                    raise
            finally:
                timer.cancel()
        raise AssertionError("the loop above returns or raises")


_SQLITE: Final = {"timeout": _CONNECTING, "check_same_thread": False}


def _postgres(address: DatabaseAddress, user: str, password: str) -> dict[str, Any]:
    """INVARIANT: no password, certificate or setting of this server's own environment goes to somebody else's database."""
    options = f"-c statement_timeout={_ANSWERING * 1000} -c lock_timeout={_ANSWERING * 1000}"
    if address.schema:
        options += f" -c search_path={address.schema}"
    return {
        "user": user,
        "password": password,
        "passfile": "/dev/null",
        "sslcert": "/dev/null/none",
        "sslmode": address.ssl or "prefer",
        "gssencmode": "disable",
        "connect_timeout": _CONNECTING,
        "options": options,
        "tcp_user_timeout": _ANSWERING * 1000,
        "prepare_threshold": None,
        "application_name": "headgate",
    }


def _cut(driver: Any) -> None:
    """End a conversation that the other side does not end: whoever waits for an answer gets an error."""
    if not hasattr(driver, "fileno"):
        return
    with suppress(Exception), socket.socket(fileno=os.dup(driver.fileno())) as wire:
        wire.shutdown(socket.SHUT_RDWR)


def _kind(error: SQLAlchemyError) -> str:
    """What kind of fault it was, without its words."""
    cause = getattr(error, "orig", None) or error
    code = getattr(cause, "sqlstate", None)
    return f"{type(cause).__name__} {code}" if code else type(cause).__name__
