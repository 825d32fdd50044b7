"""What Spark needs for its work: jars, the classes that show whether they are there, and settings.

INVARIANT: nothing else names a jar, and `session.open_session` opens no Spark without asking here. So a worker, a command
and a test have the same jars for the same work.
"""

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

ICEBERG: Final = "1.12.0"
RUNTIME: Final = f"org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:{ICEBERG}"
SQLITE: Final = "org.xerial:sqlite-jdbc:3.50.3.0"
AWS: Final = f"org.apache.iceberg:iceberg-aws-bundle:{ICEBERG}"
HADOOP_AWS: Final = "org.apache.hadoop:hadoop-aws:3.4.2"

PACKAGES: Final = "spark.jars.packages"

_PROOF: Final = {
    RUNTIME: "org.apache.iceberg.spark.SparkCatalog",
    SQLITE: "org.sqlite.JDBC",
    # The runtime has the FileIO itself, and nothing of what that is made of.
    AWS: "software.amazon.awssdk.services.s3.model.S3Exception",
    HADOOP_AWS: "org.apache.hadoop.fs.s3a.S3AFileSystem",
}
"""A class of each package. One that is there shows that the package is, however it got there."""


class SparkWork(msgspec.Struct, frozen=True):
    """What a session is for."""

    jobs: bool = False
    """Whether it makes governed copies, and so keeps a catalog of short-lived tables."""
    tables: tuple[str, ...] = ()
    """Places in which Iceberg tables may lie that it reads."""
    files: tuple[str, ...] = ()
    """Places of plain files that it reads or writes."""


NO_TABLES: Final = SparkWork()
"""Work on what is in the memory of the caller only."""
LOCAL_JOBS: Final = SparkWork(jobs=True)
"""Governed copies on local disks."""


class SparkNeeds(msgspec.Struct, frozen=True):
    """What a session must have."""

    packages: tuple[str, ...]

    @property
    def classes(self) -> Mapping[str, str]:
        """A class of each package, by package."""
        return {package: _PROOF[package] for package in self.packages}

    def with_own(self, listed: str) -> str:
        """The packages, and those that an operator lists; theirs counts where both name one in two versions."""
        own = [text.strip() for text in listed.split(",") if text.strip()]
        named = {_artifact(text) for text in own}
        return ",".join((*(each for each in self.packages if _artifact(each) not in named), *own))


def needs_of(work: SparkWork) -> SparkNeeds:
    """What Spark needs for some work."""
    wanted: list[str] = []
    if work.jobs or work.tables:
        wanted.append(RUNTIME)
    if work.jobs:
        wanted.append(SQLITE)
    if _any_in_s3(work.tables):
        wanted.append(AWS)
    if _any_in_s3(work.files):
        wanted.append(HADOOP_AWS)
    return SparkNeeds(tuple(wanted))


def _any_in_s3(places: Iterable[str]) -> bool:
    return any(place.partition("://")[0] in ("s3", "s3a", "s3n") for place in places)


def _artifact(package: str) -> str:
    return package.rpartition(":")[0]
