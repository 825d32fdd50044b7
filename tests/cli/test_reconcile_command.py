"""`headgate audit reconcile` against a real server over S3: the reads that nobody was given are told, and only those."""

import datetime as dt
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from moto.server import ThreadedMotoServer
from pyiceberg.catalog import load_catalog
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import LongType, NestedField, StringType

from tests.pipelines.golden_logs import minio_line, s3_line
from tests.real.server import Result, RunningServer, headgate_here, running

pytestmark = [
    pytest.mark.real,
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

POLICY = "policy: eu\non: lake.c.s.t\nto: [user:eve]\nrows: region = 'EU'\n"
TABLE = "/iceberg/v1/lake.c/namespaces/s/tables/t"


def run(server: RunningServer, *words: str, user: str = "admin") -> Result:
    return headgate_here(*words, HEADGATE_URL=server.url, HEADGATE_METALAKE="lake", HEADGATE_USER=user)


def done(result: Result) -> str:
    assert result.returncode == 0, result.stderr + result.stdout
    return result.stdout


@pytest.fixture(scope="module")
def storage() -> Iterator[dict[str, str]]:
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    settings = {
        "endpoint": f"http://{host}:{port}",
        "region": "us-east-1",
        "access-key-id": "k",
        "secret-access-key": "s",
    }
    boto3.client(
        "s3",
        endpoint_url=settings["endpoint"],
        region_name="us-east-1",
        aws_access_key_id="k",
        aws_secret_access_key="s",
    ).create_bucket(Bucket="lake")
    yield settings
    server.stop()


@pytest.fixture(scope="module")
def server(storage: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with running(
        tmp_path_factory.mktemp("home"), "--dev", "--warehouse", "s3://lake/w", "--hosts", "127.0.0.1"
    ) as server:
        yield server


@pytest.fixture(scope="module")
def files(server: RunningServer, storage: dict[str, str]) -> dict[str, str]:
    """The keys of the table's files by region; ann sees all, eve the EU, bob lost what he had."""
    done(run(server, "metalake", "create", "--name", "lake"))
    own = ",".join(["warehouse=s3://lake/w", *(f"s3-{key}={value}" for key, value in storage.items())])
    done(
        run(
            server, "catalog", "create", "--name", "c", "--provider", "lakehouse-iceberg", "--properties", own
        )
    )
    done(run(server, "schema", "create", "--catalog", "c", "--name", "s"))
    token = done(run(server, "token", "create", "--user", "admin", "--home", str(server.log.parent))).strip()
    catalog = load_catalog(
        "c",
        type="rest",
        uri=f"{server.url}/iceberg",
        warehouse="lake.c",
        token=token,
        **{f"s3.{key}": value for key, value in storage.items()},
    )
    rows = pa.table({"id": pa.array([1, 2], pa.int64()), "region": pa.array(["EU", "US"], pa.string())})
    schema = Schema(NestedField(1, "id", LongType()), NestedField(2, "region", StringType()))
    spec = PartitionSpec(
        PartitionField(source_id=2, field_id=1000, transform=IdentityTransform(), name="region")
    )
    table = catalog.create_table("s.t", schema, partition_spec=spec)
    table.append(rows)
    done(run(server, "role", "create", "--name", "reader"))
    reads = "use_catalog,use_schema,select_table"
    done(run(server, "grant", "privilege", "--role", "reader", "--privilege", reads, "--on", "catalog:c"))
    for user in ("ann", "bob", "eve"):
        done(run(server, "user", "create", "--name", user))
        done(run(server, "grant", "role", "--role", "reader", "--user", user))
    body = {"files": [{"file": "p.yaml", "text": POLICY}], "whole": True}
    server.must("admin", "POST", "/api/headgate/policies/apply?metalake=lake", body)
    for user in ("ann", "bob"):
        server.must(user, "GET", TABLE)
        assert len(server.must(user, "POST", f"{TABLE}/plan", {})["file-scan-tasks"]) == 2
    seen = planned(server, "eve")
    done(run(server, "revoke", "role", "--role", "reader", "--user", "bob"))
    paths = [task.file.file_path for task in table.scan().plan_files()]
    keys = {path.split("region=")[1][:2]: path.removeprefix("s3://lake/") for path in paths}
    assert [task["data-file"]["file-path"].removeprefix("s3://lake/") for task in seen] == [keys["EU"]]
    return keys


def planned(server: RunningServer, user: str) -> list[dict[str, Any]]:
    """The files of a plan that a restricted reader is told to come back for."""
    answer = server.must(user, "POST", f"{TABLE}/plan", {})
    ends = time.monotonic() + 180
    while answer["status"] == "submitted":
        assert time.monotonic() < ends, "the plan is never done"
        time.sleep(0.2)
        answer = {**answer, **server.must(user, "GET", f"{TABLE}/plan/{answer['plan-id']}")}
    tasks: list[dict[str, Any]] = answer["file-scan-tasks"]
    return tasks


def reconcile(server: RunningServer, *words: str, user: str = "admin") -> Result:
    return run(server, "audit", "reconcile", "--since", "1h", "--skew", "1s", *words, user=user)


def test_reads_are_compared_with_what_the_server_gave(
    server: RunningServer, files: dict[str, str], shared_spark: Any, tmp_path: Path
) -> None:
    at = dt.datetime.now(dt.UTC).replace(microsecond=0) + dt.timedelta(seconds=10)
    innocent = [
        s3_line(at, "ann", files["EU"]),
        s3_line(at, "ann", files["US"]),
        s3_line(at, "eve", files["EU"]),
    ]
    log = tmp_path / "access.log"
    log.write_text("\n".join([*innocent, "broken"]) + "\n")
    calm = reconcile(server, "--logs", str(log), "--output", "json")
    told = json.loads(done(calm))
    assert (told["findings"], told["reads"], list(told["malformed"].values())) == ([], 3, [1])
    assert "1 of which cannot be read" in calm.stderr

    guilty = [
        s3_line(at, "eve", files["US"]),
        s3_line(at, "bob", files["EU"]),
        minio_line(at, "root", files["EU"]),
    ]
    log.write_text("\n".join([*innocent, *guilty]))
    out = tmp_path / "findings"
    found = reconcile(server, "--logs", str(log), "--output", "json", "--write", str(out))
    assert found.returncode == 1, found.stderr
    expected = {
        ("after-revocation", "bob", "c.s.t", f"s3://lake/{files['EU']}"),
        ("unplanned", "eve", "c.s.t", f"s3://lake/{files['US']}"),
        ("stranger", None, "c.s.t", f"s3://lake/{files['EU']}"),
    }
    shown = json.loads(found.stdout)
    assert {(f["kind"], f["user"], f["object"], f["file"]) for f in shown["findings"]} == expected
    kept = pq.read_table(out).to_pylist()
    assert {(row["kind"], row["user"], row["object"], row["file"]) for row in kept} == expected
    trusted = reconcile(server, "--logs", str(log), "--trusted", "root", "--limit", "1")
    assert trusted.returncode == 1
    assert "stranger" not in trusted.stdout + trusted.stderr
    assert "1 of 2 are shown" in trusted.stderr


def test_it_is_for_the_owner_and_says_what_to_write(
    server: RunningServer, files: dict[str, str], shared_spark: Any, tmp_path: Path
) -> None:
    assert reconcile(server, user="ann").returncode == 3
    for words in (("--format", "csv"), ("--window", "long"), ("--limit", "0")):
        wrong = reconcile(server, *words)
        assert (wrong.returncode, wrong.stdout) == (2, ""), wrong
    assert run(server, "audit", "reconcile", "--since", "yesterday").returncode == 2
    missing = reconcile(server, "--logs", str(tmp_path / "nowhere"))
    assert (missing.returncode, "--logs" in missing.stderr, "Traceback" in missing.stderr) == (1, True, False)
