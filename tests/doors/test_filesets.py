"""Filesets through the Gravitino door: real folders, and no way out of them."""

from pathlib import Path
from typing import Any

import pytest

from headgate.catalogs.openings import Openings
from tests.conftest import Api
from tests.doors.lake import LAKE
from tests.openings import opened
from tests.people import People

SCHEMA = f"{LAKE}/catalogs/files/schemas/s"


@pytest.fixture
def openings(tmp_path: Path) -> Openings:
    return opened(tmp_path, "s3://bucket", "s3://b")


@pytest.fixture(autouse=True)
def lake(api: Api, people: People) -> None:
    api("admin", "POST", "/api/metalakes", {"name": "lake"})
    assert api("admin", "POST", f"{LAKE}/catalogs", {"name": "files", "type": "fileset"}).status_code == 200
    assert api("admin", "POST", f"{LAKE}/catalogs/files/schemas", {"name": "s"}).status_code == 200
    people.join("ann")


@pytest.fixture
def located(api: Api, tmp_path: Path) -> str:
    """The schema of a catalog with a location of its own."""
    catalog = {"name": "own", "type": "fileset", "properties": {"location": str(tmp_path / "own")}}
    assert api("admin", "POST", f"{LAKE}/catalogs", catalog).status_code == 200
    assert api("admin", "POST", f"{LAKE}/catalogs/own/schemas", {"name": "s"}).status_code == 200
    return f"{LAKE}/catalogs/own/schemas/s/filesets"


def create(
    api: Api, name: str = "f", path: str = f"{SCHEMA}/filesets", user: str = "admin", **more: Any
) -> Any:
    return api(user, "POST", path, {"name": name, **more})


def folder(fileset: Any, name: str = "unknown") -> Path:
    return Path(fileset.json()["fileset"]["storageLocations"][name].removeprefix("file:"))


def test_a_managed_fileset_has_a_folder_from_create_to_drop(api: Api, tmp_path: Path) -> None:
    made = create(api, comment="c", type="MANAGED", properties={"k": "v"})
    assert made.status_code == 200, made.text
    fileset = made.json()["fileset"]
    assert (fileset["type"], fileset["comment"]) == ("managed", "c")
    assert fileset["properties"] == {"k": "v", "default-location-name": "unknown"}
    assert fileset["storageLocation"] == fileset["storageLocations"]["unknown"]
    place = folder(made)
    assert place.is_dir()
    assert tmp_path / "warehouse" in place.parents
    (place / "data").mkdir()
    (place / "data" / "a.txt").write_text("hello")
    assert api("admin", "GET", f"{SCHEMA}/filesets/f").json()["fileset"] == fileset
    assert api("admin", "DELETE", f"{SCHEMA}/filesets/f").json() == {"code": 0, "dropped": True}
    assert not place.exists()
    assert api("admin", "DELETE", f"{SCHEMA}/filesets/f").json() == {"code": 0, "dropped": False}


def test_a_fileset_lies_where_its_catalog_schema_or_creator_says(
    api: Api, tmp_path: Path, located: str
) -> None:
    made = create(api, path=located)
    assert folder(made) == tmp_path / "own" / "s" / "f"
    assert folder(made).is_dir()
    chosen = create(api, "g", path=located, storageLocation=str(tmp_path / "own" / "elsewhere"))
    assert chosen.json()["fileset"]["storageLocation"] == f"file:{tmp_path}/own/elsewhere"
    assert folder(chosen).is_dir()
    schema = {"name": "z", "properties": {"location": f"file://{tmp_path}/own/zone"}}
    assert api("admin", "POST", f"{LAKE}/catalogs/own/schemas", schema).status_code == 200
    zone = f"{LAKE}/catalogs/own/schemas/z/filesets"
    assert folder(create(api, "h", path=zone)) == tmp_path / "own" / "zone" / "h"
    worded = f"{tmp_path}/own/{{{{catalog}}}}-{{{{schema}}}}-{{{{fileset}}}}-{{{{who}}}}"
    filled = create(
        api, "i", path=zone, storageLocations={"unknown": worded}, properties={"placeholder-who": "me"}
    )
    assert folder(filled) == tmp_path / "own" / "own-z-i-me"
    assert create(api, "j", path=zone, storageLocation=worded + "/j").json()["code"] == 1001


