"""Promise: settings that `headgate engine-config` writes work as they are pasted: somebody who sees a part of a table reads that
part with them, of files on this machine and in S3, without keys of their own."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import IntegerType, StringType

from tests.environments import FRAMES, python_of
from tests.minio import Minio
from tests.planning.forge import simple_schema
from tests.real.iceberg_clients import keyless
from tests.real.iceberg_lake import IcebergLake, iceberg_lake
from tests.real.server import headgate
from tests.real.test_iceberg_clients import rows

pytestmark = [pytest.mark.real, pytest.mark.spark]

POLICIES = """\
policy: pasted-rows
on: lake.cat.s.pasted
to: [user:pat]
rows: id < 10
"""
SEEN = [(1, "EU"), (2, "US")]


class Pasting(NamedTuple):
    """A lake, and the token of somebody who sees two of three rows of its `s.pasted`, through copies."""

    lake: IcebergLake
    token: str


@pytest.fixture(scope="module")
def local(shared_lake: IcebergLake) -> Pasting:
    return restricted(shared_lake)


@pytest.fixture(scope="module")
def in_s3(minio: Minio, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pasting]:
    properties = {**minio.properties(), "warehouse": f"s3://{minio.bucket()}/lake"}
    with iceberg_lake(tmp_path_factory.mktemp("s3"), properties) as lake:
        yield restricted(lake)


@pytest.fixture(params=["local", "in_s3"])
def pasting(request: pytest.FixtureRequest) -> Pasting:
    found: Pasting = request.getfixturevalue(request.param)
    return found


def restricted(lake: IcebergLake) -> Pasting:
    schema = simple_schema(("id", IntegerType()), ("region", StringType()))
    spec = PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "region"))
    table = RestCatalog("lake", uri=lake.uri, warehouse=lake.warehouse, token=lake.token).create_table(
        "s.pasted", schema, partition_spec=spec
    )
    table.append(rows((1, "EU"), (2, "US"), (10, "US")))
    must, owner, api = lake.server.must, lake.token, "/api/metalakes/lake"
    privileges = [
        {"name": name, "condition": "allow"} for name in ("use_catalog", "use_schema", "select_table")
    ]
    part = {"fullName": "cat", "type": "catalog", "privileges": privileges}
    must(owner, "POST", f"{api}/roles", {"name": "pasted", "securableObjects": [part]})
    must(owner, "POST", f"{api}/users", {"name": "pat"})
    must(owner, "PUT", f"{api}/permissions/users/pat/grant", {"roleNames": ["pasted"]})
    files = [{"file": "pasted.yaml", "text": POLICIES}]
    must(owner, "POST", "/api/headgate/policies/apply?metalake=lake", {"files": files, "whole": False})
    warmed = headgate(
        "lens", "warm", "--users", "pat", "--metalake", "lake", patience=900,
        HEADGATE_URL=lake.server.url, HEADGATE_TOKEN=owner,
    )  # fmt: skip
    assert warmed.returncode == 0, warmed.stderr
    return Pasting(lake, lake.token_of("pat"))


def settings(pasting: Pasting, engine: str, *options: str) -> str:
    """What the command prints to the reader themselves."""
    ran = headgate(
        "engine-config", "--engine", engine, "--catalog", "cat", "--metalake", "lake", *options,
        HEADGATE_URL=pasting.lake.server.url, HEADGATE_TOKEN=pasting.token,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert pasting.token not in ran.stdout
    return ran.stdout


def run(python: Path | str, program: str, folder: Path, **environment: str) -> object:
    """What a program in an environment of its own prints at its end."""
    file = folder / "pasted.py"
    file.write_text(program)
    ran = subprocess.run(
        [str(python), str(file)],
        capture_output=True,
        text=True,
        timeout=600,
        env=keyless(**environment),
        cwd=folder,
        check=False,
    )
    assert ran.returncode == 0, "\n".join((ran.stdout + ran.stderr).splitlines()[-40:])
    return [tuple(row) for row in json.loads(ran.stdout.partition("FOUND ")[2])]


FOUND = "\nimport json\nprint('FOUND', json.dumps(sorted(map(list, found))))\n"


@pytest.mark.parametrize("format", ["python", "yaml"])
def test_pyiceberg_reads_what_one_sees(pasting: Pasting, tmp_path: Path, format: str) -> None:
    text = settings(pasting, "pyiceberg", "--format", format)
    if format == "yaml":
        (tmp_path / ".pyiceberg.yaml").write_text(text.replace("<HEADGATE_TOKEN>", pasting.token))
        text = "from pyiceberg.catalog import load_catalog\ncat = load_catalog('cat')\n"
    program = f"{text}found = [r.values() for r in cat.load_table('s.pasted').scan().to_arrow().to_pylist()]"
    assert (
        run(
            sys.executable,
            program + FOUND,
            tmp_path,
            HEADGATE_TOKEN=pasting.token,
            PYICEBERG_HOME=str(tmp_path),
        )
        == SEEN
    )


@pytest.mark.parametrize("format", ["sql", "python"])
def test_duckdb_reads_what_one_sees(
    pasting: Pasting, duckdb_python: Path, tmp_path: Path, format: str
) -> None:
    text = settings(pasting, "duckdb", "--format", format)
    if format == "sql":
        pasted = text.replace("<HEADGATE_TOKEN>", pasting.token)
        text = f"import duckdb\ndb = duckdb.connect()\ndb.execute({pasted!r})\n"
    # Where INSTALL would put them, so that it finds them there.
    home = tmp_path / "home"
    prepare = f"""
