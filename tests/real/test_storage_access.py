"""Unmodified clients work with tables on a real MinIO, holding no keys but what the catalog gives them."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from botocore.exceptions import ClientError
from pyiceberg.catalog.rest import RestCatalog

from tests.minio import Minio
from tests.real.iceberg_clients import duckdb, keyless
from tests.real.iceberg_lake import IcebergLake, iceberg_lake

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def lake(minio: Minio, tmp_path_factory: pytest.TempPathFactory) -> Iterator[IcebergLake]:
    properties = {**minio.properties(), "warehouse": f"s3://{minio.bucket()}/lake"}
    with iceberg_lake(tmp_path_factory.mktemp("lake"), properties) as lake:
        yield lake


def client(lake: IcebergLake, **more: str) -> RestCatalog:
    return RestCatalog("lake", uri=lake.uri, warehouse=lake.warehouse, token=lake.token, **more)


def test_pyiceberg_writes_and_reads_with_the_credentials_it_is_given(
    lake: IcebergLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    rows = pa.table({"id": pa.array([1, 2, 3], pa.int64()), "region": ["EU", "a/b c%*", None]})
    table = client(lake).create_table("s.vended", rows.schema)
    table.append(rows)
    table.delete("id = 3")
    read = client(lake).load_table("s.vended")
    assert sorted(row["id"] for row in read.scan().to_arrow().to_pylist()) == [1, 2]
    other = client(lake).create_table("s.other", rows.schema)
    with pytest.raises(OSError, match=r"(?i)access.denied|forbidden"):
        read.io.new_input(other.metadata_location).open().read()
    with pytest.raises(OSError, match=r"(?i)access.denied|forbidden"):
        read.io.delete(other.metadata_location)


VENDED = {"X-Iceberg-Access-Delegation": "vended-credentials"}


def planned(lake: IcebergLake, table: str, body: Any) -> tuple[list[str], dict[str, str], dict[str, Any]]:
    """A plan's files, the credentials that come with it, and what the audit says of these."""
    path = f"/iceberg/v1/{lake.warehouse}/namespaces/s/tables/{table}/plan"
    answer = lake.server.ask(lake.token, "POST", path, body, headers=VENDED)
    assert answer.status_code == 200, answer.text
    told = answer.json()
    [credential] = told["storage-credentials"]
    query = f"/api/headgate/audit?metalake=lake&object=cat.s.{table}&limit=1000"
    events = lake.server.must(lake.token, "GET", query)["events"]
    given = max((event for event in events if "vended" in event["details"]), key=lambda event: event["id"])
    files = [task["data-file"]["file-path"] for task in told["file-scan-tasks"]]
    assert all(file.startswith(credential["prefix"]) for file in files)
    return files, credential["config"], given["details"]


def reads(minio: Minio, config: dict[str, str], location: str) -> bool:
    s3 = minio.client(
        aws_access_key_id=config["s3.access-key-id"],
        aws_secret_access_key=config["s3.secret-access-key"],
        aws_session_token=config["s3.session-token"],
    )
    bucket, _, key = location.removeprefix("s3://").partition("/")
    try:
        s3.get_object(Bucket=bucket, Key=key)
    except ClientError as error:
        if error.response["ResponseMetadata"]["HTTPStatusCode"] != 403:
            raise
        return False
    return True


def test_the_credentials_of_a_plan_reach_the_planned_files_and_no_others(
    lake: IcebergLake, minio: Minio
) -> None:
    rows = pa.table({"id": pa.array([1, 2, 3], pa.int64()), "region": ["EU", "US", "AS"]})
    table = client(lake).create_table("s.by_plan", rows.schema)
    with table.update_spec() as update:
        update.add_identity("region")
    table.append(rows)
    every, _, _ = planned(lake, "by_plan", {})
    assert len(every) == 3
    only = {"filter": {"type": "eq", "term": "region", "value": "EU"}}
    files, config, audited = planned(lake, "by_plan", only)
    assert (audited["scope"], audited["vended"]) == ("plan", files)
    assert [reads(minio, config, file) for file in every] == [file in files for file in every]
    assert not reads(minio, config, table.refresh().metadata_location)
    loaded = client(lake).load_table("s.by_plan")
    assert loaded.scan("region = 'EU'").to_arrow().num_rows == 1


def of_regions(lake: IcebergLake, name: str, count: int) -> None:
    """A table with a file for each region."""
    regions = [f"region-{number:02}" for number in range(count)]
    rows = pa.table({"id": pa.array(range(count), pa.int64()), "region": regions})
    table = client(lake).create_table(f"s.{name}", rows.schema)
    with table.update_spec() as update:
        update.add_identity("region")
    table.append(rows)


def test_a_plan_of_more_files_than_fit_a_session_policy_comes_with_the_tables_folder(
    lake: IcebergLake, minio: Minio
) -> None:
    of_regions(lake, "by_folder", 60)
    files, config, audited = planned(lake, "by_folder", {})
    assert (len(files), audited["scope"]) == (60, "table")
    assert "writes" not in audited, "a plan is for reading"
    assert all(reads(minio, config, file) for file in files[:3])