def test_an_external_fileset_is_only_recorded(api: Api, tmp_path: Path) -> None:
    place = tmp_path / "there"
    made = create(api, type="external", storageLocation=str(place))
    assert made.json()["fileset"]["storageLocation"] == f"file:{place}"
    assert not place.exists()
    place.mkdir()
    assert api("admin", "DELETE", f"{SCHEMA}/filesets/f").json()["dropped"] is True
    assert place.is_dir()
    assert create(api, type="external").json()["code"] == 1001
    far = create(api, type="external", storageLocation="s3://bucket/folder/")
    assert far.json()["fileset"]["storageLocation"] == "s3://bucket/folder"
    listing = api("admin", "GET", f"{SCHEMA}/filesets/f/files")
    assert (listing.status_code, listing.json()["code"]) == (405, 1006)


def test_the_server_touches_nothing_outside_the_catalogs_location_and_its_warehouse(
    api: Api, tmp_path: Path
) -> None:
    private = tmp_path / "private"
    private.mkdir()
    (private / "secret.txt").write_text("x")
    made = create(api, storageLocation=str(private))
    assert made.status_code == 200
    listing = api("admin", "GET", f"{SCHEMA}/filesets/f/files")
    assert listing.status_code == 405
    assert "secret" not in listing.text
    assert api("admin", "DELETE", f"{SCHEMA}/filesets/f").json()["dropped"] is True
    assert (private / "secret.txt").exists()
    sly_place = tmp_path / "sly"
    sly_place.mkdir()
    schema = {"name": "sly", "properties": {"location": str(sly_place)}}
    assert api("admin", "POST", f"{LAKE}/catalogs/files/schemas", schema).status_code == 200
    sly = f"{LAKE}/catalogs/files/schemas/sly/filesets"
    assert create(api, path=sly).status_code == 200
    assert not (sly_place / "f").exists()
    for place in (tmp_path, tmp_path / "warehouse", tmp_path / "warehouse" / "table"):
        refused = create(api, "w", storageLocation=str(place))
        assert (refused.status_code, refused.json()["code"]) == (400, 1001), place


def test_what_was_there_before_the_fileset_stays_after_it(api: Api, tmp_path: Path, located: str) -> None:
    old = tmp_path / "own" / "old"
    old.mkdir(parents=True)
    (old / "a").write_text("x")
    assert create(api, path=located, storageLocation=str(old)).status_code == 200
    assert api("admin", "DELETE", f"{located}/f").json()["dropped"] is True
    assert (old / "a").exists()
    (tmp_path / "own" / "file").write_text("x")
    assert create(api, path=located, storageLocation=str(tmp_path / "own" / "file")).json()["code"] == 1001


def test_no_two_filesets_share_a_folder(api: Api, tmp_path: Path, located: str) -> None:
    own = tmp_path / "own"
    assert create(api, path=located, storageLocation=str(own / "a" / "b")).status_code == 200
    (own / "link").symlink_to(own / "a")
    for place in ("a/b", "a", "a/b/c", "link/b", "link/b/c"):
        refused = create(api, "g", path=located, storageLocation=str(own / place))
        assert (refused.status_code, refused.json()["code"]) == (400, 1001), place
        external = create(api, "g", path=located, type="external", storageLocation=str(own / place))
        assert external.status_code == 400, place
    assert create(api, "g", path=located, storageLocation=str(own / "a" / "bc")).status_code == 200
    assert create(api, "h", path=located, storageLocation=str(own)).status_code == 400


def test_a_refused_create_leaves_no_folder_behind(api: Api, tmp_path: Path, located: str) -> None:
    assert create(api, path=located).status_code == 200
    again = create(api, path=located, storageLocation=str(tmp_path / "own" / "again"))
    assert (again.status_code, again.json()["type"]) == (409, "FilesetAlreadyExistsException")
    assert not (tmp_path / "own" / "again").exists()


