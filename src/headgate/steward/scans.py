"""Scan planning for Iceberg's clients: planned at once, in tasks, or in the background; polled and cancelled."""

import hashlib
import hmac
import secrets
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as StillRunning
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any, Final

import msgspec
import orjson

from headgate import planning
from headgate.catalogs.interface import Document, IcebergCatalog
from headgate.catalogs.locations import normal
from headgate.lenses.copies import Arrangement, GovernedCopy
from headgate.lenses.metadata import governed_specs
from headgate.model import errors as e
from headgate.model.objects import clip
from headgate.planning import Plan, PlanRequest, Veil, Within
from headgate.planning.plan import FILES_PER_TASK
from headgate.planning.tokens import view_digest
from headgate.steward.governed import parted
from headgate.steward.iceberg import Documents
from headgate.steward.permits import Permit
from headgate.steward.planned import told
from headgate.steward.reads import Circumstances
from headgate.steward.sights import Sight
from headgate.steward.tables import place_of
from headgate.steward.underway import Made, Underway
from headgate.store import keys, plans
from headgate.store.database import stored_time

Json = dict[str, Any]

PATIENCE: Final = 2.0
"""Seconds that a client waits for its plan before it is told to come back for it."""
LIFETIME: Final = timedelta(minutes=30)
MOST_WAITING: Final = 256
"""How many plans may be under way in this process; more are refused until some are done."""


class Planned(msgspec.Struct, frozen=True):
    """How far a plan is, and once it is done the members of its JSON answer."""

    status: str
    id: str | None = None
    members: bytes = b""


