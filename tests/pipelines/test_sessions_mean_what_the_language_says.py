"""Promise: a session has the settings that the lowered SQL relies on."""

from typing import Any

import pytest


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_zone_case_and_errors_are_the_languages_own(spark: Any) -> None:
    row = spark.sql(
        "SELECT current_timezone() AS zone, hour(TIMESTAMP_LTZ '2024-07-01 12:00:00Z') AS hour"
    ).collect()[0]
    assert (row.zone, row.hour) == ("UTC", 12)
    assert spark.sql("SELECT 1 AS a, 2 AS A").select("A").collect()[0][0] == 2
    assert spark.conf.get("spark.sql.ansi.enabled") == "true"
