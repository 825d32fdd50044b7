"""A table that the metalake's owner puts where another was dropped opens nothing of that one to who saw a part of it.

On a real MinIO with STS: the raw files of the dropped table still lie in the place, and who sees all of the new table gets its folder.
"""

from pathlib import Path

import pytest

from headgate.catalogs.openings import Openings
from tests.conftest import Api
from tests.doors.governed import applied
from tests.doors.iceberg.conftest import SCHEMA
from tests.doors.iceberg.test_credentials_never_reach_a_dropped_table import reaches, secret
from tests.doors.iceberg.test_tables_come_with_access import S3, TABLES, VENDED, declare
from tests.doors.lake import LAKE
from tests.minio import Minio
from tests.openings import opened
from tests.people import People

pytestmark = pytest.mark.real

FEWER = {"type": "struct", "fields": SCHEMA["fields"][:1]}  # type: ignore[index]
HIDE = "policy: hide-name\non: {on}\nto: [user:ann]\nhide: [name]\n"
ROWS = "policy: rows\non: {on}\nto: [user:ann]\nrows: name = 'ann'\n"


@pytest.fixture
def bucket(minio: Minio) -> str:
    return minio.bucket()


@pytest.fixture
def openings(tmp_path: Path, bucket: str) -> Openings:
    return opened(tmp_path, f"s3://{bucket}")


@pytest.fixture(autouse=True)
def catalog(api: Api, people: People, minio: Minio, bucket: str, lake: None) -> None:
    declare(api, "s3", {**minio.properties(), "warehouse": f"s3://{bucket}/lake"})
    assert api("admin", "POST", f"{S3}/namespaces", {"namespace": ["public"]}).status_code == 200
    people.may("ann", "USE_CATALOG USE_SCHEMA SELECT_TABLE", "metalake", "lake")


@pytest.mark.parametrize(
    ("policy", "on", "schema", "into"),
    [
        pytest.param(HIDE, "lake.s3.s.t", SCHEMA, "s", id="the same columns"),
        pytest.param(HIDE, "lake.s3.s.t", FEWER, "s", id="without the hidden column"),
        pytest.param(ROWS, "lake.s3.s.t", FEWER, "s", id="without the column of the row filter"),
        pytest.param(HIDE, "lake.s3.s", SCHEMA, "public", id="out of the schema that has the policy"),
    ],
)
def test_who_saw_a_part_of_the_former_table_gets_none_of_its_files(
    api: Api, minio: Minio, bucket: str, policy: str, on: str, schema: object, into: str
) -> None:
    made, key = secret(api, minio, bucket)
    applied(api, policy.format(on=on))
    assert not reaches(minio, bucket, key, api("ann", "GET", f"{TABLES}/t", headers=VENDED)), "control"
    assert api("admin", "DELETE", f"{TABLES}/t").status_code == 204
    tables = f"{S3}/namespaces/{into}/tables"
    body = {"name": "next", "schema": schema, "location": made["metadata"]["location"]}
    if api("admin", "POST", tables, body).status_code != 200:
        return  # To refuse it keeps the promise too.
    for answer in (
        api("ann", "GET", f"{tables}/next", headers=VENDED),
        api("ann", "GET", f"{tables}/next/credentials"),
        api("ann", "POST", f"{tables}/next/plan", {}, headers=VENDED),
    ):
        assert not reaches(minio, bucket, key, answer), "the raw file of the former table"


def test_a_tag_still_says_where_it_is_after_a_view_took_the_place_of_a_tagged_table(api: Api) -> None:
    """A view has no fields that a tag could be on; listing the tag's objects must not fail for everybody."""
    ice = "/iceberg/v1/lake.cat/namespaces/s"
    made = api("admin", "POST", f"{ice}/tables", {"name": "t", "schema": SCHEMA}).json()
    assert api("admin", "POST", f"{LAKE}/tags", {"name": "pii"}).status_code == 200
    tagging = f"{LAKE}/objects/column/cat.s.t.name/tags"
    assert api("admin", "POST", tagging, {"tagsToAdd": ["pii"]}).status_code == 200
    assert api("admin", "DELETE", f"{ice}/tables/t").status_code == 204
    version = {
        "version-id": 1,
        "timestamp-ms": 1,
        "schema-id": 0,
        "summary": {},
        "representations": [{"type": "sql", "sql": "select 1", "dialect": "spark"}],
        "default-namespace": ["s"],
    }
    view = {
        "name": "v",
        "location": made["metadata"]["location"],
        "schema": {**SCHEMA, "schema-id": 0},
        "view-version": version,
        "properties": {},
    }
    api("admin", "POST", f"{ice}/views", view)
    listed = api("admin", "GET", f"{LAKE}/tags/pii/objects")
    assert listed.status_code == 200, listed.text
