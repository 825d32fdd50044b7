"""Whatever is asked of another system, changes of everybody else go on meanwhile."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from headgate.catalogs.openings import Openings
from headgate.catalogs.outside.line import MOST_WAITING
from headgate.catalogs.rest_client import RestClient
from headgate.model.errors import ConnectionFailed
from headgate.model.objects import ObjectType
from tests.catalogs.any_rest import AnyRest, any_rest
from tests.conftest import Api
from tests.doors.iceberg.test_federated_tables_keep_their_place import FED, declare
from tests.doors.lake import LAKE
from tests.openings import opened

SCHEMA = f"{LAKE}/catalogs/fed/schemas/r"


@pytest.fixture
def openings(tmp_path: Path) -> Openings:
    return opened(tmp_path, "s3://theirs")


@pytest.fixture
def remote(api: Api) -> Iterator[AnyRest]:
    with any_rest() as remote:
        declare(api, remote)
        yield remote


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PUT", SCHEMA, {"updates": [{"@type": "setProperty", "property": "team", "value": "x"}]}),
        ("DELETE", SCHEMA, None),
        ("DELETE", f"{SCHEMA}?cascade=true", None),
    ],
)
def test_changes_go_on_while_another_system_takes_its_time(
    api: Api, remote: AnyRest, monkeypatch: pytest.MonkeyPatch, method: str, path: str, body: Any
) -> None:
    assert api("admin", "GET", FED).status_code == 200
    honest, asked, go_on = remote.answer, threading.Event(), threading.Event()

    def slow(method: str, path: str, body: Any) -> tuple[int, Any]:
        match method, path.strip("/").split("/")[1:]:
            case "GET", ["namespaces", "r"]:
                return 200, {"namespace": ["r"], "properties": {}}
            case ("POST", ["namespaces", "r", "properties"]) | ("DELETE", ["namespaces", "r"]):
                asked.set()
                go_on.wait(20)
                return 200, {"updated": [], "removed": []}
        return honest(method, path, body)

    monkeypatch.setattr(remote, "answer", slow)
    answers: list[Any] = []
    waiting = threading.Thread(target=lambda: answers.append(api("admin", method, path, body)))
    waiting.start()
    try:
        assert asked.wait(10), "the other system is asked"
        other: list[Any] = []
        writer = threading.Thread(
            target=lambda: other.append(api("admin", "POST", f"{LAKE}/tags", {"name": "x"}))
        )
        writer.start()
        writer.join(5)
        assert other, "a change of somebody else waits for another system"
        assert other[0].status_code == 200
    finally:
        go_on.set()
        waiting.join(20)
        writer.join(20)
    assert answers[0].status_code == 200, answers[0].text


def test_what_only_the_other_system_knew_is_judged_before_it_drops_it(
    api: Api, remote: AnyRest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A table that has no row here yet may be under a policy that shows its dropper only a part."""
    from tests.doors.governed import applied

    assert api("admin", "GET", FED).status_code == 200
    applied(api, "policy: few\non: lake\nto: [user:admin]\nhide: [a]\n")
    remote.put("new", "s3://theirs/new")
    deleted: list[str] = []
    honest = remote.answer

    def watched(method: str, path: str, body: Any) -> tuple[int, Any]:
        if method == "DELETE":
            deleted.append(path)
        return honest(method, path, body)

    monkeypatch.setattr(remote, "answer", watched)
    refused = api("admin", "DELETE", f"{SCHEMA}?cascade=true")
    assert refused.status_code == 403, refused.text
    assert not deleted


@pytest.mark.parametrize("known", [True, False])
def test_a_server_that_hangs_keeps_few_requests_waiting(
    remote: AnyRest, monkeypatch: pytest.MonkeyPatch, known: bool
) -> None:
    """Also before it has said where requests go."""
    monkeypatch.setattr("headgate.catalogs.outside.line._PATIENCE", 0.5)
    client = RestClient({"uri": remote.url}, opened(Path("/nowhere")))
    if known:
        client.check()
    honest, go_on, lock = remote.answer, threading.Event(), threading.Lock()
    asked, answers = [0], []

    def hangs(method: str, path: str, body: Any) -> tuple[int, Any]:
        with lock:
            asked[0] += 1
        go_on.wait(30)
        return honest(method, path, body)

    def ask() -> None:
        try:
            client.ask("GET", "/namespaces", ObjectType.SCHEMA)
            answers.append("there")
        except ConnectionFailed as failed:
            answers.append(failed.hint or "")

    monkeypatch.setattr(remote, "answer", hangs)
    waiting = [threading.Thread(target=ask) for _ in range(60)]
    for thread in waiting:
        thread.start()
    try:
        ends = time.monotonic() + 10
        while len(answers) < 60 - MOST_WAITING and time.monotonic() < ends:
            time.sleep(0.05)
        assert len(answers) == 60 - MOST_WAITING, "the others do not wait for it"
        assert all("too many requests" in answer or "a moment ago" in answer for answer in answers)
        assert 0 < asked[0] <= MOST_WAITING
    finally:
        go_on.set()
        for thread in waiting:
            thread.join(30)
        client.close()
    assert answers.count("there") == MOST_WAITING


def test_a_server_that_is_gone_is_not_waited_for_again_at_once_and_found_when_it_is_back(
    remote: AnyRest, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = RestClient({"uri": remote.url}, opened(Path("/nowhere")))
    client.check()
    honest = client._read
    asked = []

    def gone(*_: Any, **__: Any) -> Any:
        asked.append(1)
        raise httpx.ReadTimeout("hangs")

    monkeypatch.setattr(client, "_read", gone)
    for _ in range(5):
        with pytest.raises(ConnectionFailed, match="does not answer"):
            client.ask("GET", "/namespaces", ObjectType.SCHEMA)
    assert len(asked) == 1
    monkeypatch.setattr(client, "_read", honest)
    time.sleep(1.1)
    assert client.ask("GET", "/namespaces", ObjectType.SCHEMA) == {"namespaces": [["r"]]}
    client.close()
