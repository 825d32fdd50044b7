"""Whatever is asked of another system, changes of everybody else go on meanwhile."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headgate.catalogs.openings import Openings
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