import shutil, duckdb
from pathlib import Path
import duckdb_extension_iceberg, duckdb_extension_avro, duckdb_extension_httpfs
platform = duckdb.sql("PRAGMA platform").fetchone()[0]
place = Path({str(home)!r}, ".duckdb", "extensions", "v" + duckdb.__version__, platform)
place.mkdir(parents=True)
for module in (duckdb_extension_httpfs, duckdb_extension_avro, duckdb_extension_iceberg):
    for found in Path(module.__file__).parent.glob("extensions/*/*.duckdb_extension"):
        shutil.copy(found, place)
found = []
"""
    run(duckdb_python, prepare + FOUND, tmp_path)
    program = f'{text}\nfound = db.execute("SELECT id, region FROM cat.s.pasted").fetchall()\n'
    assert run(duckdb_python, program + FOUND, tmp_path, HEADGATE_TOKEN=pasting.token, HOME=str(home)) == SEEN


@pytest.mark.parametrize(
    ("engine", "read"),
    [
        ("polars", "scan('s.pasted').collect().rows()"),
        (
            "daft",
            "[r.values() for r in daft.read_iceberg(cat.load_table('s.pasted')).to_pylist()]",
        ),
    ],
)
def test_data_frames_hold_what_one_sees(pasting: Pasting, tmp_path: Path, engine: str, read: str) -> None:
    text = settings(pasting, engine)
    program = f"{text}\nfound = {read}\n"
    assert run(python_of(FRAMES), program + FOUND, tmp_path, HEADGATE_TOKEN=pasting.token) == SEEN


@pytest.mark.slow
@pytest.mark.parametrize("format", ["python", "properties"])
def test_spark_reads_what_one_sees(pasting: Pasting, tmp_path: Path, format: str) -> None:
    text = settings(pasting, "spark", "--format", format)
    if format == "properties":
        (tmp_path / "spark-defaults.conf").write_text(text)
        text = "from pyspark.sql import SparkSession\nspark = SparkSession.builder.getOrCreate()\n"
    read = "found = [tuple(row) for row in spark.sql('SELECT id, region FROM cat.s.pasted').collect()]"
    small = "--master local[1] --driver-memory 1g --conf spark.ui.enabled=false --conf spark.driver.host=127.0.0.1"
    ended = "import os, sys\nsys.stdout.flush()\nspark.stop()\nos._exit(0)\n"
    assert (
        run(
            sys.executable,
            f"{text}{read}{FOUND}{ended}",
            tmp_path,
            HEADGATE_TOKEN=pasting.token,
            SPARK_CONF_DIR=str(tmp_path),
            PYSPARK_SUBMIT_ARGS=f"{small} pyspark-shell",
            PYSPARK_PYTHON=sys.executable,
            JAVA_HOME=os.environ.get("JAVA_HOME", ""),
        )
        == SEEN
    )
