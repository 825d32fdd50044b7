"""A request that is sent to two servers with one idempotency key is done once, and both give the same answer."""

import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from tests.postgres import new_database
from tests.real.server import RunningServer, running

pytestmark = [pytest.mark.real, pytest.mark.slow]

ICE = "/iceberg/v1/lake.cat"
FIELDS = [{"id": 1, "name": "id", "type": "long", "required": False}]
SCHEMA = {"type": "struct", "fields": FIELDS}
Pair = tuple[RunningServer, RunningServer]


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """Two servers over one store and one warehouse, with the namespace `lake.cat.s`."""
    folder = tmp_path_factory.mktemp("pair")
    store = f"sqlite:///{folder}/store.db"
    if request.param == "postgresql":
        store = new_database(request.getfixturevalue("postgres_server"))
    flags = ("--dev", "--store", store, "--warehouse", str(folder / "warehouse"))
    with running(folder / "a", *flags) as a, running(folder / "b", *flags) as b:
        a.must("admin", "POST", "/api/metalakes", {"name": "lake"})
        catalog = {"name": "cat", "type": "relational", "provider": "lakehouse-iceberg"}
        a.must("admin", "POST", "/api/metalakes/lake/catalogs", catalog)
        a.must("admin", "POST", f"{ICE}/namespaces", {"namespace": ["s"]})
        yield a, b


def both(pair: Pair, method: str, path: str, body: Any = None) -> list[httpx.Response]:
    """The same request with one key to both servers at once, twice to each."""
    headers = {"Idempotency-Key": str(uuid.uuid4())}
    with ThreadPoolExecutor(4) as pool:
        asked = [
            pool.submit(server.ask, "admin", method, path, body, headers=headers) for server in (*pair, *pair)
        ]
        return [each.result() for each in asked]


def same(answers: list[httpx.Response]) -> httpx.Response:
    """The one answer that all of them are; only one of them was made by doing something."""
    assert len({(answer.status_code, answer.content) for answer in answers}) == 1, [a.text for a in answers]
    assert sum("idempotency-replayed" not in answer.headers for answer in answers) == 1
    return answers[0]


def test_one_server_does_it_and_the_other_answers_the_same(pair: Pair) -> None:
    for round in range(4):
        name = f"t{round}"
        table = f"{ICE}/namespaces/s/tables/{name}"
        made = same(both(pair, "POST", f"{ICE}/namespaces/s/tables", {"name": name, "schema": SCHEMA}))
        assert made.status_code == 200, made.text
        wider = {**SCHEMA, "fields": [*FIELDS, {"id": 2, "name": "v", "type": "int", "required": False}]}
        commit = {
            "requirements": [{"type": "assert-current-schema-id", "current-schema-id": 0}],
            "updates": [
                {"action": "add-schema", "schema": wider},
                {"action": "set-current-schema", "schema-id": -1},
            ],
        }
        assert same(both(pair, "POST", table, commit)).status_code == 200
        assert len(pair[0].must("admin", "GET", table)["metadata"]["metadata-log"]) == 1, "one commit"
        stale = same(both(pair, "POST", table, commit))
        assert stale.status_code == 409
        assert same(both(pair, "DELETE", table)).status_code == 204
    assert pair[1].must("admin", "GET", f"{ICE}/namespaces/s/tables")["identifiers"] == []


def test_without_a_key_both_would_do_it(pair: Pair) -> None:
    """What the test above would see if the servers did not know of each other."""
    body = {"name": "twice", "schema": SCHEMA}
    answers = [server.ask("admin", "POST", f"{ICE}/namespaces/s/tables", body) for server in pair]
    assert [answer.status_code for answer in answers] == [200, 409]
