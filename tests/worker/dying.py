"""A real worker process that dies at a named point: `python -m tests.worker.dying POINT`.

The settings come from the environment, as for the worker that a server starts. `jvm` kills Spark's JVM instead, once,
and works on until nothing waits.
"""

import os
import signal
import sys
import threading
from typing import Any

from sqlalchemy import event

from headgate.pipelines import materialise
from headgate.settings.server import Settings
from headgate.steward.reads.copies.workshop import Workshop
from headgate.store import ledger
from headgate.worker import process
from headgate.worker.loop import Worker


def die(*_: Any, **__: Any) -> Any:
    os.kill(os.getpid(), signal.SIGKILL)
    threading.Event().wait()


def before_write() -> None:
    """The job's own tables are there, no copy is begun."""
    materialise.shown_rows = die


def after_write() -> None:
    """All copies are written, and Spark has not yet said so."""
    materialise._harvest = die


def before_commit() -> None:
    """The ledger was told, and the transaction is not committed."""
    made = ledger.made

    def dying(store: Any, *rest: Any) -> Any:
        event.listen(store.engine, "commit", die)
        return made(store, *rest)

    ledger.made = dying


def after_commit() -> None:
    """The ledger has it, and the worker does not know."""
    made = Workshop.made

    def dying(self: Workshop, *rest: Any) -> Any:
        ledger_made = ledger.made

        def committed(*more: Any) -> Any:
            ledger_made(*more)
            return die()

        ledger.made = committed
        return made(self, *rest)

    Workshop.made = dying  # type: ignore[method-assign]


def jvm(stop: threading.Event) -> None:
    """Spark's JVM is killed in the middle of its first job."""
    harvest, step = materialise._harvest, Worker.step

    def killing(spark: Any, *rest: Any) -> Any:
        materialise._harvest = harvest
        gateway = spark.sparkContext._gateway
        gateway.proc.kill()
        gateway.proc.wait()
        return harvest(spark, *rest)

    def last(self: Worker) -> bool:
        with self.workshop.kernel.store.read() as read:
            rows = read.execute(ledger.select(ledger._c.state)).scalars().all()
        if set(rows) == {ledger.MADE}:
            stop.set()
        return step(self)

    materialise._harvest = killing
    Worker.step = last  # type: ignore[method-assign]


POINTS = {f.__name__: f for f in (before_write, after_write, before_commit, after_commit)}

if __name__ == "__main__":
    stop = threading.Event()
    if sys.argv[1] == "jvm":
        jvm(stop)
    else:
        POINTS[sys.argv[1]]()
    process.run(Settings.taken_over(os.environ), stop)
