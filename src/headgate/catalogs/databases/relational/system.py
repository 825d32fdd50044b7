"""What a kind of database must be able to do, and how its answers are kept small."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, Protocol

from sqlalchemy import Connection, TextClause
from sqlalchemy.exc import DBAPIError

from headgate.catalogs.databases.connections import DatabaseConnections
from headgate.catalogs.databases.relational.described import DatabaseTable
from headgate.catalogs.databases.relational.native_types import NativeTypes
from headgate.catalogs.outside.line import NoAnswer
from headgate.catalogs.outside.pages import MOST_NAMES
from headgate.model.errors import AlreadyExists, Damaged, HeadgateError, NotFound, OutcomeUnknown
from headgate.model.objects import ObjectType, clip

MOST_COLUMNS: Final = 10_000


class DatabaseSystem(Protocol):
    """A kind of database. Names are taken letter by letter, whatever the database holds to be the same."""

    types: NativeTypes
    ordered: bool
    """Whether columns can be put before others."""
    engines: bool
    """Whether a table says how it is stored."""

    def test(self) -> None:
        """Make sure that it answers."""

    def close(self) -> None:
        """Let go of its connections."""

    def schemas(self) -> list[str]:
        """All but its own."""

    def has_schema(self, schema: str) -> bool: ...

    def create_schema(self, schema: str, comment: str | None) -> None: ...

    def drop_schema(self, schema: str, *, cascade: bool) -> None:
        """Drop it with the tables that `tables` tells of, if `cascade` says so; NotEmpty if it holds anything else."""

    def tables(self, schema: str) -> list[str]: ...

    def load(self, schema: str, name: str) -> DatabaseTable: ...

    def create(self, schema: str, table: DatabaseTable) -> None: ...

    def alter(
        self, schema: str, before: DatabaseTable, after: DatabaseTable, to: tuple[str, str] | None
    ) -> None:
        """Make one into the other, all of it or nothing, and move it to another schema and name."""

    def drop(self, schema: str, name: str) -> None: ...


class Faults(Protocol):
    """Tells what an error of a database means; None if that is not known."""

    def __call__(self, error: DBAPIError, what: str) -> HeadgateError | None: ...


@contextmanager
def asking(connections: DatabaseConnections, faults: Faults, what: str) -> Iterator[Connection]:
    """One transaction that only reads."""
    with connections.transaction() as tx:
        try:
            yield tx
        except DBAPIError as error:
            raise faults(error, what) or error from None


@contextmanager
def changing(connections: DatabaseConnections, faults: Faults, what: str) -> Iterator[Connection]:
    """One transaction that changes something. INVARIANT: a change whose answer is lost is not taken for undone."""
    began = False
    try:
        with connections.transaction(writes=True) as tx:
            began = True
            try:
                yield tx
            except DBAPIError as error:
                raise faults(error, what) or error from None
    except NoAnswer as error:
        if not began:
            raise
        raise OutcomeUnknown(
            f"whether {what} was changed is not known: {error.message}",
            hint="load it again before you try again",
        ) from error


def rows(tx: Connection, query: TextClause, most: int, **values: object) -> list[Any]:
    """All rows of a query, which are no more than there may be."""
    found = tx.execute(query, values).fetchmany(most + 1)
    if len(found) > most:
        raise Damaged(f"the database lists more than {most} of them in one place")
    return list(found)


def texts(tx: Connection, query: TextClause, **values: object) -> list[str]:
    """The one column of a query."""
    return [text(row[0]) for row in rows(tx, query, MOST_NAMES, **values)]


def text(value: object) -> str:
    """A value that has to be a text, whatever the database sends."""
    if isinstance(value, bytes):
        return value.decode()
    if not isinstance(value, str):
        raise TypeError("no text")
    return value


def optional(value: object) -> str | None:
    return None if value is None else text(value)


def no_table(name: str) -> NotFound:
    return NotFound(f"table '{clip(name)}' does not exist", about=ObjectType.TABLE)


def no_schema(name: str) -> NotFound:
    return NotFound(f"schema '{clip(name)}' does not exist", about=ObjectType.SCHEMA)


def taken(what: str) -> AlreadyExists:
    about = ObjectType.SCHEMA if what.startswith("schema") else ObjectType.TABLE
    return AlreadyExists(f"{what} already exists", about=about)
