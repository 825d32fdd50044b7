"""Scan planning for Iceberg's clients: planned at once, in tasks, or in the background; polled and cancelled."""

import secrets
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as StillRunning
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import msgspec
import structlog

from headgate import planning
from headgate.decide import Op
from headgate.model import errors as e
from headgate.model.objects import clip
from headgate.planning import PlanRequest
from headgate.steward.acts import act
from headgate.steward.kernel import Kernel
from headgate.steward.permits import Permit
from headgate.steward.reads.circumstances import Circumstances
from headgate.steward.reads.making import TableReads
from headgate.steward.reads.planning.answering import MOST_NAMED, Answering, describe_plan, describe_request
from headgate.steward.reads.planning.faults import translated
from headgate.steward.reads.planning.plan_trail import PlanStep, PlanTrail
from headgate.steward.reads.planning.underway import Made, Underway
from headgate.steward.reads.table_read import GovernedRead, TableRead
from headgate.steward.reads.waiting import Waiting
from headgate.store import plans
from headgate.store.database import stored_time

log = structlog.get_logger("headgate.plans")

PATIENCE: Final = 2.0
"""Seconds that a client waits for its plan before it is told to come back for it."""
LIFETIME: Final = timedelta(minutes=30)
MOST_WAITING: Final = 256
"""How many plans may be under way in this process; more are refused until some are done."""
_FILE_PATH: Final = b'"file-path":'
_IN_PARTS: Final = b'"plan-tasks":'


class Planned(msgspec.Struct, frozen=True):
    """How far a plan is, and once it is done the members of its JSON answer."""

    status: str
    id: str | None = None
    members: bytes = b""
    read: TableRead | None = None
    """What the caller reads of the table, as of the plan."""
    signer: str | None = None
    """Stands for the plan where requests for its files are signed."""

    @property
    def files(self) -> list[str] | None:
        """The data and delete files of a plan that is done; None if it comes in parts or has more than can be named."""
        if self.members.count(_FILE_PATH) > MOST_NAMED or self.members.startswith(_IN_PARTS):
            return None
        answer = msgspec.json.decode(b"{" + self.members + b"}", type=_Tasks)
        return [task.data_file.file_path for task in answer.tasks] + [f.file_path for f in answer.deletes]


class _ScannedFile(msgspec.Struct, frozen=True, rename="kebab"):
    file_path: str


class _Task(msgspec.Struct, frozen=True, rename="kebab"):
    data_file: _ScannedFile


class _Tasks(msgspec.Struct, frozen=True):
    tasks: list[_Task] = msgspec.field(name="file-scan-tasks", default_factory=list)
    deletes: list[_ScannedFile] = msgspec.field(name="delete-files", default_factory=list)


