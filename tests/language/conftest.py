"""Hypothesis profiles and the one Spark session of the language's tests."""

import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, Phase, settings

COMMON = {
    "deadline": None,
    "suppress_health_check": [
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
        HealthCheck.large_base_example,
    ],
}
settings.register_profile("default", max_examples=60, **COMMON)
# Without shrinking: what fails is named by its seed, and shrinking whole tables takes minutes.
LARGE = {"phases": [Phase.reuse, Phase.generate], "report_multiple_bugs": False}
settings.register_profile("thorough", max_examples=2000, **LARGE, **COMMON)
settings.register_profile("quick", max_examples=60, **LARGE, **COMMON)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


@pytest.fixture(scope="session")
def spark() -> Iterator[object]:
    """A local session in a time zone with summer time: results must not depend on it."""
    session = pytest.importorskip("pyspark.sql").SparkSession
    built = (
        session.builder.master("local[1]")
        .appName("language")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.session.timeZone", "Europe/Berlin")
        .config("spark.sql.ansi.enabled", "true")
        .config("spark.sql.shuffle.partitions", "1")
        .config("spark.sql.codegen.wholeStage", "false")
        .getOrCreate()
    )
    built.sparkContext.setLogLevel("OFF")
    yield built
    built.stop()
