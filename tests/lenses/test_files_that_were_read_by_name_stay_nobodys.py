"""Promise: a table with files that came by a name mapping is known by it, so that who sees a part of it goes on getting copies."""

import json
from pathlib import Path

import pytest

from tests.conftest import Api
from tests.doors.lake import LAKE
from tests.lenses.paper import ID, TABLE, Paper
from tests.lenses.test_files_that_may_hold_more_are_nobodys import person
from tests.people import People

MAPPING = "schema.name-mapping.default"


@pytest.mark.parametrize("door", ["iceberg", "gravitino"])
def test_the_name_mapping_of_a_table_with_files_is_not_taken_off(
    api: Api, people: People, tmp_path: Path, door: str
) -> None:
    paper = Paper(tmp_path / "forged" / "p", [[(person(1, "EU"),), (person(3, "US"),)]], version=2)
    paper.register(api)
    names = json.dumps([{"field-id": ID, "names": ["id"]}])
    on = {"action": "set-properties", "updates": {MAPPING: names}}
    assert api("admin", "POST", TABLE, {"requirements": [], "updates": [on]}).status_code == 200
    if door == "iceberg":
        off = {"action": "remove-properties", "removals": [MAPPING]}
        refused = api("admin", "POST", TABLE, {"requirements": [], "updates": [off]})
    else:
        body = {"updates": [{"@type": "removeProperty", "property": MAPPING}]}
        refused = api("admin", "PUT", f"{LAKE}/catalogs/cat/schemas/s/tables/p", body)
    assert refused.status_code == 400, refused.text
    assert MAPPING in api("admin", "GET", TABLE).json()["metadata"]["properties"]
