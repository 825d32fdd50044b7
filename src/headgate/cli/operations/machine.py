"""What the machine of a server needs, for `headgate doctor` and, as far as it costs nothing, for a server that starts."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import httpx

from headgate.pipelines.needs import LOCAL_JOBS, SparkWork, needs_of
from headgate.pipelines.session import is_installed, missing
from headgate.settings.server import Settings
from headgate.steward.doctor import DoctorFinding

PYTHON: Final = (3, 11)
JAVA: Final = 17
_VERSION: Final = re.compile(r'version "(?:1\.)?(\d+)')
_JARS: Final = ("~/.ivy2.5.2/jars", "~/.ivy2/jars", "~/.m2/repository")
"""Where Spark looks before it fetches a jar."""

Check = Callable[[Settings], Iterator[DoctorFinding]]


def examine(settings: Settings) -> list[DoctorFinding]:
    """Everything that is wrong with the machine, also what takes a program or a server to find out."""
    return [finding for check in (*_QUICK, *_LONGER) for finding in check(settings)]


def examine_quickly(settings: Settings) -> list[DoctorFinding]:
    """What is found out by looking."""
    return [finding for check in _QUICK for finding in check(settings)]


def _python(settings: Settings) -> Iterator[DoctorFinding]:
    if sys.version_info < PYTHON:
        wanted = ".".join(map(str, PYTHON))
        yield DoctorFinding(
            "python", f"this is Python {sys.version.split()[0]}", f"use Python {wanted} or a later one"
        )


def _warehouse(settings: Settings) -> Iterator[DoctorFinding]:
    """A folder; a bucket is tried through the catalogs that lie in it."""
    if "://" in settings.warehouse:
        return
    at = Path(settings.warehouse)
    while not at.exists() and at != at.parent:
        at = at.parent
    if not at.is_dir() or not os.access(at, os.W_OK | os.X_OK):
        yield DoctorFinding(
            "warehouse",
            f"this user cannot write into {at}, where the warehouse {settings.warehouse} lies",
            "give the folder to the user of the server, or name another --warehouse",
        )


def _pyspark(settings: Settings) -> Iterator[DoctorFinding]:
    if settings.worker and not is_installed():
        lacking = missing(remote=settings.spark_remote is not None)
        yield DoctorFinding(
            "pyspark",
            f"{lacking.message}: no worker can run here",
            f"{lacking.hint}; or start with --no-worker",
        )


def _java(settings: Settings) -> Iterator[DoctorFinding]:
    """Spark Connect needs none here."""
    if not settings.worker or settings.spark_remote is not None or not is_installed():
        return
    home = os.environ.get("JAVA_HOME")
    command = str(Path(home, "bin", "java")) if home else shutil.which("java")
    wanted = f"install Java {JAVA} and set JAVA_HOME; or start with --no-worker"
    version = None if command is None else _java_version(command)
    if version is None:
        yield DoctorFinding("java", f"there is no Java{f' in JAVA_HOME ({home})' if home else ''}", wanted)
    elif version < JAVA:
        yield DoctorFinding("java", f"{command} is Java {version}, too old for Spark", wanted)


def _java_version(command: str) -> int | None:
    try:
        # The Java that Spark would run, as the operator's environment names it.
        ran = subprocess.run([command, "-version"], capture_output=True, text=True, timeout=30, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = _VERSION.search(ran.stderr + ran.stdout)
    return None if found is None else int(found[1])


def _jars(settings: Settings) -> Iterator[DoctorFinding]:
    """Jars that Spark has to fetch. Only where it was told to fetch none: else it fetches them when it starts."""
    options = settings.spark_options
    if not settings.worker or settings.spark_remote is not None or "spark.jars" not in options:
        return
    given = [
        Path(text.strip().removeprefix("file:")) for text in options["spark.jars"].split(",") if text.strip()
    ]
    for jar in given:
        if "://" not in str(jar) and not jar.is_file():
            yield DoctorFinding(
                "jars",
                f"{jar}, which spark.jars names, is not there",
                "correct [spark.options] in headgate.toml",
            )
    work = SparkWork(jobs=True, tables=(settings.warehouse,)) if "://" in settings.warehouse else LOCAL_JOBS
    for package in needs_of(work).packages:
        _, artifact, version = package.split(":")
        name = f"{artifact}-{version}.jar"
        if not any(jar.name.endswith(name) for jar in given) and not _kept(name):
            yield DoctorFinding(
                "jars",
                f"Spark has to fetch {package}, and spark.jars does not name it",
                "name its jar in spark.jars, or see that this machine reaches a Maven repository",
            )


def _kept(name: str) -> bool:
    return any(next(Path(folder).expanduser().glob(f"**/*{name}"), None) for folder in _JARS)


def _issuers(settings: Settings) -> Iterator[DoctorFinding]:
    # A server that starts looks at less, and loads what reads tokens when the first one comes.
    from headgate.doors.authentication.keys import IssuerKeys

    for issuer in settings.oidc:
        try:
            found = IssuerKeys(issuer).load()
            problem = None if found else "it publishes no keys that check a token"
        except (httpx.HTTPError, ValueError) as error:
            problem = f"its keys cannot be fetched ({str(error)[:200] or type(error).__name__})"
        if problem is not None:
            yield DoctorFinding(
                "oidc",
                f"issuer {issuer.issuer}: {problem}",
                "see that this machine reaches it over https; correct [[oidc]] in headgate.toml",
            )


_QUICK: Final[tuple[Check, ...]] = (_python, _warehouse)
_LONGER: Final[tuple[Check, ...]] = (_pyspark, _java, _jars, _issuers)
