"""Promise: one function knows the jars for every kind of work; whoever opens Spark gets them, or is told which are missing."""

import ast
from pathlib import Path
from typing import Any

import pytest

import headgate
from headgate.pipelines.errors import SparkLacks
from headgate.pipelines.needs import (
    AWS,
    HADOOP_AWS,
    LOCAL_JOBS,
    NO_TABLES,
    RUNTIME,
    SQLITE,
    SparkWork,
    needs_of,
)
from headgate.pipelines.session import SparkSettings, open_session

SOURCE = Path(headgate.__file__).parent


@pytest.mark.parametrize(
    ("work", "packages"),
    [
        (NO_TABLES, ()),
        (LOCAL_JOBS, (RUNTIME, SQLITE)),
        (SparkWork(jobs=True, tables=("file:///lake", "s3://lake")), (RUNTIME, SQLITE, AWS)),
        (SparkWork(tables=("file:///lake",)), (RUNTIME,)),
        (SparkWork(tables=("s3://lake/t",)), (RUNTIME, AWS)),
        (SparkWork(files=("/var/log", "file:///var/log")), ()),
        (SparkWork(files=("s3a://logs/2026",)), (HADOOP_AWS,)),
    ],
)
def test_the_places_of_the_work_decide(work: SparkWork, packages: tuple[str, ...]) -> None:
    assert needs_of(work).packages == packages


def test_an_operators_own_packages_come_besides_and_their_version_counts() -> None:
    needs = needs_of(LOCAL_JOBS)
    assert needs.with_own("") == f"{RUNTIME},{SQLITE}"
    own = "org.xerial:sqlite-jdbc:3.51.0.0,com.example:more:1"
    assert needs.with_own(own) == f"{RUNTIME},{own}"


def test_no_other_way_to_spark_is_left() -> None:
    """Jars are named in one module, and sessions are made in one."""
    naming, opening = set(), set()
    for file in SOURCE.rglob("*.py"):
        if file.is_relative_to(SOURCE / "engines" / "config"):
            # Writes settings for Sparks of others, and a test holds its versions against these.
            continue
        module = ast.parse(file.read_text())
        words = [
            n.value for n in ast.walk(module) if isinstance(n, ast.Constant) and isinstance(n.value, str)
        ]
        if any(
            w == "spark.jars.packages" or (w.startswith(("org.apache.", "org.xerial")) and w.count(":") == 2)
            for w in words
        ):
            naming.add(file.relative_to(SOURCE).as_posix())
        if any(isinstance(n, ast.Attribute) and n.attr == "builder" for n in ast.walk(module)):
            opening.add(file.relative_to(SOURCE).as_posix())
    assert naming == {"pipelines/needs.py"}
    assert opening == {"pipelines/session.py"}


def test_the_page_names_every_package() -> None:
    page = (SOURCE.parents[1] / "docs" / "worker.md").read_text()
    for package in (RUNTIME, SQLITE, AWS, HADOOP_AWS):
        assert f"| `{package}` |" in page
    assert f"--packages {RUNTIME},{SQLITE},{AWS}\n" in page


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_spark_without_a_jar_is_told_which(shared_spark: Any) -> None:
    """The one Spark of the tests was opened for local jobs."""
    assert open_session(SparkSettings()) is shared_spark
    with pytest.raises(SparkLacks, match="iceberg-aws-bundle") as lacks:
        open_session(SparkSettings(work=SparkWork(jobs=True, tables=("s3://lake",))))
    assert lacks.value.packages == (AWS,)
    assert shared_spark.range(3).count() == 3, "whoever had it keeps it"
