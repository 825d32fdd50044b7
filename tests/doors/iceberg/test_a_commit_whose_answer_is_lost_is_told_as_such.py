"""A commit that may have been made is never answered as one that was not: clients delete the files of such a commit."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.exc import OperationalError

from headgate.catalogs.openings import Openings
from headgate.steward import Steward
from headgate.store import Write, places
from tests.catalogs.any_rest import AnyRest, any_rest
from tests.conftest import Api
from tests.doors.iceberg.conftest import ICE, create
from tests.doors.iceberg.test_federated_tables_keep_their_place import FED, declare
from tests.openings import opened

NATIVE = f"{ICE}/namespaces/s/tables/t"
UPDATE: dict[str, Any] = {"action": "set-properties", "updates": {"k": "v"}}
COMMIT: dict[str, Any] = {"requirements": [], "updates": [UPDATE]}


@pytest.fixture
def openings(tmp_path: Path) -> Openings:
    return opened(tmp_path, "s3://theirs", "s3://others")


@pytest.fixture
def remote(api: Api) -> Iterator[AnyRest]:
    with any_rest() as remote:
        declare(api, remote)
        remote.put("t", "s3://theirs/t")
        assert api("admin", "GET", f"{FED}/t").status_code == 200
        yield remote


def unknown(answer: Any) -> bool:
    told = (answer.status_code, answer.json()["error"]["type"])
    assert told == (504, "CommitStateUnknownException"), answer.text
    return True


@pytest.mark.parametrize("status", [0, 500, 502, 504], ids=["closed", "500", "502", "504"])
def test_a_server_that_commits_and_then_fails_to_say_so(api: Api, remote: AnyRest, status: int) -> None:
    remote.answers_changes_with = status
    assert unknown(api("admin", "POST", f"{FED}/t", COMMIT))
    assert remote.tables["t"]["properties"] == {"k": "v"}


@pytest.mark.parametrize("status", [409, 503])
def test_a_server_that_says_that_it_did_not(api: Api, remote: AnyRest, status: int) -> None:
    remote.answers_changes_with = status
    assert api("admin", "POST", f"{FED}/t", COMMIT).status_code == status


def test_an_answer_that_cannot_be_used(api: Api, remote: AnyRest) -> None:
    remote.answers_changes_with = 200
    assert unknown(api("admin", "POST", f"{FED}/t", COMMIT))


def test_a_commit_that_is_refused_here_after_it_was_made_there(
    api: Api, remote: AnyRest, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(tx: Write, object: int, *more: Any, **named: Any) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr(places, "claim", refuse)
    answer = api("admin", "POST", f"{FED}/t", COMMIT)
    assert unknown(answer)
    assert "was changed in its own system, but not here" in answer.text
    assert "disk" not in answer.text


def test_a_store_that_does_not_answer_to_its_last_word(
    api: Api, steward: Steward, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(api)

    def lost(connection: Any) -> None:
        raise OperationalError("COMMIT", None, OSError("the connection was lost"))

    monkeypatch.setattr(steward.kernel.store.engine.dialect, "do_commit", lost)
    answer = api("admin", "POST", NATIVE, COMMIT)
    monkeypatch.undo()
    assert unknown(answer)
    assert api("admin", "GET", NATIVE).status_code == 200
