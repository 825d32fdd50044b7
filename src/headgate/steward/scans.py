"""Scan planning for Iceberg's clients: planned at once, in tasks, or in the background; polled and cancelled."""

import base64
import hashlib
import hmac
import secrets
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as StillRunning
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any, Final

import msgspec
import structlog

from headgate import planning
from headgate.catalogs.interface import Document, IcebergCatalog
from headgate.catalogs.locations import inside, normal
from headgate.model import errors as e
from headgate.model.objects import clip
from headgate.planning import Plan, PlanRequest, Veil, Within
from headgate.planning.fingerprints import fingerprints
from headgate.planning.plan import FILES_PER_TASK
from headgate.planning.tokens import view_digest
from headgate.steward.evaluations import Evaluated, Evaluations, fingerprint
from headgate.steward.iceberg import Documents
from headgate.steward.permits import Permit
from headgate.steward.plan_trail import PlanTrail, Step
from headgate.steward.planned import told
from headgate.steward.reads import Circumstances
from headgate.steward.sights import Sight
from headgate.steward.tables import place_of
from headgate.steward.underway import Made, Underway
from headgate.store import keys, plans
from headgate.store.database import stored_time

Json = dict[str, Any]
log = structlog.get_logger("headgate.plans")

PATIENCE: Final = 2.0
"""Seconds that a client waits for its plan before it is told to come back for it."""
LIFETIME: Final = timedelta(minutes=30)
MOST_WAITING: Final = 256
"""How many plans may be under way in this process; more are refused until some are done."""
MOST_NAMED: Final = 100
"""Files of a plan that credentials may be asked for by name; a session policy has room for far fewer."""
_FILE_PATH: Final = b'"file-path":'
_IN_PARTS: Final = b'"plan-tasks":'


class Planned(msgspec.Struct, frozen=True):
    """How far a plan is, and once it is done the members of its JSON answer."""

    status: str
    id: str | None = None
    members: bytes = b""

    @property
    def files(self) -> list[str] | None:
        """The data and delete files of a plan that is done; None if it comes in parts or has more than can be named."""
        if self.members.count(_FILE_PATH) > MOST_NAMED or self.members.startswith(_IN_PARTS):
            return None
        told = msgspec.json.decode(b"{" + self.members + b"}", type=_Tasks)
        return [task.data_file.file_path for task in told.tasks] + [file.file_path for file in told.deletes]


class _File(msgspec.Struct, frozen=True, rename="kebab"):
    file_path: str


class _Task(msgspec.Struct, frozen=True, rename="kebab"):
    data_file: _File


