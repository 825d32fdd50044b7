"""The topics of a Kafka cluster are the first catalog's that names it, whichever of its brokers another names.

Every broker that a cluster names must be open, or the cluster is not used at all: an operator cannot open it by one name only.
"""

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from headgate.catalogs.kafka import protocol as p
from headgate.catalogs.openings import Openings
from tests.conftest import Api
from tests.doors.lake import LAKE
from tests.openings import opened
from tests.people import People


@pytest.fixture
def openings(tmp_path: Path) -> Openings:
    return opened(tmp_path)


class TwoBrokers:
    """One cluster that listens at two ports, with the topic `payroll`."""

    def __init__(self) -> None:
        self.topics = ["payroll"]
        self.listening = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
        self.ports = [each.getsockname()[1] for each in self.listening]
        for each in self.listening:
            threading.Thread(target=self._serve, args=(each,), daemon=True).start()

    def _serve(self, listening: socket.socket) -> None:
        with suppress(OSError):
            while True:
                wire, _ = listening.accept()
                threading.Thread(target=self._talk, args=(wire,), daemon=True).start()

    def _talk(self, wire: socket.socket) -> None:
        with suppress(OSError, struct.error), wire, wire.makefile("rb") as read:
            while True:
                (length,) = struct.unpack("!i", read.read(4))
                asked = read.read(length)
                key, _, number = struct.unpack("!hhi", asked[:8])
                wire.sendall(p.blob(p.int32(number) + self._answer(key)))

    def _answer(self, key: int) -> bytes:
        if key == p.METADATA[0]:
            brokers = [
                p.int32(n) + p.string("127.0.0.1") + p.int32(port) + p.string(None)
                for n, port in enumerate(self.ports)
            ]
            part = p.int16(0) + p.int32(0) + p.int32(0) + p.array(p.int32(0)) + p.array(p.int32(0))
            topics = [p.int16(0) + p.string(name) + p.int8(0) + p.array(part) for name in self.topics]
            return p.int32(0) + p.array(*brokers) + p.string("id") + p.int32(0) + p.array(*topics)
        if key == p.DELETE_TOPICS[0]:
            self.topics.clear()
            return p.int32(0) + p.array(p.string("payroll") + p.int16(0))
        if key == p.DESCRIBE_CONFIGS[0]:
            named = p.int16(0) + p.string(None) + p.int8(2) + p.string("payroll")
            return p.int32(0) + p.array(named + p.array())
        raise OSError(key)


@pytest.fixture
def cluster() -> Iterator[TwoBrokers]:
    made = TwoBrokers()
    yield made
    for each in made.listening:
        each.close()


def test_another_broker_of_a_cluster_is_no_other_cluster(
    api: Api, people: People, cluster: TwoBrokers
) -> None:
    api("admin", "POST", "/api/metalakes", {"name": "lake"})

    def declare(who: str, name: str, port: int) -> int:
        properties = {"bootstrap.servers": f"127.0.0.1:{port}"}
        body = {"name": name, "type": "messaging", "provider": "kafka", "properties": properties}
        return int(api(who, "POST", f"{LAKE}/catalogs", body).status_code)

    first, second = cluster.ports
    assert declare("admin", "q", first) == 200
    topic = f"{LAKE}/catalogs/{{}}/schemas/default/topics/payroll"
    assert api("admin", "GET", topic.format("q")).status_code == 200
    people.may("bob", "CREATE_CATALOG", "metalake", "lake")
    people.may("bob", "USE_CATALOG USE_SCHEMA", "catalog", "q")
    assert declare("bob", "again", first) == 403
    assert api("bob", "GET", topic.format("q")).status_code == 403
    declared = declare("bob", "mine", second)
    api("bob", "GET", f"{LAKE}/catalogs/mine/schemas/default/topics")
    read = api("bob", "GET", topic.format("mine")).status_code
    api("bob", "DELETE", topic.format("mine"))
    assert cluster.topics == ["payroll"], (declared, read)
    assert read != 200
