"""Promise: what goes wrong is told to who reads that, in words; everybody else is served, and so is the next request."""

import os
import subprocess
import threading
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from headgate.store import ledger
from headgate.worker import loop
from tests.doors.scans import scanned
from tests.doors.settled import LAKE, done
from tests.peers import lacking
from tests.postgres import NoPostgres, new_database, stoppable
from tests.worker.stand import ICE, POLICY, Stand, leaks, people, seen, standing
from tests.worker.times import Clock

pytestmark = [
    pytest.mark.spark,
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning"),
]


@pytest.fixture(scope="module")
def stand(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stand]:
    folder = tmp_path_factory.mktemp("stand")
    with standing(folder, f"sqlite:///{folder}/store.db") as stand:
        yield stand


def wear_out(stand: Stand, spark: Any, clock: Clock) -> None:
    """Let everything be tried until it is made or given up."""
    while stand.finish(spark) or any(
        row.state in (ledger.WANTED, ledger.MAKING) for name in ("t", "other") for row in stand.entries(name)
    ):
        clock.forward(timedelta(seconds=20))


def refused(stand: Stand, name: str) -> str:
    """Why ann cannot read a table, as she is told."""
    answer = stand.load(name)
    assert answer.status_code == 422, answer.text
    assert not leaks(answer.text)
    message: str = answer.json()["error"]["message"]
    assert "could not be made" in message
    return message


@pytest.fixture
def names(stand: Stand) -> Iterator[list[dict[str, Any]]]:
    """The table `t` of two files and `other` of one, made for the test; the people of `t`."""
    rows = stand.table("t", 2)
    stand.table("other", 1)
    yield rows
    stand.policies(POLICY)
    for name in ("t", "other"):
        stand.api("admin", "DELETE", f"{ICE}/{name}")


def test_a_corrupt_file(stand: Stand, names: list[Any], shared_spark: Any, clock: Clock) -> None:
    victim = stand.sources("t")[1]
    data = victim.read_bytes()
    victim.write_bytes(data[:4] + b"\0" * (len(data) - 12) + data[-8:])
    assert stand.waits("t")
    assert stand.waits("other")
    submitted = stand.plan("t")
    assert submitted["status"] == "submitted"
    wear_out(stand, shared_spark, clock)
    assert "Spark" not in refused(stand, "t"), "the reason is for the table's owner"
    assert "Spark could not make the governed copies" in stand.reason("t")
    for _ in range(100):
        polled = stand.poll("t", submitted["plan-id"])
        if polled["status"] != "submitted":
            break
        threading.Event().wait(0.1)
    assert (polled["status"], polled["error"]["code"]) == ("failed", 422)
    assert "Spark" not in polled["error"]["message"]
    assert stand.rows("other") == seen(people(0))
    # Who asks for what lies in the sound file gets it, where statistics may choose it.
    lazy = {"@type": "setProperty", "property": "headgate.lazy", "value": "statistics"}
    done(stand.api("admin", "PUT", f"{LAKE}/catalogs/cat", {"updates": [lazy]}))
    sound = scanned(stand.api, "ann", f"{ICE}/t", {"filter": {"type": "lt", "term": "id", "value": 10}})
    assert (sound["status"], len(sound["file-scan-tasks"])) == ("completed", 1)
    # And once the file is mended and the failure has cooled off, everybody gets all.
    victim.write_bytes(data)
    clock.forward(ledger.COOLING + timedelta(seconds=1))
    assert stand.waits("t")
    assert stand.finish(shared_spark) == 1, "only what was missing is made"
    assert stand.rows("t") == seen(names)
    assert stand.lying("t") == stand.recorded("t")


def test_a_missing_delete_file(
    stand: Stand, names: list[Any], shared_spark: Any, clock: Clock, tmp_path: Path
) -> None:
    spark = shared_spark
    table = f"lake.faults.d{os.getpid()}"
    spark.sql(
        f"CREATE TABLE {table} (id bigint, region string, email string) USING iceberg "
        "TBLPROPERTIES ('format-version'='2', 'write.delete.mode'='merge-on-read')"
    )
    for row in people(0, 4):
        spark.sql(f"INSERT INTO {table} VALUES ({row['id']}, '{row['region']}', '{row['email']}')")
    spark.sql(f"INSERT INTO {table} SELECT id + 100, region, email FROM {table}")
    spark.sql(f"DELETE FROM {table} WHERE id = 101")
    folder = Path(spark.conf.get("spark.sql.catalog.lake.warehouse").removeprefix("file://"))
    folder = folder / "faults" / table.rpartition(".")[2]
    allow = {"@type": "setProperty", "property": "allowed-locations", "value": str(folder)}
    done(stand.api("admin", "PUT", f"{LAKE}/catalogs/cat", {"updates": [allow]}))
    latest = max((folder / "metadata").glob("*.metadata.json"), key=lambda file: file.stat().st_mtime_ns)
    body = {"name": "deleted", "metadata-location": str(latest)}
    registered = stand.api("admin", "POST", f"{ICE.rpartition('/')[0]}/register", body)
    assert registered.status_code == 200, registered.text
    (deletes,) = folder.rglob("*-deletes.parquet")
    data = deletes.read_bytes()
    deletes.unlink()
    assert stand.waits("deleted")
    for _ in range(ledger.TRIES + 1):
        stand.finish(spark)
        clock.forward(timedelta(seconds=20))
    assert "Spark" not in refused(stand, "deleted")
    assert "Spark could not make" in stand.reason("deleted")
    deletes.write_bytes(data)
    clock.forward(ledger.COOLING)
    assert stand.waits("deleted")
    stand.finish(spark)
    assert [row["id"] for row in stand.rows("deleted")] == [1, 3, 103]


