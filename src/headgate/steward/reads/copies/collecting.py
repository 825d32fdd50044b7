"""Garbage collection: governed copies and governed metadata that nobody can use any more.

INVARIANT: the ledger forgets first, files are deleted afterwards. Whoever looks in between finds nothing instead of
something half gone, and makes it again.
"""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Final

import msgspec

from headgate.catalogs.iceberg.storage import Storage
from headgate.catalogs.interface import holds_documents
from headgate.catalogs.locations import normal
from headgate.decide import Authority, Node
from headgate.lenses.copies import GovernedCopy
from headgate.lenses.metadata import GovernedSnapshot
from headgate.model.errors import HeadgateError
from headgate.model.objects import clip
from headgate.model.principals import Identity, PrincipalKind
from headgate.planning import Within
from headgate.planning.manifests.reader import ManifestReader
from headgate.steward.kernel import Kernel
from headgate.steward.metadata.shapes import name_of
from headgate.steward.permits import Permit
from headgate.steward.reads.copies.governed import Governed
from headgate.steward.reads.making import TableReads
from headgate.steward.reads.table_read import GovernedRead
from headgate.store import ledger, plans
from headgate.store.database import stored_time

GRACE: Final = timedelta(hours=1)
"""What was used or made since then is left alone: somebody may hold a plan or a credential for it."""
ORPHANED: Final = timedelta(days=1)
"""A file that nothing names is deleted once it is older: a job that made it cannot be running any more."""


class Collected(msgspec.Struct, frozen=True):
    """What became of one view: what was deleted of it, and why; or why nothing was."""

    table: str
    view: str
    why: str
    copies: int = 0
    files: int = 0
    problem: str | None = None


