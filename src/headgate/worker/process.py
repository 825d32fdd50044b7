"""A worker process, and the server's hold on the one that it starts."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import structlog

from headgate.home import keep_private
from headgate.pipelines.session import SparkSettings, is_installed, missing
from headgate.settings.server import Settings
from headgate.steward import Steward
from headgate.store import Store
from headgate.worker.loop import Worker

log = structlog.get_logger("headgate.worker")

_LONGEST: Final = 60.0
"""Seconds before a worker that keeps dying is started again."""
_SHORTEST: Final = 5.0
"""Seconds that a worker has to end in good order once its server is gone."""


def run(settings: Settings, stop: threading.Event) -> None:
    """Work until told to stop; without Spark there is nothing to begin."""
    if not is_installed():
        raise missing(remote=settings.spark_remote is not None)
    keep_private(settings, make=False)
    store = Store(settings.store.hidden)
    store.check()
    steward = Steward(
        store,
        service_admins=settings.service_admins,
        warehouse=settings.warehouse,
        openings=settings.openings,
    )
    try:
        Worker(steward.workshop, spark_settings(settings)).run(stop)
    finally:
        steward.close()
        store.close()


def spark_settings(settings: Settings) -> SparkSettings:
    return SparkSettings(
        master=settings.spark_master or "local[*]",
        remote=settings.spark_remote,
        driver_memory=settings.spark_memory,
        more=settings.spark_options,
    )


def stopping(*, with_parent: bool) -> threading.Event:
    """Set when the process is told to stop, or when the server that started it is gone."""
    stop = threading.Event()
    for asked in (signal.SIGTERM, signal.SIGINT):
        signal.signal(asked, lambda *_: stop.set())
    if with_parent:

        def watch() -> None:
            # The server holds the other end and writes nothing: this returns when it is gone, however it ended.
            os.read(sys.stdin.fileno(), 1)
            stop.set()
            # A job under way is not waited for: nobody would read what it makes sooner than another worker makes it.
            time.sleep(_SHORTEST)
            os._exit(1)

        threading.Thread(target=watch, daemon=True).start()
    return stop


@contextmanager
def kept_running() -> Iterator[None]:
    """Keep a worker running beside a server; it takes the settings that were handed over."""
    done = threading.Event()
    supervisor = threading.Thread(target=_supervise, args=(done,), daemon=True)
    supervisor.start()
    try:
        yield
    finally:
        done.set()
        supervisor.join()


def _supervise(done: threading.Event) -> None:
    pause = 1.0
    while not done.is_set():
        started = time.monotonic()
        child = subprocess.Popen(
            [sys.executable, "-m", "headgate.worker"], stdin=subprocess.PIPE, env=dict(os.environ)
        )
        while child.poll() is None and not done.wait(0.5):
            pass
        if done.is_set():
            _end(child)
            return
        pause = 1.0 if time.monotonic() - started > _LONGEST else min(pause * 2, _LONGEST)
        log.warning("the worker ended and is started again", code=child.returncode, seconds=pause)
        done.wait(pause)


def _end(child: "subprocess.Popen[bytes]") -> None:
    child.terminate()
    try:
        child.wait(15)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
