"""Promise: a session has the settings that the lowered SQL relies on, and tells no secret of its storage."""

from typing import Any

import pytest

from headgate.pipelines.session import AWS, RUNTIME, SparkSettings, _packages


def test_storage_in_s3_brings_its_package_and_stays_out_of_sight() -> None:
    settings = SparkSettings(storage={"s3.secret-access-key": "very-secret"})
    assert _packages(settings)[-1] == AWS
    assert "very-secret" not in repr(settings) + str(settings)
    assert AWS not in _packages(SparkSettings())
    assert RUNTIME in _packages(SparkSettings())


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_zone_case_and_errors_are_the_languages_own(spark: Any) -> None:
    row = spark.sql(
        "SELECT current_timezone() AS zone, hour(TIMESTAMP_LTZ '2024-07-01 12:00:00Z') AS hour"
    ).collect()[0]
    assert (row.zone, row.hour) == ("UTC", 12)
    assert spark.sql("SELECT 1 AS a, 2 AS A").select("A").collect()[0][0] == 2
    assert spark.conf.get("spark.sql.ansi.enabled") == "true"
