"""What goes wrong in a pipeline, told without a value of the table."""

from collections.abc import Collection
from typing import Any, Final

from headgate.model.errors import HeadgateError, Unavailable

_OF_STORAGE: Final = frozenset(
    {
        "ClassNotFoundException",
        "NoClassDefFoundError",
        "NoSuchBucketException",
        "S3Exception",
        "SdkClientException",
        "UnknownHostException",
        "UnsupportedFileSystemException",
    }
)
"""Errors of Java that no file of a table is to blame for."""
_AT_STORAGE: Final = (
    "Spark does not reach the storage: try 'headgate catalog test' with the catalog's properties"
)


class JobFailed(HeadgateError):
    """Spark did not finish a job; nothing of it can be seen.

    INVARIANT: engines put values into their messages. Only the names of their errors get in here, and in `sources` which
    of the job's own files they mentioned, for operators.
    """

    def __init__(self, causes: tuple[str, ...], sources: tuple[str, ...]) -> None:
        super().__init__(
            f"Spark could not make the governed copies ({', '.join(causes)})",
            hint=_AT_STORAGE
            if any(cause in _OF_STORAGE for cause in causes)
            else "check that the table's files are whole, then try again",
        )
        self.causes = causes
        self.sources = sources


class SparkLacks(Unavailable):
    """Spark does not have the jars that the work needs."""

    def __init__(self, packages: tuple[str, ...], *, remote: bool) -> None:
        named = ",".join(packages)
        super().__init__(
            f"Spark lacks {named}",
            hint=f"start the Spark Connect server with --packages {named}"
            if remote
            else "let it fetch them (spark.jars.repositories names where), or give them in spark.jars",
        )
        self.packages = packages


def job_failed(error: Exception, sources: Collection[str]) -> JobFailed:
    """The failure of a job, from what Spark or its client raised."""
    text = str(error)
    return JobFailed(causes_of(error), tuple(path for path in sources if path in text))


def is_of_spark(error: Exception) -> bool:
    """Whether Spark or its client raised an error; asked by those who do not import Spark."""
    from pyspark.errors import PySparkException

    return isinstance(error, PySparkException)


def causes_of(error: Exception) -> tuple[str, ...]:
    """The names of an error of Spark's and of what caused it."""
    causes = [type(error).__name__]
    condition = getattr(error, "getCondition", None)
    name = condition() if condition is not None else None
    if name:
        causes.append(str(name))
    java: Any = getattr(error, "_origin", None) or getattr(error, "java_exception", None)
    while java is not None and len(causes) < 8:
        cause = java.getClass().getSimpleName()
        if cause not in causes:
            causes.append(cause)
        java = java.getCause()
    return tuple(causes)
