"""`credential-providers` on catalogs, tables and filesets: real credentials for what the caller sees, on a real MinIO."""

from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from headgate.catalogs.openings import Openings
from headgate.steward import Steward
from tests.conftest import Api
from tests.doors.governed import applied
from tests.doors.iceberg.conftest import SCHEMA
from tests.doors.lake import LAKE
from tests.minio import Minio
from tests.openings import opened
from tests.people import People

pytestmark = pytest.mark.real

PROVIDERS = {"credential-providers": "s3-token"}
FILESETS = f"{LAKE}/catalogs/files/schemas/s/filesets"
READ = "USE_CATALOG USE_SCHEMA SELECT_TABLE READ_FILESET"


@pytest.fixture
def bucket(minio: Minio) -> str:
    return minio.bucket()


@pytest.fixture
def openings(tmp_path: Path, bucket: str) -> Openings:
    return opened(tmp_path, f"s3://{bucket}")


@pytest.fixture(autouse=True)
def stored(api: Api, people: People, minio: Minio, bucket: str, lake: None) -> None:
    """`s3.s.t` and `files.s.f` of admin's; ann may read, bob may write too."""
    declare(api, "s3", {**minio.properties(), **PROVIDERS, "warehouse": f"s3://{bucket}/lake"})
    declare(api, "files", {**minio.properties(), **PROVIDERS, "location": f"s3://{bucket}/files"}, "fileset")
    made = api("admin", "POST", "/iceberg/v1/lake.s3/namespaces/s/tables", {"name": "t", "schema": SCHEMA})
    assert made.status_code == 200, made.text
    for name in ("f", "other"):
        made = api("admin", "POST", FILESETS, {"name": name})
        assert made.status_code == 200, made.text
        minio.client().put_object(Bucket=bucket, Key=f"files/s/{name}/x", Body=b"x")
    people.may("ann", READ, "metalake", "lake")
    people.may("bob", f"{READ} MODIFY_TABLE WRITE_FILESET", "metalake", "lake")


def declare(api: Api, name: str, properties: dict[str, str], type: str = "relational") -> None:
    provider = "fileset" if type == "fileset" else "lakehouse-iceberg"
    body = {"name": name, "type": type, "provider": provider, "properties": properties}
    made = api("admin", "POST", f"{LAKE}/catalogs", body)
    assert made.status_code == 200, made.text
    assert api("admin", "POST", f"{LAKE}/catalogs/{name}/schemas", {"name": "s"}).status_code == 200


def asked(api: Api, user: str, object: str) -> Any:
    return api(user, "GET", f"{LAKE}/objects/{object}/credentials")


def given(api: Api, user: str, object: str) -> list[dict[str, Any]]:
    answer = asked(api, user, object)
    assert answer.status_code == 200, answer.text
    assert answer.headers["cache-control"] == "no-store"
    found: list[dict[str, Any]] = answer.json()["credentials"]
    return found


def client(minio: Minio, credential: dict[str, Any]) -> Any:
    assert credential["credentialType"] == "s3-token"
    assert credential["expireTimeInMs"] > 0
    info = credential["credentialInfo"]
    return minio.client(
        aws_access_key_id=info["s3-access-key-id"],
        aws_secret_access_key=info["s3-secret-access-key"],
        aws_session_token=info["s3-session-token"],
    )


class Reach:
    """What a credential can do in a bucket."""

    def __init__(self, s3: Any, bucket: str) -> None:
        self.s3, self.bucket = s3, bucket

    def reads(self, key: str) -> bool:
        return _may(lambda: self.s3.get_object(Bucket=self.bucket, Key=key))

    def writes(self, key: str) -> bool:
        return _may(lambda: self.s3.put_object(Bucket=self.bucket, Key=key, Body=b"y"))

    def lists(self, prefix: str) -> bool:
        return _may(lambda: self.s3.list_objects_v2(Bucket=self.bucket, Prefix=prefix))


def _may(action: Any) -> bool:
    try:
        action()
    except ClientError as error:
        if error.response["ResponseMetadata"]["HTTPStatusCode"] != 403:
            raise
        return False
    return True


