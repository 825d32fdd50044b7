"""The Spark session that jobs run in: local, on a cluster, or behind Spark Connect."""

import hashlib
import logging
import threading
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec

from headgate.model.extras import Extra, ExtraMissing
from headgate.pipelines.errors import SparkLacks
from headgate.pipelines.needs import LOCAL_JOBS, PACKAGES, SparkNeeds, SparkWork, needs_of

if TYPE_CHECKING:
    # Other rooms take the type from here, so that none of them imports Spark.
    from pyspark.sql import SparkSession as SparkSession

T = TypeVar("T")

CATALOG: Final = "headgate_jobs"
NAMESPACE: Final = "jobs"
_MEANING: Final = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.caseSensitive": "true",
    "spark.sql.legacy.charVarcharAsString": "true",
}
"""What the lowered SQL relies on; see headgate.language.lower.spark."""

OPENING: Final = 90.0
"""Seconds in which a server behind Spark Connect must serve a new session. PySpark itself asks for more than ten minutes,
while readers wait for a worker that could try again."""
ANSWERING: Final = 30.0
"""Seconds in which such a server must answer a question that needs no work."""
LEAVING: Final = 10.0
"""Seconds in which such a server may take note that a session has ended."""
_MISSING: Final = ("UNEXPECTED_CLASS_TYPE", "NoClassDefFoundError")
"""In the words of Spark that does not find a class, or something that the class is made of."""
WAITING: Final = "waiting for Spark Connect"
"""What threads are called that may be left waiting."""


class SparkSettings(msgspec.Struct, frozen=True):
    """Where Spark runs, and for what. `remote` (sc://…) goes before `master`."""

    master: str = "local[*]"
    remote: str | None = None
    driver_memory: str = "2g"
    work: SparkWork = LOCAL_JOBS
    more: Mapping[str, str] = {}

    def __repr__(self) -> str:
        return f"SparkSettings(master={self.master!r}, remote={self.remote!r})"


def open_session(settings: SparkSettings | None = None) -> "SparkSession":
    """Open a session that has what its work needs, or say what Spark lacks.

    The catalog for jobs lives in the memory of the driver and names files in storage only while a job runs.
    """
    try:
        return _open(settings or SparkSettings())
    except ImportError as error:
        # PySpark has an error of its own for what Spark Connect lacks: it names no module.
        raise missing(remote=settings is not None and settings.remote is not None) from error


def missing(*, remote: bool) -> ExtraMissing:
    """The refusal of a process without Spark, or without the client of Spark Connect."""
    return ExtraMissing(Extra.CONNECT if remote else Extra.SPARK)


def is_installed() -> bool:
    """Whether this process could open a session at all."""
    return Extra.SPARK.installed


def _open(settings: SparkSettings) -> "SparkSession":
    from pyspark.sql import SparkSession

    needs = needs_of(settings.work)
    shared = settings.remote is None and _is_running()
    session: SparkSession = (
        _classic(settings, needs)
        if settings.remote is None
        # A session of its own: one that the server has forgotten is not taken for a new one.
        else SparkSession.builder.remote(settings.remote).create()
    )
    _silence()

    def prepare() -> None:
        if is_remote(session):
            _configure(session, {**_MEANING, **settings.more})
        _check(session, needs)
        if settings.work.jobs:
            jobs_catalog(session, {})

    try:
        _first(session, prepare)
    except BaseException:
        # A JVM that lacks a jar would be taken for the next session too.
        if not is_remote(session) and not shared:
            close_session(session)
        raise
    return session


def is_alive(session: "SparkSession") -> bool:
    """Whether the JVM, the cluster or the server behind a session still takes jobs."""
    try:
        if is_remote(session):
            return _within(ANSWERING, lambda: bool(session.range(1).schema))
        return not session.sparkContext._jsc.sc().isStopped()
    except Exception:
        return False


def warm(session: "SparkSession") -> None:
    """Have Spark load and compile what any job needs, so that the first reader does not wait for that."""
    session.range(8).selectExpr("sha2(CAST(id AS STRING), 256) AS a").where("a > '1'").groupBy(
        "a"
    ).count().collect()


def close_session(session: "SparkSession") -> None:
    """End a session and its JVM, also one that is gone already. The next is opened with what it asks for."""
    if is_remote(session):
        _leave(session)
        return
    with warnings.catch_warnings(), suppress(Exception):
        warnings.simplefilter("ignore")
        session.stop()
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    # PySpark keeps the JVM for the next session; one that is dead, or started without a jar, is of no use to it.
    gateway: Any = SparkContext._gateway
    SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None
    SparkSession._instantiatedSession = SparkSession._activeSession = None
    if gateway is not None:
        with suppress(Exception):
            gateway.shutdown()
        with suppress(Exception):
            gateway.proc.stdin.close()
            gateway.proc.wait(10)


