"""One stand per system for the whole run, emptied before each test; a journal of pushes for each test."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from headgate.store import Store
from headgate.sync.journal import Journal
from tests.mariadb import mariadb_server
from tests.postgres import new_database, postgres_server
from tests.sync.stands import GravitinoStand, HeadgateStand, MariaDBStand, PostgresStand, Stand

__all__ = ["mariadb_server", "postgres_server"]

SYSTEMS = ("headgate", "gravitino", "postgresql", "mariadb")


@pytest.fixture(scope="session")
def stand_of(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[str], Stand]]:
    """The stand of a system by name, made when it is first asked for."""
    made: dict[str, Stand] = {}

    def get(system: str) -> Stand:
        if system not in made:
            folder: Path = tmp_path_factory.mktemp(system)
            if system == "headgate":
                made[system] = HeadgateStand(folder)
            elif system == "gravitino":
                made[system] = GravitinoStand(folder)
            elif system == "postgresql":
                made[system] = PostgresStand(new_database(request.getfixturevalue("postgres_server")))
            else:
                made[system] = MariaDBStand(request.getfixturevalue("mariadb_server"))
        made[system].empty()
        return made[system]

    yield get
    for stand in made.values():
        stand.close()


@pytest.fixture(params=SYSTEMS)
def stand(request: pytest.FixtureRequest, stand_of: Callable[[str], Stand]) -> Stand:
    """Every system in turn."""
    return stand_of(request.param)


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    store = Store(f"sqlite:///{tmp_path}/journal.db")
    store.prepare()
    yield Journal(store, "test")
    store.close()
