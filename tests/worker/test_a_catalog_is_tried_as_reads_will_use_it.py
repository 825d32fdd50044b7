"""Promise: `catalog test` tries what reads will do, Spark's side included, says what it could not try, and cuts no message."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headgate.model.errors import ConnectionFailed
from headgate.pipelines.errors import JobFailed, SparkLacks
from headgate.pipelines.needs import AWS
from headgate.steward.metadata import probing
from headgate.store import probes
from headgate.worker import loop
from tests.worker.stand import Stand, standing

pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning"),
]

PROBE = "/api/headgate/catalogs/probe?metalake=lake"
ICEBERG = {"name": "new", "type": "relational", "provider": "lakehouse-iceberg", "properties": {}}


@pytest.fixture
def stand(tmp_path: Path) -> Iterator[Stand]:
    with standing(tmp_path, f"sqlite:///{tmp_path}/store.db") as stand:
        stand.steward.probing.taking = 0.0
        yield stand


@pytest.fixture
def working(stand: Stand, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[None]:
    """A worker that looks for work beside the test; a session in place of Spark's if the test brings none."""
    stand.steward.probing.taking = 30.0
    brought = request.node.get_closest_marker("spark")
    worker = stand.worker(request.getfixturevalue("shared_spark") if brought else object())
    done = threading.Event()

    def work() -> None:
        while not done.is_set():
            if not worker.step():
                done.wait(0.05)

    thread = threading.Thread(target=work)
    thread.start()
    yield
    done.set()
    thread.join()


def left(stand: Stand) -> list[Any]:
    with stand.store.read() as read:
        return list(read.execute(probes.select(probes.t.storage_probes)))


@pytest.mark.spark
def test_spark_writes_and_reads_where_tables_will_lie(stand: Stand, working: None) -> None:
    before = set(stand.folder.rglob("*.parquet"))
    assert stand.api("admin", "POST", PROBE, ICEBERG).json() == {"code": 0, "tried": True, "why": None}
    assert set(stand.folder.rglob("*.parquet")) == before
    assert not list(stand.folder.rglob("probe-*")), "nothing is left of it"
    assert not left(stand)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ConnectionFailed("Spark cannot use the warehouse", hint="x" * 3000), "x" * 3000),
        (SparkLacks((AWS,), remote=True), f"start the Spark Connect server with --packages {AWS}"),
    ],
)
def test_what_spark_says_is_told_in_full(
    stand: Stand, working: None, monkeypatch: pytest.MonkeyPatch, error: Exception, said: str
) -> None:
    def fails(*_: Any) -> None:
        raise error

    monkeypatch.setattr(loop, "probe", fails)
    monkeypatch.setattr(loop, "is_alive", lambda _: True)
    answer = stand.api("admin", "POST", PROBE, ICEBERG)
    assert answer.status_code >= 400
    assert said in answer.json()["message"]
    assert not left(stand)


def test_what_was_not_tried_is_said(stand: Stand, monkeypatch: pytest.MonkeyPatch) -> None:
    alone = stand.api("admin", "POST", PROBE, ICEBERG).json()
    assert (alone["tried"], alone["why"]) == (False, "no worker took it: none runs, or all are busy")
    assert not left(stand), "its properties are kept for nobody"
    models = {"name": "m", "type": "model", "provider": "model"}
    assert stand.api("admin", "POST", PROBE, models).json()["tried"] is False
    monkeypatch.setattr(stand.steward.probing, "_places", threading.Semaphore(0))
    assert "too many" in stand.api("admin", "POST", PROBE, ICEBERG).json()["why"]
    assert probing.ANSWERING + probing.TAKING < 75, "the command line waits for 90 s"


def test_only_who_may_declare_catalogs_asks(stand: Stand) -> None:
    assert stand.api("ann", "POST", PROBE, ICEBERG).status_code == 403
    closed = {**ICEBERG, "properties": {"warehouse": "s3://elsewhere"}}
    assert stand.api("admin", "POST", PROBE, closed).status_code == 400
    assert not left(stand)


def test_a_storage_that_spark_does_not_reach_is_not_put_down_to_files() -> None:
    assert "catalog test" in str(JobFailed(("Py4JJavaError", "SdkClientException"), ()))
    assert "files are whole" in str(JobFailed(("Py4JJavaError", "ParquetDecodingException"), ()))


def test_a_probe_is_taken_once_and_forgotten_in_time(stand: Stand, monkeypatch: pytest.MonkeyPatch) -> None:
    probes.ask(stand.store, "a", b"{}")
    taken = probes.take(stand.store, "w1")
    assert taken is not None
    assert "{}" not in repr(taken)
    assert probes.take(stand.store, "w2") is None
    monkeypatch.setattr(probes, "LIFE", -probes.LIFE)
    probes.ask(stand.store, "b", b"{}")
    assert [row.id for row in left(stand)] == ["b"]
