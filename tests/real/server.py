"""A real server on a free port of this machine: ``python -m tests.real.server HOME``; prints its address."""

import socket
import sys
from pathlib import Path

import uvicorn

from headgate.doors.authentication import Authentication, SimpleScheme
from headgate.doors.gravitino import GravitinoDoor
from headgate.doors.headgate import HeadgateDoor
from headgate.doors.openapi import with_document
from headgate.doors.server import Server
from headgate.steward import Steward
from headgate.store import Store


def main(home: Path) -> None:
    store = Store(f"sqlite:///{home}/store.db")
    store.prepare()
    steward = Steward(store, service_admins=frozenset({"admin"}), warehouse=str(home / "warehouse"))
    app = Server(steward, Authentication([SimpleScheme()]), with_document([GravitinoDoor(), HeadgateDoor()]))
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        print(f"http://127.0.0.1:{listening.getsockname()[1]}", flush=True)
        uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listening])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
