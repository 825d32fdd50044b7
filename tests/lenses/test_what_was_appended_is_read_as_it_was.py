"""Promise: a scan between snapshots reads what each of them appended, whatever became of it since."""

from pathlib import Path

import pytest

from headgate.pipelines.job_tables import write_input
from headgate.steward import Steward
from tests.conftest import Api
from tests.doors.governed import applied
from tests.doors.iceberg.test_scans_are_planned import wait_for
from tests.doors.scans import polled
from tests.doors.settled import give, securable
from tests.lenses.paper import EDGE, ID, NAME, POLICIES, REGION, SALARY, SCORE, SECRET, TABLE, Paper, Row
from tests.people import People


def person(id: int, salary: int) -> Row:
    return {ID: id, REGION: "EU", SALARY: salary, NAME: "bo", SECRET: "s", SCORE: None}


@pytest.fixture
def paper(api: Api, people: People, steward: Steward, tmp_path: Path) -> Paper:
    """Four appends; of the second, which holds hidden rows, the third is what a delete left."""
    files = [
        [(person(1, 5),)],
        [(person(2, 5), person(3, EDGE + 1), person(4, EDGE + 2))],
        [(person(2, 5), person(3, EDGE + 1))],
        [(person(5, 5),)],
    ]
    paper = Paper(tmp_path / "forged" / "p", files, rewrites=[3])
    paper.register(api)
    give(api, "ann", "reader", securable("catalog", "cat", "use_catalog", "use_schema", "select_table"))
    applied(api, *POLICIES)
    return paper


def test_every_file_is_copied_out_of_the_snapshot_that_appended_it(
    api: Api, steward: Steward, paper: Paper, tmp_path: Path
) -> None:
    """In a later one it may be gone, or have deletes: its rows as appended are what the scan is for."""
    planned = api("ann", "POST", f"{TABLE}/plan", {"start-snapshot-id": 1, "end-snapshot-id": 4}).json()
    taken = []
    wait_for(lambda: bool((order := steward.workshop.take("paper")) and not taken.append(order)))
    while order := steward.workshop.take("paper"):
        taken.append(order)
    for order in taken:
        wanted = [path for source in order.job.sources for path in source.paths]
        # Raises where a file is not in the snapshot.
        write_input(
            order.storage,
            order.job.document,
            order.job.snapshot_id,
            wanted,
            order.job.lens,
            f"file://{tmp_path}/input",
        )
        assert {path.rpartition("/")[2][0] for path in wanted} == {str(order.job.snapshot_id)}
        steward.workshop.made(order, [paper._copy(order, source) for source in order.job.sources])
    assert len(taken) == 2
    answer = polled(api, "ann", TABLE, planned)
    assert answer["status"] == "completed"
    assert len(answer["file-scan-tasks"]) == 2
