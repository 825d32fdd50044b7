"""What every catalog can do, whether its tables are kept here or in somebody else's system."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import msgspec

from headgate.model.tables import LoadedTable, Partition, TableChange, TableDefinition
from headgate.store import Write

Namespace = tuple[str, ...]
"""The segments of a schema's name, the outermost first."""


class Place(msgspec.Struct, frozen=True):
    """A table by name, and the id of its object; 0 while it has none yet."""

    schema: Namespace
    name: str
    object: int = 0


def _nothing(tx: Write, object: int) -> None:
    """Outside systems have made the change already."""


def _done() -> None:
    """Nothing is left to do."""


@dataclass(frozen=True)
class Staged:
    """A change of a table that is prepared: all slow work is done, and nobody sees it before it is committed.

    INVARIANT: what is staged and never committed leaves at most files that nothing points to.
    """

    table: LoadedTable
    commit: Callable[[Write, int], None] = _nothing
    """Make it so, in the transaction that writes the object's row; takes the id of the object."""
    abandon: Callable[[], None] = _done
    """Take back what was written, as far as possible; never called once committed."""
    finish: Callable[[], None] = _done
    """What may only happen once the transaction is committed, such as deleting files."""


class Catalog(Protocol):
    """One catalog, opened. Names and properties go in; nothing here asks who is calling."""

    outside: bool
    """Whether names live in another system, so that one may exist there before it has an object row here."""

    def test(self) -> None:
        """Make sure that the system behind the catalog answers, or raise ConnectionFailed."""

    def schemas(self, parent: Namespace) -> list[str]:
        """The names directly below this schema (or the catalog, for the empty namespace), if they are kept outside."""

    def create_schema(self, name: Namespace, comment: str | None, properties: dict[str, str]) -> None:
        """Make a schema in the system behind the catalog."""

    def alter_schema(self, name: Namespace, properties: dict[str, str]) -> None:
        """Give a schema exactly these properties."""

    def drop_schema(self, name: Namespace, *, cascade: bool) -> None:
        """Remove a schema, with all it holds if `cascade` says so."""


@runtime_checkable
class TableCatalog(Catalog, Protocol):
    """A catalog that holds tables."""

    def tables(self, schema: Namespace) -> list[str]:
        """The names of the tables in a schema, if they are kept outside."""

    def load_table(self, at: Place) -> LoadedTable:
        """A table as it is now."""

    def create_table(self, at: Place, definition: TableDefinition) -> Staged:
        """Prepare a new table; what the catalog cannot do is refused before anything is written."""

    def alter_table(self, at: Place, changes: tuple[TableChange, ...]) -> Staged:
        """Prepare changes of a table. A new name needs nothing here where names are kept in the object rows."""

    def drop_table(self, at: Place, *, purge: bool) -> Staged:
        """Prepare to forget a table; `purge` deletes its files as well, once it is forgotten."""

    def partitions(self, at: Place) -> list[Partition]:
        """The partitions that hold data, by name."""
