"""Scan planning for Iceberg's clients: planned at once, in tasks, or in the background; polled and cancelled."""

import hashlib
import hmac
import secrets
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as StillRunning
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any, Final

import msgspec
import structlog

from headgate import planning
from headgate.catalogs.interface import Document, IcebergCatalog
from headgate.model import errors as e
from headgate.model.objects import clip
from headgate.planning import ManifestIndex, Plan, PlanRequest, Veil, Within
from headgate.planning.fingerprints import fingerprints
from headgate.planning.plan import FILES_PER_TASK
from headgate.planning.tokens import view_digest
from headgate.steward.iceberg import Documents
from headgate.steward.permits import Permit
from headgate.steward.reads import Circumstances
from headgate.steward.tables import place_of
from headgate.store import keys, plan_files, plans

PATIENCE: Final = 2.0
"""Seconds that a client waits for its plan before it is told to come back for it."""
LIFETIME: Final = timedelta(minutes=30)
MOST_WAITING: Final = 256
"""How many plans may be under way in this process; more are refused until some are done."""

log = structlog.get_logger("headgate.plans")


class Planned(msgspec.Struct, frozen=True):
    """How far a plan is, and once it is done the members of its JSON answer."""

    status: str
    id: str | None = None
    members: bytes = b""


class Scans:
    def __init__(self, documents: Documents, index: ManifestIndex, *, patience: float = PATIENCE) -> None:
        self.documents = documents
        self.reads = documents.reads
        self.kernel = documents.kernel
        self.index = index
        self.patience = patience
        self._pool = ThreadPoolExecutor(8, thread_name_prefix="plans")
        self._running: set[Future[bytes]] = set()

    @cached_property
    def _key(self) -> bytes:
        return keys.key(self.kernel.store, "plan-tasks")

    def plan(self, permit: Permit, body: bytes, circumstances: Circumstances) -> Planned:
        """Plan a scan; one that takes long goes on in the background under an id."""
        with told():
            request = PlanRequest.from_json(body or b"{}")
        if len(self._running) >= MOST_WAITING:
            raise e.Unavailable("too many scans are being planned", hint="retry in a moment")
        work = self._pool.submit(self._plan, permit, request, circumstances)
        self._running.add(work)
        work.add_done_callback(self._running.discard)
        try:
            return Planned("completed", None, work.result(timeout=self.patience))
        except StillRunning:
            return self._later(permit, work)

    def poll(self, permit: Permit, id: str) -> Planned:
        """How far a plan of the caller's own is. One made under another view of the table than now is gone."""
        record = self._record(permit, id)
        if record.view != self._view(self._current(permit)[0]):
            raise _no_plan(id)
        if record.status == "failed":
            failure = msgspec.json.decode(record.answer or b"{}", type=dict[str, Any])
            return Planned("failed", id, msgspec.json.encode({"error": failure})[1:-1])
        return Planned(record.status, id, record.answer or b"")

    def cancel(self, permit: Permit, id: str) -> None:
        """Forget a plan of the caller's own; if it is still under way, its outcome goes nowhere."""
        self._record(permit, id)
        plans.forget(self.kernel.store, id)

    def tasks(self, permit: Permit, token: str, circumstances: Circumstances) -> bytes:
        """The members of the answer for one part of a plan that was given out in parts."""
        now, adapter = self._current(permit)
        with told():
            made, task = planning.plan_from_token(
                now.document.metadata,
                token,
                key=self._key,
                io=adapter.files(place_of(permit)),
                index=self.index,
                veil=now.veil,
                within=now.within,
            )
            if not hmac.compare_digest(task.plan_id.encode(), self._whose(permit).encode()):
                raise planning.InvalidPlanTaskError
            _check_conforms(permit, made, now.veil)
            members = made.body(task.start, task.stop)
        self.kernel.audit_read(
            permit,
            **_said(made),
            task=[task.start, task.stop],
            files=task.stop - task.start,
            **circumstances.told(),
        )
        return members

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)

    # -- inside -------------------------------------------------------------------------------------------------

    def _plan(self, permit: Permit, request: PlanRequest, circumstances: Circumstances) -> bytes:
        now, adapter = self._current(permit)
        with told():
            made = planning.plan(
                now.document.metadata,
                request,
                io=adapter.files(place_of(permit)),
                index=self.index,
                veil=now.veil,
                within=now.within,
            )
            _check_conforms(permit, made, now.veil)
            members = self._members(permit, made)
            named = self._named(permit, made) if now.veil is not None else None
        self.kernel.audit_read(
            permit,
            **_said(made),
            folders=list(now.within.folders),
            restricted=True if now.veil is not None else None,
            named=named,
            files=made.file_count,
            bytes=made.total_bytes,
            records=made.total_records,
            **circumstances.told(),
        )
        return members

    def _named(self, permit: Permit, made: Plan) -> str:
        """Keep which files a plan under a restricted lens names: whoever reads others of the table was not given them."""
        files = fingerprints(made).astype(">u8").tobytes()
        digest = hashlib.sha256(files).hexdigest()
        plan_files.keep(self.kernel.store, permit.ref.metalake, digest, files)
        return digest

    def _members(self, permit: Permit, made: Plan) -> bytes:
        if made.file_count <= FILES_PER_TASK:
            return made.body()
        return b'"plan-tasks":' + msgspec.json.encode(made.tasks(self._key, self._whose(permit)))

    def _whose(self, permit: Permit) -> str:
        """Binds plan tasks to who planned; nobody else can make use of them."""
        whose = f"{permit.identity.user}\0{permit.node.id}".encode()
        return hmac.digest(self._key, whose, hashlib.sha256).hex()[:32]

    def _current(self, permit: Permit) -> tuple["_Current", IcebergCatalog]:
        adapter = self.documents.adapter(permit)
        document = adapter.document(place_of(permit))
        veil = self.reads.veil(permit, document.metadata)
        return _Current(document, veil, Within(adapter.own_folders(document))), adapter

    def _later(self, permit: Permit, work: "Future[bytes]") -> Planned:
        id = secrets.token_urlsafe(24)
        view = self._view(self._current(permit)[0])
        ends = datetime.now(UTC) + LIFETIME
        record = plans.PlanRecord(
            id,
            permit.node.id,
            permit.identity.user,
            "submitted",
            ends.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            view,
        )
        plans.begin(self.kernel.store, record)
        work.add_done_callback(lambda done: self._ended(id, done))
        return Planned("submitted", id)

    def _ended(self, id: str, work: "Future[bytes]") -> None:
        try:
            if work.cancelled():
                plans.end(self.kernel.store, id, "failed", _failure("the server was stopped", 503))
                return
            error = work.exception()
            if error is None:
                plans.end(self.kernel.store, id, "completed", work.result())
            elif isinstance(error, e.HeadgateError):
                plans.end(self.kernel.store, id, "failed", _failure(str(error), _code(error)))
            else:
                log.error("plan failed", reason=repr(error)[:500])
                plans.end(
                    self.kernel.store, id, "failed", _failure("the server's log says why it failed", 500)
                )
        except e.HeadgateError as lost:
            # The store is gone: whoever polls hears so; the plan ends when it expires.
            log.error("plan lost", reason=str(lost)[:500])

    def _record(self, permit: Permit, id: str) -> plans.PlanRecord:
        record = plans.find(self.kernel.store, id, permit.node.id, permit.identity.user)
        if record is None:
            raise _no_plan(id)
        return record

    def _view(self, now: "_Current") -> bytes:
        return view_digest(self._key, now.document.metadata["table-uuid"], now.veil or Veil())


