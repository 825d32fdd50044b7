"""Starts a Kafka broker, and gives it as the fixture `kafka`."""

import base64
import shutil
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec
import pytest

from tests.maven import jars, java
from tests.peers import Missing, lacking
from tests.postgres import free_port

POM: Final = Path(__file__).parent / "pom.xml"
USER: Final = "headgate"
PASSWORD: Final = "not-to-be-told"


class Broker(msgspec.Struct, frozen=True):
    """The ports of a broker on loopback."""

    port: int
    """Says of itself that it is where it is."""
    elsewhere: int
    """Says of itself that it is at `closed`."""
    closed: int
    """A port of 127.0.0.2 that is nobody's."""
    sasl: int
    """Asks for the user."""

    @property
    def brokers(self) -> str:
        return f"127.0.0.1:{self.port}"


class NoBroker(Exception):
    """The broker does not start."""


@contextmanager
def running() -> Iterator[Broker]:
    """A broker that is its own controller."""
    classpath = f"{jars(POM)}/*"
    folder = Path(tempfile.mkdtemp(prefix="headgate-kafka-"))
    broker = Broker(free_port(), free_port(), free_port(), free_port())
    controller = free_port()
    jaas = "org.apache.kafka.common.security.plain.PlainLoginModule required"
    scram = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
    users = [f"SCRAM-SHA-{size}=[name={USER},password={PASSWORD}]" for size in (256, 512)]
    settings = {
        "process.roles": "broker,controller",
        "node.id": 1,
        "controller.quorum.voters": f"1@127.0.0.1:{controller}",
        "listeners": f"OPEN://127.0.0.1:{broker.port},ELSEWHERE://127.0.0.1:{broker.elsewhere},"
        f"USERS://127.0.0.1:{broker.sasl},CONTROLLER://127.0.0.1:{controller}",
        "advertised.listeners": f"OPEN://127.0.0.1:{broker.port},ELSEWHERE://127.0.0.2:{broker.closed},"
        f"USERS://127.0.0.1:{broker.sasl}",
        "listener.security.protocol.map": "OPEN:PLAINTEXT,ELSEWHERE:PLAINTEXT,USERS:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
        "listener.name.users.plain.sasl.jaas.config": f'{jaas} user_{USER}="{PASSWORD}";',
        **{f"listener.name.users.scram-sha-{size}.sasl.jaas.config": scram for size in (256, 512)},
        "inter.broker.listener.name": "OPEN",
        "controller.listener.names": "CONTROLLER",
        "log.dirs": folder / "data",
        "offsets.topic.replication.factor": 1,
        "group.initial.rebalance.delay.ms": 0,
        "auto.create.topics.enable": "false",
        "num.partitions": 2,
    }
    file = folder / "server.properties"
    file.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
    command = [java(), "-Xmx384m", "-XX:TieredStopAtLevel=1", "-cp", classpath]
    id = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
    process: subprocess.Popen[bytes] | None = None
    try:
        with (folder / "log").open("wb") as log:
            made = subprocess.run(
                [
                    *command,
                    "kafka.tools.StorageTool",
                    "format",
                    f"--cluster-id={id}",
                    "-c",
                    str(file),
                    *(f"--add-scram={user}" for user in users),
                ],
                cwd=folder,
                stdout=log,
                stderr=subprocess.STDOUT,
                timeout=180,
            )
            if made.returncode:
                raise NoBroker((folder / "log").read_text()[-1000:])
            process = subprocess.Popen(
                [*command, "kafka.Kafka", str(file)], cwd=folder, stdout=log, stderr=subprocess.STDOUT
            )
            _wait(broker, process, folder / "log")
        yield broker
    finally:
        if process is not None:
            process.terminate()
            process.wait(60)
        shutil.rmtree(folder, ignore_errors=True)


def _wait(broker: Broker, process: "subprocess.Popen[bytes]", log: Path) -> None:
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import AdminClient

    deadline = time.monotonic() + 240
    while time.monotonic() < deadline and process.poll() is None:
        try:
            client = AdminClient({"bootstrap.servers": broker.brokers, "log_level": 0})
            if client.list_topics(timeout=5).brokers:
                return
        except KafkaException:
            time.sleep(0.2)
    raise NoBroker(log.read_text()[-2000:])


@pytest.fixture(scope="module")
def kafka() -> Iterator[Broker]:
    server = running()
    try:
        broker = server.__enter__()
    except (Missing, NoBroker) as reason:
        lacking("Kafka", reason)
        return
    yield broker
    server.__exit__(None, None, None)