def is_remote(session: "SparkSession") -> bool:
    return type(session).__module__.startswith("pyspark.sql.connect")


def jobs_catalog(session: "SparkSession", storage: Mapping[str, str]) -> str:
    """The catalog for jobs on one storage, by name. Each storage has its own, as each has its own credentials."""
    digest = hashlib.sha256(repr(sorted(storage.items())).encode()).hexdigest()[:12]
    name = f"{CATALOG}_{digest}" if storage else CATALOG
    key = f"spark.sql.catalog.{name}"
    if session.conf.get(key, None) is None:
        for option, value in _catalog(key, storage).items():
            session.conf.set(option, value)
        session.sql(f"CREATE NAMESPACE IF NOT EXISTS {name}.{NAMESPACE}")
    return name


def _is_running() -> bool:
    """Whether this process has a Spark already, which is then used. The client of Spark Connect alone has no such class."""
    from pyspark import SparkContext

    return SparkContext._active_spark_context is not None


def _check(session: "SparkSession", needs: SparkNeeds) -> None:
    """Refuse a Spark without the jars that the work needs: a job would fail in words that say nothing of jars."""
    lacking = tuple(package for package, proof in needs.classes.items() if not _has(session, proof))
    if lacking:
        raise SparkLacks(lacking, remote=is_remote(session))


def _has(session: "SparkSession", name: str) -> bool:
    """Whether Spark's driver finds a class. `reflect` looks for it before it looks for the method, and runs nothing."""
    try:
        session.sql(f"SELECT reflect('{name}', 'nothing')")
    except Exception as error:
        return not any(sign in str(error) for sign in _MISSING)
    return True


def _classic(settings: SparkSettings, needs: SparkNeeds) -> "SparkSession":
    from pyspark.sql import SparkSession

    builder: Any = SparkSession.builder.master(settings.master).appName("headgate")
    local = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": settings.driver_memory,
        "spark.sql.shuffle.partitions": "8",
    }
    packages = needs.with_own(settings.more.get(PACKAGES, ""))
    for key, value in {**local, **_MEANING, **settings.more, PACKAGES: packages}.items():
        builder = builder.config(key, value)
    session: SparkSession = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session


def _configure(session: "SparkSession", options: Mapping[str, str]) -> None:
    for key, value in options.items():
        session.conf.set(key, value)


def _first(session: "SparkSession", work: Callable[[], object]) -> None:
    """Do the first things with a session; one whose server does not answer is given up."""
    if not is_remote(session):
        work()
        return
    try:
        _within(OPENING, work)
    except BaseException:
        _leave(session)
        raise


def _leave(session: Any) -> None:
    """End a session behind Spark Connect. Its server may be gone, and then nobody waits for it."""
    with suppress(Exception):
        # Whatever is still to be said is said once: PySpark would repeat it for minutes.
        session.client.set_retry_policies([])
        _within(LEAVING, session.stop)
    with suppress(Exception):
        # Ends the calls that still wait, and with them the threads that wait for them.
        session.client._channel.close()


def _within(seconds: float, work: Callable[[], T]) -> T:
    """What `work` gives, or TimeoutError if it takes longer; it then goes on in a thread that nobody waits for."""
    done: list[T | BaseException] = []

    def run() -> None:
        try:
            done.append(work())
        except BaseException as error:
            done.append(error)

    thread = threading.Thread(target=run, name=WAITING, daemon=True)
    thread.start()
    thread.join(seconds)
    if not done:
        raise TimeoutError(f"Spark Connect does not answer within {seconds:.0f} s")
    if isinstance(done[0], BaseException):
        raise done[0]
    return done[0]


def _silence() -> None:
    """Keep Spark from logging the values that a failing expression met; the job's own error tells what went wrong."""
    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        logging.getLogger(name).disabled = True
    logging.getLogger("py4j").setLevel(logging.ERROR)


def _catalog(name: str, storage: Mapping[str, str]) -> dict[str, str]:
    return {
        name: "org.apache.iceberg.spark.SparkCatalog",
        f"{name}.type": "jdbc",
        f"{name}.uri": "jdbc:sqlite::memory:",
        # Every connection would be a database of its own.
        f"{name}.clients": "1",
        f"{name}.jdbc.schema-version": "V1",
        f"{name}.warehouse": "file:///nowhere",
        f"{name}.io-impl": "org.apache.iceberg.io.ResolvingFileIO",
        f"{name}.cache-enabled": "false",
        **{f"{name}.{key}": value for key, value in storage.items()},
    }
