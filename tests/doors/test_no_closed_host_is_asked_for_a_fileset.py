"""No host is asked that the operator did not open, also for catalogs of filesets that were declared before or while it was."""

import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from headgate.catalogs.openings import Openings
from headgate.steward import Steward
from headgate.store import objects
from tests.conftest import Api
from tests.doors.lake import LAKE, id_of
from tests.openings import opened
from tests.people import People

_ANSWER = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


@pytest.fixture
def openings(tmp_path: Path) -> Openings:
    return opened(tmp_path, "s3://bucket")


class Internal:
    """A server on an address of this machine that the operator did not open; remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[bytes] = []
        self.listener = socket.create_server(("127.0.0.9", 0))
        self.url = f"http://127.0.0.9:{self.listener.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            with client:
                self.asked.append(client.recv(4000))
                client.sendall(_ANSWER)


@pytest.fixture
def internal() -> Iterator[Internal]:
    server = Internal()
    yield server
    server.listener.close()


def test_who_makes_a_fileset_sends_the_server_to_no_closed_host(
    api: Api, people: People, steward: Steward, internal: Internal
) -> None:
    """Catalogs of filesets took any address before they gave out credentials, and operators close hosts."""
    assert api("admin", "POST", "/api/metalakes", {"name": "lake"}).status_code == 200
    access = {
        "s3-endpoint": internal.url,
        "s3-region": "us-east-1",
        "s3-access-key-id": "id",
        "s3-secret-access-key": "key",
        "s3-role-arn": "arn:aws:iam::000000000000:role/any",
        "s3-path-style-access": "true",
    }
    catalog = {"name": "files", "type": "fileset", "properties": {"location": "s3://bucket/files"}}
    assert api("admin", "POST", f"{LAKE}/catalogs", catalog).status_code == 200
    refused = {**catalog, "name": "now", "properties": {"location": "s3://bucket/now", **access}}
    assert api("admin", "POST", f"{LAKE}/catalogs", refused).status_code == 400, "control"
    assert api("admin", "POST", f"{LAKE}/catalogs/files/schemas", {"name": "s"}).status_code == 200
    with steward.kernel.store.write("admin", "older") as tx:
        before = objects.present(tx, id_of(steward, "catalog", "files"))
        objects.alter(tx, before, properties={**before.properties, **access})
    people.may("bob", "USE_CATALOG USE_SCHEMA CREATE_FILESET", "metalake", "lake")
    api("bob", "POST", f"{LAKE}/catalogs/files/schemas/s/filesets", {"name": "f"})
    api("bob", "GET", f"{LAKE}/objects/fileset/files.s.f/credentials")
    assert internal.asked == []
