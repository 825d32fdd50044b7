"""Jars of other people's programs for tests: resolved by Maven from a pom of ours, once, and kept in the cache."""

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest

_COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"
_CACHE = Path(__file__).parent.parent / ".cache" / "maven"


class NoJava(Exception):
    """There is no Java or Maven here, or the jars cannot be had."""


def program(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise NoJava(f"no {name}: install a JDK 17 and Maven")
    return found


def jars(pom: Path) -> Path:
    """The folder with everything that the pom names."""
    wanted = hashlib.sha256(pom.read_bytes()).hexdigest()[:16]
    folder = _CACHE / f"{pom.parent.name}-{wanted}"
    if folder.is_dir():
        return folder
    unfinished = folder.with_name(f"{folder.name}.{os.getpid()}")
    command = [program("mvn"), "-B", "-q", "-f", str(pom), _COPY, "-DincludeScope=runtime"]
    done = subprocess.run(
        [*command, f"-DoutputDirectory={unfinished}"], capture_output=True, text=True, timeout=900
    )
    if done.returncode:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise NoJava(f"Maven cannot resolve {pom.parent.name}: {done.stdout.strip()[:300]}")
    try:
        unfinished.rename(folder)
    except OSError:
        # Another run was faster.
        shutil.rmtree(unfinished)
    return folder


def lacking(what: str, reason: object) -> None:
    """Skip with a line that says why; where everything must run, fail."""
    if os.environ.get("CI") == "true":
        pytest.fail(f"{what} is required here: {reason}")
    pytest.skip(f"without {what}: {reason}")
