"""Promise: on S3 nothing has to be set but what the documentation asks for, from `catalog create` to a governed row.

The page is docs/storage.md, for a store of one's own; docs/worker.md says what Spark needs, docs/iceberg.md what clients do.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pytest
from pyiceberg.catalog.rest import RestCatalog

from headgate.pipelines.needs import AWS, RUNTIME, SQLITE
from tests.minio import Minio
from tests.postgres import free_port
from tests.real.iceberg_clients import keyless, run_duckdb
from tests.real.iceberg_lake import IcebergLake
from tests.real.server import COMMAND, Result, environment, headgate, running
from tests.worker.spark_servers import cluster, connect_server
from tests.worker.stand import QUICK

pytestmark = [pytest.mark.real, pytest.mark.spark, pytest.mark.slow]

API: Final = "/api/metalakes/lake"
POLICY: Final = """\
policy: part
on: lake
to: [user:ann]
rows: region = 'EU'
---
policy: masked
on: lake
to: [user:ann]
mask: {email: show_last_4(email)}
"""
ROWS: Final = pa.table(
    {
        "id": pa.array(range(6), pa.int64()),
        "region": ["EU", "EU", "US", "US", "EU", "US"],
        "email": [f"person{n}@example.org" for n in range(6)],
    }
)
SHOWN: Final = [(n, "EU", "xxxxxxn@xxxxxxx.org") for n in (0, 1, 4)]
HERE: Final = f"""\
[spark]
memory = "1g"
[spark.options]
"spark.driver.host" = "127.0.0.1"
"spark.driver.bindAddress" = "127.0.0.1"
"spark.driver.extraJavaOptions" = "{QUICK}"
"spark.executor.memory" = "600m"
"""
"""Nothing of storage: only what a small machine and one without a name ask for."""


@pytest.fixture(scope="module", autouse=True)
def nothing_of_aws() -> Iterator[None]:
    """No key, region or file of AWS's lies around that could stand in for a setting."""
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("AWS_")]:
            patch.delenv(name)
        patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        patch.setenv("AWS_CONFIG_FILE", "/nowhere/config")
        patch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nowhere/credentials")
        yield


def documented(minio: Minio, bucket: str) -> dict[str, str]:
    """The properties that docs/storage.md asks for, and no other."""
    return {
        "warehouse": f"s3://{bucket}/tables",
        "s3-endpoint": minio.url,
        "s3-access-key-id": minio.key_id,
        "s3-secret-access-key": minio.secret_key,
        "s3-role-arn": minio.role,
    }


def command(lake: IcebergLake, *words: str, patience: float = 600) -> Result:
    return headgate(
        *words,
        patience=patience,
        HEADGATE_URL=lake.server.url,
        HEADGATE_TOKEN=lake.token,
        HEADGATE_METALAKE="lake",
    )


def must(lake: IcebergLake, *words: str) -> str:
    done = command(lake, *words)
    assert done.returncode == 0, (words, done.stdout, done.stderr)
    return done.stdout


def listed(properties: dict[str, str]) -> str:
    return ",".join(f"{key}={value}" for key, value in properties.items())


@pytest.fixture(scope="module")
def lake(minio: Minio, tmp_path_factory: pytest.TempPathFactory) -> Iterator[IcebergLake]:
    """A server without a worker; ann sees masked rows of one region of all that is in `cat`."""
    home, bucket = tmp_path_factory.mktemp("lake"), minio.bucket()
    (home / "spark.toml").write_text(HERE)
    (home / "plain.toml").write_text("")
    host = minio.url.removeprefix("http://")
    opened = ("--places", f"s3://{bucket}", "--hosts", host)
    with running(home, "--service-admins", "admin", "--no-worker", *opened) as server:
        lake = IcebergLake(server, home)
        server.must(lake.token, "POST", "/api/metalakes", {"name": "lake"})
        must(
            lake, "catalog", "create", "--name", "cat", "--provider", "lakehouse-iceberg",
            "--properties", listed(documented(minio, bucket)),
        )  # fmt: skip
        assert lake.ask("POST", "/namespaces", {"namespace": ["s"]}).status_code == 200
        reading = [
            {"name": name, "condition": "ALLOW"} for name in ("USE_CATALOG", "USE_SCHEMA", "SELECT_TABLE")
        ]
        objects = [{"fullName": "cat", "type": "CATALOG", "privileges": reading}]
        server.must(lake.token, "POST", f"{API}/roles", {"name": "reader", "securableObjects": objects})
        server.must(lake.token, "POST", f"{API}/users", {"name": "ann"})
        server.must(lake.token, "PUT", f"{API}/permissions/users/ann/grant", {"roleNames": ["reader"]})
        policies = {"files": [{"file": "p.yaml", "text": POLICY}], "whole": True}
        server.must(lake.token, "POST", "/api/headgate/policies/apply?metalake=lake", policies)
        yield lake


