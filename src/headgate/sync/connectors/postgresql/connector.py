"""PostgreSQL: one database, presented as one catalog.

A role that may log in is a user, one that may not is a role; PUBLIC is a group of everyone. Superusers bypass all of it and are
named in the notes. Row filters are restrictive row-level policies that carry their canonical form in a comment.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import psycopg

from headgate.model.errors import ConnectionFailed, IllegalArgument
from headgate.model.objects import ObjectType
from headgate.sync.access.capabilities import Capabilities
from headgate.sync.connectors.postgresql.capabilities import CAPABILITIES
from headgate.sync.connectors.postgresql.reading import PostgresReader
from headgate.sync.connectors.postgresql.rows import expression
from headgate.sync.connectors.postgresql.writing import LONGEST, PostgresWriter
from headgate.sync.contract import Connector
from headgate.sync.pushing.results import Applied, Change
from headgate.sync.pushing.run import Reading
from headgate.sync.translating.restrictions import Rule

_T = ObjectType
_PLAIN_NAMES: Final = "SET LOCAL search_path = pg_catalog"
"""No operator or function that somebody put into a schema is meant by what is written here."""


class PostgresConnector(Connector):
    """One database over one connection per call; a batch is one transaction."""

    batch = 2_000

    def __init__(self, url: str, catalog: str, name: str | None = None) -> None:
        super().__init__(name or f"postgresql:{catalog}")
        self.url = url
        self.catalog = catalog

    @property
    def capabilities(self) -> Capabilities:
        return CAPABILITIES

    def read(self) -> Reading:
        with self._connected() as connection, connection.transaction():
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            connection.execute(_PLAIN_NAMES)
            return PostgresReader(connection, self.catalog).reading()

    def takes(self, rule: Rule) -> bool:
        try:
            expression(rule.sql)
        except IllegalArgument:
            return False
        return len(rule.name.encode()) <= LONGEST

    def apply(self, changes: Sequence[Change]) -> list[Applied]:
        with self._connected() as connection, connection.transaction():
            connection.execute(_PLAIN_NAMES)
            return PostgresWriter(connection, changes).make()

    @contextmanager
    def _connected(self) -> Iterator[psycopg.Connection[Any]]:
        try:
            with psycopg.connect(self.url, autocommit=True, connect_timeout=10) as connection:
                yield connection
        except psycopg.OperationalError as error:
            raise ConnectionFailed(
                f"'{self.name}' does not answer", hint=str(error).splitlines()[0], about="sync"
            ) from error
