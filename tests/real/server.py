"""Real server processes for tests: started as a user would, on a free port, stopped or killed at will."""

import io
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import httpx

from headgate.cli import main

COMMAND = [sys.executable, "-c", "from headgate.cli import main; main()"]


def environment(**more: str) -> dict[str, str]:
    """This process's environment without any setting of Headgate."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith("HEADGATE_")}
    # Nobody's profiles have a part in a test.
    return {**clean, "PYTHONUNBUFFERED": "1", "XDG_CONFIG_HOME": os.devnull, **more}


class RunningServer:
    """A server process, with the logs it wrote."""

    def __init__(self, home: Path, *flags: str, command: list[str] | None = None, **env: str) -> None:
        home.mkdir(parents=True, exist_ok=True)
        count = len(list(home.glob("log-*")))
        self.log = home / f"log-{count}"
        self.out = home / f"out-{count}"
        args = [*(command or COMMAND), "serve", "--port", "0", "--home", str(home), *flags]
        with self.log.open("wb") as log, self.out.open("wb") as out:
            self.process = subprocess.Popen(
                args, stdout=out, stderr=log, env=environment(**env), start_new_session=True
            )
        self.client = httpx.Client(timeout=60)
        self.url = self._wait()
        self.client.base_url = httpx.URL(self.url)

    def _wait(self) -> str:
        deadline = time.monotonic() + 180
        while time.monotonic() < deadline:
            found = re.search(r"listens on (\S+)", self.out.read_text())
            if found is not None:
                try:
                    if httpx.get(found[1] + "/health/ready", timeout=30).status_code == 200:
                        return found[1]
                except httpx.HTTPError:
                    pass
            if self.process.poll() is not None:
                break
            time.sleep(0.05)
        self.kill()
        raise AssertionError(f"the server did not start: {self.log.read_text()}{self.out.read_text()}")

    def ask(self, user: str | None, method: str, path: str, json: Any = None, **more: Any) -> httpx.Response:
        """A request as `user`, who may also be a token."""
        headers = more.pop("headers", {})
        auth = None
        if user is not None and user.startswith(("hg_", "eyJ")):
            headers = {**headers, "Authorization": f"Bearer {user}"}
        elif user is not None:
            auth = (user, "")
        return self.client.request(method, path, json=json, headers=headers, auth=auth, **more)

    def must(self, user: str, method: str, path: str, json: Any = None) -> Any:
        """A request that is answered with success."""
        answer = self.ask(user, method, path, json)
        assert answer.status_code == 200, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer.json()

    def stop(self) -> int:
        """Ask it to stop and wait; the exit code."""
        self.client.close()
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=180)

    def kill(self) -> None:
        """End it and all its processes at once, as a power cut would."""
        self.client.close()
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(timeout=60)


@contextmanager
def running(home: Path, *flags: str, **more: Any) -> Iterator[RunningServer]:
    server = RunningServer(home, *flags, **more)
    try:
        yield server
    finally:
        if server.process.poll() is None:
            server.stop()


class Result(NamedTuple):
    """How a command ended and what it said."""

    returncode: int
    stdout: str
    stderr: str


def headgate(*args: str, patience: float = 300, **env: str) -> Result:
    """Run a command in a process of its own, as a user would."""
    ran = subprocess.run(
        [*COMMAND, *args],
        capture_output=True,
        text=True,
        timeout=patience,
        env=environment(**env),
        check=False,
    )
    return Result(ran.returncode, ran.stdout, ran.stderr)


def headgate_here(*args: str, **env: str) -> Result:
    """Run a command in this process: the same code, without the wait for a new interpreter."""
    out, err = io.StringIO(), io.StringIO()
    with (
        mock.patch.dict(os.environ, environment(**env), clear=True),
        mock.patch.object(sys, "argv", ["headgate", *args]),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        try:
            main()
            code = 0
        except SystemExit as stopped:
            code = int(stopped.code or 0)
    return Result(code, out.getvalue(), err.getvalue())
