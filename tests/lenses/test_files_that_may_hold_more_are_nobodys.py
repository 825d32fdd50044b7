"""Promise: no file that may hold more than the table shows is given to somebody who sees a part of its rows.

Row ids number all rows of a table of the third format version, and stay with a row that is rewritten: a gap counts hidden rows.
Files that are read by name were written elsewhere, maybe with columns that the table never knew.
"""

import json
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


@pytest.mark.parametrize(("version", "by_name"), [(2, False), (3, False), (2, True)])
def test_files_with_row_ids_or_read_by_name_are_copied_even_if_all_of_them_may_be_seen(
    api: Api, people: People, steward: Steward, tmp_path: Path, version: int, by_name: bool
) -> None:
    files = [[(person(1, "EU"), person(2, "EU")), (person(3, "US"),)]]
    paper = Paper(tmp_path / "forged" / "p", files, version=version)
    paper.register(api)
    if by_name:
        mapping = json.dumps([{"field-id": ID, "names": ["id"]}])
        update = {"action": "set-properties", "updates": {"schema.name-mapping.default": mapping}}
        committed = api("admin", "POST", TABLE, {"requirements": [], "updates": [update]})
        assert committed.status_code == 200, committed.text
    give(api, "ann", "reader", securable("catalog", "cat", "use_catalog", "use_schema", "select_table"))
    applied(api, "policy: rows\non: lake.cat.s.p\nto: [user:ann]\nrows: region = 'EU'\n")
    planned = api("ann", "POST", f"{TABLE}/plan", {}).json()
    copied: set[str] = set()
    copies = version > 2 or by_name
    if copies:
        wait_for(lambda: bool(copied.update(paper.copy_all(steward)) or copied))
    answer = polled(api, "ann", TABLE, planned)
    (task,) = answer["file-scan-tasks"]
    own = task["data-file"]["file-path"] in paper.rows
    assert own != copies, "a copy has row ids of its own, and the columns that are seen"