class _Current(msgspec.Struct, frozen=True):
    """A table as it is now, as the caller may see it."""

    document: Document
    veil: Veil | None
    within: Within


def _no_plan(id: str) -> e.NotFound:
    return e.NotFound(f"there is no plan '{clip(id)}'", hint="plan the scan again", about="plan")


def _check_conforms(permit: Permit, made: Plan, veil: Veil | None) -> None:
    """Refuse to give out a file that holds more than the caller may see: clients do not apply residuals."""
    if veil is None or made.conforms:
        return
    raise e.Forbidden(
        f"{made.nonconforming_count} of {made.file_count} files of table '{clip(permit.ref.full_name)}' hold rows or "
        "columns that you may not see",
        hint="narrow the query to what you may see, or ask the owner of the table",
    )


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


def _failure(message: str, code: int) -> bytes:
    return msgspec.json.encode({"message": message, "type": "PlanningFailed", "code": code})


def _code(error: e.HeadgateError) -> int:
    kinds: tuple[tuple[type[e.HeadgateError], int], ...] = (
        (e.IllegalArgument, 400),
        (e.Forbidden, 403),
        (e.NotFound, 404),
        (e.Damaged, 422),
    )
    return next((code for kind, code in kinds if isinstance(error, kind)), 503)


_MEANING: Final[tuple[tuple[type[planning.PlanningError], Callable[[str], e.HeadgateError]], ...]] = (
    (planning.InvalidPlanTaskError, lambda why: e.NotFound(why, about="plan-task")),
    (planning.StalePlanTaskError, lambda why: e.NotFound(why, about="plan-task")),
    (planning.ForeignFileError, e.Forbidden),
    (planning.UnreadableManifestError, e.ConnectionFailed),
    (planning.CorruptManifestError, e.Damaged),
    (planning.MissingManifestError, e.Damaged),
    (planning.InvalidTableMetadataError, e.Damaged),
    (planning.PlanningError, e.IllegalArgument),
)
"""First match wins: the narrow before the wide."""


@contextmanager
def told() -> Iterator[None]:
    """What goes wrong while planning, in the words of the rest of the house."""
    try:
        yield
    except planning.PlanningError as error:
        meaning = next(make for kind, make in _MEANING if isinstance(error, kind))
        raise meaning(clip(str(error), 500)) from error