@contextmanager
def worker(lake: IcebergLake, config: str, *flags: str) -> Iterator[Path]:
    """`headgate worker` with the places and hosts of the server; its log."""
    log = lake.home / f"worker-{len(list(lake.home.glob('worker-*')))}.log"
    own = ("--home", str(lake.home), "--config", str(lake.home / config), *opened_by(lake))
    with log.open("wb") as out:
        process = subprocess.Popen(
            [*COMMAND, "worker", *own, *flags], stdout=out, stderr=out, env=environment()
        )
    try:
        yield log
        process.send_signal(signal.SIGTERM)
        assert process.wait(120) == 0, log.read_text()
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def opened_by(lake: IcebergLake) -> tuple[str, ...]:
    args = lake.server.process.args
    assert isinstance(args, list)
    at = args.index("--places")
    return tuple(args[at : at + 4])


@contextmanager
def spark_at(where: str, lake: IcebergLake) -> Iterator[tuple[str, ...]]:
    """A Spark of some kind, as the documentation has it started, and how a worker is told of it."""
    folder = lake.home / where
    if where == "local":
        yield ("spark.toml", "--spark-master", "local[2]")
    elif where == "master":
        with cluster(folder) as spark:
            yield ("spark.toml", "--spark-master", spark.url)
    else:
        port = free_port()
        server = connect_server(folder, port, (RUNTIME, SQLITE, AWS))
        try:
            yield ("plain.toml", "--spark-remote", f"sc://127.0.0.1:{port}")
        finally:
            server.kill()


def filled(lake: IcebergLake, name: str) -> None:
    owner = RestCatalog("lake", uri=lake.uri, warehouse=lake.warehouse, token=lake.token)
    owner.create_table(f"s.{name}", ROWS.schema).append(ROWS)


def in_pyiceberg(lake: IcebergLake, token: str, name: str) -> list[Any]:
    reader = RestCatalog("lake", uri=lake.uri, warehouse=lake.warehouse, token=token)
    rows = reader.load_table(f"s.{name}").scan().to_arrow().to_pylist()
    return sorted(tuple(row.values()) for row in rows)


def in_duckdb(lake: IcebergLake, python: Path, token: str, name: str) -> list[Any]:
    query = f"SELECT * FROM l.s.{name} ORDER BY id"
    ran = run_duckdb(python, lake, token, query, "vended_credentials")
    assert ran.returncode == 0, ran.stderr
    rows: list[Any] = eval(ran.stdout)
    return rows


_SPARK: Final = """
import json, os, sys
from pyspark.sql import SparkSession
uri, warehouse, token, packages, query = sys.argv[1:]
builder = SparkSession.builder.master("local[2]")
for key, value in {
    "spark.jars.packages": packages,
    "spark.ui.enabled": "false",
    "spark.driver.memory": "1g",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
    "spark.sql.catalog.lake.type": "rest",
    "spark.sql.catalog.lake.uri": uri,
    "spark.sql.catalog.lake.warehouse": warehouse,
    "spark.sql.catalog.lake.token": token,
    "spark.sql.catalog.lake.header.X-Iceberg-Access-Delegation": "vended-credentials",
}.items():
    builder = builder.config(key, value)
spark = builder.getOrCreate()
print("FOUND " + json.dumps([list(row) for row in spark.sql(query).collect()]), flush=True)
# py4j's threads would keep the process.
os._exit(0)
"""


