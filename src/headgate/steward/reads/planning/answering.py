"""Answers to plan requests: over the table itself for callers who see all of it, over governed files for everybody else."""

import base64
import hashlib
import hmac
from collections.abc import Callable
from functools import cached_property
from typing import Final

import msgspec

from headgate import planning
from headgate.catalogs.locations import inside, normal
from headgate.model.objects import clip
from headgate.planning import Plan, PlanRequest
from headgate.planning.fingerprints import fingerprints
from headgate.planning.plan import FILES_PER_TASK
from headgate.planning.tokens import view_digest
from headgate.steward.permits import Permit
from headgate.steward.reads.copies.governed import Governed
from headgate.steward.reads.planning.evaluations import Evaluated, Evaluations, fingerprint
from headgate.steward.reads.planning.faults import translated
from headgate.steward.reads.table_read import GovernedRead, TableRead
from headgate.store import keys

MOST_NAMED: Final = 100
"""How many files of a plan are named: to a caller who asks for its credentials, and to the audit trail."""


class Answering:
    """Plans for one read at a time; nothing here waits, and what is not ready is `NotReady`."""

    def __init__(self, governed: Governed) -> None:
        self.governed = governed
        self.index = governed.index
        self.evaluations = Evaluations()

    @cached_property
    def _key(self) -> bytes:
        return keys.key(self.governed.store, keys.Use.PLAN_TASKS)

    def seal(self, read: TableRead) -> bytes:
        """Stands for what the caller sees of the table and how; an engine that is trusted gets other files."""
        return view_digest(self._key, read.metadata["table-uuid"], read.answered_under)

    def at_hand(self, permit: Permit, read: TableRead, request: PlanRequest) -> bool:
        """Whether a plan needs nothing but what is there: the table itself, or governed manifests that are ready.

        INVARIANT: refuses what makes no sense in the terms of the governed document, before anything of the table itself
        is looked at, so that every error is about what is shown.
        """
        copied = read.through_copies
        if copied is None:
            return True
        shown, ready = self.governed.shown(copied, permit.identity)
        with translated():
            scope = planning.check(shown.metadata, _as_shown(request))
        return scope.added_by is None and (scope.snapshot_id is None or scope.snapshot_id in ready)

    def answer(
        self, permit: Permit, read: TableRead, request: PlanRequest, *, all_at_once: bool = False
    ) -> tuple[bytes, dict[str, object]]:
        """The members of the answer and what the audit shall know, or NotReady while copies are being made."""
        copied = read.through_copies
        if copied is not None:
            return self._governed(permit, copied, _as_shown(request), all_at_once=all_at_once)
        found = self._evaluated(permit, read, request, lambda: self._direct(read, request))
        if read.copy_id is None:
            return found.members, found.audited
        # The engine enforces the rest by itself, and is trusted to.
        return found.members, {**found.audited, "delegated": True}

    def part(self, permit: Permit, read: TableRead, token: str) -> tuple[Plan, planning.PlanTask]:
        """The plan that a token is a part of, made again the way it was made: over governed files if it was restricted."""
        copied = read.through_copies
        if copied is None:
            document, within = read.metadata, read.within
        else:
            document, within = self.governed.withheld(copied, permit.identity).metadata, copied.given
        made, task = planning.plan_from_token(
            document,
            token,
            key=self._key,
            io=read.adapter.storage.io,
            index=self.index,
            veil=read.answered_under,
            within=within,
        )
        if not hmac.compare_digest(task.plan_id.encode(), self._planner(permit).encode()):
            raise planning.InvalidPlanTaskError
        return made, task

    # -- inside -------------------------------------------------------------------------------------------------

    def _direct(self, read: TableRead, request: PlanRequest) -> Plan:
        """A plan over the table's own files, for callers who see all of it and for trusted engines."""
        with translated():
            return planning.plan(
                read.metadata,
                request,
                io=read.adapter.storage.io,
                index=self.index,
                veil=read.veil,
                within=read.within,
            )

    def _governed(
        self, permit: Permit, read: GovernedRead, request: PlanRequest, *, all_at_once: bool
    ) -> tuple[bytes, dict[str, object]]:
        """A plan over governed files, or NotReady while they are being made.

        INVARIANT: a caller's request acts on governed metadata only. Which way is taken depends on the request, on what is
        shown and on what is ready, never on files of the table itself.
        """
        reader = permit.identity
        document, ready = self.governed.shown(read, reader)
        shown = document.metadata
        with translated():
            scope = planning.check(shown, request)
        if scope.added_by is not None:
            # Given whole: its governed manifests are nowhere to be found again for a part of it.
            made = self.governed.plan_some(read, shown, request, reader)
            return self._rendered(permit, read, made, in_parts=False)
        snapshot = scope.snapshot_id
        if snapshot is None or snapshot in ready:
            listed = None if scope.snapshot is None else scope.snapshot.get("manifest-list")
            found = self._evaluated(
                permit, read, request, lambda: self.governed.plan_governed(read, shown, request), listed
            )
            return found.members, found.audited
        if not all_at_once and self.governed.chooser(read, shown, request).narrows(read.metadata):
            some = self.governed.plan_some(read, shown, request, reader)
            current = snapshot == shown.get("current-snapshot-id")
            if some.file_count <= FILES_PER_TASK and (current or not _names_originals(some, read)):
                return self._rendered(permit, read, some)
        # What is given out in parts has to be found again, and what of the table itself readers are told of must be written
        # down where credentials for it are given: both takes governed manifests.
        governed = self.governed.govern(read, snapshot, reader)
        return self._rendered(permit, read, self.governed.plan_governed(read, governed, request))

    def _evaluated(
        self,
        permit: Permit,
        read: TableRead,
        request: PlanRequest,
        make: Callable[[], Plan],
        shown: str | None = None,
    ) -> Evaluated:
        """A plan's answer, from the cache if the same was asked of the same state before."""
        key = fingerprint(permit, read.document, shown, self.seal(read), request)
        return self.evaluations.answer(key, lambda: Evaluated(*self._rendered(permit, read, make())))

    def _rendered(
        self, permit: Permit, read: TableRead, made: Plan, *, in_parts: bool = True
    ) -> tuple[bytes, dict[str, object]]:
        """A plan all of whose files may be given: the members of its answer, and what the audit shall know."""
        return self._members(permit, made) if in_parts else made.body(), {
            **describe_plan(made),
            **read.audited(),
            "files": made.file_count,
            "bytes": made.total_bytes,
            "records": made.total_records,
            "planned": _prints(made),
        }

    def _members(self, permit: Permit, made: Plan) -> bytes:
        if made.file_count <= FILES_PER_TASK:
            return made.body()
        return b'"plan-tasks":' + msgspec.json.encode(made.tasks(self._key, self._planner(permit)))

    def _planner(self, permit: Permit) -> str:
        """Binds plan tasks to who planned; nobody else can make use of them."""
        planner = f"{permit.identity.user}\0{permit.node.id}".encode()
        return hmac.digest(self._key, planner, hashlib.sha256).hex()[:32]


def describe_request(request: PlanRequest) -> dict[str, object]:
    """What was asked for, for the audit."""
    predicate = None if request.filter is None else clip(msgspec.json.encode(request.filter).decode(), 4000)
    return {
        "since": request.start_snapshot_id,
        "predicate": predicate,
        "projection": None if request.select is None else list(request.select[:200]),
    }


def describe_plan(made: Plan) -> dict[str, object]:
    """What was asked for and found, for the audit."""
    return {"snapshot": made.snapshot_id, **describe_request(made.request)}


def _as_shown(request: PlanRequest) -> PlanRequest:
    """A restricted request: the lens shows every snapshot in the current schema, so names of former ones mean nothing."""
    return msgspec.structs.replace(request, use_snapshot_schema=False)


def _names_originals(made: Plan, read: GovernedRead) -> bool:
    """Whether a plan over governed files names files of the table itself."""
    folder = normal(read.folder)
    return any(not inside(normal(file.path), folder) for file in made.files())


def _prints(made: Plan) -> str | None:
    """The fingerprints of a plan's files, in base64, for who compares reads with it; None of a large plan."""
    if made.file_count > MOST_NAMED:
        return None
    return base64.b64encode(fingerprints(made.locations())).decode()