class _Tasks(msgspec.Struct, frozen=True):
    tasks: list[_Task] = msgspec.field(name="file-scan-tasks", default_factory=list)
    deletes: list[_File] = msgspec.field(name="delete-files", default_factory=list)


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
        self.trail = PlanTrail(self.kernel)
        self.evaluations = Evaluations()

    @cached_property
    def _key(self) -> bytes:
        return keys.key(self.kernel.store, keys.Use.PLAN_TASKS)

    def plan(self, permit: Permit, body: bytes, circumstances: Circumstances) -> Planned:
        """Plan a scan; one that takes long goes on in the background under an id.

        INVARIANT: for restricted callers, whether a plan is there at once depends on whether the governed manifests of its
        snapshot are ready, never on which copies a filter needs: all other plans are submitted first and then polled.
        """
        with self.trail.failures(permit, Step.PLAN, circumstances):
            return self._planned(permit, body, circumstances)

    def _planned(self, permit: Permit, body: bytes, circumstances: Circumstances) -> Planned:
        with told():
            request = PlanRequest.from_json(body or b"{}")
        now = self._current(permit)
        if (
            now.sight is None
            or self.reads.delegated(permit, now.sight) is not None
            or self._at_hand(permit, now.sight, request)
        ):
            work = self._begun(permit, now, request, circumstances)
        elif circumstances.polls:
            return self._later(
                permit, now, self._begun(permit, now, request, circumstances), body, circumstances
            )
        else:
            return Planned("completed", None, self._waited_for(permit, request, circumstances))
        try:
            return Planned("completed", None, work.result(timeout=self.patience).members)
        except StillRunning:
            return self._later(permit, now, work, body, circumstances)

    def poll(self, permit: Permit, id: str, circumstances: Circumstances) -> Planned:
        """How far a plan of the caller's own is. One made under another view of the table than now is gone."""
        with self.trail.failures(permit, Step.POLL, circumstances):
            found = self._polled(permit, id)
            self.trail.record(permit, Step.POLL, found.status, circumstances, plan=_short(id))
            return found

    def cancel(self, permit: Permit, id: str, circumstances: Circumstances) -> None:
        """Forget a plan of the caller's own; if it is still under way, its outcome goes nowhere."""
        with self.trail.failures(permit, Step.CANCEL, circumstances):
            self._record(permit, id)
            plans.forget(self.kernel.store, id)
            self.trail.record(permit, Step.CANCEL, "cancelled", circumstances, plan=_short(id))

    def tasks(self, permit: Permit, body: bytes, circumstances: Circumstances) -> bytes:
        """The members of the answer for one part of a plan that was given out in parts."""
        with self.trail.failures(permit, Step.TASK, circumstances):
            now = self._current(permit)
            with told():
                token = planning.TaskRequest.from_json(body).plan_task
                made, task = self._from_token(now, permit, token)
                if not hmac.compare_digest(task.plan_id.encode(), self._whose(permit).encode()):
                    raise planning.InvalidPlanTaskError
                members = made.body(task.start, task.stop)
            self.trail.record(
                permit,
                Step.TASK,
                "completed",
                circumstances,
                **_said(made),
                view=now.view,
                task=[task.start, task.stop],
                files=task.stop - task.start,
            )
            return members

    def close(self) -> None:
        self._underway.close()
        for pool in (self._pool, self._waiting):
            pool.shutdown(wait=False, cancel_futures=True)

    # -- inside -------------------------------------------------------------------------------------------------

    def _polled(self, permit: Permit, id: str) -> Planned:
        record = self._record(permit, id)
        if record.view != self._view(permit, self._current(permit)):
            raise _no_plan(id)
        if record.status == "failed":
            failure = msgspec.json.decode(record.answer or b"{}", type=dict[str, Any])
            return Planned("failed", id, msgspec.json.encode({"error": failure})[1:-1])
        if record.lapsed:
            self._resume(permit, record)
        return Planned(record.status, id, record.answer or b"")

    def _at_hand(self, permit: Permit, sight: Sight, request: PlanRequest) -> bool:
        """Whether a restricted plan needs nothing but governed manifests that are ready.

        INVARIANT: refuses what makes no sense in the terms of the governed document, before anything of the table itself
        is looked at, so that every error is about what is shown.
        """
        shown, ready = self.governed.shown(sight, permit.identity)
        with told():
            scope = planning.check(shown.metadata, _as_shown(request))
        return scope.added_by is None and (scope.snapshot_id is None or scope.snapshot_id in ready)

    def _waited_for(self, permit: Permit, request: PlanRequest, circumstances: Circumstances) -> bytes:
        """The answer for a client that cannot come back for it: over all governed files of the snapshot, once these are ready."""

        def look(again: Permit) -> tuple[bytes, dict[str, object]]:
            return self._answer(again, self._current(again), request, all_at_once=True)

        members, audited = self.reads.waited_in_request(permit, look)
        self.trail.record(permit, Step.PLAN, "completed", circumstances, **audited)
        return members

    def _begun(
        self, permit: Permit, now: "_Current", request: PlanRequest, circumstances: Circumstances
    ) -> "Future[Made]":
        if len(self._running) >= MOST_WAITING:
            raise e.Unavailable("too many scans are being planned", hint="retry in a moment")
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

        def start() -> Future[Made]:
            return self._watched(permit, self._begun(permit, self._current(permit), request, said), said)

        self._underway.resume(record, start)

    def _watched(self, permit: Permit, work: "Future[Made]", circumstances: Circumstances) -> "Future[Made]":
        """Work that nobody waits for: if it fails, that is recorded when it does."""

        def ended(done: "Future[Made]") -> None:
            if not done.cancelled() and (error := done.exception()) is not None:
                try:
                    self.trail.record_failure(permit, Step.PLAN, error, circumstances)
                except e.HeadgateError as lost:
                    # Nothing was given; the next read is refused for the same reason.
                    log.warning("a failed plan is not in the audit trail", reason=str(lost)[:500])

        work.add_done_callback(ended)
        return work

    def _plan(
        self, permit: Permit, now: "_Current", request: PlanRequest, circumstances: Circumstances
    ) -> Made:
        def look(again: Permit) -> tuple[Made, dict[str, object]]:
            # The first look is at what was just read; later ones are at what is there by then.
            return self._look(again, now if again is permit else self._current(again), request)

        made, told = self.reads.waited(permit, look, LIFETIME.total_seconds())
        self.trail.record(permit, Step.PLAN, "completed", circumstances, **told)
        return made

    def _look(self, permit: Permit, now: "_Current", request: PlanRequest) -> tuple[Made, dict[str, object]]:
        """The answer and what the audit shall know, or NotReady while copies are being made."""
        if self._underway.closed.is_set():
            raise e.Unavailable("the server is stopping", hint="plan the scan again")
        members, told = self._answer(permit, now, request)
        return Made(members, self._view(permit, now)), told

    def _answer(
        self, permit: Permit, now: "_Current", request: PlanRequest, *, all_at_once: bool = False
    ) -> tuple[bytes, dict[str, object]]:
        if now.sight is None:
            found = self._evaluated(permit, now, request, lambda: self._made(now, request))
            return found.members, found.audited
        sight = now.sight
        if self.reads.delegated(permit, sight) is not None:
            # The engine enforces the rest by itself, and is trusted to.
            found = self._evaluated(permit, now, request, lambda: self.governed.plan(sight, request))
            return found.members, {**found.audited, "delegated": True}
        return self._restricted(permit, now, sight, _as_shown(request), all_at_once=all_at_once)

    def _restricted(
        self, permit: Permit, now: "_Current", sight: Sight, request: PlanRequest, *, all_at_once: bool
    ) -> tuple[bytes, dict[str, object]]:
        """A plan over governed files, or NotReady while they are being made.

        INVARIANT: a caller's request acts on governed metadata only. Which way is taken depends on the request, on what is
        shown and on what is ready, never on files of the table itself.
        """
        reader = permit.identity
        document, ready = self.governed.shown(sight, reader)
        shown = document.metadata
        with told():
            scope = planning.check(shown, request)
        if scope.added_by is not None:
            # Given whole: its governed manifests are nowhere to be found again for a part of it.
            made = self.governed.plan_some(sight, shown, request, reader)
            return self._whole(permit, now, made, in_parts=False)
        snapshot = scope.snapshot_id
        if snapshot is None or snapshot in ready:
            listed = None if scope.snapshot is None else scope.snapshot.get("manifest-list")
            found = self._evaluated(
                permit, now, request, lambda: self.governed.plan_governed(sight, shown, request), listed
            )
            return found.members, found.audited
        if not all_at_once and self.governed.chooser(sight, shown, request).narrows(sight.metadata):
            some = self.governed.plan_some(sight, shown, request, reader)
            current = snapshot == shown.get("current-snapshot-id")
            if some.file_count <= FILES_PER_TASK and (current or not _names_originals(some, sight)):
                return self._whole(permit, now, some)
        # What is given out in parts has to be found again, and what of the table itself readers are told of must be written
        # down where credentials for it are given: both takes governed manifests.
        governed = self.governed.govern(sight, snapshot, reader)
        return self._whole(permit, now, self.governed.plan_governed(sight, governed, request))

    def _evaluated(
        self,
        permit: Permit,
        now: "_Current",
        request: PlanRequest,
        make: Callable[[], Plan],
        shown: str | None = None,
    ) -> Evaluated:
        """A plan's answer, from the cache if the same was asked of the same state before."""
        view = self._view(permit, now)
        key = fingerprint(permit, now.document, shown, view, request)
        return self.evaluations.answer(key, lambda: Evaluated(*self._whole(permit, now, make())))

    def _whole(
        self, permit: Permit, now: "_Current", made: Plan, *, in_parts: bool = True
    ) -> tuple[bytes, dict[str, object]]:
        """A plan whose files may all be given as they are."""
        return self._members(permit, made) if in_parts else made.body(), {
            **_said(made),
            **now.places(),
            "files": made.file_count,
            "bytes": made.total_bytes,
            "records": made.total_records,
            "planned": _prints(made),
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

    def _from_token(self, now: "_Current", permit: Permit, token: str) -> tuple[Plan, planning.PlanTask]:
        """The plan that a token is a part of, made again the way it was made: over governed files if it was restricted."""
        sight = now.sight
        if sight is None:
            document, veil, within = (
                now.document.metadata,
                None,
                Within(now.adapter.own_folders(now.document)),
            )
        elif self.reads.delegated(permit, sight) is None:
            document = self.governed.withheld(sight, permit.identity).metadata
            veil, within = Veil(lens=sight.view), sight.given
        else:
            document, veil, within = sight.metadata, sight.veil, sight.within
        return planning.plan_from_token(
            document,
            token,
            key=self._key,
            io=now.adapter.storage.io,
            index=self.index,
            veil=veil,
            within=within,
        )

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
        self,
        permit: Permit,
        now: "_Current",
        work: "Future[Made]",
        body: bytes,
        circumstances: Circumstances,
    ) -> Planned:
        id = secrets.token_urlsafe(24)
        record = plans.PlanRecord(
            id,
            permit.node.id,
            permit.identity.user,
            "submitted",
            stored_time(datetime.now(UTC) + LIFETIME),
            self._view(permit, now),
            body,
            msgspec.json.encode(circumstances),
            self._underway.runner,
        )
        self._underway.begin(record, self._watched(permit, work, circumstances))
        asked = _asked(PlanRequest.from_json(body or b"{}"))
        self.trail.record(permit, Step.PLAN, "submitted", circumstances, plan=_short(id), **asked)
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


