"""The worker's loop: lease, make, record."""

import os
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import msgspec
import structlog

from headgate.lenses.copies import GovernedCopy
from headgate.model.errors import ConnectionFailed, HeadgateError, NotFound, Unavailable
from headgate.pipelines.errors import JobFailed
from headgate.pipelines.materialise import materialise
from headgate.pipelines.probe import probe
from headgate.pipelines.session import SparkSettings, close_session, is_alive, open_session, warm
from headgate.steward.reads.copies.workshop import Order, Workshop, redact
from headgate.store.reads.ledger import LEASE, Fault

if TYPE_CHECKING:
    from headgate.pipelines.session import SparkSession

log = structlog.get_logger("headgate.worker")

PAUSE: Final = 0.2
"""Seconds between two looks at an empty ledger."""
BEAT: Final = 5.0
"""Seconds between two signs of life; a lease outlives several."""
_FAULTS: Final = (
    (JobFailed, Fault.JOB),
    ((ConnectionFailed, NotFound, Unavailable), Fault.AROUND),
    (HeadgateError, Fault.INPUT),
)
"""What an error of a job tells about the next try; first match wins."""


class Worker:
    """One worker with one Spark session, which is opened for the first job and kept."""

    def __init__(self, workshop: Workshop, settings: SparkSettings) -> None:
        self.workshop = workshop
        # INVARIANT: what all orders may need, from the start. Spark cannot be given a jar later.
        self.settings = msgspec.structs.replace(settings, work=workshop.work)
        self.name = f"{socket.gethostname()[:24]}-{os.getpid()}-{secrets.token_hex(6)}"
        self._spark: SparkSession | None = None

    def run(self, stop: threading.Event) -> None:
        """Work until told to stop. A store that does not answer is asked again."""
        ready = False
        while not stop.is_set():
            try:
                if self.step():
                    continue
                if not ready:
                    # Readers who come back after a restart need not wait for Spark to start.
                    ready = True
                    if self.workshop.expects_work():
                        self._warm()
            except HeadgateError as error:
                log.warning("the store does not answer", reason=str(error))
                stop.wait(2)
            stop.wait(PAUSE)
        self.close()

    def step(self) -> bool:
        """Do what waits the longest; False if nothing does."""
        order = self.workshop.take(self.name)
        if order is None:
            return self._probe()
        started = time.monotonic()
        about = {"table": order.table, "view": order.batch.view[:12], "files": len(order.batch.wanted)}
        log.info("making copies", attempt=order.batch.attempts, **about)
        try:
            with self._alive(order):
                copies = materialise(self._opened(), order.job, order.storage)
        except HeadgateError as error:
            log.warning("copies failed", reason=str(error), **about)
            fault = next(fault for kind, fault in _FAULTS if isinstance(error, kind))
            self.workshop.failed(order, redact(error), fault)
            self._check_session()
            return True
        except Exception as error:
            # Of what nobody thought of only the kind is told: its text may hold values of the table.
            log.error("copies failed", reason=type(error).__name__, **about)
            self.workshop.failed(order, f"the worker failed ({type(error).__name__})", Fault.JOB)
            self._check_session()
            return True
        count = self._record(order, copies)
        log.info("copies made", recorded=count, seconds=round(time.monotonic() - started, 1), **about)
        return True

    def _probe(self) -> bool:
        """Try a storage that somebody waits to hear of; False if nobody does."""
        order = self.workshop.take_probe(self.name)
        if order is None:
            return False
        outcome = ""
        try:
            probe(self._opened(), order.storage, order.folder)
        except Exception as error:
            outcome = _named(error)
            self._check_session()
        log.info("storage tried", works=not outcome)
        self.workshop.probed(order, outcome)
        return True

    def close(self) -> None:
        if self._spark is not None:
            close_session(self._spark)
        self._spark = None

    def _record(self, order: Order, copies: Sequence[GovernedCopy]) -> int:
        """Record what was made. A store that is away for a moment does not cost the work."""
        ends = time.monotonic() + LEASE.total_seconds()
        while True:
            try:
                return self.workshop.made(order, copies)
            except Unavailable:
                if time.monotonic() > ends:
                    raise
                time.sleep(1)

    def _check_session(self) -> None:
        """Let go of a session whose JVM, cluster or server is gone; the next job opens another."""
        if self._spark is not None and not is_alive(self._spark):
            log.warning("Spark is gone and is opened again for the next job")
            self.close()

    def _warm(self) -> None:
        if self._spark is not None:
            return
        try:
            warm(self._opened())
        except Exception as error:
            # Nobody waits for it: the next job tries again, and tells who does.
            log.warning("Spark is not ready", reason=_named(error))
            self._check_session()

    def _opened(self) -> "SparkSession":
        if self._spark is None:
            log.info("opening Spark", master=self.settings.remote or self.settings.master)
            try:
                self._spark = open_session(self.settings)
            except HeadgateError:
                raise
            except Exception as error:
                # Spark has read nothing yet, so what it says of itself holds no value of a table.
                reason = str(error).strip().partition("\n")[0][:300]
                log.error("Spark does not start", error=type(error).__name__, reason=reason)
                raise Unavailable(
                    "Spark does not start", hint=f"{type(error).__name__}; the worker's log says more"
                ) from error
        return self._spark

    @contextmanager
    def _alive(self, order: Order) -> Iterator[None]:
        """Keep the lease while a job runs."""
        done = threading.Event()
        beating = threading.Thread(target=_beat, args=(lambda: self.workshop.beat(order), done), daemon=True)
        beating.start()
        try:
            yield
        finally:
            done.set()
            beating.join()


def _named(error: Exception) -> str:
    """An error as the log may have it: the words of Spark may hold values, ours do not."""
    return str(error) if isinstance(error, HeadgateError) else type(error).__name__


def _beat(beat: Callable[[], bool], done: threading.Event) -> None:
    while not done.wait(BEAT):
        try:
            if not beat():
                # Another worker has it. Ours goes on to its end, where the ledger takes nothing of it.
                return
        except HeadgateError:
            continue
