"""Real clients of somebody else's, each in an environment of its own, and a real server for them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.real.iceberg_lake import IcebergLake, iceberg_lake
from tests.real.server import running
from tests.real.spark_client import SparkClient


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """The address of a real server with an empty store."""
    with running(tmp_path, "--dev") as server:
        yield server.url


@pytest.fixture(scope="session")
def shared_lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[IcebergLake]:
    """One server with an Iceberg catalog for all clients; each test takes tables of its own names."""
    with iceberg_lake(tmp_path_factory.mktemp("lake")) as lake:
        yield lake


@pytest.fixture(scope="session")
def spark(shared_spark: Any, shared_lake: IcebergLake) -> SparkClient:
    """Unmodified Spark with the catalog of the shared lake."""
    return SparkClient(shared_spark, shared_lake)
