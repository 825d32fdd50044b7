"""Catalogs through the Gravitino door."""

from pathlib import Path

import pytest

from headgate.model.objects import ObjectRef, ObjectType
from headgate.steward import Steward
from headgate.store import objects
from tests.conftest import Api
from tests.people import People

CATALOGS = "/api/metalakes/lake/catalogs"
ICEBERG = {"type": "RELATIONAL", "provider": "lakehouse-iceberg"}


@pytest.fixture(autouse=True)
def _lake(api: Api) -> None:
    assert api("admin", "POST", "/api/metalakes", {"name": "lake"}).status_code == 200


def test_a_catalog_of_every_kind_is_created_listed_loaded_altered_and_dropped(api: Api) -> None:
    kinds = {
        "tables": ("relational", "lakehouse-iceberg", "lakehouse-iceberg"),
        "files": ("fileset", None, "fileset"),
        "old": ("fileset", "hadoop", "fileset"),
        "topics": ("messaging", "topic", "topic"),
        "models": ("model", "", "model"),
    }
    for name, (type, provider, answered) in kinds.items():
        body = {"name": name, "type": type.upper(), "provider": provider, "properties": {"k": "v"}}
        made = api("admin", "POST", CATALOGS, body)
        assert made.status_code == 200, made.text
        catalog = made.json()["catalog"]
        assert (catalog["type"], catalog["provider"]) == (type, answered)
        assert catalog["properties"] == {"k": "v", "in-use": "true"}
        assert catalog["audit"]["creator"] == "admin"
    listed = api("admin", "GET", CATALOGS).json()["identifiers"]
    assert [i["name"] for i in listed] == sorted(kinds)
    assert listed[0]["namespace"] == ["lake"]
    details = api("admin", "GET", CATALOGS + "?details=true&limit=2").json()
    assert [c["name"] for c in details["catalogs"]] == ["files", "models"]
    rest = api("admin", "GET", f"{CATALOGS}?limit=9&pageToken={details['nextPageToken']}").json()
    assert [i["name"] for i in rest["identifiers"]] == ["old", "tables", "topics"]
    updates = [
        {"@type": "rename", "newName": "facts"},
        {"@type": "updateComment", "newComment": "new"},
        {"@type": "setProperty", "property": "a", "value": "b"},
        {"@type": "removeProperty", "property": "k"},
    ]
    altered = api("admin", "PUT", f"{CATALOGS}/tables", {"updates": updates}).json()["catalog"]
    assert (altered["name"], altered["comment"]) == ("facts", "new")
    assert altered["properties"] == {"a": "b", "in-use": "true"}
    assert api("admin", "GET", f"{CATALOGS}/facts").json()["catalog"] == altered
    gone = api("admin", "GET", f"{CATALOGS}/tables")
    assert (gone.status_code, gone.json()["type"]) == (404, "NoSuchCatalogException")
    again = api("admin", "POST", CATALOGS, {"name": "facts", **ICEBERG})
    assert (again.status_code, again.json()["type"]) == (409, "CatalogAlreadyExistsException")
    assert api("admin", "DELETE", f"{CATALOGS}/tables").json() == {"code": 0, "dropped": False}
    assert api("admin", "DELETE", f"{CATALOGS}/facts").json()["type"] == "CatalogInUseException"
    assert api("admin", "DELETE", f"{CATALOGS}/facts?force=True").json() == {"code": 0, "dropped": True}


