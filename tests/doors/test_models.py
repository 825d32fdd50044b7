"""Models through the Gravitino door: versions, aliases and URIs."""

from typing import Any

import pytest

from tests.conftest import Api
from tests.doors.lake import LAKE
from tests.people import People

MODELS = f"{LAKE}/catalogs/m/schemas/s/models"


@pytest.fixture(autouse=True)
def lake(api: Api, people: People) -> None:
    api("admin", "POST", "/api/metalakes", {"name": "lake"})
    assert api("admin", "POST", f"{LAKE}/catalogs", {"name": "m", "type": "model"}).status_code == 200
    assert api("admin", "POST", f"{LAKE}/catalogs/m/schemas", {"name": "s"}).status_code == 200
    made = api("admin", "POST", MODELS, {"name": "x", "comment": "c", "properties": {"k": "v"}})
    assert made.status_code == 200, made.text
    people.join("ann")


def link(api: Api, user: str = "admin", **body: Any) -> Any:
    return api(user, "POST", f"{MODELS}/x/versions", {"uri": "s3://b/x", **body})


def alter(api: Api, which: str, *updates: Any) -> Any:
    return api("admin", "PUT", f"{MODELS}/x/{which}", {"updates": list(updates)})


def test_models_are_registered_listed_altered_and_dropped(api: Api) -> None:
    model = api("admin", "GET", f"{MODELS}/x").json()["model"]
    assert (model["name"], model["comment"], model["properties"]) == ("x", "c", {"k": "v"})
    assert model["latestVersion"] == 0
    listed = api("admin", "GET", MODELS).json()["identifiers"]
    assert listed == [{"namespace": ["lake", "m", "s"], "name": "x"}]
    again = api("admin", "POST", MODELS, {"name": "x"})
    assert (again.status_code, again.json()["type"]) == (409, "ModelAlreadyExistsException")
    altered = api(
        "admin",
        "PUT",
        f"{MODELS}/x",
        {
            "updates": [
                {"@type": "rename", "newName": "y"},
                {"@type": "updateComment", "newComment": "d"},
                {"@type": "setProperty", "property": "k", "value": "w"},
            ]
        },
    ).json()["model"]
    assert (altered["name"], altered["comment"], altered["properties"]) == ("y", "d", {"k": "w"})
    assert api("admin", "GET", f"{MODELS}/x").json()["type"] == "NoSuchModelException"
    assert api("admin", "DELETE", f"{MODELS}/y").json()["dropped"] is True
    assert api("admin", "DELETE", f"{MODELS}/y").json()["dropped"] is False
    assert api("admin", "POST", MODELS, {"name": "bad*"}).json()["code"] == 1001


def test_a_version_number_is_never_used_twice(api: Api) -> None:
    for _ in range(3):
        assert link(api).json() == {"code": 0}
    versions = f"{MODELS}/x/versions"
    assert api("admin", "GET", versions).json()["versions"] == [0, 1, 2]
    assert api("admin", "DELETE", f"{versions}/2").json()["dropped"] is True
    assert api("admin", "DELETE", f"{versions}/2").json()["dropped"] is False
    link(api)
    assert api("admin", "GET", versions).json()["versions"] == [0, 1, 3]
    assert api("admin", "GET", f"{MODELS}/x").json()["model"]["latestVersion"] == 4
    page = api("admin", "GET", f"{versions}?limit=2").json()
    assert page["versions"] == [0, 1]
    rest = api("admin", "GET", f"{versions}?limit=2&pageToken={page['nextPageToken']}").json()
    assert rest["versions"] == [3]


def test_a_version_is_found_by_number_and_by_alias(api: Api) -> None:
    link(api, aliases=["a", "b"], comment="c", properties={"k": "v"})
    link(api, uris={"n1": "s3://b/1", "n2": "s3://b/2"})
    version = api("admin", "GET", f"{MODELS}/x/versions/0").json()["modelVersion"]
    assert api("admin", "GET", f"{MODELS}/x/aliases/b").json()["modelVersion"] == version
    del version["audit"]
    assert version == {
        "version": 0,
        "comment": "c",
        "aliases": ["a", "b"],
        "uri": "s3://b/x",
        "uris": {"unknown": "s3://b/x"},
        "properties": {"k": "v"},
    }
    infos = api("admin", "GET", f"{MODELS}/x/versions?details=true").json()["infos"]
    assert [info["version"] for info in infos] == [0, 1]
    taken = link(api, aliases=["a"])
    assert taken.status_code == 409
    assert taken.json()["type"] == "ModelVersionAliasesAlreadyExistException"
    assert api("admin", "GET", f"{MODELS}/x/versions").json()["versions"] == [0, 1]
    for path in ("versions/7", "aliases/none"):
        missing = api("admin", "GET", f"{MODELS}/x/{path}")
        assert (missing.status_code, missing.json()["type"]) == (404, "NoSuchModelVersionException")
    lost = api("admin", "GET", f"{MODELS}/none/versions/0")
    assert (lost.status_code, lost.json()["type"]) == (404, "NoSuchModelVersionException")
    lost = api("admin", "GET", f"{MODELS}/none/versions")
    assert (lost.status_code, lost.json()["type"]) == (404, "NoSuchModelException")
    assert api("admin", "DELETE", f"{MODELS}/x/aliases/a").json()["dropped"] is True
    assert api("admin", "GET", f"{MODELS}/x/versions/0").status_code == 404
    # The alias went with its version and is free again.
    assert link(api, aliases=["a"]).status_code == 200
    assert api("admin", "GET", f"{MODELS}/x/aliases/a").json()["modelVersion"]["version"] == 2