class Scans:
    def __init__(
        self,
        kernel: Kernel,
        reads: TableReads,
        answering: Answering,
        waiting: Waiting,
        *,
        patience: float = PATIENCE,
    ) -> None:
        self.kernel = kernel
        self.reads = reads
        self.answering = answering
        self.waiting = waiting
        self.patience = patience
        self._pool = ThreadPoolExecutor(8, thread_name_prefix="plans")
        self._waiting = ThreadPoolExecutor(MOST_WAITING, thread_name_prefix="waiting-plans")
        self._running: set[Future[Made]] = set()
        self._underway = Underway(kernel.store)
        self.trail = PlanTrail(kernel)

    @act(Op.READ_TABLE)
    def plan(self, permit: Permit, body: bytes, circumstances: Circumstances) -> Planned:
        """Plan a scan; one that takes long goes on in the background under an id.

        INVARIANT: for restricted callers, whether a plan is there at once depends on whether the governed manifests of its
        snapshot are ready, never on which copies a filter needs: all other plans are submitted first and then polled.
        """
        with self.trail.failures(permit, PlanStep.PLAN, circumstances):
            return self._planned(permit, body, circumstances)

    def _planned(self, permit: Permit, body: bytes, circumstances: Circumstances) -> Planned:
        with translated():
            request = PlanRequest.from_json(body or b"{}")
        read = self.reads.of(permit)
        if self.answering.at_hand(permit, read, request):
            work = self._begun(permit, read, request, circumstances)
        elif circumstances.polls:
            work = self._begun(permit, read, request, circumstances)
            return self._later(permit, read, work, body, circumstances)
        else:
            return self._waited_for(permit, request, circumstances)
        try:
            made = work.result(timeout=self.patience)
        except StillRunning:
            return self._later(permit, read, work, body, circumstances)
        return Planned("completed", None, made.members, read, made.signer)

    @act(Op.READ_TABLE)
    def poll(self, permit: Permit, id: str, circumstances: Circumstances) -> Planned:
        """How far a plan of the caller's own is. One made under another view of the table than now is gone."""
        with self.trail.failures(permit, PlanStep.POLL, circumstances):
            found = self._polled(permit, id)
            self.trail.record(permit, PlanStep.POLL, found.status, circumstances, plan=_short(id))
            return found

    @act(Op.READ_TABLE)
    def cancel(self, permit: Permit, id: str, circumstances: Circumstances) -> None:
        """Forget a plan of the caller's own; if it is still under way, its outcome goes nowhere."""
        with self.trail.failures(permit, PlanStep.CANCEL, circumstances):
            self._record(permit, id)
            plans.forget(self.kernel.store, id)
            self.trail.record(permit, PlanStep.CANCEL, "cancelled", circumstances, plan=_short(id))

    @act(Op.READ_TABLE)
    def tasks(self, permit: Permit, body: bytes, circumstances: Circumstances) -> bytes:
        """The members of the answer for one part of a plan that was given out in parts."""
        with self.trail.failures(permit, PlanStep.TASK, circumstances):
            read = self.reads.of(permit)
            with translated():
                token = planning.TaskRequest.from_json(body).plan_task
                made, task = self.answering.part(permit, read, token)
                members = made.body(task.start, task.stop)
            self.trail.record(
                permit,
                PlanStep.TASK,
                "completed",
                circumstances,
                **describe_plan(made),
                view=read.copy_id,
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
        record, read = self._record(permit, id), self.reads.of(permit)
        if record.view != self.answering.seal(read):
            raise _no_plan(id)
        if record.status == "failed":
            failure = msgspec.json.decode(record.answer or b"{}", type=dict[str, Any])
            return Planned("failed", id, msgspec.json.encode({"error": failure})[1:-1])
        if record.lapsed:
            self._resume(permit, record)
        made = Made.of(record.answer or b"", record.view)
        return Planned(record.status, id, made.members, read, made.signer)

    def _waited_for(self, permit: Permit, request: PlanRequest, circumstances: Circumstances) -> Planned:
        """The answer for a client that cannot come back for it: over all governed files of the snapshot, once these are ready."""

        def look(again: Permit) -> tuple[Planned, dict[str, object]]:
            read = self.reads.of(again)
            found = self.answering.answer(again, read, request, all_at_once=True)
            return Planned("completed", None, found.members, read, found.signer), found.audited

        planned, audited = self.waiting.in_request(permit, look)
        self.trail.record(permit, PlanStep.PLAN, "completed", circumstances, **audited)
        return planned

    def _begun(
        self, permit: Permit, read: TableRead, request: PlanRequest, circumstances: Circumstances
    ) -> "Future[Made]":
        if len(self._running) >= MOST_WAITING:
            raise e.Unavailable("too many scans are being planned", hint="retry in a moment")
        # Restricted scans may wait for copies to be made, and must not keep others from being planned meanwhile.
        pool = self._waiting if isinstance(read, GovernedRead) else self._pool
        work = pool.submit(self._plan, permit, read, request, circumstances)
        self._running.add(work)
        work.add_done_callback(self._running.discard)
        return work

    def _resume(self, permit: Permit, record: plans.PlanRecord) -> None:
        """Plan again, under the rights of this moment, what the process that was at it did not finish."""
        request = PlanRequest.from_json(record.request or b"{}")
        circumstances = msgspec.json.decode(record.circumstances, type=Circumstances)

        def start() -> Future[Made]:
            work = self._begun(permit, self.reads.of(permit), request, circumstances)
            return self._watched(permit, work, circumstances)

        self._underway.resume(record, start)

    def _watched(self, permit: Permit, work: "Future[Made]", circumstances: Circumstances) -> "Future[Made]":
        """Work that nobody waits for: if it fails, that is recorded when it does."""

        def ended(done: "Future[Made]") -> None:
            if not done.cancelled() and (error := done.exception()) is not None:
                try:
                    self.trail.record_failure(permit, PlanStep.PLAN, error, circumstances)
                except e.HeadgateError as lost:
                    # Nothing was given; the next read is refused for the same reason.
                    log.warning("a failed plan is not in the audit trail", reason=str(lost)[:500])

        work.add_done_callback(ended)
        return work

    def _plan(
        self, permit: Permit, read: TableRead, request: PlanRequest, circumstances: Circumstances
    ) -> Made:
        def look(again: Permit) -> tuple[Made, dict[str, object]]:
            # The first look is at what was just read; later ones are at what is there by then.
            return self._look(again, read if again is permit else self.reads.of(again), request)

        made, audited = self.waiting.wait(permit, look, LIFETIME.total_seconds())
        self.trail.record(permit, PlanStep.PLAN, "completed", circumstances, **audited)
        return made

    def _look(self, permit: Permit, read: TableRead, request: PlanRequest) -> tuple[Made, dict[str, object]]:
        """The answer and what the audit shall know, or NotReady while copies are being made."""
        if self._underway.closed.is_set():
            raise e.Unavailable("the server is stopping", hint="plan the scan again")
        found = self.answering.answer(permit, read, request)
        return Made(found.members, self.answering.seal(read), found.signer), found.audited

    def _later(
        self,
        permit: Permit,
        read: TableRead,
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
            self.answering.seal(read),
            body,
            msgspec.json.encode(circumstances),
            self._underway.runner,
        )
        self._underway.begin(record, self._watched(permit, work, circumstances))
        asked = describe_request(PlanRequest.from_json(body or b"{}"))
        self.trail.record(permit, PlanStep.PLAN, "submitted", circumstances, plan=_short(id), **asked)
        return Planned("submitted", id)

    def _record(self, permit: Permit, id: str) -> plans.PlanRecord:
        record = plans.find(self.kernel.store, id, permit.node.id, permit.identity.user)
        if record is None:
            raise _no_plan(id)
        return record


def _no_plan(id: str) -> e.NotFound:
    return e.NotFound(f"there is no plan '{clip(id)}'", hint="plan the scan again", about="plan")


def _short(id: str) -> str:
    """Enough of a plan's id to find its lines in the audit trail."""
    return clip(id, 8)
