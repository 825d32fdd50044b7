"""Promise: a worker opens Spark when somebody needs it, or did lately; never for nobody. Nothing ends its loop."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headgate.model.errors import Conflict, Unavailable
from headgate.pipelines.session import SparkSettings
from headgate.store import ledger
from headgate.worker import loop
from headgate.worker.loop import Worker
from tests.worker.stand import ICE, Stand, standing


@pytest.fixture
def stand(tmp_path: Path) -> Iterator[Stand]:
    with standing(tmp_path, f"sqlite:///{tmp_path}/store.db") as stand:
        yield stand


class Session:
    """In the place of Spark: whether it was opened, warmed and closed."""

    def __init__(self, patch: pytest.MonkeyPatch, fails: bool = False) -> None:
        self.told: list[str] = []

        def open_session(_: SparkSettings) -> str:
            self.told.append("opened")
            if fails:
                raise RuntimeError("no Java")
            return "spark"

        patch.setattr(loop, "open_session", open_session)
        patch.setattr(loop, "warm", lambda _: self.told.append("warmed"))
        patch.setattr(loop, "close_session", lambda _: self.told.append("closed"))


def steps(worker: Worker, patch: pytest.MonkeyPatch, *outcomes: Exception | None) -> None:
    """Run the loop for as many looks at the ledger as there are outcomes, then stop it."""
    stop, left, step = threading.Event(), list(outcomes), worker.step

    def counted() -> bool:
        outcome = left.pop(0)
        if not left:
            stop.set()
        if outcome is not None:
            raise outcome
        return step()

    patch.setattr(worker, "step", counted)
    patch.setattr(stop, "wait", lambda _=None: stop.is_set())
    worker.run(stop)
    assert not left


def test_nobody_needs_it(stand: Stand, monkeypatch: pytest.MonkeyPatch) -> None:
    session = Session(monkeypatch)
    stand.table("t", 1)
    assert stand.load("t", "bob").status_code == 200, "who sees everything needs no copy"
    steps(Worker(stand.steward.workshop, SparkSettings()), monkeypatch, None, None)
    assert session.told == []


def test_somebody_had_a_restricted_view_lately(stand: Stand, monkeypatch: pytest.MonkeyPatch) -> None:
    session = Session(monkeypatch)
    stand.table("t", 1)
    assert stand.waits("t")
    batch = ledger.take(stand.store, "gone", 10)
    assert batch is not None
    ledger.void(stand.store, batch)
    steps(Worker(stand.steward.workshop, SparkSettings()), monkeypatch, None, None, None)
    assert session.told == ["opened", "warmed", "closed"]


def test_a_worker_outlives_a_spark_that_is_not_ready(stand: Stand, monkeypatch: pytest.MonkeyPatch) -> None:
    session = Session(monkeypatch, fails=True)
    stand.table("t", 1)
    assert stand.waits("t")
    batch = ledger.take(stand.store, "gone", 10)
    assert batch is not None
    ledger.void(stand.store, batch)
    steps(Worker(stand.steward.workshop, SparkSettings()), monkeypatch, None, None, None)
    assert session.told == ["opened"], "tried once; the next job tries again"


@pytest.mark.parametrize("error", [Unavailable("the store does not answer"), Conflict("deadlock")])
def test_no_answer_of_the_store_ends_the_loop(
    stand: Stand, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    steps(Worker(stand.steward.workshop, SparkSettings()), monkeypatch, error, None, error, None)


def test_without_spark_owners_are_told_so_and_readers_that_it_failed(
    stand: Stand, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = Session(monkeypatch, fails=True)
    stand.table("t", 2)
    assert stand.waits("t")
    worker = Worker(stand.steward.workshop, SparkSettings())
    assert worker.step()
    assert stand.waits("t"), "it is tried once more"
    with stand.store.append() as connection:
        connection.execute(ledger.update(ledger.t.lens_copies).values(after=""))
    assert worker.step()
    answer = stand.load("t")
    assert answer.status_code == 422
    assert "Spark" not in answer.json()["error"]["message"]
    assert "Spark does not start" in stand.reason("t")
    assert session.told == ["opened", "opened"]
    assert stand.api("bob", "POST", f"{ICE}/t/plan", {}).json()["status"] == "completed"


def test_a_document_that_nobody_thought_of_does_not_end_the_worker(
    stand: Stand, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand.table("t", 1)
    assert stand.waits("t")
    worker = Worker(stand.steward.workshop, SparkSettings())

    def broken(*_: Any) -> Any:
        raise KeyError("person-1@secret.example")

    monkeypatch.setattr(stand.steward.workshop, "_read", broken)
    assert not worker.step()
    (entry,) = stand.entries("t")
    assert (entry.state, entry.reason) == (
        ledger.WANTED,
        "the table's metadata cannot be worked with (KeyError)",
    )
