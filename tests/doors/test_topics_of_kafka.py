"""Topics of a real Kafka cluster at Gravitino's door: governed, changed there, and asked of open hosts only."""

import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from headgate.catalogs.openings import Openings
from tests.conftest import Api
from tests.doors.lake import LAKE
from tests.kafka.server import PASSWORD, USER, Broker
from tests.openings import opened
from tests.people import People
from tests.postgres import free_port

pytestmark = pytest.mark.real

CATALOG = f"{LAKE}/catalogs/q"
TOPICS = f"{CATALOG}/schemas/default/topics"
SASL = {
    "gravitino.bypass.security.protocol": "SASL_PLAINTEXT",
    "gravitino.bypass.sasl.mechanism": "PLAIN",
    "gravitino.bypass.sasl.username": USER,
    "gravitino.bypass.sasl.password": PASSWORD,
}
JAAS = "org.apache.kafka.common.security.plain.PlainLoginModule required"


@pytest.fixture
def openings(tmp_path: Path) -> Openings:
    return opened(tmp_path)


def declare(api: Api, brokers: str, name: str = "q", **more: str) -> Any:
    api("admin", "POST", "/api/metalakes", {"name": "lake"})
    properties = {"bootstrap.servers": brokers, **more}
    body = {"name": name, "type": "messaging", "provider": "kafka", "properties": properties}
    return api("admin", "POST", f"{LAKE}/catalogs", body)


@pytest.fixture
def past(kafka: Broker) -> AdminClient:
    """The cluster past Headgate, without the topics of other tests."""
    client = AdminClient({"bootstrap.servers": kafka.brokers, "log_level": 0})
    left = [name for name in client.list_topics(timeout=10).topics if not name.startswith("__")]
    if left:
        for future in client.delete_topics(left).values():
            future.result()
        settled(lambda: not set(left) & set(client.list_topics(timeout=10).topics))
    return client