class Collector:
    def __init__(self, kernel: Kernel, reads: TableReads, governed: Governed) -> None:
        self.kernel = kernel
        self.reads = reads
        self.governed = governed
        self.store = kernel.store

    def collect(self, permit: Permit, unused_days: int, *, dry_run: bool) -> list[Collected]:
        """Go through the views of the permit's metalake, and through those of tables that are gone from it."""
        authority = permit.authority
        found: list[Collected] = []
        for record in ledger.views(self.store):
            node, catalog = authority.objects.get(record.object), authority.objects.get(record.catalog)
            known = node or catalog
            if known is None or known.metalake != permit.node.id:
                continue
            name = "" if node is None else name_of(authority, node)
            try:
                collected = self._view(authority, record, node, catalog, name, unused_days, dry_run=dry_run)
            except HeadgateError as error:
                collected = Collected(name, record.view, "nothing", problem=clip(str(error), 300))
            if collected is not None:
                found.append(collected)
        return found

    def _view(
        self,
        authority: Authority,
        record: ledger.LensRecord,
        node: Node | None,
        catalog: Node | None,
        name: str,
        unused_days: int,
        *,
        dry_run: bool,
    ) -> Collected | None:
        storage = None if catalog is None else self._storage(catalog)
        if storage is None or record.used_at > _ago(GRACE) or plans.any_live(self.store, record.object):
            return None
        read = None if node is None else self._read(authority, node, record)
        why = (
            "its table is gone"
            if node is None
            else f"unused for {unused_days} days"
            if record.used_at <= _ago(timedelta(days=unused_days))
            else "nobody can have it any more"
            if read is None
            else None
        )
        if why is not None:
            return self._whole(record, storage, name, why, dry_run=dry_run)
        assert read is not None
        return self._parts(read, storage, name, dry_run=dry_run)

    def _read(self, authority: Authority, node: Node, record: ledger.LensRecord) -> GovernedRead | None:
        """The view as somebody has it now: who had it last, or any other user of the metalake."""
        last = msgspec.json.decode(record.identity, type=Identity)
        others = (
            Identity(member.name)
            for member in authority.members.values()
            if member.metalake == node.metalake and member.kind is PrincipalKind.USER
        )
        for identity in (last, *others):
            read = self.reads.as_seen_by(authority, node, identity)
            if read is not None and read.copy_id == record.view:
                return read
        return None

    def _whole(
        self, record: ledger.LensRecord, storage: Storage, name: str, why: str, *, dry_run: bool
    ) -> Collected | None:
        kept = ledger.kept(self.store, record.object, record.view)
        files = storage.files(record.folder)
        if not dry_run:
            if not ledger.forget_view(self.store, record):
                return None
            storage.delete_folder(record.folder)
        return Collected(name, record.view, why, len(kept.copies), len(files))

    def _parts(self, read: GovernedRead, storage: Storage, name: str, *, dry_run: bool) -> Collected | None:
        """What a view that is in use no longer needs: copies of files and snapshots that its table has no more."""
        kept = ledger.kept(self.store, read.table, read.copy_id)
        there = {s["snapshot-id"] for s in read.metadata.get("snapshots") or []}
        needed: set[str] = set()
        for snapshot in there:
            needed |= {read.key(source, snapshot) for source in self.governed.sources(read, snapshot)[1]}
        young = _ago(GRACE)
        gone = [key for key, (_, made) in kept.copies.items() if key not in needed and (made or "~") < young]
        past = [key for key in kept.snapshots if key[0] not in there]
        # Every document names all snapshots of its time, so one that outlived a snapshot is of the past as well.
        documents = list(kept.documents) if past else []
        orphans = self._orphans(read, storage, kept, frozenset(gone), frozenset(past))
        if not dry_run:
            ledger.forget(
                self.store, read.table, read.copy_id, copies=gone, snapshots=past, documents=documents
            )
            for location in orphans:
                storage.delete(location)
        if not gone and not orphans:
            return None
        return Collected(name, read.copy_id, "no longer in its table", len(gone), len(orphans))

    def _orphans(
        self,
        read: GovernedRead,
        storage: Storage,
        kept: ledger.LensContents,
        gone: frozenset[str],
        past: frozenset[tuple[int, str]],
    ) -> list[str]:
        """The files of the view and of jobs on its table that nothing names and that are old enough to be nobody's work."""
        named = set(map(normal, self._named(read, storage, kept, gone, past)))
        oldest = datetime.now(UTC) - ORPHANED
        known = {key: _copy(body) for key, (body, _) in kept.copies.items() if key in gone}
        forgotten = {normal(file.location) for c in known.values() if c is not None for file in c.files}
        return [
            location
            for location, written in storage.files(read.folder)
            if normal(location) not in named
            and (normal(location) in forgotten or (written is not None and written < oldest))
        ] + [
            # What a job left that did not live to clear up after itself.
            location
            for location, written in storage.files(read.staging)
            if written is not None and written < oldest
        ]

    def _named(
        self,
        read: GovernedRead,
        storage: Storage,
        kept: ledger.LensContents,
        gone: frozenset[str],
        past: frozenset[tuple[int, str]],
    ) -> Iterable[str]:
        reader = ManifestReader(storage.io, Within((normal(read.folder).rstrip("/"),)))
        for key, (body, _) in kept.copies.items():
            copy = _copy(body)
            if key not in gone and copy is not None:
                yield from (file.location for file in copy.files)
        for id, (body, _) in kept.snapshots.items():
            if id not in past:
                listed = msgspec.json.decode(body, type=GovernedSnapshot).snapshot["manifest-list"]
                yield listed
                yield from (manifest.path for manifest in reader.manifests(listed))
        if not past:
            yield from kept.documents.values()

    def _storage(self, catalog: Node) -> Storage | None:
        adapter = self.reads.shapes.catalogs.opened(catalog)
        return adapter.storage if holds_documents(adapter) else None


def _copy(body: bytes | None) -> GovernedCopy | None:
    """What is known of a copy; None for one that is not made yet, or was made by an older version."""
    try:
        return None if body is None else msgspec.json.decode(body, type=GovernedCopy)
    except msgspec.ValidationError:
        return None


def _ago(span: timedelta) -> str:
    return stored_time(datetime.now(UTC) - span)