class Scans:
    def __init__(self, documents: Documents, *, patience: float = PATIENCE) -> None:
        self.documents = documents
        self.reads = documents.reads
        self.kernel = documents.kernel
        self.governed = documents.reads.governed
        self.index = self.governed.index
        self.patience = patience
        self._pool = ThreadPoolExecutor(8, thread_name_prefix="plans")
        self._waiting = ThreadPoolExecutor(MOST_WAITING, thread_name_prefix="waiting-plans")
        self._running: set[Future[Made]] = set()
        self._underway = Underway(self.kernel.store)

    @cached_property
    def _key(self) -> bytes:
        return keys.key(self.kernel.store, keys.Use.PLAN_TASKS)

    def plan(self, permit: Permit, body: bytes, circumstances: Circumstances) -> Planned:
        """Plan a scan; one that takes long goes on in the background under an id."""
        with told():
            request = PlanRequest.from_json(body or b"{}")
        work = self._begun(permit, request, circumstances)
        try:
            return Planned("completed", None, work.result(timeout=self.patience).members)
        except StillRunning:
            return self._later(permit, work, body, circumstances)

    def poll(self, permit: Permit, id: str) -> Planned:
        """How far a plan of the caller's own is. One made under another view of the table than now is gone."""
        record = self._record(permit, id)
        if record.view != self._view(permit, self._current(permit)):
            raise _no_plan(id)
        if record.status == "failed":
            failure = msgspec.json.decode(record.answer or b"{}", type=dict[str, Any])
            return Planned("failed", id, msgspec.json.encode({"error": failure})[1:-1])
        if record.lapsed:
            self._resume(permit, record)
        return Planned(record.status, id, record.answer or b"")

    def cancel(self, permit: Permit, id: str) -> None:
        """Forget a plan of the caller's own; if it is still under way, its outcome goes nowhere."""
        self._record(permit, id)
        plans.forget(self.kernel.store, id)

    def tasks(self, permit: Permit, token: str, circumstances: Circumstances) -> bytes:
        """The members of the answer for one part of a plan that was given out in parts."""
        now = self._current(permit)
        with told():
            made, task = self._from_token(now, permit, token)
            if not hmac.compare_digest(task.plan_id.encode(), self._whose(permit).encode()):
                raise planning.InvalidPlanTaskError
            members = made.body(task.start, task.stop)
        self.kernel.audit_read(
            permit,
            **_said(made),
            view=now.view,
            task=[task.start, task.stop],
            files=task.stop - task.start,
            **circumstances.told(),
        )
        return members

    def close(self) -> None:
        self._underway.close()
        for pool in (self._pool, self._waiting):
            pool.shutdown(wait=False, cancel_futures=True)

    # -- inside -------------------------------------------------------------------------------------------------

    def _begun(self, permit: Permit, request: PlanRequest, circumstances: Circumstances) -> "Future[Made]":
        if len(self._running) >= MOST_WAITING:
            raise e.Unavailable("too many scans are being planned", hint="retry in a moment")
        now = self._current(permit)
        # Restricted scans may wait for copies to be made, and must not keep others from being planned meanwhile.
        pool = self._pool if now.sight is None else self._waiting
        work = pool.submit(self._plan, permit, now, request, circumstances)
        self._running.add(work)
        work.add_done_callback(self._running.discard)
        return work

    def _resume(self, permit: Permit, record: plans.PlanRecord) -> None:
        """Plan again, under the rights of this moment, what the process that was at it did not finish."""
        request = PlanRequest.from_json(record.request or b"{}")
        said = msgspec.json.decode(record.said, type=Circumstances)
        self._underway.resume(record, lambda: self._begun(permit, request, said))

    def _plan(
        self, permit: Permit, now: "_Current", request: PlanRequest, circumstances: Circumstances
    ) -> Made:
        def look(again: Permit) -> tuple[Made, dict[str, object]]:
            # The first look is at what was just read; later ones are at what is there by then.
            return self._look(again, now if again is permit else self._current(again), request)

        made, told = self.reads.waited(permit, look, LIFETIME.total_seconds())
        self.kernel.audit_read(permit, **told, **circumstances.told())
        return made

    def _look(self, permit: Permit, now: "_Current", request: PlanRequest) -> tuple[Made, dict[str, object]]:
        """The answer and what the audit shall know, or NotReady while copies are being made."""
        if self._underway.closed.is_set():
            raise e.Unavailable("the server is stopping", hint="plan the scan again")
        members, told = self._answer(permit, now, request)
        return Made(members, self._view(permit, now)), told

    def _answer(
        self, permit: Permit, now: "_Current", request: PlanRequest
    ) -> tuple[bytes, dict[str, object]]:
        if now.sight is None:
            return self._whole(permit, now, self._made(now, request))
        if self.reads.delegated(permit, now.sight) is not None:
            # The engine enforces the rest by itself, and is trusted to.
            members, told = self._whole(permit, now, self.governed.plan(now.sight, request))
            return members, {**told, "delegated": True}
        # The view shows every snapshot in the current schema: names of former ones mean nothing there, nor do columns
        # that were dropped.
        request = msgspec.structs.replace(request, use_snapshot_schema=False)
        if request.start_snapshot_id is None and self.governed.is_ready(
            now.sight, _snapshot(now.document.metadata, request)
        ):
            return self._whole(permit, now, self._over_governed(permit, now, request))
        if now.sight.arrangement is Arrangement.MERGED:
            # Merged copies are made of all that a commit added, whatever is asked for of it.
            request = msgspec.structs.replace(request, filter=None, min_rows_requested=None)
        files = self.governed.plan(now.sight, request)
        incremental = request.start_snapshot_id is not None
        originals, sources = parted(files, now.sight, copy_all=incremental)
        self.governed.gave(now.sight, originals)
        current = files.snapshot_id == now.document.metadata.get("current-snapshot-id")
        if not sources and current:
            return self._whole(permit, now, files)
        if (
            files.snapshot_id is not None
            and not incremental
            and (files.file_count > FILES_PER_TASK or (originals and not current))
        ):
            # What is given out in parts has to be found again, and what of the table itself readers are told of must be
            # written down where credentials for it are given: both takes governed manifests.
            self.governed.document(now.sight, permit.identity, [files.snapshot_id])
            return self._whole(permit, now, self._over_governed(permit, now, request))
        if not sources:
            return self._whole(permit, now, files)
        assert files.snapshot_id is not None
        copies = self.governed.copies(now.sight, files.snapshot_id, sources, permit.identity)
        members, records, size = copied(files, originals, copies, now.sight)
        return members, {
            **_said(files),
            **now.places(),
            "files": len(originals) + sum(len(c.files) for c in {c.key: c for c in copies.values()}.values()),
            "bytes": size,
            "records": records,
        }

    def _whole(self, permit: Permit, now: "_Current", made: Plan) -> tuple[bytes, dict[str, object]]:
        """A plan whose files may all be given as they are."""
        return self._members(permit, made), {
            **_said(made),
            **now.places(),
            "files": made.file_count,
            "bytes": made.total_bytes,
            "records": made.total_records,
        }

    def _made(self, now: "_Current", request: PlanRequest) -> Plan:
        with told():
            return planning.plan(
                now.document.metadata,
                request,
                io=now.adapter.storage.io,
                index=self.index,
                within=Within(now.adapter.own_folders(now.document)),
            )

    def _over_governed(self, permit: Permit, now: "_Current", request: PlanRequest) -> Plan:
        """A plan over governed files, with their own statistics: nothing is left to hide."""
        assert now.sight is not None
        with told():
            return planning.plan(
                self.governed.withheld(now.sight, permit.identity).metadata,
                request,
                io=now.adapter.storage.io,
                index=self.index,
                veil=Veil(lens=now.sight.view),
                within=_governed_places(now.sight),
            )

    def _from_token(self, now: "_Current", permit: Permit, token: str) -> tuple[Plan, planning.PlanTask]:
        """The plan that a token is a part of, made again the way it was made: over governed files if it was restricted,
        or over files that conform as they are."""

        def again(document: Json, veil: Veil | None, within: Within) -> tuple[Plan, planning.PlanTask]:
            return planning.plan_from_token(
                document,
                token,
                key=self._key,
                io=now.adapter.storage.io,
                index=self.index,
                veil=veil,
                within=within,
            )

        sight = now.sight
        if sight is None:
            return again(now.document.metadata, None, Within(now.adapter.own_folders(now.document)))
        if self.reads.delegated(permit, sight) is None:
            governed = self.governed.withheld(sight, permit.identity).metadata
            try:
                return again(governed, Veil(lens=sight.view), _governed_places(sight))
            except planning.StalePlanTaskError:
                pass
            made, task = again(sight.metadata, sight.veil, sight.within)
            if parted(made, sight)[1]:
                raise planning.StalePlanTaskError
            return made, task
        return again(sight.metadata, sight.veil, sight.within)

    def _members(self, permit: Permit, made: Plan) -> bytes:
        if made.file_count <= FILES_PER_TASK:
            return made.body()
        return b'"plan-tasks":' + msgspec.json.encode(made.tasks(self._key, self._whose(permit)))

    def _whose(self, permit: Permit) -> str:
        """Binds plan tasks to who planned; nobody else can make use of them."""
        whose = f"{permit.identity.user}\0{permit.node.id}".encode()
        return hmac.digest(self._key, whose, hashlib.sha256).hex()[:32]

    def _current(self, permit: Permit) -> "_Current":
        adapter = self.documents.adapter(permit)
        document = adapter.document(place_of(permit))
        return _Current(document, adapter, self.reads.sight(permit, document, adapter))

    def _later(
        self, permit: Permit, work: "Future[Made]", body: bytes, circumstances: Circumstances
    ) -> Planned:
        id = secrets.token_urlsafe(24)
        record = plans.PlanRecord(
            id,
            permit.node.id,
            permit.identity.user,
            "submitted",
            stored_time(datetime.now(UTC) + LIFETIME),
            self._view(permit, self._current(permit)),
            body,
            msgspec.json.encode(circumstances),
            self._underway.runner,
        )
        self._underway.begin(record, work)
        return Planned("submitted", id)

    def _record(self, permit: Permit, id: str) -> plans.PlanRecord:
        record = plans.find(self.kernel.store, id, permit.node.id, permit.identity.user)
        if record is None:
            raise _no_plan(id)
        return record

    def _view(self, permit: Permit, now: "_Current") -> bytes:
        """Stands for what the caller sees of the table and how; an engine that is trusted gets other files."""
        if now.sight is None:
            veil = Veil()
        elif self.reads.delegated(permit, now.sight) is not None:
            veil = now.sight.veil
        else:
            veil = Veil(lens=now.sight.view)
        return view_digest(self._key, now.document.metadata["table-uuid"], veil)


