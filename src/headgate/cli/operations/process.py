"""The process of `headgate serve`: prepares the store, opens the port, then runs one or more processes on it."""

import os
import shutil
import signal
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Final

import structlog
import uvicorn
from uvicorn.supervisors import Multiprocess

from headgate import logs
from headgate.cli.failure import Failure, Usage
from headgate.cli.operations import machine
from headgate.cli.output import console
from headgate.doors.authentication.simple import is_loopback
from headgate.doors.connections import IDLE, allow_many_files
from headgate.doors.protocol import HttpProtocol
from headgate.home import keep_private
from headgate.model.extras import Extra
from headgate.pipelines.session import is_installed, missing
from headgate.settings.server import HANDOVER, Settings
from headgate.steward import doctor
from headgate.store import Store
from headgate.worker import process as worker

log = structlog.get_logger("headgate.start")

PATIENCE: Final = 30
"""Seconds that requests under way may take to finish after the server was told to stop."""


def run(settings: Settings) -> None:
    """Serve until told to stop."""
    if settings.dev and not is_loopback(settings.host):
        raise Usage(
            f"--dev believes any user name, so it may not listen on {settings.host}",
            "leave --host out, or leave --dev out and use tokens",
        )
    logs.configure()
    allow_many_files()
    _prepare(settings)
    listening = _listen(settings)
    with _metrics_folder(settings):
        os.environ[HANDOVER] = settings.handed_over()
        _welcome(settings, listening.getsockname()[1])
        with worker.kept_running() if _has_worker(settings) else nullcontext():
            _serve(settings, listening)


def _has_worker(settings: Settings) -> bool:
    """Whether to run a worker beside the server: one that cannot work would only be started again and again."""
    if settings.worker and not is_installed():
        lacks = missing(remote=settings.spark_remote is not None)
        log.warning(
            "no worker runs: people who may see a part of a table wait for one elsewhere",
            problem=lacks.message,
            next=lacks.hint,
        )
        return False
    return settings.worker


def _prepare(settings: Settings) -> None:
    """Make the folder and bring the store to this version, before any process needs them."""
    keep_private(settings)
    store = Store(settings.store.hidden)
    store.prepare()
    for finding in (*machine.examine_quickly(settings), *doctor.examine(store)):
        log.warning("doctor", check=finding.check, problem=finding.problem, next=finding.next)
    store.close()
    if not Extra.FAST.installed:
        log.info(
            "tables of many thousand files are planned slowly",
            problem=f"{Extra.FAST.what} is not installed",
            next=Extra.FAST.command,
        )


def _listen(settings: Settings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        return socket.create_server((settings.host, settings.port), family=family, backlog=1024)
    except OSError as error:
        raise Failure(
            f"cannot listen on {settings.host}:{settings.port} ({error.strerror})",
            "another server may be there: choose another --port",
        ) from None


@contextmanager
def _metrics_folder(settings: Settings) -> Iterator[None]:
    """Several processes count into files of one folder, so that any of them can tell of all."""
    if settings.workers == 1:
        yield
        return
    folder = tempfile.mkdtemp(prefix="headgate-metrics-")
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder
    try:
        yield
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _serve(settings: Settings, listening: socket.socket) -> None:
    config = uvicorn.Config(
        "headgate.cli.operations.lean:application",
        factory=True,
        workers=settings.workers,
        http=HttpProtocol,
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        # An address is believed only as the socket tells it.
        proxy_headers=False,
        timeout_keep_alive=int(IDLE),
        timeout_graceful_shutdown=PATIENCE,
    )
    if settings.workers == 1:
        # The server stops in good order and then sends itself the signal again, which has nothing left to end.
        for stop in (signal.SIGTERM, signal.SIGINT):
            signal.signal(stop, lambda *_: None)
        server = uvicorn.Server(config)
        server.run(sockets=[listening])
        if not server.started:
            raise Failure("the server did not start", "its log says why")
    else:
        Multiprocess(config, sockets=[listening]).run()


def _welcome(settings: Settings, port: int) -> None:
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    url = f"http://{host}:{port}"
    say = console().print
    say(f"Headgate listens on {url} (folder {settings.home})")
    if settings.dev:
        say("Development: user names are believed from this machine; 'admin' is the service admin. Next:")
        say(f"  export HEADGATE_URL={url} HEADGATE_USER=admin HEADGATE_METALAKE=demo")
        say("  headgate metalake create --name demo")
    elif settings.service_admins:
        someone = sorted(settings.service_admins)[0]
        say("Next, on this machine:")
        say(f"  export HEADGATE_URL={url}")
        say(f"  export HEADGATE_TOKEN=$(headgate token create --home {settings.home} --user {someone})")
        say("  headgate metalake create --name NAME")
    else:
        say("There is no service admin, so nobody can make a metalake: start with --service-admins NAME.")
