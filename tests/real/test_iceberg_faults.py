"""Many clients at once and clients that go away: the server answers everyone else, and nothing is half-written."""

import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from tests.real.iceberg_lake import IcebergLake, iceberg_lake

pytestmark = pytest.mark.real

SCHEMA = {"type": "struct", "fields": [{"id": 1, "name": "id", "type": "long", "required": False}]}
TABLE = "/namespaces/s/tables/t"


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[IcebergLake]:
    with iceberg_lake(tmp_path_factory.mktemp("lake")) as lake:
        made = lake.ask("POST", "/namespaces/s/tables", {"name": "t", "schema": SCHEMA})
        assert made.status_code == 200, made.text
        yield lake


def test_two_thousand_loads_at_once_are_all_answered_and_audited(lake: IcebergLake) -> None:
    headers = {"Authorization": f"Bearer {lake.token}"}
    limits = httpx.Limits(max_connections=200)
    with httpx.Client(headers=headers, limits=limits, timeout=120) as client:

        def load(_: int) -> int:
            return client.get(f"{lake.uri}/v1/lake.cat{TABLE}").status_code

        with ThreadPoolExecutor(200) as pool:
            assert set(pool.map(load, range(2000))) == {200}
    query = "/api/headgate/audit?metalake=lake&action=load_table&object=cat.s.t&limit=1000"
    events = lake.server.must(lake.token, "GET", query)["events"]
    assert len(events) == 1000, "the latest thousand of them"


def test_a_client_that_goes_away_leaves_nothing_half_written(lake: IcebergLake) -> None:
    before = lake.ask("GET", TABLE).json()
    parts = httpx.URL(lake.uri)
    body = b'{"requirements": [], "updates": [{"action": "set-properties", "updates": {"half": "yes"}}]}'
    head = (
        f"POST /iceberg/v1/lake.cat{TABLE} HTTP/1.1\r\nHost: {parts.host}\r\n"
        f"Authorization: Bearer {lake.token}\r\nContent-Length: {len(body)}\r\n\r\n"
    ).encode()
    for sent in (b"", b"POST ", head[:40], head, head + body[:20]):
        with socket.create_connection((parts.host, parts.port or 80), timeout=10) as client:
            client.sendall(sent)
    after = lake.ask("GET", TABLE)
    assert after.json() == before
    # Who goes away only after everything was sent has asked for it.
    with socket.create_connection((parts.host, parts.port or 80), timeout=10) as client:
        client.sendall(head + body)
    for _ in range(100):
        if "half" in lake.ask("GET", TABLE).json()["metadata"]["properties"]:
            break
    assert lake.ask("GET", TABLE).status_code == 200


def test_clients_that_go_away_while_they_are_answered_do_not_keep_others_waiting(lake: IcebergLake) -> None:
    parts = httpx.URL(lake.uri)
    for method, path, body in (("GET", TABLE, b""), ("POST", f"{TABLE}/plan", b"{}")):
        head = (
            f"{method} /iceberg/v1/lake.cat{path} HTTP/1.1\r\nHost: {parts.host}\r\n"
            f"Authorization: Bearer {lake.token}\r\nContent-Length: {len(body)}\r\n\r\n"
        ).encode()
        for wait in [True, False] * 10:
            with socket.create_connection((parts.host, parts.port or 80), timeout=30) as client:
                client.sendall(head + body)
                if wait:
                    assert client.recv(1) == b"H", "the answer has begun"
    assert lake.ask("GET", TABLE).status_code == 200
    assert lake.ask("POST", f"{TABLE}/plan", {}).status_code == 200


def test_writers_from_many_connections_lose_no_change(lake: IcebergLake, tmp_path: Path) -> None:
    headers = {"Authorization": f"Bearer {lake.token}"}
    with httpx.Client(headers=headers, timeout=120) as client:

        def write(number: int) -> int:
            update = {"action": "set-properties", "updates": {f"w{number}": "x"}}
            body = {"requirements": [], "updates": [update]}
            return client.post(f"{lake.uri}/v1/lake.cat{TABLE}", json=body).status_code

        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(write, range(40)))
    assert set(answers) <= {200, 409}
    written = {n for n in range(40) if answers[n] == 200}
    kept = lake.ask("GET", TABLE).json()["metadata"]["properties"]
    assert {n for n in range(40) if f"w{n}" in kept} == written
    assert written
