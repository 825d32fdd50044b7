"""Governed reads: what a restricted view leaves of a table, as copies that exist, are wanted or cannot be made.

Nothing here waits and nothing here runs Spark: what is missing is asked for in the ledger, where a worker finds it.
"""

import hashlib
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import msgspec
import structlog
from pyiceberg.io import FileIO

from headgate import planning
from headgate.catalogs.interface import Document
from headgate.lenses.arrangement import sources_of
from headgate.lenses.copies import Arrangement, CopySource, GovernedCopy, by_source
from headgate.lenses.memory import MemoryFiles
from headgate.lenses.metadata import (
    GovernedSnapshot,
    govern_snapshot,
    governed_document,
    write_governed_document,
)
from headgate.lenses.outline import governed_specs
from headgate.model.errors import (
    Conflict,
    ConnectionFailed,
    Damaged,
    Forbidden,
    IllegalArgument,
    NotFound,
    Unavailable,
)
from headgate.model.objects import ObjectType
from headgate.model.principals import Identity
from headgate.planning import Chooser, ManifestIndex, Plan, PlanRequest, restricted_chooser
from headgate.planning.fingerprints import fingerprints
from headgate.planning.plan import PlannedFile
from headgate.steward.reads.modes import OFF, STATISTICS
from headgate.steward.reads.planning.faults import translated
from headgate.steward.reads.table_read import GovernedRead
from headgate.store import Store, given_files, keys, ledger
from headgate.store.database import now, stored_time

log = structlog.get_logger("headgate.lenses")

Json = dict[str, Any]

LATELY: Final = timedelta(days=1)
"""Views that somebody had since then are made ready when their table changes."""
_FORM: Final = 2
"""Of governed documents. Those of a former form, as an older version of Headgate wrote them, are given to nobody."""
_REMEMBERED: Final = 600.0
"""Seconds before it is written down again that somebody has a view."""


class NotReady(Unavailable):
    """Copies are being made; asking again later is all there is to do.

    INVARIANT: its text is always the same. How many copies are missing tells of files that hold nothing for the reader.
    """

    def __init__(self, missing: int) -> None:
        super().__init__(
            "what you may see of this table is being made ready",
            hint="ask again in a moment; 'headgate lens status' shows whether it is ready",
            about=ObjectType.TABLE,
        )
        self.missing = missing


class _NamedFiles(msgspec.Struct, frozen=True):
    """What the governed manifests of a snapshot name: copies by their keys, files of the table itself by their paths."""

    copies: list[str]
    originals: list[str]


