"""Answers to plan requests: over the table itself for callers who see all of it, over governed files for everybody else."""

import base64
import hashlib
import hmac
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any, Final

import msgspec

from headgate import planning
from headgate.catalogs.locations import inside, normal
from headgate.model.objects import clip
from headgate.planning import Plan, PlanRequest
from headgate.planning.file_set import FileSet
from headgate.planning.fingerprints import fingerprints
from headgate.planning.plan import FILES_PER_TASK
from headgate.planning.tokens import view_digest
from headgate.steward.permits import Permit
from headgate.steward.reads.copies.governed import Governed
from headgate.steward.reads.planning.evaluations import Evaluated, Evaluations, fingerprint
from headgate.steward.reads.planning.faults import translated
from headgate.steward.reads.planning.planned_files import PlannedFiles
from headgate.steward.reads.table_read import GovernedRead, TableRead
from headgate.store import keys

MOST_NAMED: Final = 100
"""How many files of a plan are named: to a caller who asks for its credentials, and to the audit trail."""


MOST_SIGNED: Final = 100_000
"""Files of the largest plan for which requests are signed: that many are kept in 1.6 MB, and found within a second."""
LONGEST_SIGNER: Final = 6_000
"""Characters of a plan's token in the address of its signer: many servers and proxies take 8,192 for a request's first line."""

# What a token is for; a plan task is none that requests are signed for, nor the reverse.
_TASKS: Final = ""
_SIGNER: Final = "\0signer"


class Answering:
    """Plans for one read at a time; nothing here waits, and what is not ready is `NotReady`."""

    def __init__(self, governed: Governed) -> None:
        self.governed = governed
        self.index = governed.index
        self.evaluations = Evaluations()
        self.planned_files = PlannedFiles()

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
    ) -> Evaluated:
        """The members of the answer and what the audit shall know, or NotReady while copies are being made."""
        copied = read.through_copies
        if copied is not None:
            return self._governed(permit, copied, _as_shown(request), all_at_once=all_at_once)
        found = self._evaluated(permit, read, request, lambda: self._direct(read, request))
        if read.copy_id is None:
            return found
        # The engine enforces the rest by itself, and is trusted to.
        return msgspec.structs.replace(found, audited={**found.audited, "delegated": True})

    def part(self, permit: Permit, read: TableRead, token: str) -> tuple[Plan, planning.PlanTask]:
        """The plan that a token is a part of, made again the way it was made: over governed files if it was restricted."""
        made, task = self._again(read, self._shown(permit, read), token)
        self._check_planner(permit, task, _TASKS)
        return made, task

    def signed_files(self, permit: Permit, read: TableRead, token: str) -> FileSet:
        """The files of the plan that a token stands for where requests are signed, as that plan would be made now.

        INVARIANT: all that the answer depends on is asked afresh, and is part of what it is kept under.
        """
        with translated(), _stale():
            shown = self._shown(permit, read)
            task = planning.read_token(shown, token, key=self._key, veil=read.answered_under)
            self._check_planner(permit, task, _SIGNER)
            listed = None
            if read.through_copies is not None:
                snapshot = planning.check(shown, task.request).snapshot
                listed = None if snapshot is None else snapshot.get("manifest-list")
            key = fingerprint(permit, read.document, listed, task.view, task.request)
            under = None if key is None else hashlib.sha256(key + token.encode()).digest()
            return self.planned_files.find(
                under, lambda: FileSet(self._again(read, shown, token)[0].locations())
            )

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
    ) -> Evaluated:
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
            return self._rendered(permit, read, made, found_again=False)
        snapshot = scope.snapshot_id
        if snapshot is None or snapshot in ready:
            listed = None if scope.snapshot is None else scope.snapshot.get("manifest-list")
            return self._evaluated(
                permit, read, request, lambda: self.governed.plan_governed(read, shown, request), listed
            )
        if not all_at_once and self.governed.chooser(read, shown, request).narrows(read.metadata):
            some = self.governed.plan_some(read, shown, request, reader)
            current = snapshot == shown.get("current-snapshot-id")
            if some.file_count <= FILES_PER_TASK and (current or not _names_originals(some, read)):
                return self._rendered(permit, read, some, found_again=False)
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
        return self.evaluations.answer(key, lambda: self._rendered(permit, read, make()))

    def _rendered(
        self, permit: Permit, read: TableRead, made: Plan, *, found_again: bool = True
    ) -> Evaluated:
        """A plan all of whose files may be given: the members of its answer, and what the audit shall know."""
        signer = self._signer(permit, read, made) if found_again else None
        audited = {
            **describe_plan(made),
            **read.audited(),
            "files": made.file_count,
            "bytes": made.total_bytes,
            "records": made.total_records,
            "planned": _prints(made),
            "signer": None if signer is None else token_print(signer),
        }
        return Evaluated(self._members(permit, made) if found_again else made.body(), audited, signer)

    def _signer(self, permit: Permit, read: TableRead, made: Plan) -> str | None:
        """A token that stands for the plan where requests for its files are signed; None where each of them would have it
        planned again, or addresses could not hold it."""
        if read.document.location is None or not 0 < made.file_count <= MOST_SIGNED:
            return None
        token = made.token(self._key, self._planner(permit, _SIGNER))
        return token if len(token) <= LONGEST_SIGNER else None

    def _shown(self, permit: Permit, read: TableRead) -> dict[str, Any]:
        """The document that plans are found again in: the governed one for a caller who is given copies."""
        copied = read.through_copies
        return read.metadata if copied is None else self.governed.withheld(copied, permit.identity).metadata

    def _again(self, read: TableRead, shown: dict[str, Any], token: str) -> tuple[Plan, planning.PlanTask]:
        copied = read.through_copies
        return planning.plan_from_token(
            shown,
            token,
            key=self._key,
            io=read.adapter.storage.io,
            index=self.index,
            veil=read.answered_under,
            within=read.within if copied is None else copied.given,
        )

    def _members(self, permit: Permit, made: Plan) -> bytes:
        if made.file_count <= FILES_PER_TASK:
            return made.body()
        return b'"plan-tasks":' + msgspec.json.encode(made.tasks(self._key, self._planner(permit, _TASKS)))

    def _planner(self, permit: Permit, use: str) -> str:
        """Binds tokens to who planned and what they are for; nobody else can make use of them, for nothing else."""
        planner = f"{permit.identity.user}\0{permit.node.id}{use}".encode()
        return hmac.digest(self._key, planner, hashlib.sha256).hex()[:32]

    def _check_planner(self, permit: Permit, task: planning.PlanTask, use: str) -> None:
        if not hmac.compare_digest(task.plan_id.encode(), self._planner(permit, use).encode()):
            raise planning.InvalidPlanTaskError


@contextmanager
def _stale() -> Iterator[None]:
    """A plan that cannot be made again is told like any other that is of another time: its snapshot or columns are gone."""
    try:
        yield
    except (
        planning.UnknownSnapshotError,
        planning.UnknownColumnError,
        planning.InvalidFilterError,
        planning.InvalidRequestError,
    ) as error:
        raise planning.StalePlanTaskError from error


def token_print(token: str) -> str:
    """Stands for a plan's token in the audit, which so holds none that could be used."""
    return hashlib.sha256(token.encode()).hexdigest()[:32]


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