def test_a_fileset_is_read_by_its_readers_and_written_by_its_writers_and_by_nobody_beside_it(
    api: Api, minio: Minio, bucket: str
) -> None:
    for user, writes in (("ann", False), ("bob", True), ("admin", True)):
        [credential] = given(api, user, "fileset/files.s.f")
        reach = Reach(client(minio, credential), bucket)
        assert reach.reads("files/s/f/x")
        assert reach.lists("files/s/f/")
        assert reach.writes(f"files/s/f/{user}") == writes
        for elsewhere in ("files/s/other/", "files/s/", "files/s/f2/", "lake/", ""):
            assert not reach.reads(f"{elsewhere}x")
            assert not reach.writes(f"{elsewhere}y")
            assert not reach.lists(elsewhere)


def test_a_table_comes_with_what_the_iceberg_door_gives_too(
    api: Api, people: People, minio: Minio, bucket: str
) -> None:
    loaded = api("admin", "GET", "/iceberg/v1/lake.s3/namespaces/s/tables/t").json()
    document = loaded["metadata-location"].removeprefix(f"s3://{bucket}/")
    folder = loaded["metadata"]["location"].removeprefix(f"s3://{bucket}/")
    for user, writes in (("ann", False), ("bob", True)):
        [credential] = given(api, user, "table/s3.s.t")
        reach = Reach(client(minio, credential), bucket)
        assert reach.reads(document)
        assert reach.writes(f"{folder}/data/{user}") == writes
        assert not reach.reads("files/s/f/x")
    people.may("ann", "SELECT_TABLE", "table", "s3.s.t", deny=True)
    assert asked(api, "ann", "table/s3.s.t").status_code == 403
    people.join("eve")
    for object in ("table/s3.s.t", "table/s3.s.none", "fileset/files.s.f", "fileset/files.s.none"):
        assert asked(api, "eve", object).status_code == 403, object


def test_who_sees_a_part_of_a_table_gets_nothing_for_its_own_files(
    api: Api, minio: Minio, bucket: str
) -> None:
    loaded = api("admin", "GET", "/iceberg/v1/lake.s3/namespaces/s/tables/t").json()
    document = loaded["metadata-location"].removeprefix(f"s3://{bucket}/")
    folder = loaded["metadata"]["location"].removeprefix(f"s3://{bucket}/")
    minio.client().put_object(Bucket=bucket, Key=f"{folder}/data/file", Body=b"secret")
    applied(api, "policy: some\non: lake\nto: [user:ann, user:bob]\nrows: id = 1\n")
    for user in ("ann", "bob"):
        for credential in given(api, user, "table/s3.s.t"):
            reach = Reach(client(minio, credential), bucket)
            for key in (document, f"{folder}/data/file"):
                assert not reach.reads(key)
            assert not reach.writes(f"{folder}/data/{user}")
            assert not reach.lists(f"{folder}/")
    [credential] = given(api, "admin", "table/s3.s.t")
    assert Reach(client(minio, credential), bucket).reads(f"{folder}/data/file")


def test_what_stands_on_the_object_goes_before_what_its_catalog_says(api: Api, people: People) -> None:
    assert given(api, "admin", "catalog/s3") == given(api, "admin", "catalog/files") == []
    off = {"updates": [{"@type": "removeProperty", "property": "credential-providers"}]}
    on = {"updates": [{"@type": "setProperty", "property": "credential-providers", "value": "s3-token"}]}
    for catalog in ("s3", "files"):
        assert api("admin", "PUT", f"{LAKE}/catalogs/{catalog}", off).status_code == 200
    table, fileset = f"{LAKE}/catalogs/s3/schemas/s/tables/t", f"{FILESETS}/f"
    for object, path in (("table/s3.s.t", table), ("fileset/files.s.f", fileset)):
        assert given(api, "admin", object) == []
        assert api("admin", "PUT", path, on).status_code == 200
        assert len(given(api, "admin", object)) == 1
    assert given(api, "admin", "fileset/files.s.other") == []
    # Whose storage it is says for which filesets there are credentials, not who may change a fileset.
    people.may("bob", "CREATE_FILESET", "metalake", "lake")
    assert api("bob", "PUT", f"{FILESETS}/other", on).status_code == 403
    assert api("bob", "POST", FILESETS, {"name": "n", "properties": PROVIDERS}).status_code == 403