def settled(there: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not there():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def names(api: Api, who: str = "admin") -> list[str]:
    answer = api(who, "GET", TOPICS)
    assert answer.status_code == 200, answer.text
    return [each["name"] for each in answer.json()["identifiers"]]


def test_topics_are_created_listed_altered_and_dropped(api: Api, kafka: Broker, past: AdminClient) -> None:
    assert declare(api, kafka.brokers).status_code == 200
    assert api("admin", "POST", f"{CATALOG}/testConnection", {}).json()["code"] == 0
    schemas = api("admin", "GET", f"{CATALOG}/schemas").json()["identifiers"]
    assert [schema["name"] for schema in schemas] == ["default"]
    given = {"partition-count": "3", "replication-factor": "1", "retention.ms": "60000"}
    made = api("admin", "POST", TOPICS, {"name": "t", "comment": "c", "properties": given})
    assert made.status_code == 200, made.text
    topic = made.json()["topic"]
    assert topic["comment"] == "c"
    assert given.items() <= topic["properties"].items()
    assert len(past.list_topics(timeout=10).topics["t"].partitions) == 3
    again = api("admin", "POST", TOPICS, {"name": "t"})
    assert (again.status_code, again.json()["type"]) == (409, "TopicAlreadyExistsException")

    def alter(*updates: dict[str, str]) -> Any:
        return api("admin", "PUT", f"{TOPICS}/t", {"updates": list(updates)})

    put = {"@type": "setProperty", "property": "partition-count", "value": "5"}
    altered = alter(
        put,
        {"@type": "removeProperty", "property": "retention.ms"},
        {"@type": "setProperty", "property": "cleanup.policy", "value": "compact"},
        {"@type": "updateComment", "newComment": "d"},
    )
    assert altered.status_code == 200, altered.text
    settled(
        lambda: api("admin", "GET", f"{TOPICS}/t").json()["topic"]["properties"]["partition-count"] == "5"
    )
    shown = api("admin", "GET", f"{TOPICS}/t").json()["topic"]
    assert (shown["comment"], shown["properties"]["cleanup.policy"]) == ("d", "compact")
    assert shown["properties"]["retention.ms"] != "60000"
    for refused in (
        {**put, "value": "2"},
        {**put, "value": "many"},
        {"@type": "removeProperty", "property": "partition-count"},
        {**put, "property": "replication-factor", "value": "2"},
        {**put, "property": "no.such.setting", "value": "x"},
        {**put, "property": "cleanup.policy", "value": "nonsense"},
    ):
        answer = alter(refused)
        assert answer.status_code == 400, (refused, answer.text)
    assert api("admin", "DELETE", f"{TOPICS}/t").json()["dropped"] is True
    settled(lambda: "t" not in past.list_topics(timeout=10).topics)
    assert api("admin", "DELETE", f"{TOPICS}/t").json()["dropped"] is False
    assert api("admin", "GET", f"{TOPICS}/t").json()["type"] == "NoSuchTopicException"
    for body in ({"name": "x", "properties": {"partition-count": "0"}}, {"name": "__own"}, {"name": "a b"}):
        assert api("admin", "POST", TOPICS, body).status_code == 400, body
    for method, path, body in (
        ("POST", f"{CATALOG}/schemas", {"name": "other"}),
        ("DELETE", f"{CATALOG}/schemas/default?cascade=true", None),
    ):
        assert api("admin", method, path, body).status_code == 405, path


def test_topics_of_others_are_shown_and_governed(
    api: Api, kafka: Broker, past: AdminClient, people: People
) -> None:
    assert declare(api, kafka.brokers).status_code == 200
    for future in past.create_topics([NewTopic("there", 1, 1)]).values():
        future.result()
    settled(lambda: "there" in past.list_topics(timeout=10).topics)
    assert names(api) == ["there"]
    people.may("ann", "USE_CATALOG USE_SCHEMA", "metalake", "lake")
    assert names(api, "ann") == []
    for method, body in (("GET", None), ("PUT", {"updates": []}), ("DELETE", None)):
        assert api("ann", method, f"{TOPICS}/there", body).status_code == 403, method
    assert api("ann", "POST", TOPICS, {"name": "mine"}).status_code == 403
    people.may("ann", "CONSUME_TOPIC", "topic", "q.default.there")
    assert names(api, "ann") == ["there"]
    assert api("ann", "GET", f"{TOPICS}/there").json()["topic"]["properties"]["partition-count"] == "1"
    assert api("ann", "DELETE", f"{TOPICS}/there").status_code == 403
    assert "there" in past.list_topics(timeout=10).topics
    assert api("admin", "POST", f"{LAKE}/tags", {"name": "pii"}).status_code == 200
    tagging = f"{LAKE}/objects/topic/q.default.there/tags"
    assert api("admin", "POST", tagging, {"tagsToAdd": ["pii"]}).status_code == 200


def test_a_broker_leads_nobody_to_a_host_that_is_not_open(api: Api, kafka: Broker, past: AdminClient) -> None:
    met: list[object] = []
    with socket.create_server(("127.0.0.2", kafka.closed)) as elsewhere:

        def wait() -> None:
            with suppress(OSError):
                while True:
                    wire, peer = elsewhere.accept()
                    met.append(peer)
                    wire.close()

        threading.Thread(target=wait, daemon=True).start()
        assert declare(api, f"127.0.0.1:{kafka.elsewhere}").status_code == 200
        for method, path, body in (
            ("GET", f"{CATALOG}/schemas", None),
            ("GET", TOPICS, None),
            ("POST", TOPICS, {"name": "t"}),
        ):
            answer = api("admin", method, path, body)
            if path == TOPICS:
                assert answer.status_code == 403, answer.text
                assert "not opened" in answer.text
                assert "127.0.0.2" not in answer.text
    assert met == []
    assert "t" not in past.list_topics(timeout=10).topics


@pytest.mark.parametrize(
    ("mechanism", "jaas"),
    [("PLAIN", False), ("PLAIN", True), ("SCRAM-SHA-256", False), ("SCRAM-SHA-512", False)],
)
def test_a_password_gets_in_and_is_shown_to_nobody(
    api: Api, kafka: Broker, past: AdminClient, mechanism: str, jaas: bool
) -> None:
    given = {**SASL, "gravitino.bypass.sasl.mechanism": mechanism}
    if jaas:
        del given["gravitino.bypass.sasl.username"], given["gravitino.bypass.sasl.password"]
        given["gravitino.bypass.sasl.jaas.config"] = f'{JAAS} username="{USER}" password="{PASSWORD}";'
    assert declare(api, f"127.0.0.1:{kafka.sasl}", **given).status_code == 200
    assert names(api) == []
    assert api("admin", "POST", TOPICS, {"name": "t"}).status_code == 200
    shown = api("admin", "GET", CATALOG)
    assert PASSWORD not in shown.text
    assert shown.json()["catalog"]["properties"]["gravitino.bypass.sasl.mechanism"] == mechanism
    assert api("admin", "DELETE", f"{CATALOG}?force=true").status_code == 200
    given.pop("gravitino.bypass.sasl.jaas.config", None)
    wrong = {**SASL, **given, "gravitino.bypass.sasl.password": "wrong"}
    assert declare(api, f"127.0.0.1:{kafka.sasl}", **wrong).status_code == 200
    assert api("admin", "GET", f"{CATALOG}/schemas").status_code == 200
    refused = api("admin", "GET", TOPICS)
    assert refused.status_code == 502, refused.text
    assert "does not let the catalog in" in refused.text


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        b"\x7f\xff\xff\xff" + bytes(100),
        b"\x00\x00\x00\x04" + bytes(4),
        # The right number, no brokers, and more topics than there are bytes.
        b"\x00\x00\x00\x16\x00\x00\x00\x01" + bytes(8) + b"\xff\xff" + bytes(4) + b"\x7f\xff\xff\xff",
    ],
)
def test_what_says_it_is_kafka_takes_neither_time_nor_memory(api: Api, answer: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def talk() -> None:
            with suppress(OSError):
                while True:
                    wire, _ = listening.accept()
                    with wire, suppress(OSError):
                        wire.recv(1_000)
                        wire.sendall(answer)

        threading.Thread(target=talk, daemon=True).start()
        assert declare(api, f"127.0.0.1:{listening.getsockname()[1]}").status_code == 200
        assert api("admin", "GET", f"{CATALOG}/schemas").status_code == 200
        started = time.monotonic()
        asked = api("admin", "GET", TOPICS)
        assert (asked.status_code, asked.json()["type"]) == (502, "ConnectionFailedException"), asked.text
        assert "catalog 'q'" in asked.text
        assert time.monotonic() - started < 10


@pytest.mark.parametrize(
    ("properties", "named"),
    [
        ({"bootstrap.servers": ""}, "bootstrap.servers"),
        ({"bootstrap.servers": "127.0.0.1"}, "bootstrap.servers"),
        ({"bootstrap.servers": "127.0.0.1:9092,closed.example:9092"}, "bootstrap.servers"),
        ({"gravitino.bypass.security.protocol": "TELNET"}, "gravitino.bypass.security.protocol"),
        ({"gravitino.bypass.security.protocol": "SASL_SSL"}, "gravitino.bypass.security.protocol"),
        ({**SASL, "gravitino.bypass.sasl.mechanism": "OAUTHBEARER"}, "gravitino.bypass.sasl.mechanism"),
        ({**SASL, "gravitino.bypass.security.protocol": "SSL"}, "gravitino.bypass.security.protocol"),
        ({**SASL, "gravitino.bypass.sasl.jaas.config": JAAS}, "gravitino.bypass.sasl.jaas.config"),
        ({"gravitino.bypass.sasl.oauthbearer.token.endpoint.url": "http://x"}, "sasl.oauthbearer"),
        ({"gravitino.bypass.plugin.library.paths": "/tmp/x.so"}, "plugin.library.paths"),
        ({"gravitino.bypass.ssl.ca.location": "/etc/passwd"}, "ssl.ca.location"),
        ({"kafka.version": "4"}, "kafka.version"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(api: Api, properties: dict[str, str], named: str) -> None:
    refused = declare(api, **{"brokers": "127.0.0.1:9092", **properties})  # type: ignore[arg-type]
    assert refused.status_code == 400, refused.text
    assert named in refused.text
    assert PASSWORD not in refused.text


def test_a_cluster_that_does_not_answer_is_told_by_name(api: Api) -> None:
    assert declare(api, f"127.0.0.1:{free_port()}").status_code == 200
    started = time.monotonic()
    assert api("admin", "GET", f"{CATALOG}/schemas").status_code == 200
    answer = api("admin", "GET", TOPICS)
    assert (answer.status_code, answer.json()["type"]) == (502, "ConnectionFailedException"), answer.text
    assert "catalog 'q'" in answer.text
    assert api("admin", "POST", TOPICS, {"name": "t"}).status_code == 502
    assert time.monotonic() - started < 25