def test_files_are_listed_and_nothing_leads_out_of_the_fileset(api: Api, tmp_path: Path) -> None:
    place = folder(create(api))
    (place / "d").mkdir()
    (place / "d" / "b.txt").write_text("hello")
    (place / "a.txt").write_text("hi")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("x")
    (place / "way-out").symlink_to(outside)
    (place / "d" / "up").symlink_to(place)
    path = f"{SCHEMA}/filesets/f/files"
    files = api("admin", "GET", path).json()["files"]
    assert [(f["name"], f["isDir"], f["size"]) for f in files if f["name"] != "way-out"] == [
        ("a.txt", False, 2),
        ("d", True, 0),
    ]
    inner = api("admin", "GET", f"{path}?sub_path=%2Fd").json()["files"]
    assert [(f["name"], f["size"], f["path"]) for f in inner if f["name"] != "up"] == [
        ("b.txt", 5, "/fileset/files/s/f/d")
    ]
    for sub in (
        "..",
        "../..",
        "/../../outside",
        "d/../../..",
        "%2e%2e",
        "..%2f..",
        "/d/..",
        str(outside).replace("/", "%2F"),
        "way-out",
        "way-out/",
        "/way-out/secret",
        "%00",
        "a%5C..",
        "a.txt",
        "missing",
    ):
        answer = api("admin", "GET", f"{path}?sub_path={sub}")
        assert answer.status_code in (400, 404), sub
        assert "secret" not in answer.text.replace("way-out/secret", ""), sub
    where = f"{SCHEMA}/filesets/f/location"
    assert api("admin", "GET", f"{where}?sub_path=/d/x").json()["fileLocation"] == f"file:{place}/d/x"
    assert api("admin", "GET", f"{where}?sub_path=d").json()["fileLocation"] == f"file:{place}/d"
    assert api("admin", "GET", where).json()["fileLocation"] == f"file:{place}"
    assert api("admin", "GET", f"{where}?sub_path=../x").json()["code"] == 1001
    rename = {"FilesetDataOperation": "RENAME"}
    assert api("admin", "GET", f"{where}?sub_path=", headers=rename).status_code == 405
    assert api("admin", "GET", f"{where}?sub_path=/d", headers=rename).status_code == 200


def test_a_fileset_may_have_several_named_locations(api: Api, tmp_path: Path, located: str) -> None:
    own = tmp_path / "own"
    several = {"l1": str(own / "one"), "l2": str(own / "two")}
    made = create(api, path=located, storageLocations=several, properties={"default-location-name": "l1"})
    assert made.json()["fileset"]["storageLocations"] == {
        "unknown": f"file:{own}/s/f",
        "l1": f"file:{own}/one",
        "l2": f"file:{own}/two",
    }
    assert all(folder(made, name).is_dir() for name in ("unknown", "l1", "l2"))
    (own / "two" / "x").write_text("1")
    assert api("admin", "GET", f"{located}/f/files").json()["files"] == []
    assert api("admin", "GET", f"{located}/f/files?location_name=l2").json()["files"][0]["name"] == "x"
    assert api("admin", "GET", f"{located}/f/location").json()["fileLocation"] == f"file:{own}/one"
    missing = api("admin", "GET", f"{located}/f/location?location_name=l3")
    assert (missing.status_code, missing.json()["type"]) == (404, "NoSuchLocationNameException")
    alone = create(api, "one", storageLocations={"l1": "s3://b/one"}).json()["fileset"]
    assert alone["storageLocations"] == {"l1": "s3://b/one"}
    assert alone["properties"] == {"default-location-name": "l1"}
    assert create(api, "two", storageLocations={"l1": "s3://b/1", "l2": "s3://b/2"}).json()["code"] == 1001
    wrong = create(
        api,
        "g",
        path=located,
        storageLocations={"l1": str(own / "q")},
        properties={"default-location-name": "z"},
    )
    assert wrong.json()["code"] == 1001


def test_filesets_are_altered_and_their_locations_are_not(api: Api) -> None:
    place = folder(create(api, comment="c", properties={"k": "v"}))
    updates: list[dict[str, Any]] = [
        {"@type": "rename", "newName": "g"},
        {"@type": "updateComment", "newComment": "d"},
        {"@type": "setProperty", "property": "l", "value": "w"},
        {"@type": "removeProperty", "property": "k"},
    ]
    altered = api("admin", "PUT", f"{SCHEMA}/filesets/f", {"updates": updates})
    fileset = altered.json()["fileset"]
    assert (fileset["name"], fileset["comment"], fileset["properties"]["l"]) == ("g", "d", "w")
    assert "k" not in fileset["properties"]
    assert folder(altered) == place
    for update in ({"@type": "updateComment", "newComment": None}, {"@type": "removeComment"}):
        done = api("admin", "PUT", f"{SCHEMA}/filesets/g", {"updates": [update]})
        assert "comment" not in done.json()["fileset"]
    for update in (
        {"@type": "setProperty", "property": "default-location-name", "value": "x"},
        {"@type": "removeProperty", "property": "default-location-name"},
        {"@type": "relocate"},
    ):
        assert api("admin", "PUT", f"{SCHEMA}/filesets/g", {"updates": [update]}).status_code == 400
    assert folder(create(api, "f")) != place