class Governed:
    """The governed copies and governed metadata of all views."""

    def __init__(self, store: Store, index: ManifestIndex) -> None:
        self.store = store
        self.index = index
        self._seen: dict[tuple[int, str], float] = {}

    # -- asked by readers ---------------------------------------------------------------------------------------

    def document(self, read: GovernedRead, reader: Identity | None) -> Document:
        """The governed document of a table over its current snapshot, or NotReady. Without a reader it is made ahead of time."""
        self._used(read, reader)
        current = read.metadata.get("current-snapshot-id")
        ready = ledger.snapshots(self.store, read.table, read.copy_id, read.manifests_id)
        if current not in (None, -1) and current not in ready:
            ready[current] = self._govern(read, current, reader)
        return self._document(read, ready)

    def govern(self, read: GovernedRead, snapshot: int, reader: Identity) -> Json:
        """The governed document with the governed manifests of a snapshot, or NotReady."""
        if not self.is_ready(read, snapshot):
            self._govern(read, snapshot, reader)
        return self.withheld(read, reader).metadata

    def withheld(self, read: GovernedRead, reader: Identity) -> Document:
        """The governed document with as many snapshots as are ready; the others can only be planned by the server."""
        return self.shown(read, reader)[0]

    def shown(self, read: GovernedRead, reader: Identity) -> tuple[Document, frozenset[int]]:
        """The governed document, and the snapshots whose governed manifests are ready."""
        self._used(read, reader)
        ready = ledger.snapshots(self.store, read.table, read.copy_id, read.manifests_id)
        return self._document(read, ready), frozenset(ready)

    def is_ready(self, read: GovernedRead, snapshot: int | None) -> bool:
        """Whether the governed manifests of a snapshot are there."""
        return snapshot in ledger.snapshots(self.store, read.table, read.copy_id, read.manifests_id)

    def plan_some(self, read: GovernedRead, shown: Json, request: PlanRequest, reader: Identity) -> Plan:
        """Plan over governed manifests of only those files that the request's filter may choose, or NotReady.

        INVARIANT: the plan is the same as over all governed files of the snapshot, because a file is left out only if its
        governed file would be. What the filter chooses decides which copies are made, never what is answered.
        `shown` is the governed document.
        """
        with _concealed(read):
            chosen = self._candidates(read, request, self.chooser(read, shown, request))
            files = list(self._with_merged(read, request, chosen).files())
            # Between snapshots even files that conform are copied: credentials name files of single snapshots.
            between = request.start_snapshot_id is not None
            originals, sources = split(files, read, copy_all=between)
            wanted = frozenset(file.path for file in chosen.files())
            sources = [source for source in sources if not wanted.isdisjoint(source.paths)]
            copies = self._copies_by_snapshot(read, chosen, files, sources, reader)
            named = [file for file in files if file.path in copies or file.path in wanted]
            memory = MemoryFiles()
            snapshots = [
                govern_snapshot(
                    read.adapter.storage,
                    read.metadata,
                    snapshot,
                    outline=read.rendered.outline,
                    copies={path: copies[path] for path in of_it.paths if path in copies},
                    originals=frozenset(originals).intersection(of_it.paths),
                    folder=read.folder,
                    into=memory,
                    manifests=of_it.manifests,
                )
                for snapshot, of_it in _by_snapshot(read.metadata, chosen, named).items()
            ]
        document = governed_document(read.metadata, snapshots, read.rendered.outline, read.folder)
        # Nothing of it is kept: whoever asks again may see other files.
        made = self._plan_governed(read, document, request, memory, ManifestIndex(threads=1))
        if originals:
            self.record_given(read, sorted({file.path for file in made.files()}.intersection(originals)))
        return made

    def plan_governed(self, read: GovernedRead, document: Json, request: PlanRequest) -> Plan:
        """Plan over the governed manifests that a governed document names, with their files' own statistics."""
        return self._plan_governed(read, document, request, read.adapter.storage.io, self.index)

    def chooser(self, read: GovernedRead, shown: Json, request: PlanRequest) -> Chooser:
        """What the filter of a request may choose files by, as the catalog says."""
        outline, lazy = read.rendered.outline, read.lazy
        visible = governed_specs(read.metadata, outline).visible
        return restricted_chooser(
            shown,
            msgspec.structs.replace(request, filter=None) if lazy == OFF else request,
            blind=outline.blind,
            specs=visible,
            statistics=lazy == STATISTICS,
        )

    def copies(
        self, read: GovernedRead, snapshot: int, sources: Sequence[CopySource], reader: Identity | None
    ) -> dict[str, GovernedCopy]:
        """The copies of these sources by the paths of their files. NotReady if some are still to be made.

        INVARIANT: answers all of them or none, so no reader ever takes the rows of some files for all there are.
        """
        keys = {read.key(source, snapshot): source for source in sources}
        known = ledger.entries(self.store, list(keys))
        made: dict[str, GovernedCopy] = {}
        unfit: list[str] = []
        for key, entry in known.items():
            if entry.state == ledger.MADE and entry.body is not None:
                copy = msgspec.json.decode(entry.body, type=GovernedCopy)
                if copy.fits(read.rendered.outline.schema):
                    made[key] = copy
                else:
                    unfit.append(key)
            elif entry.cooling:
                raise _damaged()
        missing = [key for key in keys if key not in made]
        if missing:
            if unfit:
                ledger.anew(self.store, unfit)
            self._used(read, reader, fresh=True)
            wanted = (ledger.Wanted(key, msgspec.json.encode(keys[key])) for key in missing)
            ledger.want(self.store, read.table, read.copy_id, snapshot, read.source, wanted)
            raise NotReady(len(missing))
        return by_source(made.values())

    def originals(self, read: GovernedRead) -> tuple[str, ...]:
        """The files of the table itself that readers of the view are told of: of its current snapshot, and of those
        whose governed manifests name them."""
        named = ledger.names(self.store, read.table, read.copy_id, read.manifests_id)
        found: set[str] = set()
        for names in named.values():
            found.update(msgspec.json.decode(names, type=_NamedFiles).originals)
        current = read.metadata.get("current-snapshot-id")
        if current not in (None, -1) and current not in named:
            found.update(self.sources(read, current)[0])
        return tuple(sorted(found))

    def sources(self, read: GovernedRead, snapshot: int) -> tuple[list[str], list[CopySource]]:
        """The files of a snapshot that may be given as they are, and those of which only copies may."""
        with _concealed(read):
            return split(self._candidates(read, PlanRequest(snapshot_id=snapshot)).files(), read)

    def record_given(self, read: GovernedRead, originals: Sequence[str]) -> None:
        """Keep which of the table's own files readers of a view are given, for who compares reads with it later."""
        if originals:
            given_files.keep(self.store, read.table, read.copy_id, fingerprints(originals))

    # -- inside -------------------------------------------------------------------------------------------------

    def _govern(self, read: GovernedRead, snapshot: int, reader: Identity | None) -> bytes:
        """Write the governed manifests of a snapshot whose copies are all there."""
        originals, sources = self.sources(read, snapshot)
        copies = self.copies(read, snapshot, sources, reader)
        with _concealed(read):
            governed = govern_snapshot(
                read.adapter.storage,
                read.metadata,
                snapshot,
                outline=read.rendered.outline,
                copies=copies,
                originals=frozenset(originals),
                folder=read.folder,
            )
        self.record_given(read, originals)
        names = _NamedFiles(sorted({c.key for c in copies.values()}), sorted(originals))
        return ledger.keep_snapshot(
            self.store,
            read.table,
            read.copy_id,
            snapshot,
            read.manifests_id,
            msgspec.json.encode(governed),
            msgspec.json.encode(names),
        )

    def _copies_by_snapshot(
        self,
        read: GovernedRead,
        chosen: Plan,
        files: Sequence[PlannedFile],
        sources: Sequence[CopySource],
        reader: Identity,
    ) -> dict[str, GovernedCopy]:
        """The copies of a request's sources: out of the snapshot that is scanned or, between two, out of the one that
        appended the source. In a later one its files may be gone, or have deletes that are none of the source's."""
        if chosen.snapshot_id is None:
            return {}
        if chosen.request.start_snapshot_id is None:
            return self.copies(read, chosen.snapshot_id, sources, reader)
        appended = {file.path: file.snapshot for file in files}
        by_snapshot: dict[int, list[CopySource]] = {}
        for source in sources:
            by_snapshot.setdefault(appended[source.paths[0]], []).append(source)
        made: dict[str, GovernedCopy] = {}
        missing = 0
        for snapshot, of_it in by_snapshot.items():
            try:
                made |= self.copies(read, snapshot, of_it, reader)
            except NotReady as waiting:
                missing += waiting.missing
        if missing:
            raise NotReady(missing)
        return made

    def _with_merged(self, read: GovernedRead, request: PlanRequest, chosen: Plan) -> Plan:
        """What copies of chosen files are made of: merged ones of all that a commit added, whatever was chosen of it."""
        return self._candidates(read, request) if read.arrangement is Arrangement.MERGED else chosen

    def _candidates(self, read: GovernedRead, request: PlanRequest, chooser: Chooser | None = None) -> Plan:
        return planning.candidates(
            read.metadata,
            request,
            io=read.adapter.storage.io,
            index=self.index,
            veil=read.veil,
            within=read.within,
            chooser=chooser,
        )

    def _plan_governed(
        self, read: GovernedRead, document: Json, request: PlanRequest, io: FileIO, index: ManifestIndex
    ) -> Plan:
        with translated():
            return planning.plan(
                document,
                request,
                io=io,
                index=index,
                veil=read.answered_under,
                within=read.given,
            )

    def _document(self, read: GovernedRead, ready: Mapping[int, bytes]) -> Document:
        there = [s["snapshot-id"] for s in read.metadata.get("snapshots") or []]
        shown = [id for id in there if id in ready]
        text = msgspec.json.encode((_FORM, read.document.location, read.manifests_id, shown))
        source = hashlib.sha256(text).hexdigest()
        location = ledger.document(self.store, read.table, read.copy_id, source)
        storage = read.adapter.storage
        if location is None:
            snapshots = [msgspec.json.decode(ready[id], type=GovernedSnapshot) for id in shown]
            governed = governed_document(read.metadata, snapshots, read.rendered.outline, read.folder)
            location = ledger.keep_document(
                self.store, read.table, read.copy_id, source, write_governed_document(storage, governed)
            )
        return Document(location, storage.read(location))

    def announce(self, read: GovernedRead, identity: Identity) -> None:
        """Write down a view that somebody will have, so that copies can be made for it."""
        ledger.announce(self.store, self._record(read, identity))

    def _used(self, read: GovernedRead, reader: Identity | None, *, fresh: bool = False) -> None:
        """Write down that somebody has the view, now and then, and whenever work for it is asked for."""
        key, time_ = (read.table, read.copy_id), time.monotonic()
        if reader is None or (not fresh and time_ - self._seen.get(key, -_REMEMBERED) < _REMEMBERED):
            return
        if len(self._seen) > 100_000:
            self._seen.clear()
        self._seen[key] = time_
        ledger.used(self.store, self._record(read, reader))

    def _record(self, read: GovernedRead, identity: Identity) -> ledger.LensRecord:
        return ledger.LensRecord(
            read.table,
            read.copy_id,
            keys.lens_name(self.store, read.table, read.lens.id),
            read.catalog,
            read.folder,
            msgspec.json.encode(identity),
            now(),
        )


