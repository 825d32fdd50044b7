"""On a real MinIO: who sees a part of a table reads it with what they are given, and reaches nothing else with it."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pytest
from botocore.exceptions import ClientError
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import LongType, NestedField, StringType

from tests.minio import Minio
from tests.real.iceberg_lake import IcebergLake, iceberg_lake
from tests.real.server import headgate

pytestmark = [pytest.mark.real, pytest.mark.spark]

API = "/api/metalakes/lake"
POLICIES = """\
policy: rows
on: lake
to: [user:ann]
rows: region = 'EU'
---
policy: mask
on: lake
to: [user:ann]
mask: {email: show_last_4(email)}
---
policy: part
on: lake
to: [user:bob]
rows: region = 'EU'
"""
SCHEMA = Schema(
    NestedField(1, "id", LongType()),
    NestedField(2, "region", StringType()),
    NestedField(3, "email", StringType()),
)
ROWS = pa.table(
    {
        "id": pa.array(range(6), pa.int64()),
        "region": ["EU", "EU", "US", "US", "EU", "US"],
        "email": [f"person{n}@example.org" for n in range(6)],
    }
)


@pytest.fixture(scope="module")
def lake(minio: Minio, tmp_path_factory: pytest.TempPathFactory) -> Iterator[IcebergLake]:
    """`lake.cat.s.people`, partitioned by region; ann sees masked rows of one region, bob that region as it is."""
    home = tmp_path_factory.mktemp("lake")
    properties = {**minio.properties(), "warehouse": f"s3://{minio.bucket()}/lake"}
    with iceberg_lake(home, properties) as lake:
        spec = PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "region"))
        client(lake, lake.token).create_table("s.people", SCHEMA, partition_spec=spec).append(ROWS)
        reader = {
            "name": "reader",
            "securableObjects": [
                {
                    "fullName": "cat",
                    "type": "CATALOG",
                    "privileges": [
                        {"name": name, "condition": "ALLOW"}
                        for name in ("USE_CATALOG", "USE_SCHEMA", "SELECT_TABLE")
                    ],
                }
            ],
        }
        lake.server.must(lake.token, "POST", f"{API}/roles", reader)
        for user in ("ann", "bob"):
            lake.server.must(lake.token, "POST", f"{API}/users", {"name": user})
            lake.server.must(
                lake.token, "PUT", f"{API}/permissions/users/{user}/grant", {"roleNames": ["reader"]}
            )
        body = {"files": [{"file": "p.yaml", "text": POLICIES}], "whole": True}
        lake.server.must(lake.token, "POST", "/api/headgate/policies/apply?metalake=lake", body)
        warmed = headgate(
            "lens", "warm", "--users", "ann,bob", patience=900,
            HEADGATE_URL=lake.server.url, HEADGATE_TOKEN=lake.token, HEADGATE_METALAKE="lake",
        )  # fmt: skip
        assert warmed.returncode == 0, warmed.stdout + warmed.stderr
        yield lake


def client(lake: IcebergLake, token: str) -> RestCatalog:
    return RestCatalog("lake", uri=lake.uri, warehouse=lake.warehouse, token=token)


def token_of(lake: IcebergLake, user: str) -> str:
    home = str(lake.server.log.parent)
    return headgate("token", "create", "--home", home, "--user", user).stdout.strip()


def refused(action: Any) -> bool:
    try:
        action()
    except ClientError as error:
        return error.response["Error"]["Code"] == "AccessDenied"
    return False


@pytest.mark.parametrize("user", ["ann", "bob"])
def test_the_lens_s_credential_reads_its_own_files_and_nothing_else(
    lake: IcebergLake, minio: Minio, user: str
) -> None:
    seen = client(lake, token_of(lake, user)).load_table("s.people")
    rows = sorted(seen.scan().to_arrow().to_pylist(), key=lambda row: row["id"])
    assert [row["id"] for row in rows] == [0, 1, 4]
    shown = "xxxxxxn@xxxxxxx.org" if user == "ann" else "person0@example.org"
    assert rows[0]["email"] == shown

    config = seen.io.properties
    s3 = minio.client(
        aws_access_key_id=config["s3.access-key-id"],
        aws_secret_access_key=config["s3.secret-access-key"],
        aws_session_token=config["s3.session-token"],
    )
    bucket, _, own = seen.metadata.location.removeprefix("s3://").partition("/")
    every = [found["Key"] for found in minio.client().list_objects_v2(Bucket=bucket)["Contents"]]
    told = {task.file.file_path.removeprefix(f"s3://{bucket}/") for task in seen.scan().plan_files()}
    readable = {key for key in every if not refused(lambda key=key: s3.get_object(Bucket=bucket, Key=key))}
    assert told <= readable
    assert all(key.startswith(own + "/") or key in told for key in readable)
    originals = [key for key in every if "/_headgate/" not in key]
    assert any("region=US" in key for key in originals)
    assert not [key for key in readable if "region=US" in key]
    siblings = [key for key in every if "/_headgate/" in key and not key.startswith(own + "/")]
    assert siblings, "the other one's view lies beside it"
    assert not readable & set(siblings)
    for prefix in ("", own, own + "/"):
        assert refused(lambda prefix=prefix: s3.list_objects_v2(Bucket=bucket, Prefix=prefix))
    for key in (f"{own}/data/mine.parquet", originals[0]):
        assert refused(lambda key=key: s3.put_object(Bucket=bucket, Key=key, Body=b"x"))
        assert refused(lambda key=key: s3.delete_object(Bucket=bucket, Key=key))
    if user == "ann":
        assert all("/_headgate/" in key for key in readable), "of masked columns no original is given"


@pytest.mark.parametrize("user", ["ann", "bob"])
def test_the_signer_of_a_lens_s_plan_signs_its_files_and_nothing_else(
    lake: IcebergLake, minio: Minio, user: str
) -> None:
    token, tables = token_of(lake, user), "/iceberg/v1/lake.cat/namespaces/s/tables/people"
    asked = {"X-Iceberg-Access-Delegation": "remote-signing"}
    plan = lake.server.ask(token, "POST", f"{tables}/plan", {}, headers=asked).json()
    assert plan["status"] == "completed", plan
    [credential] = plan["storage-credentials"]
    files = {task["data-file"]["file-path"] for task in plan["file-scan-tasks"]}
    bucket = next(iter(files)).removeprefix("s3://").partition("/")[0]
    every = {found["Key"] for found in minio.client().list_objects_v2(Bucket=bucket)["Contents"]}
    signer = f"/iceberg/{credential['config']['s3.signer.endpoint']}"

    def signed(at: str) -> set[str]:
        found = set()
        for key in every:
            uri = f"{minio.url}/{bucket}/{quote(key)}"
            request = {"method": "GET", "region": minio.region, "uri": uri, "headers": {}}
            answer = lake.server.ask(token, "POST", at, request)
            assert answer.status_code in (200, 403), answer.text
            if answer.status_code == 200:
                found.add(f"s3://{bucket}/{key}")
        return found

    assert signed(signer) == files
    assert signed(f"{tables}/sign") > files, "the table's own signer signs governed metadata, too"
