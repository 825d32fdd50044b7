"""Promise: files that came by a name mapping are copied for who sees a part, also after the mapping was taken off the table."""

import json
import time
from pathlib import Path

from headgate.steward import Steward
from tests.conftest import Api
from tests.doors.governed import applied
from tests.doors.scans import polled
from tests.doors.settled import give, securable
from tests.lenses.paper import ID, TABLE, Paper
from tests.lenses.test_files_that_may_hold_more_are_nobodys import person
from tests.people import People

MAPPING = "schema.name-mapping.default"


def test_taking_the_name_mapping_off_gives_no_original_to_who_sees_a_part(
    api: Api, people: People, steward: Steward, tmp_path: Path
) -> None:
    paper = Paper(
        tmp_path / "forged" / "p", [[(person(1, "EU"), person(2, "EU")), (person(3, "US"),)]], version=2
    )
    paper.register(api)
    names = json.dumps([{"field-id": ID, "names": ["id"]}])
    on = {"action": "set-properties", "updates": {MAPPING: names}}
    assert api("admin", "POST", TABLE, {"requirements": [], "updates": [on]}).status_code == 200
    give(api, "ann", "reader", securable("catalog", "cat", "use_catalog", "use_schema", "select_table"))
    applied(api, "policy: rows\non: lake.cat.s.p\nto: [user:ann]\nrows: region = 'EU'\n")
    off = {"action": "remove-properties", "removals": [MAPPING]}
    if api("admin", "POST", TABLE, {"requirements": [], "updates": [off]}).status_code != 200:
        return  # To refuse it keeps the promise too.
    planned = api("ann", "POST", f"{TABLE}/plan", {}).json()
    for _ in range(20):
        # A worker that is at hand: makes what is asked for, if anything is.
        paper.copy_all(steward)
        time.sleep(0.05)
    answer = polled(api, "ann", TABLE, planned)
    assert not {task["data-file"]["file-path"] for task in answer["file-scan-tasks"]} & set(paper.rows)
