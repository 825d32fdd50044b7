"""Credentials of a fileset reach nothing that the owner of its catalog did not decide to give. On a real MinIO with STS."""

from pathlib import Path
from typing import Any

import pytest

from headgate.catalogs.openings import Openings
from tests.conftest import Api
from tests.doors.governed import applied
from tests.doors.iceberg.conftest import SCHEMA
from tests.doors.iceberg.test_tables_come_with_access import declare, may
from tests.doors.lake import LAKE
from tests.minio import Minio
from tests.openings import opened
from tests.people import People

pytestmark = pytest.mark.real

CATALOG = f"{LAKE}/catalogs/files"
PROVIDERS = "credential-providers"
TOKEN = {PROVIDERS: "s3-token"}


@pytest.fixture
def bucket(minio: Minio) -> str:
    return minio.bucket()


@pytest.fixture
def openings(tmp_path: Path, bucket: str) -> Openings:
    return opened(tmp_path, f"s3://{bucket}")


def catalog(api: Api, properties: dict[str, str], schema: str = "s") -> None:
    body = {"name": "files", "type": "fileset", "properties": properties}
    made = api("admin", "POST", f"{LAKE}/catalogs", body)
    assert made.status_code == 200, made.text
    assert api("admin", "POST", f"{CATALOG}/schemas", {"name": schema}).status_code == 200


def given(api: Api, minio: Minio, user: str, fileset: str) -> list[Any]:
    """A client of the storage for each credential that somebody is given for a fileset."""
    answer = api(user, "GET", f"{LAKE}/objects/fileset/files.{fileset}/credentials")
    infos = [each["credentialInfo"] for each in answer.json().get("credentials", ())]
    return [
        minio.client(
            aws_access_key_id=info["s3-access-key-id"],
            aws_secret_access_key=info["s3-secret-access-key"],
            aws_session_token=info["s3-session-token"],
        )
        for info in infos
    ]


def changed(api: Api, user: str, path: str, **update: str) -> int:
    return int(api(user, "PUT", path, {"updates": [{"@type": update.pop("kind"), **update}]}).status_code)


def test_only_the_catalogs_owner_turns_credentials_on_by_whatever_update(
    api: Api, people: People, minio: Minio, bucket: str
) -> None:
    """To take the fileset's own word away is to take the catalog's instead."""
    catalog(api, {**minio.properties(), **TOKEN, "location": f"s3://{bucket}/files"})
    path = f"{CATALOG}/schemas/s/filesets"
    made = api("admin", "POST", path, {"name": "f", "properties": {PROVIDERS: ""}})
    assert made.status_code == 200, made.text
    people.may("bob", "USE_CATALOG USE_SCHEMA WRITE_FILESET", "metalake", "lake")
    assert given(api, minio, "bob", "s.f") == []
    on = changed(api, "bob", f"{path}/f", kind="setProperty", property=PROVIDERS, value="s3-token")
    assert on == 403, "control"
    off = changed(api, "bob", f"{path}/f", kind="removeProperty", property=PROVIDERS)
    assert given(api, minio, "bob", "s.f") == []
    assert off == 403


def test_files_that_lay_there_before_a_fileset_are_not_opened_when_the_catalog_begins_to_give_credentials(
    api: Api, people: People, minio: Minio, bucket: str
) -> None:
    """What holds files already is the catalog's owner's to give, whether or not the catalog gives credentials that day."""
    catalog(api, {"location": f"s3://{bucket}/files"})
    minio.client().put_object(Bucket=bucket, Key="files/s/payroll/2026.csv", Body=b"salaries")
    people.may("bob", "USE_CATALOG USE_SCHEMA CREATE_FILESET", "metalake", "lake")
    api("bob", "POST", f"{CATALOG}/schemas/s/filesets", {"name": "payroll"})
    for key, value in {**minio.properties(), **TOKEN}.items():
        if key != PROVIDERS:
            assert changed(api, "admin", CATALOG, kind="setProperty", property=key, value=value) == 200
    assert changed(api, "admin", CATALOG, kind="setProperty", property=PROVIDERS, value="s3-token") == 200
    for s3 in given(api, minio, "bob", "s.payroll"):
        assert not may(lambda s3=s3: s3.get_object(Bucket=bucket, Key="files/s/payroll/2026.csv"))


def test_no_fileset_lies_around_the_governed_copies_of_a_catalog(
    api: Api, people: People, minio: Minio, bucket: str
) -> None:
    """Tables were made elsewhere, so that the warehouse holds nothing but what restricted readers are given."""
    catalog(api, {**minio.properties(), **TOKEN, "location": f"s3://{bucket}"})
    elsewhere = {"warehouse": f"s3://{bucket}/a/warehouse", "allowed-locations": f"s3://{bucket}/data"}
    declare(api, "wh", {**minio.properties(), **elsewhere})
    people.may("bob", "USE_CATALOG USE_SCHEMA CREATE_SCHEMA CREATE_FILESET", "metalake", "lake")
    assert api("bob", "POST", f"{CATALOG}/schemas", {"name": "a"}).status_code == 200
    api("bob", "POST", f"{CATALOG}/schemas/a/filesets", {"name": "warehouse"})
    tables = "/iceberg/v1/lake.wh/namespaces/s/tables"
    body = {"name": "t", "schema": SCHEMA, "location": f"s3://{bucket}/data/t"}
    assert api("admin", "POST", tables, body).status_code == 200
    people.may("ann", "USE_CATALOG USE_SCHEMA SELECT_TABLE", "metalake", "lake")
    applied(api, "policy: hide-name\non: lake.wh.s.t\nto: [user:ann]\nhide: [name]\n")
    seen = api("ann", "GET", f"{tables}/t")
    assert seen.status_code == 200, seen.text
    key = seen.json()["metadata-location"].removeprefix(f"s3://{bucket}/")
    assert "/_headgate/" in key
    for s3 in given(api, minio, "bob", "a.warehouse"):
        assert not may(lambda s3=s3: s3.get_object(Bucket=bucket, Key=key)), "what ann is given"
        assert not may(lambda s3=s3: s3.put_object(Bucket=bucket, Key=key, Body=b"{}")), "bob's words for ann"
