"""Hypothesis profiles, the one Spark session and the one PostgreSQL server of the language's tests."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from tests.conftest import SAME_EVERY_TIME
from tests.peers import lacking

COMMON = {
    "derandomize": SAME_EVERY_TIME,
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
settings.register_profile("thorough", max_examples=1000, **LARGE, **COMMON)
settings.register_profile("quick", max_examples=60, **LARGE, **COMMON)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


@pytest.fixture(scope="session")
def spark(shared_spark: Any) -> Any:
    """A session in a time zone with summer time: results must not depend on it."""
    session = shared_spark.newSession()
    session.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    session.conf.set("spark.sql.shuffle.partitions", "1")
    session.conf.set("spark.sql.codegen.wholeStage", "false")
    return session


@pytest.fixture(scope="session")
def postgres_dsn() -> Iterator[str]:
    """A server of our own, with a collation unlike code-point order: results must not depend on it."""
    if shutil.which("initdb") is None or shutil.which("pg_ctl") is None:
        lacking("PostgreSQL", "install Debian's package 'postgresql'")
    folder = Path(tempfile.mkdtemp(prefix="pg"))
    # PostgreSQL refuses to run as root.
    as_user = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
    if as_user:
        shutil.chown(folder, "postgres")
    run = partial(
        subprocess.run, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder
    )
    data = str(folder / "data")
    run(
        [
            *as_user,
            "initdb",
            "-D",
            data,
            "-E",
            "UTF8",
            "--locale-provider=icu",
            "--icu-locale=en-US",
            "-U",
            "test",
            "-A",
            "trust",
        ]
    )
    options = (
        f"-c listen_addresses='' -c unix_socket_directories={folder} -c fsync=off -c timezone=Europe/Berlin"
    )
    run([*as_user, "pg_ctl", "-D", data, "-w", "-o", options, "-l", str(folder / "log"), "start"])
    try:
        yield f"host={folder} user=test dbname=postgres"
    finally:
        run([*as_user, "pg_ctl", "-D", data, "-w", "-m", "immediate", "stop"])
        shutil.rmtree(folder)
