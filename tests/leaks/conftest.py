"""The hunting ground is made once for all tests of the hunt."""

import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import SAME_EVERY_TIME
from tests.leaks.hunt import Case, Hunt
from tests.real.server import running


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Tests that take `seed` run for each table of the hunt."""
    if "seed" in metafunc.fixturenames:
        metafunc.parametrize("seed", range(metafunc.config.getoption("--leak-hunt")))


@pytest.fixture(scope="session")
def hunt(tmp_path_factory: pytest.TempPathFactory, shared_spark: Any) -> Iterator[Hunt]:
    home = tmp_path_factory.mktemp("hunt")
    new = 0 if SAME_EVERY_TIME else random.SystemRandom().randrange(10**6)
    seed = int(os.environ.get("LEAK_SEED", new))
    with running(home, "--service-admins", "admin", "--warehouse", str(home / "warehouse")) as server:
        yield Hunt(server, home, shared_spark, seed)


@pytest.fixture(scope="session")
def cases(hunt: Hunt) -> dict[int, Case]:
    """The tables made so far, by seed."""
    return {}


@pytest.fixture
def case(hunt: Hunt, cases: dict[int, Case], seed: int) -> Case:
    if seed not in cases:
        cases[seed] = hunt.make(seed)
    return cases[seed]


@pytest.fixture(scope="session")
def log(hunt: Hunt) -> Path:
    return hunt.server.log
