"""The package's extras: which libraries each one brings, and the one error that names it where they are not installed.

A plain `pip install headgate` holds what every server needs. Whatever only some need is imported where it is needed, under
`needs(…)`, so that a server without it starts, and the feature that lacks it names the command that installs it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from importlib.util import find_spec

from headgate.model.errors import Unavailable


class Extra(Enum):
    """An extra by its name in pyproject.toml, what it is for, and the modules that it brings."""

    AWS = "aws", "the client of AWS", ("boto3", "botocore")
    CONNECT = "connect", "the client of Spark Connect", ("pyspark", "grpc", "pandas")
    FAST = "fast", "the compiled reader of manifests", ("numba", "llvmlite")
    HIVE = "hive", "the client of Hive Metastore", ("pymetastore", "thrift")
    MYSQL = "mysql", "the client of MySQL and MariaDB", ("pymysql",)
    POSTGRES = "postgres", "the client of PostgreSQL", ("psycopg",)
    SPARK = "spark", "Spark", ("pyspark",)

    def __init__(self, name: str, what: str, modules: tuple[str, ...]) -> None:
        self.extra = name
        self.what = what
        self.modules = modules

    @property
    def command(self) -> str:
        """What installs it."""
        return f"pip install 'headgate[{self.extra}]'"

    @property
    def installed(self) -> bool:
        """Whether its libraries are there. Imports none of them."""
        return all(find_spec(module) is not None for module in self.modules)


class ExtraMissing(Unavailable):
    """A feature needs libraries that are not installed here."""

    def __init__(self, extra: Extra) -> None:
        super().__init__(f"{extra.what} is not installed", hint=f"install it with: {extra.command}")
        self.extra = extra


@contextmanager
def needs(extra: Extra) -> Iterator[None]:
    """Import what an extra brings, or name the extra. A module that is missing for any other reason stays an error."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in extra.modules:
            raise
        raise ExtraMissing(extra) from None


def require(extra: Extra) -> None:
    """Name an extra that is not installed, without loading what it brings."""
    if not extra.installed:
        raise ExtraMissing(extra)
