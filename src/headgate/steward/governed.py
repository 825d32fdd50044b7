"""Governed reads: what a restricted view leaves of a table, as copies that exist, are wanted or cannot be made.

Nothing here waits and nothing here runs Spark: what is missing is asked for in the ledger, where a worker finds it.
"""

import hashlib
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import msgspec

from headgate import planning
from headgate.catalogs.interface import Document
from headgate.lenses.arrangement import sources_of
from headgate.lenses.copies import GovernedCopy, Source, by_source
from headgate.lenses.metadata import (
    GovernedSnapshot,
    govern_snapshot,
    governed_document,
    write_governed_document,
)
from headgate.model.errors import Damaged, Unavailable
from headgate.model.objects import ObjectType, clip
from headgate.model.principals import Identity
from headgate.planning import ManifestIndex, Plan, PlanRequest
from headgate.planning.fingerprints import fingerprints
from headgate.planning.plan import PlannedFile
from headgate.steward.planned import told
from headgate.steward.sights import Sight
from headgate.store import Store, given_files, keys, ledger
from headgate.store.database import now, stored_time

Json = dict[str, Any]

LATELY: Final = timedelta(days=1)
"""Views that somebody had since then are made ready when their table changes."""
_REMEMBERED: Final = 600.0
"""Seconds before it is written down again that somebody has a view."""


class NotReady(Unavailable):
    """Copies are being made; asking again later is all there is to do."""

    def __init__(self, missing: int) -> None:
        super().__init__(
            f"what you may see of this table is being made ready ({missing} files to go)",
            hint="ask again in a moment; 'headgate lens status' shows how far it is",
            about=ObjectType.TABLE,
        )
        self.missing = missing


