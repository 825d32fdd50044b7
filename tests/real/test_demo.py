"""The product's first five minutes: three engines agree on what each person sees, and the demo says why."""

import subprocess
import sys

import pytest

from tests.peers import ROOT
from tests.real.server import environment

pytestmark = [pytest.mark.real, pytest.mark.spark, pytest.mark.timeout(1200)]


def test_the_demo_shows_the_same_in_every_engine_and_ends_well() -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "examples.retail.demo", "--once"],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=1100,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout[-2000:] + ran.stderr[-3000:]
    assert "ann, analyst in Europe: 100 rows" in ran.stdout
    assert "cara, privacy office: 300 rows" in ran.stdout
    assert ran.stdout.count("ines.brandt2@example.org") == 3, "cara alone sees it, in three engines"
    assert "sees only rows where region = 'EU' (policy 'own-region')" in ran.stdout
