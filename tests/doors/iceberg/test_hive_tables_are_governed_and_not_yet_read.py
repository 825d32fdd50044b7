"""Hive tables of AWS Glue: described under policies at Gravitino's door, refused at Iceberg's, and tags hold over renames."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headgate.catalogs.openings import Openings
from tests.catalogs import glue_server
from tests.conftest import Api
from tests.doors.governed import applied
from tests.doors.iceberg.conftest import SCHEMA, create
from tests.doors.lake import LAKE
from tests.openings import opened
from tests.people import People

GRAVITINO = f"{LAKE}/catalogs/aws/schemas/s/tables"
FED = "/iceberg/v1/lake.aws/namespaces/s/tables"
PROVIDERS = {"hive": "hive", "iceberg": "lakehouse-iceberg", "both": "glue"}
HIDE = "policy: few\non: lake.aws\nto: [user:ann]\ncolumns: {c: has_tag('pii')}\nhide: [c]\n"


@pytest.fixture
def openings(tmp_path: Path) -> Openings:
    return opened(tmp_path)


@pytest.fixture
def glue(api: Api, tmp_path: Path) -> Iterator[str]:
    """`lake.aws` over both formats, with the schema `s`."""
    with glue_server.glue_server() as url:
        declare(api, "both", url, tmp_path)
        assert api("admin", "POST", f"{LAKE}/catalogs/aws/schemas", {"name": "s"}).status_code == 200
        yield url


def declare(api: Api, kind: str, url: str, folder: Path, name: str = "aws", **more: str) -> Any:
    declared = {**glue_server.properties(kind, url, folder), **more}
    body = {"name": name, "type": "relational", "provider": PROVIDERS[kind], "properties": declared}
    answer = api("admin", "POST", f"{LAKE}/catalogs", body)
    assert answer.status_code == 200 or more, answer.text
    return answer


def make(api: Api, name: str = "t", **properties: str) -> Any:
    columns = [{"name": n, "type": "string"} for n in ("ssn", "name")]
    return api("admin", "POST", GRAVITINO, {"name": name, "columns": columns, "properties": properties})


def shown(api: Api, who: str = "ann") -> list[str]:
    answer = api(who, "GET", f"{GRAVITINO}/t")
    assert answer.status_code == 200, answer.text
    return [column["name"] for column in answer.json()["table"]["columns"]]


def test_tags_and_policies_hold_over_renames(api: Api, glue: str, people: People) -> None:
    assert make(api).status_code == 200
    assert shown(api, "admin") == ["ssn", "name"]
    people.may("ann", "USE_CATALOG USE_SCHEMA SELECT_TABLE", "metalake", "lake")
    api("admin", "POST", f"{LAKE}/tags", {"name": "pii"})
    tagging = f"{LAKE}/objects/column/aws.s.t.ssn/tags"
    assert api("admin", "POST", tagging, {"tagsToAdd": ["pii"]}).status_code == 200
    applied(api, HIDE)
    assert shown(api) == ["name"]
    rename = {"@type": "renameColumn", "oldFieldName": ["ssn"], "newFieldName": "number"}
    assert api("admin", "PUT", f"{GRAVITINO}/t", {"updates": [rename]}).status_code == 200
    assert (shown(api, "admin"), shown(api)) == (["number", "name"], ["name"])
    known = glue_server.backend().get_table("s", "t")
    raw = known.get_version(str(known._current_version))

    def becomes(*names: str) -> None:
        columns = [{"Name": n, "Type": "string"} for n in names]
        known.update({**raw, "StorageDescriptor": {**raw["StorageDescriptor"], "Columns": columns}})

    becomes("other", "name")
    assert shown(api) == ["name"], "one column in the place of one other"
    becomes("x", "y")
    answers = [api("ann", "GET", f"{GRAVITINO}/t") for _ in range(2)]
    assert [answer.status_code for answer in answers] == [503, 403], "which is which cannot be told"
    assert shown(api, "admin") == ["x", "y"]


def test_nothing_of_a_hive_table_leaves_by_the_iceberg_door(api: Api, glue: str, people: People) -> None:
    assert make(api).status_code == 200
    people.may("ann", "USE_CATALOG", "metalake", "lake")
    for method, path, body in (
        ("GET", f"{FED}/t", None),
        ("POST", f"{FED}/t/plan", {}),
        ("GET", f"{FED}/t/credentials", None),
        ("POST", f"{FED}/t", {"requirements": [], "updates": []}),
        ("GET", f"{GRAVITINO}/t/partitions", None),
    ):
        answer = api("admin", method, path, body)
        assert answer.status_code in (405, 406), (path, answer.text)
        assert "Hive table" in answer.text
        assert api("ann", method, path, body).status_code in (403, 404), (
            "nor does anybody learn that it is there"
        )
    assert api("admin", "POST", FED, {"name": "i", "schema": SCHEMA}).status_code == 200
    assert api("admin", "GET", f"{FED}/i").status_code == 200


def test_a_hive_table_is_not_put_into_the_place_of_another(api: Api, glue: str) -> None:
    place = create(api).json()["metadata"]["location"]
    assert make(api, location=place).status_code in (400, 403)
    assert make(api, location="s3://nowhere/t").status_code == 400
    stored = {"Columns": [{"Name": "a", "Type": "int"}], "SerdeInfo": {"SerializationLibrary": "x"}}
    for name, location in (("there", place), ("below", f"{place}/data"), ("above", place.rpartition("/")[0])):
        given = {"Name": name, "StorageDescriptor": {**stored, "Location": location}}
        glue_server.backend().create_table("s", name, given, None)
        refused = api("admin", "GET", f"{GRAVITINO}/{name}")
        assert refused.status_code == 403, (name, refused.text)
        assert "cat.s.t" not in refused.text
    assert api("admin", "GET", GRAVITINO).status_code == 200


def test_every_provider_is_declared_as_it_is_documented(api: Api, tmp_path: Path) -> None:
    with glue_server.glue_server() as url:
        for kind in PROVIDERS:
            declare(api, kind, url, tmp_path, kind)
            seen = api("admin", "GET", f"{LAKE}/catalogs/{kind}")
            assert "hidden" not in seen.text
            assert api("admin", "GET", f"{LAKE}/catalogs/{kind}/schemas").status_code == 200
        for kind, key in (("hive", "aws-access-key-id"), ("both", "s3-region"), ("iceberg", "jdbc-url")):
            refused = declare(api, kind, url, tmp_path, "x", **{key: "v"})
            assert refused.status_code == 400
            assert f"'{key}'" in refused.text
        body = {"name": "x", "type": "relational", "provider": "hive", "properties": {}}
        refused = api("admin", "POST", f"{LAKE}/catalogs", body)
        assert refused.status_code == 400
        assert "metastore.uris" in refused.text


def test_no_table_is_made_that_the_catalog_would_not_show(api: Api, tmp_path: Path) -> None:
    with glue_server.glue_server() as url:
        declare(api, "hive", url, tmp_path)
        assert api("admin", "POST", f"{LAKE}/catalogs/aws/schemas", {"name": "s"}).status_code == 200
        for answer in (
            api("admin", "POST", FED, {"name": "i", "schema": SCHEMA}),
            api("admin", "POST", FED, {"name": "i", "schema": SCHEMA, "stage-create": True}),
            make(api, "i", provider="iceberg"),
        ):
            assert answer.status_code == 400, answer.text
        assert glue_server.backend().get_tables("s", None) == []
        assert make(api).status_code == 200


@pytest.mark.parametrize("key", ["table_type", "spark.sql.sources.provider", "Spark.SQL.Sources.Provider"])
def test_no_property_turns_a_hive_table_into_one_that_the_catalog_does_not_show(
    api: Api, people: People, tmp_path: Path, key: str
) -> None:
    """It would be gone for everybody, and only who does not come through here could bring it back."""
    people.may("ann", "USE_CATALOG USE_SCHEMA MODIFY_TABLE", "metalake", "lake")
    with glue_server.glue_server() as url:
        declare(api, "hive", url, tmp_path)
        assert api("admin", "POST", f"{LAKE}/catalogs/aws/schemas", {"name": "s"}).status_code == 200
        assert make(api).status_code == 200
        for update in (
            {"@type": "setProperty", "property": key, "value": "delta"},
            {"@type": "removeProperty", "property": key},
        ):
            refused = api("ann", "PUT", f"{GRAVITINO}/t", {"updates": [update]})
            assert refused.status_code == 400, refused.text
        assert make(api, "u", **{key: "delta"}).status_code == 400
        assert shown(api, "admin") == ["ssn", "name"]
