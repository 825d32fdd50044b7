"""Iceberg tables and views as documents: created, staged, registered, loaded, committed to, renamed and dropped."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any, Final

import msgspec

from headgate.catalogs.interface import Document, IcebergCatalog, Place, Staged, holds_documents
from headgate.catalogs.locations import normal
from headgate.catalogs.rest import RestIceberg
from headgate.model.changes import ObjectPut
from headgate.model.errors import Conflict, IllegalArgument, Unsupported
from headgate.model.objects import ObjectType, checked_name, clip
from headgate.steward.kernel import Kernel
from headgate.steward.ownership import created
from headgate.steward.permits import Permit
from headgate.steward.reads import Circumstances, Loaded, Reads
from headgate.steward.tables import Abandoned, Tables, free, place_in, place_of, untaken
from headgate.store import Write, objects

Json = dict[str, Any]

_TRIES: Final = 5
"""How often a commit is tried again on newer metadata that still meets its requirements."""


_LARGEST_REPORT: Final = 64 * 1024


class Commit(msgspec.Struct, frozen=True):
    """What a client wants of one table or view: the state it believes in, and the updates to it."""

    permit: Permit
    name: str | None
    """The name of a table that this commit makes, in the permit's schema; None for the permit's own table or view."""
    requirements: Sequence[Json]
    updates: Sequence[Json]

    @property
    def place(self) -> Place:
        return place_of(self.permit) if self.name is None else place_in(self.permit, self.name)


class Documents:
    """Tables and views alike: what a document says differs, how it is kept does not."""

    def __init__(self, kernel: Kernel, tables: Tables, reads: Reads) -> None:
        self.kernel = kernel
        self.tables = tables
        self.reads = reads
        self.changed: Callable[[int], None] = lambda object: None
        """Told of every table that was committed to."""

    def load(self, permit: Permit) -> Document:
        """The whole document, for Headgate itself; what goes to a caller comes from `read`."""
        return self.adapter(permit).document(place_of(permit))

    def read(self, permit: Permit, circumstances: Circumstances) -> Loaded:
        """A table or view as the caller may see it."""
        seen = self.reads.load(permit, self.adapter(permit), circumstances)
        self.kernel.audit_read(
            permit,
            snapshot=seen.document.metadata.get("current-snapshot-id"),
            folders=list(seen.folders) or None,
            given=[normal(seen.document.metadata["location"])] if seen.governed else None,
            view=seen.view,
            delegated=True if seen.restrictions is not None else None,
            **circumstances.told(),
        )
        return seen

    def reported(self, permit: Permit, kind: str, report: Json) -> None:
        """Keep what an engine reports of a scan or commit of its own; nobody vouches for it but the engine."""
        text = msgspec.json.encode({key: value for key, value in report.items() if value is not None})
        if len(text) > _LARGEST_REPORT:
            raise IllegalArgument(f"the report is larger than {_LARGEST_REPORT} bytes")
        self.kernel.audit_read(permit, report=clip(kind, 40), told=msgspec.json.decode(text))

    def stage(self, permit: Permit, name: str, definition: Json) -> Document:
        """What a table made like this would be; nothing is kept until its first commit."""
        free(permit, ObjectType.TABLE, name)
        return self.adapter(permit).new_document(place_in(permit, name), definition)

    def create(self, permit: Permit, type: ObjectType, name: str, definition: Json) -> Document:
        """Make a table or view in the permit's schema; who makes it becomes its owner."""
        free(permit, type, name)
        staged = self.adapter(permit).create_document(place_in(permit, name, type), definition)
        with self.kernel.change(permit) as tx, Abandoned(staged):
            staged.commit(tx, self._insert(tx, permit, type, name))
        return staged.result

    def register(self, permit: Permit, type: ObjectType, name: str, location: str) -> Document:
        """Take over a table or view whose document lies in the catalog's storage already."""
        free(permit, type, name)
        staged = self.adapter(permit).register_document(place_in(permit, name, type), location)
        with self.kernel.change(permit) as tx:
            staged.commit(tx, self._insert(tx, permit, type, name))
        return staged.result

    def commit(self, commits: Sequence[Commit], *, name: str | None = None) -> list[Document]:
        """Commit to one or more tables or views, all or none of them. A `name` renames the first in the same change.

        One that moved on in between is read again: if it still meets the requirements, the updates are applied to
        what it is now; otherwise the commit fails and nothing of it is kept.
        """
        for commit in commits:
            if commit.name is not None:
                self._creatable(commit.permit, commit.name)
        for attempt in range(_TRIES):
            with ExitStack() as abandoned:
                staged = self._staged(commits, abandoned)
                try:
                    with self.kernel.change(
                        *(commit.permit for commit in commits), telling=_telling(commits, staged)
                    ) as tx:
                        for commit, change in zip(commits, staged, strict=True):
                            change.commit(tx, self._object(tx, commit))
                        if name is not None:
                            self._named(tx, commits[0].permit, name)
                    for commit in commits:
                        if commit.name is None:
                            self.changed(commit.permit.node.id)
                    return [change.result for change in staged]
                except Conflict as conflict:
                    if conflict.about != "commit" or attempt == _TRIES - 1:
                        raise
                    for change in staged:
                        change.abandon()
        raise AssertionError("the loop above returns or raises")

    def _staged(self, commits: Sequence[Commit], abandoned: ExitStack) -> list[Staged[Document]]:
        """Prepare the commits, which are to tables of one catalog, after all of them were found to be allowed."""
        adapter = self.adapter(commits[0].permit)
        for commit in commits:
            if commit.name is None:
                self.reads.check_writable(commit.permit, adapter.document(commit.place), commit.updates)
        changes = [(commit.place, commit.requirements, commit.updates) for commit in commits]
        if len(changes) > 1 and isinstance(adapter, RestIceberg):
            return adapter.commit_together(changes)
        staged = []
        for change in changes:
            staged.append(adapter.commit_document(*change))
            abandoned.enter_context(Abandoned(staged[-1]))
        return staged

    def rename(self, source: Permit, target: Permit, name: str, *others: Permit) -> None:
        """Give a table or view another name, maybe in another schema of the same catalog. Its files stay where they are."""
        type = source.ref.type
        free(target, type, name)
        # Asked before the system behind the catalog renames it, and again by the change itself.
        self.kernel.foresee(source, ObjectPut(source.node.id, target.node.id, type, name))
        self.adapter(source).rename(place_of(source), place_in(target, name, type))
        with self.kernel.change(source, target, *others) as tx:
            untaken(tx, target.node.id, type, name)
            objects.alter(tx, objects.present(tx, source.node.id), parent=target.node.id, name=name)

    def drop_view(self, permit: Permit) -> None:
        self.adapter(permit).drop_view(place_of(permit))
        with self.kernel.change(permit) as tx:
            objects.drop(tx, permit.node.id)

    def _named(self, tx: Write, permit: Permit, name: str) -> None:
        before = objects.present(tx, permit.node.id)
        untaken(tx, before.parent, before.type, checked_name(name, before.type.value))
        objects.alter(tx, before, name=name)

    def _object(self, tx: Write, commit: Commit) -> int:
        if commit.name is None:
            return commit.permit.node.id
        return self._insert(tx, commit.permit, ObjectType.TABLE, commit.name)

    def _insert(self, tx: Write, permit: Permit, type: ObjectType, name: str) -> int:
        untaken(tx, permit.node.id, type, name)
        return created(tx, permit, type, name).id

    def _creatable(self, permit: Permit, name: str) -> None:
        """A table that somebody else made meanwhile fails the client's own requirement."""
        if permit.authority.child(permit.node.id, ObjectType.TABLE, name) is not None:
            raise Conflict("Requirement failed: table already exists")
        free(permit, ObjectType.TABLE, name)

    def adapter(self, permit: Permit) -> IcebergCatalog:
        """The catalog of a permit, if its tables are Iceberg documents."""
        adapter = self.tables.adapter(permit)
        if not holds_documents(adapter):
            raise Unsupported(
                "this catalog does not hold Iceberg tables",
                hint="use a catalog of provider lakehouse-iceberg",
            )
        return adapter


def _telling(
    commits: Sequence[Commit], staged: Sequence[Staged[Document]]
) -> Callable[[Permit], dict[str, object]]:
    """What the audit trail shall know of each commit."""
    told = {
        id(commit.permit): {
            "name": commit.name,
            "snapshot": change.result.metadata.get("current-snapshot-id"),
            "updates": sorted({str(update.get("action"))[:40] for update in commit.updates}),
        }
        for commit, change in zip(commits, staged, strict=True)
    }
    return lambda permit: dict(told.get(id(permit), {}))
