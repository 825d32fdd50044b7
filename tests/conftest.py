"""What all tests share: a fresh store, a steward, and the whole server in process."""

import os
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import settings

from headgate.catalogs.openings import Openings
from headgate.doors.authentication import Authentication, SimpleScheme
from headgate.doors.authentication.schemes import Scheme
from headgate.doors.gravitino import GravitinoDoor
from headgate.doors.headgate import HeadgateDoor
from headgate.doors.iceberg import IcebergDoor
from headgate.doors.openapi import with_document
from headgate.doors.server import Server
from headgate.steward import Steward
from headgate.store import Store, database
from tests import spark_upkeep
from tests.environments import clickhouse_python, duckdb_python, gravitino_python, s3fs_python
from tests.hive.server import hive_metastore, hive_metastore_four
from tests.kafka.server import kafka
from tests.mariadb import mariadb_server
from tests.minio import minio
from tests.mysql.server import mysql_server
from tests.nessie.server import nessie
from tests.openings import opened
from tests.people import People
from tests.postgres import postgres_server, postgres_url, store_url

# INVARIANT: shared servers are imported here and nowhere else. To pytest, an imported fixture is one more fixture:
# every module that imported a server would have one of its own until the end of the run.
__all__ = [
    "clickhouse_python",
    "duckdb_python",
    "gravitino_python",
    "hive_metastore",
    "hive_metastore_four",
    "kafka",
    "mariadb_server",
    "minio",
    "mysql_server",
    "nessie",
    "postgres_server",
    "postgres_url",
    "s3fs_python",
    "store_url",
]

# Where a change is judged, the examples are the same every time; on a desk each run looks at new ones.
SAME_EVERY_TIME = os.environ.get("CI") == "true"
settings.register_profile("shared", derandomize=SAME_EVERY_TIME)
settings.load_profile("shared")

PATIENCE = 900
"""Seconds for a test that runs against other people's programs; the others have what pyproject.toml says."""


def _prepare_sqlite(connection: Any, record: Any, prepare: Any = database._prepare_sqlite) -> None:
    prepare(connection, record)
    connection.execute("PRAGMA synchronous=OFF")


# The stores of this process outlive no power cut, and need not wait for the disk. Servers of their own process do.
database._prepare_sqlite = _prepare_sqlite

UMASK = os.umask(0o022)
os.umask(UMASK)
CONNECT_MODE = "SPARK_CONNECT_MODE_ENABLED"
"""What PySpark sets in the environment of a process that has opened a session behind Spark Connect."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--leak-hunt",
        type=int,
        default=3,
        metavar="N",
        help="how many tables the leak hunt makes (tests/leaks)",
    )
    parser.addoption(
        "--fuzz-seconds",
        type=float,
        default=None,
        metavar="S",
        help="how long each fuzz of the doors runs, with new examples every time (tests/doors)",
    )
    parser.addoption(
        "--twins", type=int, default=3, metavar="N", help="how many twins are asked (tests/leaks)"
    )
    parser.addoption("--twins-from", type=int, default=0, metavar="N", help="the number of the first of them")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The first test that asks for a Spark or a server waits until it has started, on a machine that may be busy."""
    for item in items:
        if item.get_closest_marker("timeout") is None and (
            item.get_closest_marker("spark") or item.get_closest_marker("real")
        ):
            item.add_marker(pytest.mark.timeout(PATIENCE))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    spark_upkeep.after(item, report)
    return report


@pytest.fixture(autouse=True)
def umask() -> Iterator[None]:
    """What a test writes is as open as it would be alone: a server's code makes its whole process private."""
    os.umask(UMASK)
    yield
    os.umask(UMASK)


@pytest.fixture(autouse=True)
def spark_of_its_own() -> Iterator[None]:
    """A session behind Spark Connect turns all of PySpark's functions in its process to Spark Connect, and that stays."""
    yield
    os.environ.pop(CONNECT_MODE, None)


@pytest.fixture(scope="session")
def empty_store(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The file of a prepared store: thousands of tests begin with one, and all migrations take longer than most tests."""
    file = tmp_path_factory.mktemp("empty") / "store.db"
    store = Store(f"sqlite:///{file}")
    store.prepare()
    store.close()
    return file.read_bytes()


@pytest.fixture
def store(tmp_path: Path, empty_store: bytes) -> Iterator[Store]:
    file = tmp_path / "store.db"
    file.write_bytes(empty_store)
    store = Store(f"sqlite:///{file}")
    yield store
    store.close()


@pytest.fixture
def openings(tmp_path: Path) -> Openings:
    """What the operator of the steward opened: the test's own folder, and servers on this machine."""
    return opened(tmp_path)


@pytest.fixture
def steward(store: Store, tmp_path: Path, openings: Openings) -> Iterator[Steward]:
    steward = Steward(
        store,
        service_admins=frozenset({"admin"}),
        warehouse=str(tmp_path / "warehouse"),
        openings=openings,
    )
    # Nobody works here unless a test does.
    steward.probing.taking = 0.0
    yield steward
    steward.close()


Api = Callable[..., httpx.Response]


@contextmanager
def in_process(steward: Steward, scheme: Scheme | None = None) -> Iterator[Api]:
    """`call("ann", "POST", "/api/metalakes", {...})` through the real server, in process."""
    import anyio.from_thread

    server = Server(
        steward,
        Authentication([scheme or SimpleScheme()]),
        with_document([GravitinoDoor(), IcebergDoor(), HeadgateDoor()]),
    )
    transport = httpx.ASGITransport(app=server, client=("127.0.0.1", 1))
    with anyio.from_thread.start_blocking_portal() as portal:
        client = httpx.AsyncClient(transport=transport, base_url="http://headgate")

        def call(
            user: str | None, method: str, path: str, json: Any = None, *, password: str = "x", **more: Any
        ) -> httpx.Response:
            auth = (user, password) if user else None
            return portal.call(lambda: client.request(method, path, json=json, auth=auth, **more))

        yield call
        portal.call(client.aclose)


@pytest.fixture
def api(steward: Steward) -> Iterator[Api]:
    with in_process(steward) as call:
        yield call


@pytest.fixture
def people(steward: Steward) -> People:
    """Members of the metalake `lake` and their privileges."""
    return People(steward)


@pytest.fixture(scope="session")
def shared_spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The one Spark of the whole suite: a process can have only one, with the jars it started with."""
    pytest.importorskip("pyspark.sql")
    from headgate.pipelines.session import SparkSettings, open_session

    lake = "spark.sql.catalog.lake"
    session = open_session(
        SparkSettings(
            master="local[2]",
            driver_memory="1500m",
            more={
                "spark.sql.shuffle.partitions": "2",
                "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
                lake: "org.apache.iceberg.spark.SparkCatalog",
                f"{lake}.type": "hadoop",
                f"{lake}.warehouse": f"file://{tmp_path_factory.mktemp('lake')}",
                f"{lake}.cache-enabled": "false",
            },
        )
    )
    yield session
    spark_upkeep.end()