OTHERS = POLICY.replace("region = 'EU'", "region = 'US'")


def test_a_policy_changed_in_the_middle_of_a_job(
    stand: Stand, names: list[Any], shared_spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert stand.waits("t")
    make = loop.materialise

    def changing(*args: Any) -> Any:
        made = make(*args)
        stand.policies(OTHERS)
        monkeypatch.undo()
        return made

    monkeypatch.setattr(loop, "materialise", changing)
    assert stand.worker(shared_spark).step()
    before = stand.recorded("t")
    assert stand.waits("t"), "what was made is not hers any more"
    assert stand.finish(shared_spark) == 1
    assert [row["region"] for row in stand.rows("t")] == ["US"] * 10
    assert before < stand.recorded("t")


def test_work_for_a_view_that_nobody_has_any_more_is_not_done(
    stand: Stand, names: list[Any], shared_spark: Any
) -> None:
    assert stand.waits("t")
    stand.policies(OTHERS)
    assert stand.finish(shared_spark) == 0
    assert stand.entries("t") == []
    assert stand.lying("t") == set()


def test_a_table_dropped_in_the_middle_of_a_job_and_of_a_plan(
    stand: Stand, names: list[Any], shared_spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    submitted = stand.plan("t")
    # A plan asks for its copies beside its answer: whoever loads has asked for them once they are told to wait.
    assert stand.waits("t")
    assert stand.waits("other")
    make = loop.materialise

    def dropping(*args: Any) -> Any:
        monkeypatch.undo()
        assert stand.api("admin", "DELETE", f"{ICE}/t?purgeRequested=true").status_code == 204
        return make(*args)

    monkeypatch.setattr(loop, "materialise", dropping)
    assert stand.worker(shared_spark).step()
    assert stand.load("t").status_code == 404
    assert stand.api("ann", "GET", f"{ICE}/t/plan/{submitted['plan-id']}").status_code == 404
    assert stand.finish(shared_spark) >= 1
    assert stand.rows("other") == seen(people(0))


def test_a_snapshot_that_expires_while_it_is_waited_for(
    stand: Stand, names: list[Any], shared_spark: Any
) -> None:
    first = stand.load("t", "bob").json()["metadata"]["snapshots"][0]["snapshot-id"]
    submitted = stand.plan("t", {"snapshot-id": first})
    stand.commit("t", {"action": "remove-snapshots", "snapshot-ids": [first]})
    for _ in range(100):
        polled = stand.poll("t", submitted["plan-id"])
        if polled["status"] != "submitted":
            break
        threading.Event().wait(0.1)
    assert polled["status"] == "failed"
    assert str(first) in polled["error"]["message"]
    assert stand.waits("t")
    stand.finish(shared_spark)
    assert stand.rows("t") == seen(names)


@pytest.fixture
def small_disk(stand: Stand, names: list[Any]) -> Iterator[Path]:
    """The governed folder of `t` on a disk of its own, which is full."""
    folder = stand.governed_folder("t")
    folder.mkdir(parents=True)
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)], capture_output=True, check=False
    )
    if mounted.returncode:
        lacking("a small disk", "mounting one is not allowed here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def fill(folder: Path) -> Path:
    """Fill a disk to the last page."""
    filler = folder / "filler"
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(b"\0" * 4096)
    assert os.statvfs(folder).f_bavail == 0
    return filler


def test_a_full_disk(
    stand: Stand, names: list[Any], small_disk: Path, shared_spark: Any, clock: Clock
) -> None:
    filler = fill(small_disk)
    assert stand.waits("t")
    assert stand.waits("other")
    wear_out(stand, shared_spark, clock)
    refused(stand, "t")
    assert "cannot be reached" in stand.reason("t")
    assert stand.rows("other") == seen(people(0))
    filler.unlink()
    clock.forward(ledger.COOLING + timedelta(seconds=1))
    assert stand.waits("t")
    stand.finish(shared_spark)
    filler = fill(small_disk)
    answer = stand.load("t")
    assert (answer.status_code, leaks(answer.text)) == (503, False), (
        "the copies are there, the manifests are not"
    )
    filler.unlink()
    assert stand.rows("t") == seen(names)


def test_a_store_that_is_away_when_copies_are_recorded(
    tmp_path: Path, shared_spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    try:
        server = stoppable()
        postgres = server.__enter__()
    except NoPostgres as reason:
        lacking("PostgreSQL", reason)
        return
    try:
        with standing(tmp_path, new_database(postgres.address)) as stand:
            rows = stand.table("t", 2)
            assert stand.waits("t")
            make = loop.materialise

            def stopping(*args: Any) -> Any:
                made = make(*args)
                postgres.stop()
                answer = stand.load("t")
                assert (answer.status_code, leaks(answer.text)) == (503, False)
                threading.Timer(3, postgres.start).start()
                return made

            monkeypatch.setattr(loop, "materialise", stopping)
            assert stand.worker(shared_spark).step()
            assert stand.rows("t") == seen(rows)
            assert {(row.state, row.attempts) for row in stand.entries("t")} == {(ledger.MADE, 1)}
            assert stand.lying("t") == stand.recorded("t")
    finally:
        server.__exit__(None, None, None)
