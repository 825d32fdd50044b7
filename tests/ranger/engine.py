"""Compiles and starts the program around Ranger's engine; `Engine` asks it."""

import hashlib
import json
import shutil
import subprocess
import tempfile
import zipfile
from pathlib import Path
from typing import Any

from tests.maven import jars, java
from tests.peers import Missing

_HERE = Path(__file__).parent
_LOGGING = "org.slf4j.simpleLogger.defaultLogLevel"


def service_def(name: str) -> dict[str, Any]:
    """The definition of a service as Ranger ships it."""
    jar = next(jars(_HERE / "pom.xml").glob("ranger-plugins-common-*.jar"))
    with zipfile.ZipFile(jar) as archive:
        found: dict[str, Any] = json.loads(archive.read(f"service-defs/ranger-servicedef-{name}.json"))
        return found


def _compiled() -> str:
    """The class path with the program in it, compiled once per version of its source."""
    folder = jars(_HERE / "pom.xml")
    source = _HERE / "Engine.java"
    classes = folder / f"engine-{hashlib.sha256(source.read_bytes()).hexdigest()[:16]}"
    if not classes.is_dir():
        unfinished = Path(tempfile.mkdtemp(dir=folder))
        done = subprocess.run(
            [java("javac"), "-cp", f"{folder}/*", "-d", str(unfinished), str(source)],
            capture_output=True,
            text=True,
            timeout=120,
        )
        if done.returncode:
            raise Missing(f"the program does not compile: {done.stderr[:2000]}")
        try:
            unfinished.rename(classes)
        except OSError:
            # Another run was faster.
            shutil.rmtree(unfinished)
    return f"{classes}:{folder}/*"


class Engine:
    """The engine behind a pipe. It keeps what it downloaded until it is told to look again."""

    def __init__(self, address: str, service: str) -> None:
        classpath = _compiled()
        self.folder = tempfile.mkdtemp(prefix="headgate-ranger-")
        self.process = subprocess.Popen(
            [
                java(),
                "-Xmx256m",
                f"-D{_LOGGING}=error",
                "-cp",
                classpath,
                "Engine",
                address,
                service,
                self.folder,
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
        )
        if self._line() != "ready":
            self.close()
            raise Missing("Ranger's engine did not start")

    def _line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().rstrip("\n")

    def ask(self, *fields: str) -> str:
        assert self.process.stdin is not None
        assert not any("\t" in field or "\n" in field for field in fields)
        self.process.stdin.write("\t".join(fields) + "\n")
        self.process.stdin.flush()
        return self._line()

    def refresh(self) -> int:
        """Download what changed; the version of the policies that are in force now."""
        return int(self.ask("refresh"))

    def close(self) -> None:
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()
        self.process.terminate()
        self.process.wait(30)
        shutil.rmtree(self.folder, ignore_errors=True)