class _Names(msgspec.Struct, frozen=True):
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

    def document(self, sight: Sight, reader: Identity | None, also: Sequence[int] = ()) -> Document:
        """The governed document of a table over its current snapshot, or NotReady.

        `also` are further snapshots that it shall be able to show. Without a reader it is made ahead of time.
        """
        self._used(sight, reader)
        ready = ledger.snapshots(self.store, sight.object, sight.view, sight.shape)
        current = sight.metadata.get("current-snapshot-id")
        missing = 0
        for snapshot in dict.fromkeys((*also, *([] if current in (None, -1) else [current]))):
            if snapshot not in ready:
                try:
                    ready[snapshot] = self._govern(sight, snapshot, reader)
                except NotReady as waiting:
                    # All of them are asked for before anybody waits for the first.
                    missing += waiting.missing
        if missing:
            raise NotReady(missing)
        return self._document(sight, ready)

    def withheld(self, sight: Sight, reader: Identity) -> Document:
        """The governed document with as many snapshots as are ready; the others can only be planned by the server."""
        self._used(sight, reader)
        return self._document(sight, ledger.snapshots(self.store, sight.object, sight.view, sight.shape))

    def is_ready(self, sight: Sight, snapshot: int | None) -> bool:
        """Whether the governed manifests of a snapshot are there."""
        return snapshot in ledger.snapshots(self.store, sight.object, sight.view, sight.shape)

    def copies(
        self, sight: Sight, snapshot: int, sources: Sequence[Source], reader: Identity | None
    ) -> dict[str, GovernedCopy]:
        """The copies of these sources by the paths of their files. NotReady if some are still to be made.

        INVARIANT: answers all of them or none, so no reader ever takes the rows of some files for all there are.
        """
        keys = {sight.key(source, snapshot): source for source in sources}
        known = ledger.entries(self.store, list(keys))
        made: dict[str, GovernedCopy] = {}
        unfit: list[str] = []
        for key, entry in known.items():
            if entry.state == ledger.MADE and entry.body is not None:
                copy = msgspec.json.decode(entry.body, type=GovernedCopy)
                if copy.fits(sight.sql.outline.schema):
                    made[key] = copy
                else:
                    unfit.append(key)
            elif entry.cooling:
                raise Damaged(
                    "what you may see of this table could not be made",
                    hint=f"{clip(entry.reason or 'no reason is known', 300)}; it is tried again in a minute",
                    about=ObjectType.TABLE,
                )
        missing = [key for key in keys if key not in made]
        if missing:
            if unfit:
                ledger.anew(self.store, unfit)
            self._used(sight, reader, fresh=True)
            wanted = (ledger.Wanted(key, msgspec.json.encode(keys[key])) for key in missing)
            ledger.want(self.store, sight.object, sight.view, snapshot, sight.source, wanted)
            raise NotReady(len(missing))
        return by_source(made.values())

    def originals(self, sight: Sight) -> tuple[str, ...]:
        """The files of the table itself that readers of the view are told of: of its current snapshot, and of those
        whose governed manifests name them."""
        named = ledger.names(self.store, sight.object, sight.view, sight.shape)
        found: set[str] = set()
        for names in named.values():
            found.update(msgspec.json.decode(names, type=_Names).originals)
        current = sight.metadata.get("current-snapshot-id")
        if current not in (None, -1) and current not in named:
            found.update(parted(self.plan(sight, PlanRequest()), sight)[0])
        return tuple(sorted(found))

    def plan(self, sight: Sight, request: PlanRequest) -> Plan:
        """The files of the table itself that a request needs and the view lets anything through of."""
        with told():
            return planning.plan(
                sight.metadata,
                request,
                io=sight.adapter.storage.io,
                index=self.index,
                veil=sight.veil,
                within=sight.within,
            )

    def gave(self, sight: Sight, originals: Sequence[str]) -> None:
        """Keep which of the table's own files readers of a view are given, for who compares reads with it later."""
        if originals:
            given_files.keep(self.store, sight.object, sight.view, fingerprints(originals))

    # -- inside -------------------------------------------------------------------------------------------------

    def _govern(self, sight: Sight, snapshot: int, reader: Identity | None) -> bytes:
        """Write the governed manifests of a snapshot whose copies are all there."""
        files = self.plan(sight, PlanRequest(snapshot_id=snapshot))
        originals, sources = parted(files, sight)
        copies = self.copies(sight, snapshot, sources, reader)
        governed = govern_snapshot(
            sight.adapter.storage,
            sight.metadata,
            snapshot,
            outline=sight.sql.outline,
            copies=copies,
            originals=frozenset(originals),
            folder=sight.folder,
        )
        self.gave(sight, originals)
        names = _Names(sorted({c.key for c in copies.values()}), sorted(originals))
        return ledger.keep_snapshot(
            self.store,
            sight.object,
            sight.view,
            snapshot,
            sight.shape,
            msgspec.json.encode(governed),
            msgspec.json.encode(names),
        )

    def _document(self, sight: Sight, ready: Mapping[int, bytes]) -> Document:
        there = [s["snapshot-id"] for s in sight.metadata.get("snapshots") or []]
        shown = [id for id in there if id in ready]
        text = msgspec.json.encode((sight.document.location, sight.shape, shown))
        source = hashlib.sha256(text).hexdigest()
        location = ledger.document(self.store, sight.object, sight.view, source)
        storage = sight.adapter.storage
        if location is None:
            snapshots = [msgspec.json.decode(ready[id], type=GovernedSnapshot) for id in shown]
            governed = governed_document(sight.metadata, snapshots, sight.sql.outline, sight.folder)
            location = ledger.keep_document(
                self.store, sight.object, sight.view, source, write_governed_document(storage, governed)
            )
        return Document(location, storage.read(location))

    def announce(self, sight: Sight, identity: Identity) -> None:
        """Write down a view that somebody will have, so that copies can be made for it."""
        ledger.announce(self.store, self._record(sight, identity))

    def _used(self, sight: Sight, reader: Identity | None, *, fresh: bool = False) -> None:
        """Write down that somebody has the view, now and then, and whenever work for it is asked for."""
        key, time_ = (sight.object, sight.view), time.monotonic()
        if reader is None or (not fresh and time_ - self._seen.get(key, -_REMEMBERED) < _REMEMBERED):
            return
        if len(self._seen) > 100_000:
            self._seen.clear()
        self._seen[key] = time_
        ledger.used(self.store, self._record(sight, reader))

    def _record(self, sight: Sight, identity: Identity) -> ledger.ViewRecord:
        return ledger.ViewRecord(
            sight.object,
            sight.view,
            keys.lens_name(self.store, sight.object, sight.seen.lens.id),
            sight.catalog,
            sight.folder,
            msgspec.json.encode(identity),
            now(),
        )


def parted(files: Plan, sight: Sight, *, copy_all: bool = False) -> tuple[list[str], list[Source]]:
    """The files of a plan that may be given as they are, and what copies are made of.

    INVARIANT: a file with deletes is never given as it is: a delete file tells of other files.
    """
    originals: list[str] = []
    copied: list[PlannedFile] = []
    for file in files.files():
        if file.conforms and not file.deletes and not (copy_all or sight.copies_originals):
            originals.append(file.path)
        else:
            copied.append(file)
    return originals, sources_of(copied, sight.metadata, sight.sql.outline, sight.arrangement)


def recently() -> str:
    return stored_time(datetime.now(UTC) - LATELY)