class _Current(msgspec.Struct, frozen=True):
    """A table as it is now, and what the caller sees of it if that is not all."""

    document: Document
    adapter: IcebergCatalog
    sight: Sight | None

    @property
    def view(self) -> str | None:
        return None if self.sight is None else self.sight.view

    def places(self) -> dict[str, object]:
        """Where the table's files lie and, for who sees a part of it, where what they are given does."""
        told: dict[str, object] = {"folders": list(self.adapter.own_folders(self.document))}
        return (
            told if self.sight is None else {**told, "given": [normal(self.sight.folder)], "view": self.view}
        )


def _governed_places(sight: Sight) -> Within:
    """Governed manifests name files of the view's own folder, and originals that conform as they are."""
    return Within((normal(sight.folder), *sight.adapter.own_folders(sight.document)))


def _snapshot(metadata: Json, request: PlanRequest) -> int | None:
    """The snapshot that a request is of, as far as that can be told without planning it."""
    if request.snapshot_id is not None:
        return request.snapshot_id
    if request.ref is not None:
        ref = (metadata.get("refs") or {}).get(request.ref)
        return None if ref is None else int(ref["snapshot-id"])
    current: int | None = metadata.get("current-snapshot-id")
    return current


def copied(
    files: Plan, originals: Sequence[str], copies: Mapping[str, GovernedCopy], sight: Sight
) -> tuple[bytes, int, int]:
    """The members of a plan's answer with each file's copy in its place, and the rows and bytes of all.

    INVARIANT: of a file that is not given as it is, nothing is told but its copy and the partition it lies in, and
    that only where the view shows the partition's columns.
    """
    specs = {spec["spec-id"]: spec for spec in governed_specs(sight.metadata, sight.sql.outline)}
    as_they_are = frozenset(originals)
    tasks: list[Json] = []
    done: set[str] = set()
    for task in orjson.loads(b"{" + files.body() + b"}")["file-scan-tasks"]:
        file = task["data-file"]
        if file["file-path"] in as_they_are:
            tasks.append(task)
            continue
        copy = copies[file["file-path"]]
        if copy.key in done:
            continue
        done.add(copy.key)
        for made in copy.files:
            shown: Json = {
                "spec-id": file["spec-id"],
                "content": "data",
                "file-path": made.location,
                "file-format": "parquet",
                "partition": file["partition"] if specs[file["spec-id"]]["fields"] else [],
                "file-size-in-bytes": made.size,
                "record-count": made.records,
            }
            if made.split_offsets:
                shown["split-offsets"] = list(made.split_offsets)
            tasks.append({"data-file": shown, "residual-filter": True})
    members = orjson.dumps({"file-scan-tasks": tasks, "delete-files": []})[1:-1]
    return (
        members,
        sum(task["data-file"]["record-count"] for task in tasks),
        sum(task["data-file"]["file-size-in-bytes"] for task in tasks),
    )


def _no_plan(id: str) -> e.NotFound:
    return e.NotFound(f"there is no plan '{clip(id)}'", hint="plan the scan again", about="plan")


def _said(made: Plan) -> dict[str, object]:
    """What was asked for, for the audit."""
    asked = made.request
    predicate = None if asked.filter is None else clip(msgspec.json.encode(asked.filter).decode(), 4000)
    return {
        "snapshot": made.snapshot_id,
        "since": asked.start_snapshot_id,
        "predicate": predicate,
        "projection": None if asked.select is None else list(asked.select[:200]),
    }
