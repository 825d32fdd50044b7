"""MariaDB and MySQL: one server, presented as one catalog whose schemas are its databases.

A user is an account with its host, ``ann@%``. Which of the two a server is, its own tables tell. Roles are read, but not written:
an account of MariaDB has one active role at a time, one of MySQL those that it activates, so a push grants to the accounts
themselves. Grants on a database reach everything in it, tables and views alike; there are no gates.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec
import pymysql

from headgate.model.errors import ConnectionFailed
from headgate.sync.access.capabilities import Capabilities
from headgate.sync.connectors.mariadb.accounts import ServerProduct, detected
from headgate.sync.connectors.mariadb.reading import MariaDBReader
from headgate.sync.connectors.mariadb.writing import MariaDBWriter
from headgate.sync.contract import Connector
from headgate.sync.pushing.results import Applied, Change
from headgate.sync.pushing.run import Reading


class Account(msgspec.Struct, frozen=True):
    """Where a server is and who administers it."""

    host: str
    port: int
    user: str
    password: str

    def __repr__(self) -> str:
        return f"Account({self.user!r} at {self.host!r}:{self.port})"


class MariaDBConnector(Connector):
    """One server over one connection per call."""

    def __init__(self, account: Account, catalog: str, name: str | None = None) -> None:
        super().__init__(name or f"mariadb:{catalog}")
        self.account = account
        self.catalog = catalog
        self.server: ServerProduct | None = None
        """Which of the two it is, once it has been asked."""

    @property
    def capabilities(self) -> Capabilities:
        if self.server is None:
            with self._connected():
                pass
        assert self.server is not None
        return self.server.capabilities

    def read(self) -> Reading:
        with self._connected() as (connection, server):
            return MariaDBReader(connection, server, self.catalog).reading()

    def apply(self, changes: Sequence[Change]) -> list[Applied]:
        with self._connected() as (connection, server):
            writer = MariaDBWriter(connection, server)
            return [writer.make(change) for change in changes]

    @contextmanager
    def _connected(self) -> Iterator[tuple["pymysql.Connection[Any]", ServerProduct]]:
        at = self.account
        try:
            connection = pymysql.connect(
                host=at.host,
                port=at.port,
                user=at.user,
                password=at.password,
                autocommit=True,
                connect_timeout=10,
                cursorclass=pymysql.cursors.DictCursor,
            )
        except pymysql.Error as error:
            raise ConnectionFailed(
                f"'{self.name}' does not answer", hint=str(error.args[-1]), about="sync"
            ) from error
        with connection:
            if self.server is None:
                self.server = detected(connection, self.name)
            yield connection, self.server