def split(
    files: Iterable[PlannedFile], read: GovernedRead, *, copy_all: bool = False
) -> tuple[list[str], list[CopySource]]:
    """The files that may be given as they are, and what copies are made of.

    INVARIANT: a file with deletes is never given as it is: a delete file tells of other files.
    """
    originals: list[str] = []
    copied: list[PlannedFile] = []
    for file in files:
        if file.conforms and not file.deletes and not (copy_all or read.copies_originals):
            originals.append(file.path)
        else:
            copied.append(file)
    return originals, sources_of(copied, read.metadata, read.rendered.outline, read.arrangement)


@dataclass(frozen=True)
class _OfSnapshot:
    """The chosen files of one snapshot, and the manifests that name them."""

    paths: frozenset[str]
    manifests: frozenset[str]


def _by_snapshot(metadata: Json, plan: Plan, files: Iterable[PlannedFile]) -> dict[int, _OfSnapshot]:
    """The files of a plan by the snapshot that they are planned of: the one that is scanned or, between two, the one that
    added them."""
    if plan.snapshot_id is None:
        return {}
    appends = planning.check(metadata, plan.request).added_by
    scanned = [plan.snapshot_id] if appends is None else [int(each["snapshot-id"]) for each in appends]
    found: dict[int, list[PlannedFile]] = {snapshot: [] for snapshot in scanned}
    for file in files:
        found[plan.snapshot_id if appends is None else file.snapshot].append(file)
    return {
        snapshot: _OfSnapshot(frozenset(f.path for f in each), frozenset(f.manifest for f in each))
        for snapshot, each in found.items()
    }


@contextmanager
def _concealed(read: GovernedRead) -> Iterator[None]:
    """What goes wrong with the table's own files, told alike whatever it is: its text may name files and values.

    INVARIANT: no error about a file of the table itself reaches a restricted reader.
    """
    try:
        yield
    except (NotReady, Damaged):
        raise
    except (planning.UnreadableManifestError, ConnectionFailed) as error:
        log.warning("files cannot be reached", table=read.table, reason=str(error)[:500])
        raise ConnectionFailed("files of the table cannot be reached", hint="ask again later") from None
    except (planning.PlanningError, Conflict, Forbidden, IllegalArgument, NotFound) as error:
        log.warning("view cannot be made", table=read.table, reason=str(error)[:500])
        raise _damaged() from None


def _damaged() -> Damaged:
    return Damaged(
        "what you may see of this table could not be made",
        hint="it is tried again in a minute; the table's owner finds the reason with 'headgate lens status'",
        about=ObjectType.TABLE,
    )


def recently() -> str:
    return stored_time(datetime.now(UTC) - LATELY)