def test_locations_that_could_mean_another_place_are_refused(api: Api) -> None:
    for location in (
        "relative",
        "/a/../b",
        "file:/a/./b",
        "s3://b/*",
        "/a/b?",
        "/x\n",
        "/x'y",
        " ",
        "s3:",
        "/${x}",
    ):
        answer = create(api, storageLocation=location)
        assert (answer.status_code, answer.json()["code"]) == (400, 1001), location
    assert create(api, type="imaginary").json()["code"] == 1001
    assert create(api, "a*b").json()["code"] == 1001
    assert api("admin", "GET", f"{SCHEMA}/filesets").json()["identifiers"] == []


def test_only_those_with_the_privilege_reach_a_fileset(api: Api, people: People) -> None:
    create(api)
    people.may("ann", "USE_CATALOG USE_SCHEMA", "metalake", "lake")
    for method, path, body in (
        ("POST", "/filesets", {"name": "g"}),
        ("GET", "/filesets/f", None),
        ("PUT", "/filesets/f", {"updates": []}),
        ("DELETE", "/filesets/f", None),
        ("GET", "/filesets/f/files", None),
        ("GET", "/filesets/f/location", None),
    ):
        assert api("ann", method, SCHEMA + path, body).status_code == 403, path
    assert api("ann", "GET", f"{LAKE}/objects/fileset/files.s.f/credentials").status_code == 403
    assert api("ann", "GET", f"{SCHEMA}/filesets").json()["identifiers"] == []
    people.may("ann", "READ_FILESET", "fileset", "files.s.f")
    listed = api("ann", "GET", f"{SCHEMA}/filesets").json()["identifiers"]
    assert listed == [{"namespace": ["lake", "files", "s"], "name": "f"}]
    for path in ("", "/files", "/location"):
        assert api("ann", "GET", f"{SCHEMA}/filesets/f{path}").status_code == 200
    assert api("ann", "GET", f"{LAKE}/objects/fileset/files.s.f/credentials").json() == {
        "code": 0,
        "credentials": [],
    }
    assert api("ann", "PUT", f"{SCHEMA}/filesets/f", {"updates": []}).status_code == 403
    people.may("ann", "WRITE_FILESET CREATE_FILESET", "schema", "files.s")
    assert api("ann", "PUT", f"{SCHEMA}/filesets/f", {"updates": []}).status_code == 200
    assert api("ann", "DELETE", f"{SCHEMA}/filesets/f").status_code == 403
    assert create(api, "g", user="ann").status_code == 200
    assert api("ann", "DELETE", f"{SCHEMA}/filesets/g").json()["dropped"] is True


def test_filesets_live_in_fileset_catalogs_that_are_in_use(api: Api) -> None:
    api("admin", "POST", f"{LAKE}/catalogs", {"name": "m", "type": "model"})
    api("admin", "POST", f"{LAKE}/catalogs/m/schemas", {"name": "s"})
    wrong = create(api, path=f"{LAKE}/catalogs/m/schemas/s/filesets")
    assert (wrong.status_code, wrong.json()["code"]) == (405, 1006)
    missing = api("admin", "GET", f"{SCHEMA}/filesets/none")
    assert (missing.status_code, missing.json()["type"]) == (404, "NoSuchFilesetException")
    lost = f"{LAKE}/catalogs/files/schemas/none/filesets/f"
    assert api("admin", "GET", lost).json()["type"] == "NoSuchFilesetException"
    assert api("admin", "DELETE", lost).json() == {"code": 0, "dropped": False}
    nowhere = create(api, path=f"{LAKE}/catalogs/files/schemas/none/filesets")
    assert (nowhere.status_code, nowhere.json()["type"]) == (404, "NoSuchSchemaException")
    api("admin", "PATCH", f"{LAKE}/catalogs/files", {"inUse": False})
    refused = create(api)
    assert (refused.status_code, refused.json()["type"]) == (409, "CatalogNotInUseException")
