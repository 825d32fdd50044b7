"""Iceberg tables as documents: created, staged, registered, loaded, committed to and renamed by Iceberg's own clients."""

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any, Final

import msgspec

from headgate.catalogs.interface import Document, IcebergCatalog, Place
from headgate.model.errors import AlreadyExists, Conflict, Unsupported
from headgate.model.objects import ObjectType, checked_name, clip
from headgate.steward.kernel import Kernel
from headgate.steward.ownership import created
from headgate.steward.permits import Permit
from headgate.steward.tables import Abandoned, Tables, place_in, place_of
from headgate.store import Write, objects

Json = dict[str, Any]

_TRIES: Final = 5
"""How often a commit is tried again on newer metadata that still meets its requirements."""


class Commit(msgspec.Struct, frozen=True):
    """What a client wants of one table: the state it believes in, and the updates to it."""

    permit: Permit
    name: str | None
    """The name of a table that this commit makes, in the permit's schema; None for the permit's own table."""
    requirements: Sequence[Json]
    updates: Sequence[Json]

    @property
    def place(self) -> Place:
        return place_of(self.permit) if self.name is None else place_in(self.permit, self.name)


class IcebergTables:
    def __init__(self, kernel: Kernel, tables: Tables) -> None:
        self.kernel = kernel
        self.tables = tables

    def load(self, permit: Permit) -> Document:
        return self._adapter(permit).document(place_of(permit))

    def stage(self, permit: Permit, name: str, definition: Json) -> Document:
        """What a table made like this would be; nothing is kept until its first commit."""
        self._free(permit, name)
        return self._adapter(permit).new_document(place_in(permit, name), definition)

    def create(self, permit: Permit, name: str, definition: Json) -> Document:
        """Make a table in the permit's schema; who makes it becomes its owner."""
        self._free(permit, name)
        staged = self._adapter(permit).create_document(place_in(permit, name), definition)
        with self.kernel.change(permit) as tx, Abandoned(staged):
            staged.commit(tx, self._insert(tx, permit, name))
        return staged.result

    def register(self, permit: Permit, name: str, location: str) -> Document:
        """Take over a table whose document lies in the catalog's storage already."""
        self._free(permit, name)
        staged = self._adapter(permit).register_document(place_in(permit, name), location)
        with self.kernel.change(permit) as tx:
            staged.commit(tx, self._insert(tx, permit, name))
        return staged.result

    def commit(self, commits: Sequence[Commit]) -> list[Document]:
        """Commit to one or more tables, all or none of them.

        A table that moved on in between is read again: if it still meets the requirements, the updates are applied to
        what it is now; otherwise the commit fails and nothing of it is kept.
        """
        for commit in commits:
            if commit.name is not None:
                self._free(commit.permit, commit.name)
        for attempt in range(_TRIES):
            with ExitStack() as abandoned:
                staged = []
                for commit in commits:
                    adapter = self._adapter(commit.permit)
                    staged.append(adapter.commit_document(commit.place, commit.requirements, commit.updates))
                    abandoned.enter_context(Abandoned(staged[-1]))
                try:
                    with self.kernel.change(*(commit.permit for commit in commits)) as tx:
                        for commit, change in zip(commits, staged, strict=True):
                            node = commit.permit.node.id
                            made = (
                                node if commit.name is None else self._insert(tx, commit.permit, commit.name)
                            )
                            change.commit(tx, made)
                    return [change.result for change in staged]
                except Conflict as conflict:
                    if conflict.about != "commit" or attempt == _TRIES - 1:
                        raise
                    for change in staged:
                        change.abandon()
        raise AssertionError("the loop above returns or raises")

    def rename(self, source: Permit, target: Permit, name: str, *others: Permit) -> None:
        """Give a table another name, maybe in another schema of the same catalog. Its files stay where they are."""
        self._free(target, name)
        with self.kernel.change(source, target, *others) as tx:
            self._no_view(tx, target, name)
            objects.alter(tx, objects.present(tx, source.node.id), parent=target.node.id, name=name)

    def _insert(self, tx: Write, permit: Permit, name: str) -> int:
        self._no_view(tx, permit, name)
        return created(tx, permit, ObjectType.TABLE, name).id

    def _no_view(self, tx: Write, permit: Permit, name: str) -> None:
        if objects.find(tx, permit.node.id, ObjectType.VIEW, name) is not None:
            raise AlreadyExists(f"View with same name already exists: {clip(name)}", about=ObjectType.VIEW)

    def _free(self, permit: Permit, name: str) -> None:
        """Say early that a name is taken or impossible; the transaction makes sure."""
        checked_name(name, "table")
        for type in (ObjectType.TABLE, ObjectType.VIEW):
            if permit.authority.child(permit.node.id, type, name) is not None:
                raise AlreadyExists(
                    f"{type.capitalize()} with same name already exists: {clip(name)}", about=type
                )

    def _adapter(self, permit: Permit) -> IcebergCatalog:
        adapter = self.tables.adapter(permit)
        if not isinstance(adapter, IcebergCatalog):
            raise Unsupported(
                "this catalog does not hold Iceberg tables",
                hint="use a catalog of provider lakehouse-iceberg",
            )
        return adapter
