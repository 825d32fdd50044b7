"""Connections to a database: bounded in number, in time and in what they bring, whatever the database does."""

import struct
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Final

from sqlalchemy import Connection, create_engine, event
from sqlalchemy.exc import DBAPIError, IntegrityError, OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from headgate.catalogs.databases import sqlite_files
from headgate.catalogs.databases.addresses import MYSQL, DatabaseAddress
from headgate.catalogs.databases.watching import watched
from headgate.catalogs.outside.line import MOST_WAITING, Line
from headgate.model.errors import ConnectionFailed, HeadgateError
from headgate.model.extras import Extra, needs

_CONNECTING: Final = 5
"""Seconds to connect in."""
_ANSWERING: Final = 10
"""Seconds that a statement may take, as the database counts."""
_CUT: Final = 15.0
"""Seconds after which a connection is cut from this side, if the database does not even do that."""


class DatabaseConnections:
    """The connections to one database."""

    def __init__(
        self,
        address: DatabaseAddress,
        user: str,
        password: str,
        catalog: str,
        largest: int,
        most: int = MOST_WAITING + 4,
    ) -> None:
        """`most` is how many connections there are at once."""
        self.line = Line(address.system, catalog)
        self._file = "" if address.host else address.database
        self.largest = largest
        """Bytes that one transaction may bring."""
        self._opening = threading.local()
        with needs(Extra.MYSQL if address.kind == MYSQL else Extra.POSTGRES):
            self.engine = create_engine(
                address.url(),
                hide_parameters=True,
                pool_size=4,
                max_overflow=most - 4,
                pool_timeout=_CONNECTING,
                **_driven(address, user, password, largest),
            )
        if address.host:
            # Before SQLAlchemy, which asks each new connection a few things.
            event.listen(self.engine.pool, "connect", self._watch_opening, insert=True)
        else:
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
            except _NONSENSE as error:
                # The driver takes whatever comes for what it asked for.
                raise ConnectionFailed(
                    f"{self.line.named} answers otherwise than databases do", hint=type(error).__name__
                ) from None

    @contextmanager
    def _connection(self, writes: bool) -> Iterator[Connection]:
        """A connection that answers, and that is cut once its time is over or it brought too much."""
        connection = self._answering(writes)
        with watched(connection.connection.driver_connection, _CUT, self.largest):
            try:
                yield connection
            finally:
                # Some drivers ask the database once more for that.
                connection.close()

    def _answering(self, writes: bool) -> Connection:
        """One that was open may be to a database that has started anew since: then a fresh one is made."""
        for fresh in (False, True):
            if self._file:
                sqlite_files.check_journals(self._file)
            with ExitStack() as self._opening.watches:
                connection = self.engine.connect().execution_options(headgate_write=writes)
            if self._file:
                sqlite_files.allow(connection, _CUT)
            driver = connection.connection.driver_connection
            if not hasattr(driver, "fileno"):
                return connection
            try:
                with watched(driver, _CONNECTING, self.largest):
                    connection.exec_driver_sql("SELECT 1")
                    connection.rollback()
                return connection
            except DBAPIError:
                connection.invalidate()
                connection.close()
                if fresh:
                    raise
        raise AssertionError("the loop above returns or raises")

    def _watch_opening(self, driver: Any, _record: Any) -> None:
        self._opening.watches.enter_context(watched(driver, _CONNECTING, self.largest))


_NONSENSE: Final = (
    AttributeError,
    LookupError,
    TypeError,
    ValueError,
    ArithmeticError,
    AssertionError,
    EOFError,
    RuntimeError,
    struct.error,
)
"""How drivers fail that were told anything."""


def code_of(error: BaseException) -> int | None:
    """The number of an error of MySQL's; None for others. Loads no driver: an error comes from one that is loaded."""
    driver = sys.modules.get("pymysql.err")
    if driver is None or not isinstance(error, driver.MySQLError) or not error.args:
        return None
    return error.args[0] if isinstance(error.args[0], int) else None


def _driven(address: DatabaseAddress, user: str, password: str, largest: int) -> dict[str, Any]:
    """What the engine is made with, as far as it depends on the driver."""
    if not address.host:
        return {"connect_args": _SQLITE}
    if address.kind == MYSQL:
        from headgate.catalogs.databases import mysql_driver

        driver = mysql_driver.Connecting(address, user, password, _CONNECTING, _ANSWERING, largest)
        return {"creator": driver.connect}
    return {"connect_args": _postgres(address, user, password)}


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


def _kind(error: SQLAlchemyError) -> str:
    """What kind of fault it was, without its words."""
    cause = getattr(error, "orig", None) or error
    code = getattr(cause, "sqlstate", None) or code_of(cause)
    return f"{type(cause).__name__} {code}" if code else type(cause).__name__
