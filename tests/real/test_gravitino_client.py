"""The access control that Gravitino's documentation walks through, with Gravitino's own unmodified client."""

import json
import os
import subprocess
from pathlib import Path

import pytest

pytestmark = [pytest.mark.real, pytest.mark.slow]


def test_the_worked_example_goes_through_and_nobody_else_gets_anywhere(
    gravitino_python: Path, server: str, tmp_path: Path
) -> None:
    script = Path(__file__).with_name("gravitino_walk.py")
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    walk = subprocess.run(
        [gravitino_python, script, server], capture_output=True, text=True, env=environment, timeout=200
    )
    assert walk.returncode == 0, walk.stdout + walk.stderr[-3000:]
    *steps, after = [json.loads(line) for line in walk.stdout.splitlines() if line.startswith("{")]
    assert [step["step"] for step in steps] == list(range(1, 14))
    for step in steps:
        assert step["attempts"], f"step {step['step']} was tried by someone who may not"
        assert set(step["attempts"].values()) == {"ForbiddenException"}, step
    closed, open_ = ["ForbiddenException", []], ["done", ["hive_table"]]
    assert after["story"] == [closed, open_, closed, closed, open_, closed]
    assert (after["removed"], after["gone"]) == ([True, False], "ForbiddenException")
