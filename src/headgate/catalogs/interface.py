"""What every catalog can do, whether its tables are kept here or in somebody else's system."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, Protocol, TypeGuard, TypeVar, runtime_checkable

import msgspec

from headgate.catalogs.iceberg.storage import Storage
from headgate.model.objects import ObjectType
from headgate.model.past import NOTHING_BEFORE, Past
from headgate.model.tables import LoadedTable, TableChange, TableDefinition
from headgate.store import Write

T = TypeVar("T")

Namespace = tuple[str, ...]
"""The segments of a schema's name, the outermost first."""


class TablePlace(msgspec.Struct, frozen=True):
    """A table or view by name, and the id of its object; 0 while it has none yet."""

    schema: Namespace
    name: str
    object: int = 0
    type: ObjectType = ObjectType.TABLE


def _nothing(tx: Write, object: int) -> None:
    """Outside systems have made the change already."""


def _done() -> None:
    """Nothing is left to do."""


class Document(msgspec.Struct, frozen=True):
    """The Iceberg metadata of a table or view and where it lies; one that is only staged lies nowhere yet."""

    location: str | None
    metadata: dict[str, Any]
    past: Past = NOTHING_BEFORE
    """What is known of the table's columns besides."""


class Described(msgspec.Struct, frozen=True):
    """A table of another system at one moment, as clients see it and as policies need it."""

    table: LoadedTable
    columns: Document | None
    """Its document, or one that has its columns alone; None if they cannot be told, as the table is broken."""


@dataclass(frozen=True)
class Staged(Generic[T]):
    """A change of a table that is prepared: all slow work is done, and nobody sees it before it is committed.

    INVARIANT: what is staged and never committed leaves at most files that nothing points to.
    """

    result: T
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

    def own_places(self) -> tuple[str, ...]:
        """The folders that the catalog keeps for itself, in which and around which nobody may place anything."""

    def own_sources(self) -> tuple[str, ...]:
        """The other systems that the catalog takes its tables from, each in one spelling whatever the properties say.

        INVARIANT: two catalogs that could answer with one table have a source in common. Nothing is asked to tell them.
        """

    def kept_folders(self) -> tuple[str, ...]:
        """The folders and files in which what this catalog holds lies, that too which nobody has loaded or registered yet.

        INVARIANT: nothing of another catalog lies there, unless that catalog's owner may change every policy.
        """

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

    def load_table(self, at: TablePlace) -> LoadedTable:
        """A table as it is now."""

    def create_table(self, at: TablePlace, definition: TableDefinition) -> Staged[LoadedTable]:
        """Prepare a new table; what the catalog cannot do is refused before anything is written."""

    def alter_table(self, at: TablePlace, changes: tuple[TableChange, ...]) -> Staged[LoadedTable]:
        """Prepare changes of a table. A new name needs nothing here where names are kept in the object rows."""

    def drop_table(self, at: TablePlace, *, purge: bool) -> Staged[None]:
        """Prepare to forget a table; `purge` deletes its files as well, once it is forgotten."""


@runtime_checkable
class OutsideTables(TableCatalog, Protocol):
    """A catalog whose tables another system keeps, which may answer otherwise the next time."""

    hive: bool
    """Whether it may hold Hive tables, which have properties of their own."""

    def described(self, at: TablePlace) -> Described:
        """A table by one answer of the other system. A broken one is described too, and says why it is."""

    def columns(self, at: TablePlace) -> Document:
        """What policies need of a table of any format: its document, or one that has the columns alone."""


