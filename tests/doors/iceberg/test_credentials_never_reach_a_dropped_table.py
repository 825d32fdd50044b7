"""No credential for one table reaches the raw files of another that was dropped, moved or staged. On a real MinIO with STS."""

import uuid
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from headgate.catalogs.openings import Openings
from tests.conftest import Api
from tests.doors.iceberg.conftest import SCHEMA
from tests.doors.iceberg.test_a_place_belongs_to_one_object import made_at
from tests.doors.iceberg.test_tables_come_with_access import TABLES, VENDED, client, declare
from tests.minio import Minio
from tests.openings import opened
from tests.people import People

pytestmark = pytest.mark.real


@pytest.fixture
def own(minio: Minio) -> str:
    return minio.bucket()


@pytest.fixture
def openings(tmp_path: Path, own: str) -> Openings:
    return opened(tmp_path, f"s3://{own}")


@pytest.fixture
def bucket(api: Api, people: People, minio: Minio, own: str, lake: None) -> str:
    """The bucket of the catalog `s3`, in which bob makes tables."""
    bucket = own
    declare(api, "s3", {**minio.properties(), "warehouse": f"s3://{bucket}/lake"})
    people.may("bob", "USE_CATALOG USE_SCHEMA CREATE_TABLE", "metalake", "lake")
    return bucket


def secret(api: Api, minio: Minio, bucket: str, name: str = "t") -> tuple[dict[str, Any], str]:
    """A table of admin's with a raw file, which admin's own credential reads; the table as it is loaded, and the key."""
    made = api("admin", "POST", TABLES, {"name": name, "schema": SCHEMA}, headers=VENDED).json()
    key = made["metadata"]["location"].removeprefix(f"s3://{bucket}/") + "/data/raw.parquet"
    minio.client().put_object(Bucket=bucket, Key=key, Body=b"salaries")
    # The positive control: the same call with the owner's credential succeeds.
    reading = client(minio, made["storage-credentials"][0]["config"])
    assert reading.get_object(Bucket=bucket, Key=key)["Body"].read() == b"salaries"
    return made, key


def reaches(minio: Minio, bucket: str, key: str, answer: Any) -> bool:
    """Whether any credential of an answer reads, lists or overwrites the raw file."""
    if answer.status_code != 200:
        return False
    folder = key.rpartition("/")[0]
    for credential in answer.json().get("storage-credentials", []):
        s3 = client(minio, credential["config"])
        tries = (
            lambda s3=s3: s3.get_object(Bucket=bucket, Key=key),
            lambda s3=s3: s3.list_objects_v2(Bucket=bucket, Prefix=f"{folder}/"),
            lambda s3=s3: s3.put_object(Bucket=bucket, Key=key, Body=b"forged"),
        )
        for one in tries:
            try:
                one()
            except ClientError as error:
                if error.response["ResponseMetadata"]["HTTPStatusCode"] == 403:
                    continue
                return True
            else:
                return True
    return False


def attempts(api: Api, place: str, file: str) -> list[Any]:
    """All that a maker of tables can try to get at a place."""
    found = []
    for location in (place, f"{place}/data", place.rpartition("/")[0], place.replace("s3://", "s3a://")):
        name = f"x{uuid.uuid4().hex[:8]}"
        body = {"name": name, "schema": SCHEMA, "location": location}
        found.append(api("bob", "POST", TABLES, body, headers=VENDED))
        found.append(api("bob", "POST", TABLES, {**body, "stage-create": True}, headers=VENDED))
        api("bob", "POST", f"{TABLES}/{name}", made_at(location))
        found.append(api("bob", "GET", f"{TABLES}/{name}", headers=VENDED))
        found.append(api("bob", "GET", f"{TABLES}/{name}/credentials"))
    body = {"name": "copy", "metadata-location": file}
    found.append(api("bob", "POST", TABLES.removesuffix("/tables") + "/register", body, headers=VENDED))
    found.append(api("bob", "GET", f"{TABLES}/copy", headers=VENDED))
    return found


def test_the_raw_files_of_a_dropped_table_are_reached_by_no_credential(
    api: Api, minio: Minio, bucket: str
) -> None:
    made, key = secret(api, minio, bucket)
    assert api("admin", "DELETE", f"{TABLES}/t").status_code == 204
    for answer in attempts(api, made["metadata"]["location"], made["metadata-location"]):
        assert not reaches(minio, bucket, key, answer), answer.text
    assert minio.client().get_object(Bucket=bucket, Key=key)["Body"].read() == b"salaries"


def test_the_raw_files_of_a_table_that_moved_are_reached_by_no_credential(
    api: Api, minio: Minio, bucket: str
) -> None:
    made, key = secret(api, minio, bucket)
    place = made["metadata"]["location"]
    moved = {"action": "set-location", "location": f"{place.rpartition('/')[0]}/elsewhere"}
    assert api("admin", "POST", f"{TABLES}/t", {"requirements": [], "updates": [moved]}).status_code == 200
    for answer in attempts(api, place, made["metadata-location"]):
        assert not reaches(minio, bucket, key, answer), answer.text


def test_a_table_with_the_uuid_of_another_gets_nothing_of_it(api: Api, minio: Minio, bucket: str) -> None:
    made, key = secret(api, minio, bucket)
    body = made_at(f"{made['metadata']['location'].rpartition('/')[0]}/mine")
    body["updates"][0]["uuid"] = made["metadata"]["table-uuid"]
    assert api("bob", "POST", f"{TABLES}/twin", body).status_code == 400
    assert not reaches(minio, bucket, key, api("bob", "GET", f"{TABLES}/twin", headers=VENDED))
    # And one that is bob's own is reached by bob, or the test would show nothing.
    body["updates"][0]["uuid"] = str(uuid.uuid4())
    assert api("bob", "POST", f"{TABLES}/twin", body).status_code == 200
    own = api("bob", "GET", f"{TABLES}/twin", headers=VENDED)
    folder = own.json()["metadata"]["location"].removeprefix(f"s3://{bucket}/")
    assert reaches(minio, bucket, f"{folder}/data/x.parquet", own)
