"""Promise: no file that may carry the table's own row ids is given to somebody who sees a part of its rows.

They number all rows of a table of the third format version, and stay with a row that is rewritten: a gap counts hidden rows.
"""

from pathlib import Path

import pytest

from headgate.steward import Steward
from tests.conftest import Api
from tests.doors.governed import applied
from tests.doors.iceberg.test_scans_are_planned import wait_for
from tests.doors.scans import polled
from tests.doors.settled import give, securable
from tests.lenses.paper import ID, NAME, REGION, SALARY, SCORE, SECRET, TABLE, Paper, Row
from tests.people import People


def person(id: int, region: str) -> Row:
    return {ID: id, REGION: region, SALARY: 5, NAME: "bo", SECRET: "s", SCORE: None}


@pytest.mark.parametrize("version", [2, 3])
def test_files_of_the_third_version_are_copied_even_if_all_of_them_may_be_seen(
    api: Api, people: People, steward: Steward, tmp_path: Path, version: int
) -> None:
    files = [[(person(1, "EU"), person(2, "EU")), (person(3, "US"),)]]
    paper = Paper(tmp_path / "forged" / "p", files, version=version)
    paper.register(api)
    give(api, "ann", "reader", securable("catalog", "cat", "use_catalog", "use_schema", "select_table"))
    applied(api, "policy: rows\non: lake.cat.s.p\nto: [user:ann]\nrows: region = 'EU'\n")
    planned = api("ann", "POST", f"{TABLE}/plan", {}).json()
    copied: set[str] = set()
    if version > 2:
        wait_for(lambda: bool(copied.update(paper.copy_all(steward)) or copied))
    answer = polled(api, "ann", TABLE, planned)
    (task,) = answer["file-scan-tasks"]
    own = task["data-file"]["file-path"] in paper.rows
    assert own == (version == 2), "a copy has row ids of its own"
