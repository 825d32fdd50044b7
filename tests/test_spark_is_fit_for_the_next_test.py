"""A test that fails while it waits for Spark fails alone: the next one is answered what it asked."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.peers import ROOT
from tests.real.server import environment

pytestmark = [pytest.mark.real, pytest.mark.spark, pytest.mark.slow]

TESTS = """
import os, signal, pytest
from tests import spark_upkeep

def jvm(spark):
    return spark.sparkContext._gateway.proc.pid

@pytest.fixture(scope="session")
def made(shared_spark):
    return shared_spark.newSession()

@pytest.mark.timeout(3, func_only=True)
def test_waits_in_vain(shared_spark):
    shared_spark._jvm.java.lang.Thread.sleep(900_000)

def test_asks_next(made, shared_spark):
    assert made.range(3).count() == 3
    assert shared_spark._jvm.java.lang.Math.abs(-7) == 7

def test_loses_its_spark(shared_spark, made):
    os.kill(jvm(shared_spark), signal.SIGKILL)
    assert made.range(3).count() == 3

def test_has_another(shared_spark, made):
    assert made.range(3).count() == 3

@pytest.mark.timeout(3, func_only=True)
def test_its_spark_stands_still(shared_spark, made):
    spark_upkeep.PATIENCE = 5
    os.kill(jvm(shared_spark), signal.SIGSTOP)
    made.range(3).count()
"""


def test_a_failure_is_the_last_of_what_spark_was_asked(tmp_path: Path) -> None:
    asked = tmp_path / "test_spark.py"
    asked.write_text(TESTS)
    options = ["-p", "tests.conftest", "-p", "no:cacheprovider", "-p", "no:xdist", "-W", "default", "-rA"]
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-c", ROOT / "pyproject.toml", *options, asked],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**environment(), "CI": "true"},
        timeout=800,
    )
    assert set(re.findall(r"^PASSED .*::(test_\w+)", ran.stdout, re.MULTILINE)) == {
        "test_asks_next",
        "test_has_another",
    }, ran.stdout[-5000:] + ran.stderr[-2000:]
    assert "Threads of Spark's JVM" in ran.stdout
    assert "java.lang.Thread.sleep" in ran.stdout, "the stack of what it waited for is told"
    assert "3 failed, 2 passed" in ran.stdout
    assert "could not be put in order" not in ran.stderr