def in_spark(lake: IcebergLake, token: str, name: str) -> list[Any]:
    query = f"SELECT * FROM lake.s.{name} ORDER BY id"
    ran = subprocess.run(
        [sys.executable, "-c", _SPARK, lake.uri, lake.warehouse, token, f"{RUNTIME},{AWS}", query],
        capture_output=True,
        text=True,
        env=keyless(),
        cwd=lake.home,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    return [tuple(row) for row in json.loads(ran.stdout.partition("FOUND ")[2])]


def until(true: Any, log: Path) -> None:
    ends = time.monotonic() + 300
    while not true():
        assert time.monotonic() < ends, log.read_text()
        time.sleep(0.1)


@pytest.mark.parametrize("where", ["local", "master", "connect"])
def test_a_restricted_reader_gets_their_rows(lake: IcebergLake, duckdb_python: Path, where: str) -> None:
    filled(lake, where)
    token = lake.token_of("ann")
    with spark_at(where, lake) as (config, *flags), worker(lake, config, *flags) as log:
        must(lake, "lens", "warm", "--users", "ann")
        assert in_pyiceberg(lake, token, where) == SHOWN
        assert in_duckdb(lake, duckdb_python, token, where) == SHOWN
        if where == "local":
            assert in_spark(lake, token, where) == SHOWN
        assert log.read_text().count("opening Spark") == 1, "it has what it needs from the start"


def tried(lake: IcebergLake, properties: dict[str, str]) -> Result:
    return command(
        lake, "catalog", "test", "--name", "new", "--provider", "lakehouse-iceberg",
        "--properties", listed(properties),
    )  # fmt: skip


def test_a_catalog_is_tried_by_the_server_and_by_spark(lake: IcebergLake, minio: Minio) -> None:
    bucket = opened_by(lake)[1].removeprefix("s3://")
    good = documented(minio, bucket)
    alone = tried(lake, good)
    assert alone.returncode == 0, alone.stderr
    assert "Spark was not tried: no worker took it" in alone.stdout
    with worker(lake, "spark.toml", "--spark-master", "local[2]") as log:
        until(lambda: "Spark was not tried" not in tried(lake, good).stdout, log)
        both = tried(lake, good)
        assert both.returncode == 0, both.stderr
        assert "a worker's Spark writes and reads there" in both.stdout
    wrong = tried(lake, {**good, "s3-secret-access-key": "wrong"})
    assert wrong.returncode == 1
    assert "SignatureDoesNotMatch" in wrong.stderr or "signature" in wrong.stderr, wrong.stderr
    left = minio.client().list_objects_v2(Bucket=bucket, Prefix="tables/")["Contents"]
    assert not [found["Key"] for found in left if "probe" in found["Key"] or "/.headgate-" in found["Key"]]


def test_a_connect_server_without_the_jars_is_named_to_the_owner(lake: IcebergLake, minio: Minio) -> None:
    filled(lake, "lacking")
    port = free_port()
    server = connect_server(lake.home / "lacking", port)
    try:
        with worker(lake, "plain.toml", "--spark-remote", f"sc://127.0.0.1:{port}") as log:
            warmed = command(lake, "lens", "warm", "--users", "ann")
            until(lambda: f"Spark lacks {AWS}" in log.read_text(), log)
            told = tried(lake, documented(minio, opened_by(lake)[1].removeprefix("s3://")))
            assert told.returncode == 1
            assert f"--packages {AWS}" in told.stderr.replace("\n", "")
        assert warmed.returncode != 0
    finally:
        server.kill()
    assert f"start the Spark Connect server with --packages {AWS}" in must(
        lake, "lens", "status", "--output", "json"
    )


def test_personal_data_is_found_there_too(lake: IcebergLake) -> None:
    filled(lake, "looked_at")
    found = json.loads(
        must(lake, "classify", "--catalog", "cat", "--schema", "s", "--table", "looked_at", "--output", "json",
             "--spark-conf", "spark.driver.host=127.0.0.1", "--spark-conf", "spark.driver.bindAddress=127.0.0.1")
    )  # fmt: skip
    assert [row["object"] for row in found["proposals"]] == ["cat.s.looked_at.email"]
