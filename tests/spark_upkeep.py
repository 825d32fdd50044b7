"""The one Spark of a test process, kept fit for the next test.

A test that fails while it waits for Spark leaves the answer in py4j's socket, and the next question would be answered
with it. So after every failure the connection is dropped, what still runs is cancelled, and Spark must answer a question;
one that does not is ended, and the next test that asks for Spark starts another.

INVARIANT: nothing here raises, and nothing here waits without end.
"""

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import pytest

FIXTURE: Final = "shared_spark"
PATIENCE: Final = 60.0
"""Seconds in which a Spark that is well tells its threads, or has cancelled its jobs and answered."""
_TIMED_OUT: Final = "from pytest-timeout"


def after(item: pytest.Item, report: pytest.TestReport) -> None:
    """What follows a phase of a test: nothing unless it failed in a process that has a Spark."""
    try:
        if report.failed and (gateway := _gateway()) is not None:
            if _TIMED_OUT in report.longreprtext:
                report.sections.append(("Threads of Spark's JVM", stacks(gateway)))
            drop_connection(gateway)
            if not _within(PATIENCE, _answers):
                report.sections.append(("Spark", "does not answer and is ended"))
                end()
        if report.when == "teardown" and _gateway() is None:
            _forget(item)
    except Exception as error:
        # A report that says "passed" shows nothing; standard error reaches the log from every process.
        print(f"Spark could not be put in order: {error!r}", file=sys.__stderr__, flush=True)


def _gateway() -> Any:
    """py4j's gateway to the JVM of this process, if there is one."""
    pyspark = sys.modules.get("pyspark")
    return None if pyspark is None else pyspark.SparkContext._gateway


def stacks(gateway: Any) -> str:
    """What the threads of the JVM are doing."""
    home = os.environ.get("JAVA_HOME")
    jcmd = shutil.which("jcmd", path=f"{Path(home) / 'bin'}" if home else None) or shutil.which("jcmd")
    if jcmd is None:
        return "unknown: there is no jcmd here"
    try:
        asked = subprocess.run(
            [jcmd, str(gateway.proc.pid), "Thread.print"], capture_output=True, text=True, timeout=PATIENCE
        )
    except (OSError, subprocess.SubprocessError) as error:
        return f"unknown: {error}"
    finally:
        # A JVM that stands still does not clear away how it was asked.
        Path(f".attach_pid{gateway.proc.pid}").unlink(missing_ok=True)
    return asked.stdout + asked.stderr


def drop_connection(gateway: Any) -> None:
    """Close this thread's connection: the next command opens another, with no old answer in it."""
    client = gateway._gateway_client
    with suppress(Exception):
        connection = client.get_thread_connection()
        if connection is not None:
            connection.close()
    with suppress(Exception):
        client.thread_connection.connection = None


def _answers() -> bool:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    context, session = SparkContext._active_spark_context, SparkSession._instantiatedSession
    if context is None or session is None:
        return False
    context.cancelAllJobs()
    return session.range(1).count() == 1


def _within(seconds: float, question: Callable[[], bool]) -> bool:
    """Whether the answer is yes and comes in time. The thread that asks has a connection of its own."""
    answer: list[bool] = []

    def ask() -> None:
        with suppress(Exception):
            answer.append(question())

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(seconds)
    return answer == [True]


def end() -> None:
    """End the JVM, whether it answers or not."""
    from pyspark.sql import SparkSession

    from headgate.pipelines.session import close_session

    if (gateway := _gateway()) is not None:
        with suppress(Exception):
            gateway.proc.kill()
        session: Any = SparkSession._instantiatedSession
        close_session(session)


def _forget(item: pytest.Item) -> None:
    """Have the fixture, and whatever was made with it, made again for the next test that asks for it."""
    for fixture in item.session._fixturemanager.getfixturedefs(FIXTURE, item) or ():
        fixture.finish(item._request)  # type: ignore[attr-defined]