def test_versions_are_altered_by_number_and_by_alias(api: Api) -> None:
    link(api, aliases=["a", "b"], properties={"k": "v"})
    link(api, aliases=["z"])
    done = alter(
        api,
        "aliases/a",
        {"@type": "updateComment", "newComment": "d"},
        {"@type": "setProperty", "property": "l", "value": "w"},
        {"@type": "removeProperty", "property": "k"},
        {"@type": "addUri", "uriName": "n", "uri": "s3://b/n"},
        {"@type": "updateUri", "newUri": "s3://b/y"},
        {"@type": "updateAliases", "aliasesToAdd": ["c"], "aliasesToRemove": ["b"]},
    ).json()["modelVersion"]
    assert (done["comment"], done["properties"], done["aliases"]) == ("d", {"l": "w"}, ["a", "c"])
    assert done["uris"] == {"unknown": "s3://b/y", "n": "s3://b/n"}
    only = alter(api, "versions/0", {"@type": "removeUri", "uriName": "unknown"}).json()["modelVersion"]
    assert only["uris"] == {"n": "s3://b/n"}
    assert alter(api, "versions/0", {"@type": "removeUri", "uriName": "n"}).json()["code"] == 1001
    taken = alter(api, "versions/0", {"@type": "updateAliases", "aliasesToAdd": ["q", "z"]})
    assert taken.status_code == 409
    assert api("admin", "GET", f"{MODELS}/x/versions/0").json()["modelVersion"]["aliases"] == ["a", "c"]
    assert alter(api, "versions/9").status_code == 404


def test_a_uri_is_the_named_one_the_only_one_or_the_default(api: Api) -> None:
    link(api, aliases=["one"])
    link(api, uri=None, uris={"n1": "s3://b/1", "n2": "s3://b/2"})
    link(api, uri=None, uris={"n1": "s3://b/1", "n2": "s3://b/2"}, properties={"default-uri-name": "n2"})
    uri = lambda path: api("admin", "GET", f"{MODELS}/x/{path}")
    assert uri("aliases/one/uri").json()["uri"] == "s3://b/x"
    assert uri("versions/1/uri").json()["code"] == 1001
    assert uri("versions/1/uri?uriName=n1").json()["uri"] == "s3://b/1"
    assert uri("versions/2/uri").json()["uri"] == "s3://b/2"
    missing = uri("versions/1/uri?uriName=n3")
    assert (missing.status_code, missing.json()["type"]) == (404, "NoSuchModelVersionURINameException")


def test_versions_that_cannot_be_are_refused(api: Api) -> None:
    for body in (
        {"uri": None},
        {"uri": " "},
        {"uris": {"": "s3://b"}},
        {"aliases": [""]},
        {"aliases": ["a*"]},
    ):
        assert link(api, **body).json()["code"] == 1001, body
    for number in ("-1", "one", "1.0", "٣", "9" * 30):
        assert api("admin", "GET", f"{MODELS}/x/versions/{number}").json()["code"] == 1001, number
    assert api("admin", "GET", f"{MODELS}/x/versions").json()["versions"] == []


def test_only_those_with_the_privilege_reach_a_model(api: Api, people: People) -> None:
    link(api)
    people.may("ann", "USE_CATALOG USE_SCHEMA", "metalake", "lake")
    reads = ("/x", "/x/versions", "/x/versions/0", "/x/versions/0/uri")
    writes = (
        ("POST", "", {"name": "y"}),
        ("PUT", "/x", {"updates": []}),
        ("DELETE", "/x", None),
        ("POST", "/x/versions", {"uri": "u"}),
        ("PUT", "/x/versions/0", {"updates": []}),
        ("DELETE", "/x/versions/0", None),
        ("DELETE", "/x/aliases/none", None),
    )
    for path in reads:
        assert api("ann", "GET", MODELS + path).status_code == 403, path
    people.may("ann", "USE_MODEL", "model", "m.s.x")
    for path in reads:
        assert api("ann", "GET", MODELS + path).status_code == 200, path
    for method, path, body in writes:
        assert api("ann", method, MODELS + path, body).status_code == 403, path
    people.may("ann", "LINK_MODEL_VERSION REGISTER_MODEL", "catalog", "m")
    assert link(api, "ann").status_code == 200
    assert api("ann", "POST", MODELS, {"name": "y"}).status_code == 200
    assert api("ann", "DELETE", f"{MODELS}/x/versions/0").status_code == 403
    assert api("ann", "DELETE", f"{MODELS}/y").json()["dropped"] is True
    api("admin", "PATCH", f"{LAKE}/catalogs/m", {"inUse": False})
    assert link(api).json()["type"] == "CatalogNotInUseException"