def test_nobody_gets_at_files_by_making_a_fileset_around_them(
    api: Api, people: People, minio: Minio, bucket: str
) -> None:
    people.may("bob", "CREATE_FILESET", "metalake", "lake")
    minio.client().put_object(Bucket=bucket, Key="files/s/left/x", Body=b"x")
    assert api("bob", "POST", FILESETS, {"name": "left"}).status_code == 403
    named = {"name": "n", "storageLocation": f"s3://{bucket}/files/s/left"}
    assert api("bob", "POST", FILESETS, named).status_code == 403
    outside = {"name": "n", "type": "external", "storageLocation": f"s3://{bucket}/lake"}
    assert api("bob", "POST", FILESETS, outside).status_code in (400, 403, 409)
    made = api("bob", "POST", FILESETS, {"name": "new"})
    assert made.status_code == 200, made.text
    [credential] = given(api, "bob", "fileset/files.s.new")
    reach = Reach(client(minio, credential), bucket)
    assert reach.writes("files/s/new/x")
    assert not reach.reads("files/s/left/x")


def test_providers_that_cannot_be_safe_or_are_not_built_are_refused_with_the_reason(
    api: Api, minio: Minio, bucket: str
) -> None:
    keys = {**minio.properties(), "warehouse": f"s3://{bucket}/w"}
    body = {"name": "n", "type": "relational", "provider": "lakehouse-iceberg"}
    without = {key: value for key, value in keys.items() if key != "s3-role-arn"}
    for properties, word in (
        ({**keys, "credential-providers": "s3-secret-key"}, "opens all of its storage"),
        ({**keys, "credential-providers": "s3-token, S3-SECRET-KEY"}, "opens all of its storage"),
        ({**keys, "credential-providers": "gcs-token"}, "'gcs-token'"),
        ({**without, **PROVIDERS}, "s3-role-arn"),
    ):
        refused = api("admin", "POST", f"{LAKE}/catalogs", {**body, "properties": properties})
        assert refused.status_code == 400, refused.text
        assert word in refused.json()["message"]
        value = properties["credential-providers"]
        update = {"updates": [{"@type": "setProperty", "property": "credential-providers", "value": value}]}
        if "s3-role-arn" in properties:
            for path in (f"{LAKE}/catalogs/s3", f"{FILESETS}/f", f"{LAKE}/catalogs/s3/schemas/s/tables/t"):
                assert api("admin", "PUT", path, update).status_code == 400, path
    role = {"updates": [{"@type": "removeProperty", "property": "s3-role-arn"}]}
    assert api("admin", "PUT", f"{LAKE}/catalogs/s3", role).status_code == 400


def test_a_place_that_the_operator_has_not_opened_is_given_to_nobody(
    api: Api, minio: Minio, steward: Steward, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(steward.vending, "openings", Openings())
    assert given(api, "admin", "fileset/files.s.f") == []


def test_what_is_given_is_audited_and_no_secret_is_kept(api: Api, steward: Steward, bucket: str) -> None:
    [ofs, oft] = [given(api, "bob", object)[0] for object in ("fileset/files.s.f", "table/s3.s.t")]
    steward.kernel.reads.flush()
    told = api("admin", "GET", "/api/headgate/audit?metalake=lake&user=bob&limit=100")
    events = {event["object"]: event for event in told.json()["events"]}
    assert events["files.s.f"]["action"] == "load_fileset"
    assert events["files.s.f"]["details"]["vended"] == [f"s3://{bucket}/files/s/f"]
    assert events["files.s.f"]["details"]["writes"] is True
    assert events["s3.s.t"]["details"]["vended"]
    for credential in (ofs, oft):
        for secret in credential["credentialInfo"].values():
            assert secret not in told.text
