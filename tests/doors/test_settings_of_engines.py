"""Promise: settings of an engine tell nobody more of a catalog than the catalog itself does, and say by name what there is not."""

from pathlib import Path
from typing import Any

import pytest

from headgate.engines.config.names import FORMATS, EngineName
from tests.conftest import Api
from tests.people import People

CATALOGS = "/api/metalakes/lake/catalogs"
ROLE = "arn:aws:iam::123456789012:role/lake-tables"


@pytest.fixture
def openings(tmp_path: Path) -> Any:
    from tests.openings import opened

    return opened(tmp_path, "s3://bucket")


@pytest.fixture(autouse=True)
def _lake(api: Api, people: People) -> None:
    assert api("admin", "POST", "/api/metalakes", {"name": "lake"}).status_code == 200
    s3 = {"warehouse": "s3://bucket/one", "s3-region": "eu-central-1"}
    make(api, "plain", s3)
    make(
        api,
        "role",
        {
            **s3,
            "warehouse": "s3://bucket/two",
            "s3-role-arn": ROLE,
            "s3-external-id": "external-1",
            "s3-access-key-id": "AKIAHIDDEN",
            "s3-secret-access-key": "hidden/key",
            "s3-token-service-endpoint": "http://127.0.0.1:9000",
        },
    )
    for catalog in ("plain", "role"):
        people.may("ann", "USE_CATALOG", "catalog", catalog)
    people.join("bob")


def make(api: Api, name: str, properties: dict[str, str]) -> None:
    body = {"name": name, "type": "relational", "provider": "lakehouse-iceberg", "properties": properties}
    made = api("admin", "POST", CATALOGS, body)
    assert made.status_code == 200, made.text


def ask(api: Api, user: str | None, catalog: str, engine: str = "trino", **more: str) -> Any:
    query = {"metalake": "lake", "catalog": catalog, "engine": engine, "server": "https://h:8090", **more}
    return api(user, "GET", "/api/headgate/engine-config", params=query)


def text(api: Api, user: str, catalog: str, engine: str = "trino", **more: str) -> str:
    answer = ask(api, user, catalog, engine, **more)
    assert answer.status_code == 200, answer.text
    return str(answer.json()["config"]["text"])


@pytest.mark.parametrize("engine", EngineName)
def test_who_only_uses_a_catalog_cannot_tell_whether_it_has_a_role(api: Api, engine: EngineName) -> None:
    for format in FORMATS[engine]:
        plain, role = (text(api, "ann", name, engine, format=format) for name in ("plain", "role"))
        assert plain.replace("plain", "role") == role
    owner = text(api, "admin", "role", engine)
    if engine is not EngineName.PRESTO:
        assert owner != text(api, "admin", "plain", engine).replace("plain", "role"), "its owner is told"


@pytest.mark.parametrize("user", ["admin", "ann"])
@pytest.mark.parametrize("engine", EngineName)
def test_no_secret_is_in_any_answer(api: Api, user: str, engine: EngineName) -> None:
    for format in FORMATS[engine]:
        answer = ask(api, user, "role", engine, format=format).text
        for secret in ("AKIAHIDDEN", "hidden/key", "external-1", "127.0.0.1"):
            assert secret not in answer


def test_who_may_not_load_the_catalog_gets_the_same_answer_as_for_one_that_is_not_there(api: Api) -> None:
    for catalog in ("plain", "missing"):
        loaded = api("bob", "GET", f"{CATALOGS}/{catalog}")
        answer = ask(api, "bob", catalog)
        assert (answer.status_code, answer.json()) == (loaded.status_code, loaded.json())
    assert ask(api, None, "plain").status_code == 401
    assert ask(api, "admin", "missing").status_code == 404


def test_what_is_not_there_is_refused_with_the_choices(api: Api) -> None:
    refused = ask(api, "ann", "plain", "excel")
    assert refused.status_code == 400
    for engine in EngineName:
        assert engine in refused.json()["message"]
    refused = ask(api, "ann", "plain", "trino", format="yaml")
    assert refused.status_code == 400
    assert refused.json()["message"] == ("settings of trino are not written as 'yaml': use properties or sql")
    refused = ask(api, "ann", "plain", "trino", through="vpn")
    assert (refused.status_code, "headgate, native" in refused.json()["message"]) == (400, True)
    refused = ask(api, "ann", "plain", "trino", through="native")
    assert refused.status_code == 400
    assert "there is no system behind it" in refused.json()["message"]
    for missing in ("catalog", "engine", "server", "metalake"):
        answer = ask(api, "ann", **{"catalog": "plain", missing: ""})
        assert (answer.status_code, missing in answer.json()["message"]) == (400, True)


def test_a_catalog_that_holds_no_tables_is_refused_by_name(api: Api) -> None:
    for name, type in (("files", "fileset"), ("topics", "messaging"), ("models", "model")):
        provider = "topic" if type == "messaging" else type
        assert api("admin", "POST", CATALOGS, {"name": name, "type": type, "provider": provider}).is_success
        refused = ask(api, "admin", name)
        assert refused.status_code == 400
        assert "holds no tables" in refused.json()["message"]


def test_the_way_past_headgate_says_that_policies_do_not_hold_there(api: Api) -> None:
    make(
        api,
        "far",
        {"catalog-backend": "rest", "uri": "http://127.0.0.1:1/catalog", "warehouse": "w", "token": "hidden"},
    )
    config = ask(api, "admin", "far", "spark", through="native").json()["config"]
    assert config["warning"].startswith("WARNING: Headgate's policies do not hold on this way")
    assert "spark.sql.catalog.far.uri=http://127.0.0.1:1/catalog" in config["text"]
    assert "hidden" not in config["text"]
    assert ask(api, "admin", "far", "spark").json()["config"]["warning"] is None


def test_a_disabled_catalog_is_answered_as_it_is_loaded(api: Api) -> None:
    api("admin", "PATCH", f"{CATALOGS}/plain", {"inUse": False})
    assert ask(api, "ann", "plain").status_code == api("ann", "GET", f"{CATALOGS}/plain").status_code