@runtime_checkable
class IcebergCatalog(TableCatalog, Protocol):
    """A catalog whose tables and views are Iceberg documents, so that Iceberg's own clients can work with them."""

    properties: dict[str, str]
    """As they were declared, secrets included."""

    def document(self, at: TablePlace) -> Document:
        """The current document of a table or view."""

    def document_at(self, at: TablePlace, location: str) -> Document:
        """The document of a table that lay there when somebody asked for work on it."""

    storage: Storage
    """Where the files of its tables lie."""

    source: str
    """Names the other server that vouches for where its tables lie; empty if they are kept here."""

    def governed_folder(self, document: Document, object: int) -> str:
        """The folder for what views of a table leave of it: inside no table's own, so no table's credential reaches it.

        Named by the object, which no other ever is: what two tables claim to be does not bring their copies together.
        """

    def schema_folder(self, schema: Namespace) -> str | None:
        """The folder in which whoever makes a table in a schema may choose its place; None if there is none."""

    def own_folders(self, document: Document) -> tuple[str, ...]:
        """Where the files of a table may lie, in the one spelling of `locations.normal`."""

    def given_folders(self, document: Document) -> tuple[str, ...]:
        """The folders of a table that clients may be given access to, because nothing else lies in them."""

    def new_document(self, at: TablePlace, definition: dict[str, Any]) -> Document:
        """What a table or view made from a create request would be; nothing is written."""

    def create_document(self, at: TablePlace, definition: dict[str, Any]) -> Staged[Document]:
        """Prepare a new table or view from a create request."""

    def register_document(self, at: TablePlace, location: str, check: Callable[[], None]) -> Staged[Document]:
        """Prepare to take over a table or view whose document lies in this catalog's storage already.

        `check` refuses a file in somebody else's place. It is asked once the file is known to be this catalog's to name,
        and before anybody looks for it.
        """

    def commit_document(
        self, at: TablePlace, requirements: Sequence[dict[str, Any]], updates: Sequence[dict[str, Any]]
    ) -> Staged[Document]:
        """Prepare a commit. A place without an object is a table that the commit makes."""

    def rename(self, at: TablePlace, to: TablePlace) -> None:
        """Give a table or view another name in the system behind the catalog."""

    def drop_view(self, at: TablePlace) -> None:
        """Remove a view from the system behind the catalog."""


@runtime_checkable
class NamingCatalog(Catalog, Protocol):
    """A catalog whose names another system keeps: what is there is asked for there."""

    def schema_exists(self, name: Namespace) -> bool:
        """Whether the other system has such a schema."""

    def entries(self, schema: Namespace, type: ObjectType) -> list[str]:
        """The names of the tables or views in a schema of the other system."""


@runtime_checkable
class CommitsTogether(IcebergCatalog, Protocol):
    """A catalog whose server commits to several tables in one call, because only it can promise all or none."""

    def commit_together(
        self, changes: Sequence[tuple[TablePlace, Sequence[dict[str, Any]], Sequence[dict[str, Any]]]]
    ) -> list[Staged[Document]]:
        """Commit to several tables, all or none of them."""


@runtime_checkable
class OutsideTopics(NamingCatalog, Protocol):
    """A catalog whose topics another system keeps, with their settings."""

    def topic(self, name: str) -> dict[str, str]:
        """The settings of a topic as they are now; NotFound."""

    def create_topic(self, name: str, properties: dict[str, str]) -> None:
        """Make a topic; AlreadyExists."""

    def alter_topic(self, name: str, properties: tuple[tuple[str, str | None], ...]) -> None:
        """Set settings of a topic, or remove those without a value."""

    def drop_topic(self, name: str) -> None:
        """Delete a topic; NotFound."""


_kinds: Final[dict[tuple[type, type], bool]] = {}
"""Remembered by class: to compare all methods for every request would cost more than the request."""


def holds_tables(catalog: Catalog) -> TypeGuard[TableCatalog]:
    """Whether a catalog holds tables."""
    return _is(catalog, TableCatalog)


def holds_documents(catalog: Catalog) -> TypeGuard[IcebergCatalog]:
    """Whether the tables of a catalog are Iceberg documents."""
    return _is(catalog, IcebergCatalog)


def keeps_names(catalog: Catalog) -> TypeGuard[NamingCatalog]:
    """Whether another system keeps the names of a catalog."""
    return catalog.outside and _is(catalog, NamingCatalog)


def keeps_tables(catalog: Catalog) -> TypeGuard[OutsideTables]:
    """Whether another system keeps the tables of a catalog."""
    return catalog.outside and _is(catalog, OutsideTables)


def keeps_topics(catalog: Catalog) -> TypeGuard[OutsideTopics]:
    """Whether another system keeps the topics of a catalog."""
    return catalog.outside and _is(catalog, OutsideTopics)


def commits_together(catalog: Catalog) -> TypeGuard[CommitsTogether]:
    """Whether commits to several tables of a catalog are one call to the system behind it."""
    return _is(catalog, CommitsTogether)


def _is(catalog: Catalog, kind: type) -> bool:
    key = (type(catalog), kind)
    if key not in _kinds:
        _kinds[key] = isinstance(catalog, kind)
    return _kinds[key]