def test_a_disabled_catalog_does_nothing_but_be_seen_enabled_and_dropped(api: Api) -> None:
    api("admin", "POST", CATALOGS, {"name": "cat", **ICEBERG})
    api("admin", "POST", f"{CATALOGS}/cat/schemas", {"name": "s"})
    assert api("admin", "PATCH", f"{CATALOGS}/cat", {"inUse": False}).json() == {"code": 0}
    assert api("admin", "GET", f"{CATALOGS}/cat").json()["catalog"]["properties"]["in-use"] == "false"
    for method, path, body in (
        ("PUT", f"{CATALOGS}/cat", {"updates": []}),
        ("GET", f"{CATALOGS}/cat/schemas", None),
        ("POST", f"{CATALOGS}/cat/schemas", {"name": "t"}),
        ("GET", f"{CATALOGS}/cat/schemas/s", None),
        ("PUT", f"{CATALOGS}/cat/schemas/s", {"updates": []}),
        ("DELETE", f"{CATALOGS}/cat/schemas/s", None),
    ):
        answer = api("admin", method, path, body)
        assert (answer.status_code, answer.json()["code"]) == (409, 1009), path
        assert answer.json()["type"] == "CatalogNotInUseException"
    kept = api("admin", "DELETE", f"{CATALOGS}/cat")
    assert (kept.status_code, kept.json()["type"]) == (409, "NonEmptyCatalogException")
    assert api("admin", "PATCH", f"{CATALOGS}/cat", {"inUse": True}).json() == {"code": 0}
    api("admin", "PATCH", "/api/metalakes/lake", {"inUse": False})
    for method, path in (("GET", f"{CATALOGS}/cat"), ("DELETE", f"{CATALOGS}/cat"), ("GET", CATALOGS)):
        assert api("admin", method, path).json()["type"] == "MetalakeNotInUseException", (method, path)


def test_only_an_owner_takes_a_catalog_out_of_use(api: Api, people: People) -> None:
    api("admin", "POST", CATALOGS, {"name": "cat", **ICEBERG})
    people.may("ann", "USE_CATALOG", "catalog", "cat")
    for in_use in (False, True):
        answer = api("ann", "PATCH", f"{CATALOGS}/cat", {"inUse": in_use})
        assert (answer.status_code, answer.json()["code"]) == (403, 1008)
    assert api("ann", "GET", f"{CATALOGS}/cat").json()["catalog"]["properties"]["in-use"] == "true"
    people.may("ann", "CREATE_CATALOG", "metalake", "lake")
    api("ann", "POST", CATALOGS, {"name": "mine", **ICEBERG})
    assert api("ann", "PATCH", f"{CATALOGS}/mine", {"inUse": False}).json() == {"code": 0}


def test_secrets_are_kept_but_never_told(api: Api, steward: Steward) -> None:
    secrets = {
        "s3-access-key-id": "hush-1",
        "s3-secret-access-key": "hush-2",
        "db-password": "hush-3",
        "oauth2.credential": "hush-4",
        "token": "hush-5",
        "private_key": "hush-6",
        "mirror": "https://me:hush-7@example.org/x",
    }
    body = {"name": "cat", **ICEBERG, "properties": {**secrets, "s3-region": "eu-1"}}
    answers = [
        api("admin", "POST", CATALOGS, body),
        api("admin", "GET", f"{CATALOGS}/cat"),
        api("admin", "GET", CATALOGS + "?details=true"),
        api(
            "admin",
            "PUT",
            f"{CATALOGS}/cat",
            {"updates": [{"@type": "setProperty", "property": "api-key", "value": "hush-8"}]},
        ),
        api("admin", "POST", CATALOGS, {**body, "type": "hush?"}),
    ]
    for answer in answers:
        assert "hush-" not in answer.text
    assert answers[1].json()["catalog"]["properties"] == {"s3-region": "eu-1", "in-use": "true"}
    node = steward.kernel.authority().find(ObjectRef("lake", ObjectType.CATALOG, ("cat",)))
    assert node is not None
    with steward.kernel.store.read() as read:
        record = objects.present(read, node.id)
    assert record.properties["db-password"] == "hush-3"
    assert "hush" not in repr(record)


