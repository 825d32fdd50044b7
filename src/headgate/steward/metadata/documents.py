"""Iceberg tables and views as documents: created, staged, registered, loaded, committed to, renamed and dropped."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any, Final

import msgspec

from headgate.catalogs.iceberg.validity import READ_BY
from headgate.catalogs.interface import Document, Staged, TablePlace, commits_together
from headgate.decide import Op
from headgate.decide.policies.clauses import any_on_the_way
from headgate.model.changes import ObjectPut
from headgate.model.errors import Conflict, Forbidden, IllegalArgument
from headgate.model.objects import ObjectType, checked_name, clip
from headgate.steward.acts import act, check_permit
from headgate.steward.kernel import Kernel
from headgate.steward.metadata.catalogs import catalog_node
from headgate.steward.metadata.placing import in_definition, in_updates
from headgate.steward.metadata.shapes import Shapes
from headgate.steward.metadata.tables import Abandoned, Tables, free, place_in, place_of, untaken
from headgate.steward.ownership import created
from headgate.steward.permits import Permit
from headgate.store import Write, objects, places

Json = dict[str, Any]

_TRIES: Final = 5
"""How often a commit is tried again on newer metadata that still meets its requirements."""


_LARGEST_REPORT: Final = 64 * 1024


_COMMITS: Final = frozenset({Op.ALTER_TABLE, Op.ALTER_VIEW, Op.CREATE_TABLE})


class Commit(msgspec.Struct, frozen=True):
    """What a client wants of one table or view: the state it believes in, and the updates to it."""

    permit: Permit
    name: str | None
    """The name of a table that this commit makes, in the permit's schema; None for the permit's own table or view."""
    requirements: Sequence[Json]
    updates: Sequence[Json]

    @property
    def place(self) -> TablePlace:
        return place_of(self.permit) if self.name is None else place_in(self.permit, self.name)


class Documents:
    """Tables and views alike: what a document says differs, how it is kept does not."""

    def __init__(
        self, kernel: Kernel, tables: Tables, shapes: Shapes, changed: Callable[[int], None]
    ) -> None:
        """`changed` hears of every table that was committed to."""
        self.kernel = kernel
        self.tables = tables
        self.placing = tables.placing
        self.shapes = shapes
        self.changed = changed

    def load(self, permit: Permit) -> Document:
        """The whole document, for Headgate itself; what goes to a caller comes from `read`."""
        return self.tables.documents_of(permit).document(place_of(permit))

    @act(Op.LOAD_TABLE)
    def reported(self, permit: Permit, kind: str, report: Json) -> None:
        """Keep what an engine reports of a scan or commit of its own; nobody vouches for it but the engine."""
        text = msgspec.json.encode({key: value for key, value in report.items() if value is not None})
        if len(text) > _LARGEST_REPORT:
            raise IllegalArgument(f"the report is larger than {_LARGEST_REPORT} bytes")
        self.kernel.audit_read(permit, report=clip(kind, 40), told=msgspec.json.decode(text))

    @act(Op.CREATE_TABLE)
    def stage(self, permit: Permit, name: str, definition: Json) -> Document:
        """What a table made like this would be; nothing is kept until its first commit but the place chosen for it.

        INVARIANT: that place is the caller's from now on, who may be given access to it.
        """
        free(permit, ObjectType.TABLE, name)
        self.tables.check_providers(permit, _properties(definition.get("properties")))
        adapter, at = self.tables.documents_of(permit), place_in(permit, name)
        more = self.placing.named(permit, adapter, at, in_definition(definition))
        document = adapter.new_document(at, definition)
        if not definition.get("location"):
            uuid = str(document.metadata.get("table-uuid")).lower()
            with self.kernel.change(permit, *more) as tx:
                places.stage(tx, catalog_node(permit).id, adapter.own_folders(document), uuid, adapter.source)
        return document

    @act(Op.CREATE_TABLE, Op.CREATE_VIEW)
    def create(self, permit: Permit, type: ObjectType, name: str, definition: Json) -> Document:
        """Make a table or view in the permit's schema; who makes it becomes its owner."""
        free(permit, type, name)
        self.tables.check_providers(permit, _properties(definition.get("properties")))
        adapter, at = self.tables.documents_of(permit), place_in(permit, name, type)
        chosen = in_definition(definition)
        more = self.placing.named(permit, adapter, at, chosen)
        staged = adapter.create_document(at, definition)
        with Abandoned(staged) as until, self.kernel.change(permit, *more) as tx:
            until.decided_by = tx
            object = self._insert(tx, permit, type, name)
            self.placing.take_over(tx, permit, object, chosen)
            staged.commit(tx, object)
        return staged.result

    @act(Op.CREATE_TABLE, Op.CREATE_VIEW)
    def register(self, permit: Permit, type: ObjectType, name: str, location: str) -> Document:
        """Take over a table or view whose document lies in the catalog's storage already; only for the catalog's owner.

        One that was dropped comes back with the tags, the policies and the owner that it had.
        """
        free(permit, type, name)
        adapter, owner = self.tables.documents_of(permit), self.placing.owner(permit)
        staged = adapter.register_document(
            place_in(permit, name, type), location, lambda: self.placing.check_file(permit, type, location)
        )
        with Abandoned(staged) as until, self.kernel.change(permit, owner) as tx:
            until.decided_by = tx
            object = self._insert(tx, permit, type, name)
            folders, uuid = adapter.own_folders(staged.result), staged.result.metadata.get("table-uuid")
            known = uuid and str(uuid).lower()
            if not self.placing.bring_back(tx, permit, object, folders, known, staged.result.location):
                for folder in folders:
                    self.placing.check_reserved(folder, own=adapter.schema_folder(()))
            staged.commit(tx, object)
        return staged.result

    def commit(self, commits: Sequence[Commit], *, name: str | None = None) -> list[Document]:
        """Commit to one or more tables or views, all or none of them. A `name` renames the first in the same change.

        One that moved on in between is read again: if it still meets the requirements, the updates are applied to
        what it is now; otherwise the commit fails and nothing of it is kept.
        """
        more: list[Permit] = []
        for commit in commits:
            check_permit("Documents.commit", commit.permit, _COMMITS)
            if commit.name is not None:
                self._creatable(commit.permit, commit.name)
            for update in commit.updates:
                if update.get("action") == "set-properties":
                    self.tables.check_providers(commit.permit, _properties(update.get("updates")))
            chosen = list(in_updates(commit.updates))
            if chosen:
                adapter = self.tables.documents_of(commit.permit)
                more += self.placing.named(commit.permit, adapter, commit.place, chosen)
        outside = self.tables.documents_of(commits[0].permit).outside
        with ExitStack() as written:
            for commit in commits:
                if commit.name is None:
                    written.enter_context(self.kernel.writing(commit.permit, outside=outside))
            for attempt in range(_TRIES):
                staged = self._staged(commits)
                try:
                    return self._committed(commits, staged, more, name)
                except Conflict as conflict:
                    if conflict.about != "commit" or attempt == _TRIES - 1:
                        raise
        raise AssertionError("the loop above returns or raises")

    def _committed(
        self,
        commits: Sequence[Commit],
        staged: Sequence[Staged[Document]],
        more: Sequence[Permit],
        name: str | None,
    ) -> list[Document]:
        """Carry staged commits out, all or none of them."""
        permits = (*(commit.permit for commit in commits), *more)
        with (
            Abandoned(*staged) as until,
            self.kernel.change(*permits, telling=_telling(commits, staged)) as tx,
        ):
            until.decided_by = tx
            for commit, change in zip(commits, staged, strict=True):
                self._keeps_history(commit)
                object = self._object(tx, commit)
                self.placing.take_over(tx, commit.permit, object, in_updates(commit.updates))
                change.commit(tx, object)
            if name is not None:
                self._named(tx, commits[0].permit, name)
        for commit in commits:
            if commit.name is None:
                self.changed(commit.permit.node.id)
        return [change.result for change in staged]

    def _staged(self, commits: Sequence[Commit]) -> list[Staged[Document]]:
        """Prepare the commits, which are to tables of one catalog, after all of them were found to be allowed."""
        adapter = self.tables.documents_of(commits[0].permit)
        for commit in commits:
            if commit.name is None:
                self._keeps_history(commit)
        changes = [(commit.place, commit.requirements, commit.updates) for commit in commits]
        if len(changes) > 1 and commits_together(adapter):
            return adapter.commit_together(changes)
        staged: list[Staged[Document]] = []
        with ExitStack() as abandoned:
            for change in changes:
                staged.append(adapter.commit_document(*change))
                abandoned.enter_context(Abandoned(staged[-1]))
            abandoned.pop_all()
        return staged

    def _keeps_history(self, commit: Commit) -> None:
        """Refuse a commit that would let a policy lapse.

        INVARIANT: a policy that names a column by its former name, and a tag on a column that is gone, are known to mean
        the column of today only as long as the former schema is there.
        """
        if not any(update.get("action") == "remove-schemas" for update in commit.updates):
            return
        permit, authority = commit.permit, self.kernel.authority()
        why = ""
        if named := any_on_the_way(authority, permit.node):
            why = f"policies ask for its former columns: {clip(', '.join(named), 200)}"
        elif tagged := {label.field for label in authority.labels.get(permit.node.id) or () if label.field}:
            shape = self.shapes.of(authority, permit.node)
            if shape is None or not tagged <= shape.schema.by_id.keys():
                why = "tags stand on its former columns: take them off the columns that took over their names"
        if why:
            raise Forbidden(
                f"the former schemas of table '{clip(permit.ref.full_name)}' cannot be removed",
                hint=why,
                about=ObjectType.TABLE,
            )

    @act(
        Op.ALTER_TABLE,
        Op.ALTER_VIEW,
        also=(Op.CREATE_TABLE, Op.CREATE_VIEW, Op.LOAD_SCHEMA, Op.DROP_TABLE, Op.DROP_VIEW),
    )
    def rename(self, source: Permit, target: Permit, name: str, *others: Permit) -> None:
        """Give a table or view another name, maybe in another schema of the same catalog. Its files stay where they are."""
        type = source.ref.type
        free(target, type, name)
        # Asked before the system behind the catalog renames it, and again by the change itself.
        self.kernel.foresee(source, ObjectPut(source.node.id, target.node.id, type, name))
        self.tables.documents_of(source).rename(place_of(source), place_in(target, name, type))
        with self.kernel.change(source, target, *others) as tx:
            untaken(tx, target.node.id, type, name)
            objects.alter(tx, objects.present(tx, source.node.id), parent=target.node.id, name=name)

    @act(Op.DROP_VIEW)
    def drop_view(self, permit: Permit) -> None:
        self.tables.documents_of(permit).drop_view(place_of(permit))
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


def _properties(sent: object) -> Json:
    """Properties as a client sent them; what is no object is refused where the document is made."""
    return sent if isinstance(sent, dict) else {}


def _read_by(updates: Sequence[Json]) -> list[str] | None:
    """The properties among the updates that change what readers read from the same files."""
    sent = [update.get(key) for update in updates for key in ("updates", "removals")]
    named = [name for some in sent if isinstance(some, list | dict) for name in some]
    return sorted(READ_BY.intersection(name for name in named if isinstance(name, str))) or None


def _telling(
    commits: Sequence[Commit], staged: Sequence[Staged[Document]]
) -> Callable[[Permit], dict[str, object]]:
    """What the audit trail shall know of each commit."""
    details = {
        id(commit.permit): {
            "name": commit.name,
            "snapshot": change.result.metadata.get("current-snapshot-id"),
            "updates": sorted({str(update.get("action"))[:40] for update in commit.updates}),
            "reads_as": _read_by(commit.updates),
        }
        for commit, change in zip(commits, staged, strict=True)
    }
    return lambda permit: dict(details.get(id(permit), {}))
