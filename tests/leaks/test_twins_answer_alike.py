"""Promise: what one may not see influences nothing one is told.

Two tables look alike through a lens and differ in all that it hides: rows, cells, columns and their names, columns that
were dropped, statistics, partitions. The same requests of the same person are answered alike by both servers, byte by byte,
once ids, paths, times and sizes of copies are named alike.
"""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from pyiceberg.table import StaticTable

from headgate.planning import choosing
from headgate.steward.reads.copies.governed import Governed
from tests.leaks.marks import HUNT
from tests.leaks.twin_requests import TABLE, Requests
from tests.leaks.twins import Normal, Twin, World, random_world, twins

pytestmark = HUNT

CANNOT_BE_HIDDEN: Final = {
    "that the table has changed": "snapshots, their times, order, operations and refs are the table's history; caching and"
    " time travel need them, so both twins have the same number of commits",
    "gaps in field ids": "data files carry field ids, so visible columns keep theirs; both twins have as many columns",
    "sizes of copies": "equal rows compress alike, but a file also holds its writer's name and attempt",
    "that copies of a commit are merged": "tells that a column which the layout goes by is hidden or masked, in both twins",
    "which rows a writer rewrote together": "an update or delete rewrites whole files; where files go by a hidden column,"
    " the rows that appear anew with a commit had a value in common. Twins with such a layout only append",
    "how long it takes": "files that hold nothing for the reader are copied too, or looked at",
    "that reading fails": "a damaged file fails the read, whether or not it holds a row for the reader",
}
"""What the design does not hide, and why. Nothing else may differ."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "number" in metafunc.fixturenames:
        first = metafunc.config.getoption("--twins-from")
        metafunc.parametrize("number", range(first, first + metafunc.config.getoption("--twins")))


class Asking:
    """The same requests to one of the twins, as ann, and what was answered."""

    def __init__(self, twin: Twin, spark: Any) -> None:
        self.twin = twin
        self.spark = spark
        self.normal = Normal(twin)
        self.heard: list[tuple[str, Any]] = []

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        answer = self.twin.api("ann", method, path, self._meant(body))
        said = answer.json() if answer.content else None
        self.hear(f"{method} {path} {body}", (answer.status_code, answer.headers.get("retry-after"), said))
        return answer

    def hear(self, asked: str, said: Any) -> None:
        self.heard.append((asked, self.normal.of(said)))

    def plans(self, bodies: list[dict[str, Any]]) -> None:
        """Plan them all, then have copies made, then come back for what was submitted."""
        waiting: list[tuple[str, str]] = []
        for body in bodies:
            answer = self.ask("POST", f"{TABLE}/plan", body)
            if answer.status_code == 200 and answer.json()["status"] == "submitted":
                waiting.append((str(body), answer.json()["plan-id"]))
        ends = time.monotonic() + 300
        for body, id in waiting:
            while (answer := self.twin.api("ann", "GET", f"{TABLE}/plan/{id}").json())[
                "status"
            ] == "submitted":
                assert time.monotonic() < ends, "a plan is never done"
                self.twin.stand.finish(self.spark)
                time.sleep(0.05)
            self.hear(f"poll {body}", answer)

    def load(self) -> None:
        """Load the table as a client that plans by itself, and look at all of its metadata tables."""
        loaded = self.ask("GET", TABLE)
        ends = time.monotonic() + 300
        while loaded.status_code == 503:
            assert time.monotonic() < ends, "the table is never ready"
            self.twin.stand.finish(self.spark)
            loaded = self.twin.api("ann", "GET", TABLE)
        table = StaticTable.from_metadata(loaded.json()["metadata-location"])
        for name in ("files", "partitions", "entries", "manifests", "snapshots", "history", "refs"):
            self.hear(f"metadata table {name}", getattr(table.inspect, name)().to_pylist())
        self.hear("rows", table.scan().to_arrow().to_pylist())

    def _meant(self, body: Any) -> Any:
        """Places in the history as the twin's own snapshot ids."""
        if isinstance(body, dict):
            return {key: self._meant(value) for key, value in body.items()}
        if isinstance(body, tuple):
            return self.twin.snapshots()[body[1]]
        return body


def differences(world: World, folder: Path, spark: Any, plans: int = 24) -> Iterator[str]:
    """Ask both twins the same, and tell where they answer differently."""
    with twins(world, folder) as pair:
        assert len({len(twin.snapshots()) for twin in pair}) == 1
        asking = [Asking(twin, spark) for twin in pair]
        requests = Requests(world.seed, len(pair[0].snapshots()), nests=world.nests)
        early, late = requests.plans(plans), requests.plans(plans)
        for one in asking:
            for other in Requests.others():
                one.ask(*other)
            one.plans(early)
            one.load()
            for other in Requests.others():
                one.ask(*other)
            # Readers who come back find more of it ready.
            one.plans([*early, *late])
        assert any("file-scan-tasks" in str(said) for _, said in asking[0].heard)
        for (asked, first), (_, second) in zip(asking[0].heard, asking[1].heard, strict=True):
            if first != second:
                yield f"{asked}\n  {first}\n  {second}"


def test_twins_answer_alike(number: int, tmp_path: Path, shared_spark: Any) -> None:
    world = random_world(number)
    assert list(differences(world, tmp_path, shared_spark)) == [], world


def prune_by_sources(patch: pytest.MonkeyPatch) -> None:
    """A caller's filter acts on the sources' own statistics, and on nothing else."""
    patch.setattr(choosing.Chooser, "_telling", lambda self, expression: expression)
    patch.setattr(choosing.Chooser, "narrows", lambda self, metadata: True)
    whole = Governed._plan_governed

    def unfiltered(self: Governed, sight: Any, document: Any, request: Any, *more: Any) -> Any:
        bare = type(request)(
            request.snapshot_id, request.ref, request.start_snapshot_id, request.end_snapshot_id
        )
        return whole(self, sight, document, bare, *more)

    patch.setattr(Governed, "_plan_governed", unfiltered)


def test_twins_would_be_told_apart_by_statistics_of_the_sources(
    tmp_path: Path, shared_spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that the test above would see it."""
    world = World(1, "salary", True, None, (), False, False, "statistics", ("append", "append"))
    prune_by_sources(monkeypatch)
    assert list(differences(world, tmp_path, shared_spark))
