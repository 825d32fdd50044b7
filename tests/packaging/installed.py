"""Headgate as people install it: the command of an environment with the wheel in it."""

import os
import subprocess
from pathlib import Path

from tests.real.server import Result


def clean(**more: str) -> dict[str, str]:
    """An environment of a machine that knows nothing of this tree."""
    kept = {key: os.environ[key] for key in ("PATH", "LANG", "TMPDIR") if key in os.environ}
    return {**kept, "PYTHONUNBUFFERED": "1", **more}


class Installed:
    """The command of an environment with the wheel in it."""

    def __init__(self, python: Path) -> None:
        self.python = python
        self.command = python.parent / "headgate"

    def run(self, *words: str | Path, **env: str) -> Result:
        return self._ran([self.command, *words], env)

    def python_says(self, code: str) -> Result:
        return self._ran([self.python, "-I", "-c", code], {})

    def _ran(self, words: list[str | Path], env: dict[str, str]) -> Result:
        ran = subprocess.run(
            [str(word) for word in words],
            capture_output=True,
            text=True,
            timeout=200,
            env=clean(**env),
            check=False,
        )
        return Result(ran.returncode, ran.stdout, ran.stderr)
