"""People whose tokens say their groups: an issuer in small, which says what a test has it say."""

import base64
from collections.abc import Iterator
from typing import Any

import anyio.from_thread
import httpx
import pytest

from headgate.doors.authentication import Authentication
from headgate.doors.authentication.schemes import Proven
from headgate.doors.gravitino import GravitinoDoor
from headgate.doors.headgate import HeadgateDoor
from headgate.doors.iceberg import IcebergDoor
from headgate.doors.openapi import with_document
from headgate.doors.server import Server
from headgate.steward import Steward
from tests.conftest import Api

NONE, UNKNOWN = "-", "?"


class Claims:
    """The password is what the token says: groups, that there are none, or nothing of groups."""

    def identify(self, scheme: str, credentials: str, address: str | None) -> Proven | None:
        user, _, groups = base64.b64decode(credentials).decode().partition(":")
        told = frozenset() if groups == NONE else frozenset(groups.split(","))
        return Proven(user, None if groups == UNKNOWN else told)


@pytest.fixture
def claimed(steward: Steward) -> Iterator[Api]:
    """`claimed("bob", …, groups="staff")`: the token says the groups."""
    doors = with_document([GravitinoDoor(), IcebergDoor(), HeadgateDoor()])
    server = Server(steward, Authentication([Claims()]), doors)
    transport = httpx.ASGITransport(app=server, client=("127.0.0.1", 1))
    with anyio.from_thread.start_blocking_portal() as portal:
        client = httpx.AsyncClient(transport=transport, base_url="http://headgate")

        def call(
            user: str, method: str, path: str, json: Any = None, *, groups: str = NONE, **more: Any
        ) -> Any:
            return portal.call(lambda: client.request(method, path, json=json, auth=(user, groups), **more))

        yield call
        portal.call(client.aclose)