def signed_methods(lake: IcebergLake, table: str) -> set[str]:
    """What was signed for a table, by the audit."""
    query = f"/api/headgate/audit?metalake=lake&object=cat.s.{table}&limit=1000"
    events: list[Any] = lake.server.must(lake.token, "GET", query)["events"]
    return {event["details"].get("signed") for event in events}


def test_pyiceberg_has_its_requests_signed(lake: IcebergLake, s3fs_python: Path) -> None:
    schema = pa.schema([("id", pa.int64())])
    foreign = client(lake).create_table("s.foreign", schema).metadata_location
    program = str(Path(__file__).with_name("signing_client.py"))
    ran = subprocess.run(
        [s3fs_python, program, lake.uri, lake.warehouse, lake.token, foreign],
        capture_output=True,
        text=True,
        timeout=300,
        # pyiceberg opens its storage anew in each thread, and takes the signer away from the others while it does: a
        # request of theirs then goes out without a signature.
        env={**keyless(), "PYICEBERG_MAX_WORKERS": "1"},
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    told = json.loads(ran.stdout)
    assert told["rows"] == [1, 1, 2]
    assert told["io"] == "FsspecFileIO"
    assert told["foreign"].startswith("refused"), told
    assert {"GET", "PUT"} <= signed_methods(lake, "signed")


def test_duckdb_reads_and_writes_with_the_credentials_it_is_given(
    lake: IcebergLake, duckdb_python: Path
) -> None:
    answers = duckdb(
        duckdb_python,
        lake,
        """CREATE TABLE l.s.duck (id INTEGER, v VARCHAR);
        INSERT INTO l.s.duck VALUES (1, 'a'), (2, 'b'), (3, 'c');
        DELETE FROM l.s.duck WHERE id = 2;
        SELECT * FROM l.s.duck ORDER BY id""",
        "vended_credentials",
    )
    assert answers[-1] == "[(1, 'a'), (3, 'c')]"


@pytest.mark.spark
@pytest.mark.slow
def test_spark_works_with_credentials_with_plans_and_with_signatures(
    lake: IcebergLake, tmp_path: Path
) -> None:
    program = str(Path(__file__).with_name("s3_spark.py"))
    ran = subprocess.run(
        [sys.executable, program, lake.uri, lake.warehouse, lake.token],
        capture_output=True,
        text=True,
        timeout=900,
        env=keyless(),
        cwd=tmp_path,
        check=False,
    )
    assert ran.returncode == 0, "\n".join(line for line in ran.stderr.splitlines() if "\tat " not in line)[
        -5000:
    ]
    found = json.loads(ran.stdout.partition("FOUND ")[2])
    left = [5, 6, 7, 8, 9]
    assert found["vended"] == found["planned"] == [*left, 100]
    assert found["signed"] == found["expired"] == left
    assert str(found["bare"]).startswith("refused"), "without being given anything it reads nothing"
    assert {"GET", "PUT", "POST"} <= signed_methods(lake, "g"), "files are deleted in bulk"


@pytest.mark.spark
@pytest.mark.slow
def test_spark_reads_through_the_signer_of_a_plan_and_reaches_no_other_file_with_it(
    lake: IcebergLake, minio: Minio, tmp_path: Path
) -> None:
    of_regions(lake, "wide", 30)
    last = client(lake).load_table("s.wide").scan("region = 'region-29'").plan_files()
    [outside] = [task.file.file_path for task in last]
    program = str(Path(__file__).with_name("plan_signing_spark.py"))
    ran = subprocess.run(
        [sys.executable, program, lake.uri, lake.warehouse, lake.token, outside],
        capture_output=True,
        text=True,
        timeout=900,
        env=keyless(),
        cwd=tmp_path,
        check=False,
    )
    assert ran.returncode == 0, "\n".join(line for line in ran.stderr.splitlines() if "\tat " not in line)[
        -5000:
    ]
    found = json.loads(ran.stdout.partition("FOUND ")[2])
    query = "/api/headgate/audit?metalake=lake&object=cat.s.wide&limit=1000"
    events = [event["details"] for event in lake.server.must(lake.token, "GET", query)["events"]]
    signed = [event for event in events if "signed" in event and "signer" in event]
    assert len({place for event in signed for place in event["places"]}) == 25, "each through a plan's signer"
    for way in ("either", "signing"):
        told = found[way]
        assert (told["rows"], told["files"]) == (list(range(25)), 25)
        assert told["secrets"] == [], "nothing that reaches further"
        assert told["planned"] == f"read {ord('P')}", "of PAR1"
        assert told["outside"].startswith("refused"), told
        assert "ForbiddenException" in told["outside"] or "is not signed" in told["outside"], told
        assert told["table"] == f"read {ord('P')}", "the owner's access to the table reaches it"
        sign = {
            "method": "GET",
            "region": minio.region,
            "uri": outside.replace("s3://", f"{minio.url}/"),
            "headers": {},
        }
        path = f"/iceberg/{told['signer']}"
        assert "?plan=" in path
        assert lake.server.ask(lake.token, "POST", path, sign).status_code == 403
        table = path.partition("?")[0]
        assert lake.server.ask(lake.token, "POST", table, sign).status_code == 200
    assert [event for event in events if event.get("scope") == "table"] == []