def _as_shown(request: PlanRequest) -> PlanRequest:
    """A restricted request: the view shows every snapshot in the current schema, so names of former ones mean nothing."""
    return msgspec.structs.replace(request, use_snapshot_schema=False)


def _names_originals(made: Plan, sight: Sight) -> bool:
    """Whether a plan over governed files names files of the table itself."""
    folder = normal(sight.folder)
    return any(not inside(normal(file.path), folder) for file in made.files())


def _no_plan(id: str) -> e.NotFound:
    return e.NotFound(f"there is no plan '{clip(id)}'", hint="plan the scan again", about="plan")


def _prints(made: Plan) -> str | None:
    """The fingerprints of a plan's files, in base64, for who compares reads with it; None of a large plan."""
    if made.file_count > MOST_NAMED:
        return None
    files = list(made.files())
    return base64.b64encode(
        fingerprints(path for file in files for path in (file.path, *file.deletes))
    ).decode()


def _short(id: str) -> str:
    """Enough of a plan's id to find its lines in the audit trail."""
    return clip(id, 8)


def _asked(request: PlanRequest) -> dict[str, object]:
    """What was asked for, for the audit."""
    predicate = None if request.filter is None else clip(msgspec.json.encode(request.filter).decode(), 4000)
    return {
        "since": request.start_snapshot_id,
        "predicate": predicate,
        "projection": None if request.select is None else list(request.select[:200]),
    }


def _said(made: Plan) -> dict[str, object]:
    """What was asked for and found, for the audit."""
    return {"snapshot": made.snapshot_id, **_asked(made.request)}
