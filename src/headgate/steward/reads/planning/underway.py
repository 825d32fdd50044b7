"""Plans that go on after their client was told to come back: kept in the store, each worked at by one process at a time."""

import secrets
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Final

import msgspec
import structlog

from headgate.model import errors as e
from headgate.steward.reads.copies.governed import NotReady
from headgate.store import Store, plans

log = structlog.get_logger("headgate.plans")


_BREAK: Final = b"\n"


class Made(msgspec.Struct, frozen=True):
    """The members of a plan's answer, what stands for the view that they were made under, and for the plan itself where
    its files are signed for."""

    members: bytes
    view: bytes
    signer: str | None = None

    def kept(self) -> bytes:
        """As it is kept for whoever comes for it. JSON without spaces between has no line break."""
        return self.members if self.signer is None else self.members + _BREAK + self.signer.encode()

    @staticmethod
    def of(kept: bytes, view: bytes) -> "Made":
        members, _, signer = kept.partition(_BREAK)
        return Made(members, view, signer.decode() or None)


class Underway:
    """The plans that this process works at. What it does not finish, because it stops or dies, is left to whichever process
    is asked for it next."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.runner = secrets.token_hex(16)
        self.closed = threading.Event()
        self._ids: set[str] = set()
        self._beating: threading.Thread | None = None
        self._lock = threading.Lock()

    def begin(self, record: plans.PlanRecord, work: "Future[Made]") -> None:
        """Keep a plan whose outcome is still to come."""
        plans.begin(self.store, record)
        self._follow(record.id, work)

    def resume(self, record: plans.PlanRecord, start: Callable[[], "Future[Made]"]) -> None:
        """Go on with a plan that no process works at any more."""
        with self._lock:
            mine = record.id in self._ids
        if not mine and plans.take_over(self.store, record.id, self.runner):
            log.info("plan taken over", object=record.object)
            self._follow(record.id, start())

    def close(self) -> None:
        self.closed.set()
        with self._lock:
            ids, self._ids = self._ids, set()
        if ids:
            try:
                plans.let_go(self.store, self.runner, ids)
            except e.HeadgateError as lost:
                log.warning("plans are left until their lease ends", reason=str(lost)[:500])

    # -- inside -------------------------------------------------------------------------------------------------

    def _follow(self, id: str, work: "Future[Made]") -> None:
        with self._lock:
            self._ids.add(id)
            if self._beating is None:
                self._beating = threading.Thread(target=self._beat, name="plans-underway", daemon=True)
                self._beating.start()
        work.add_done_callback(lambda done: self._ended(id, done))

    def _beat(self) -> None:
        while not self.closed.wait(plans.LEASE.total_seconds() / 3):
            with self._lock:
                ids = set(self._ids)
            try:
                if ids:
                    plans.keep(self.store, self.runner, ids)
            except e.HeadgateError as error:
                log.warning("plans cannot be kept", reason=str(error)[:500])

    def _ended(self, id: str, work: "Future[Made]") -> None:
        with self._lock:
            self._ids.discard(id)
        if self.closed.is_set():
            return
        try:
            error = e.Unavailable("the plan was not begun") if work.cancelled() else work.exception()
            if error is None:
                # INVARIANT: an answer is kept under the view that it was made under, which need not be that of whoever
                # asked: policies may have changed in between, and may change back.
                made = work.result()
                plans.end(self.store, id, "completed", made.kept(), made.view)
            elif isinstance(error, e.Unavailable) and not isinstance(error, NotReady):
                # What was wrong is not the plan's fault: whoever asks for it next begins it again.
                plans.let_go(self.store, self.runner, [id])
            elif isinstance(error, e.HeadgateError):
                plans.end(self.store, id, "failed", failure(str(error), _code(error)))
            else:
                log.error("plan failed", reason=repr(error)[:500])
                plans.end(self.store, id, "failed", failure("the server's log says why it failed", 500))
        except e.HeadgateError as lost:
            # The store is gone: whoever asks for the plan next begins it again.
            log.error("plan lost", reason=str(lost)[:500])


def failure(message: str, code: int) -> bytes:
    error: dict[str, Any] = {"message": message, "type": "PlanningFailed", "code": code}
    return msgspec.json.encode(error)


def _code(error: e.HeadgateError) -> int:
    kinds: tuple[tuple[type[e.HeadgateError], int], ...] = (
        (e.IllegalArgument, 400),
        (e.Forbidden, 403),
        (e.NotFound, 404),
        (e.Damaged, 422),
    )
    return next((code for kind, code in kinds if isinstance(error, kind)), 503)