def test_a_provider_that_is_not_built_is_refused_and_those_that_are_are_named(api: Api) -> None:
    for body in (
        {"type": "relational", "provider": "lakehouse-hudi"},
        {"type": "relational", "provider": "lakehouse-iceberg", "properties": {"catalog-backend": "hadoop"}},
        {"type": "relational"},
        {"type": "messaging", "provider": "pulsar"},
        {"type": "messaging"},
        {"type": "fileset", "provider": "lakehouse-iceberg"},
    ):
        answer = api("admin", "POST", CATALOGS, {"name": "cat", **body})
        assert (answer.status_code, answer.json()["code"]) == (400, 1001), body
        assert "lakehouse-iceberg with catalog-backend=native" in answer.json()["message"]
    for bad in (
        {"name": "cat", "type": "graph"},
        {"name": "a/b", **ICEBERG},
        {"name": "testConnection", **ICEBERG},
        {"name": "cat", **ICEBERG, "properties": {"in-use": "false"}},
        {"name": "cat", **ICEBERG, "properties": {"warehouse": "/data/../etc"}},
        {"name": "cat", **ICEBERG, "properties": {"warehouse": "s3://bucket/*"}},
        {"name": "cat", **ICEBERG, "properties": {"warehouse": "gopher://x"}},
        {"type": "relational"},
    ):
        assert api("admin", "POST", CATALOGS, bad).status_code == 400, bad
    assert api("admin", "GET", CATALOGS).json()["identifiers"] == []


def test_a_connection_test_tells_known_failures_with_http_200(api: Api, tmp_path: Path) -> None:
    url = f"{CATALOGS}/testConnection"
    (tmp_path / "file").write_text("not a folder")
    broken = {"name": "cat", **ICEBERG, "properties": {"warehouse": str(tmp_path / "file")}}
    failed = api("admin", "POST", url, broken)
    assert (failed.status_code, failed.json()["type"]) == (200, "ConnectionFailedException")
    assert api("admin", "POST", url, {"name": "cat", **ICEBERG}).json() == {"code": 0}
    wrong = api("admin", "POST", url, {"name": "cat", "type": "relational", "provider": "hive"})
    assert (wrong.status_code, wrong.json()["code"]) == (200, 1001)
    assert api("admin", "GET", CATALOGS).json()["identifiers"] == []
    api("admin", "POST", CATALOGS, {"name": "cat", **ICEBERG})
    there = api("admin", "POST", url, {"name": "cat", **ICEBERG})
    assert (there.status_code, there.json()["code"]) == (200, 1004)
    assert api("admin", "POST", f"{CATALOGS}/cat/testConnection").json() == {"code": 0}
    moved = {"updates": [{"@type": "setProperty", "property": "warehouse", "value": "/elsewhere"}]}
    fixed = api("admin", "POST", f"{CATALOGS}/cat/testConnection", moved)
    assert (fixed.status_code, fixed.json()["code"]) == (200, 1001)
    assert api("admin", "PUT", f"{CATALOGS}/cat", moved).status_code == 400


def test_who_may_not_gets_403_and_sees_nothing(api: Api, people: People) -> None:
    api("admin", "POST", CATALOGS, {"name": "cat", **ICEBERG})
    people.join("ann")
    for user in ("ann", "stranger"):
        for method, path, body in (
            ("POST", CATALOGS, {"name": "mine", **ICEBERG}),
            ("POST", f"{CATALOGS}/testConnection", {"name": "mine", **ICEBERG}),
            ("POST", f"{CATALOGS}/cat/testConnection", None),
            ("GET", f"{CATALOGS}/cat", None),
            ("GET", f"{CATALOGS}/nothing", None),
            ("PUT", f"{CATALOGS}/cat", {"updates": []}),
            ("PATCH", f"{CATALOGS}/cat", {"inUse": False}),
            ("DELETE", f"{CATALOGS}/cat", None),
            ("GET", f"{CATALOGS}/cat/schemas", None),
        ):
            answer = api(user, method, path, body)
            assert (answer.status_code, answer.json()["code"]) == (403, 1008), (user, method, path)
    assert api("ann", "GET", CATALOGS).json()["identifiers"] == []
    people.may("ann", "USE_CATALOG", "catalog", "cat")
    assert [i["name"] for i in api("ann", "GET", CATALOGS).json()["identifiers"]] == ["cat"]
    assert api("ann", "PUT", f"{CATALOGS}/cat", {"updates": []}).status_code == 403
    people.may("ann", "CREATE_CATALOG", "metalake", "lake")
    assert api("ann", "POST", CATALOGS, {"name": "mine", **ICEBERG}).status_code == 200
    assert api("ann", "DELETE", f"{CATALOGS}/mine?force=true").json()["dropped"] is True
