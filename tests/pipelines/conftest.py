"""The one Spark session of the pipelines' tests, and a lake to write tables in."""

from collections.abc import Iterator
from typing import Any

import pytest

from headgate.pipelines.session import SparkSettings, open_session
from tests.pipelines.lake import LAKE, Lake


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    pytest.importorskip("pyspark.sql")
    catalog = f"spark.sql.catalog.{LAKE}"
    session = open_session(
        SparkSettings(
            master="local[2]",
            driver_memory="1500m",
            more={
                "spark.sql.shuffle.partitions": "2",
                "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
                catalog: "org.apache.iceberg.spark.SparkCatalog",
                f"{catalog}.type": "hadoop",
                f"{catalog}.warehouse": f"file://{tmp_path_factory.mktemp('lake')}",
                f"{catalog}.cache-enabled": "false",
            },
        )
    )
    yield session
    session.stop()


@pytest.fixture
def lake(spark: Any, tmp_path: Any) -> Lake:
    return Lake(spark, tmp_path)
