"""A fileset is made where nothing of others lies: whoever makes it chooses no folder that holds files already."""

from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Api
from tests.doors.lake import LAKE
from tests.people import People

MAKES = "USE_CATALOG USE_SCHEMA CREATE_SCHEMA CREATE_FILESET"


@pytest.fixture(autouse=True)
def payroll(api: Api, people: People, tmp_path: Path) -> Path:
    """A folder of files in the catalog's location, of which no fileset was made yet; bob makes schemas and filesets."""
    api("admin", "POST", "/api/metalakes", {"name": "lake"})
    catalog = {"name": "own", "type": "fileset", "properties": {"location": str(tmp_path / "own")}}
    assert api("admin", "POST", f"{LAKE}/catalogs", catalog).status_code == 200
    assert api("admin", "POST", f"{LAKE}/catalogs/own/schemas", {"name": "hr"}).status_code == 200
    people.may("bob", MAKES, "metalake", "lake")
    folder = tmp_path / "own" / "hr" / "payroll"
    folder.mkdir(parents=True)
    (folder / "salaries-of-2026.csv").write_text("x")
    return folder


def listed(api: Api, schema: str, name: str) -> str:
    return str(api("bob", "GET", f"{LAKE}/catalogs/own/schemas/{schema}/filesets/{name}/files").text)


def made(api: Api, schema: str, name: str, **more: Any) -> Any:
    return api("bob", "POST", f"{LAKE}/catalogs/own/schemas/{schema}/filesets", {"name": name, **more})


def test_a_schema_does_not_place_its_filesets_in_another_schemas_folder(api: Api, payroll: Path) -> None:
    schema = {"name": "evil", "properties": {"location": str(payroll.parent)}}
    api("bob", "POST", f"{LAKE}/catalogs/own/schemas", schema)
    assert made(api, "evil", "payroll").status_code in (400, 403)
    assert "salaries" not in listed(api, "evil", "payroll")


def test_a_folder_that_holds_files_is_the_catalogs_owners_to_give(api: Api, payroll: Path) -> None:
    for more in (
        {},
        {"type": "external", "storageLocation": str(payroll)},
        {"storageLocation": str(payroll)},
    ):
        assert made(api, "hr", "payroll", **more).status_code in (400, 403), more
        assert "salaries" not in listed(api, "hr", "payroll")
