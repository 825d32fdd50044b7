"""One stand per system for the whole run, emptied before each test; a journal of pushes for each test."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from headgate.store import Store
from headgate.sync.connectors.hive.authorizers import Authorizer
from headgate.sync.pushing.journal import Journal
from tests.peers import Missing, lacking
from tests.postgres import new_database
from tests.sync.cloud_stands import BigQueryStand, LakeFormationStand, PolarisStand, UnityStand
from tests.sync.hive_stand import HiveStand
from tests.sync.ranger_stand import RangerStand
from tests.sync.stands import GravitinoStand, HeadgateStand, MariaDBStand, MySQLStand, PostgresStand, Stand

CLOUDS: dict[str, Callable[[], Stand]] = {
    "lakeformation": LakeFormationStand,
    "polaris": PolarisStand,
    "unity": UnityStand,
    "bigquery": BigQueryStand,
}
SYSTEMS = (
    *("headgate", "gravitino", "postgresql", "mariadb", "mysql"),
    *("hive", "hive-legacy", "hive-acl", "ranger"),
    *CLOUDS,
)
PAIRED = tuple(system for system in SYSTEMS if system not in ("hive-legacy", "hive-acl"))
"""Those that are paired with each other: a metastore is one system, whoever reads it."""
_REAL = frozenset({"mysql", "hive", "hive-legacy", "hive-acl", "ranger"})
HIVES = {authorizer.capabilities.system: authorizer for authorizer in Authorizer}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whatever runs over a program of somebody else's says so."""
    for item in items:
        callspec = getattr(item, "callspec", None)
        if callspec is not None and any(isinstance(v, str) and v in _REAL for v in callspec.params.values()):
            item.add_marker(pytest.mark.real)


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
            elif system in CLOUDS:
                made[system] = CLOUDS[system]()
            elif system == "postgresql":
                made[system] = PostgresStand(new_database(request.getfixturevalue("postgres_server")))
            elif system == "ranger":
                made[system] = _ranger()
            elif system in HIVES:
                made[system] = HiveStand(request.getfixturevalue("hive_metastore"), HIVES[system])
            elif system == "mysql":
                made[system] = MySQLStand(request.getfixturevalue("mysql_server"))
            else:
                made[system] = MariaDBStand(request.getfixturevalue("mariadb_server"))
        made[system].empty()
        return made[system]

    yield get
    for stand in made.values():
        stand.close()


def _ranger() -> Stand:
    try:
        return RangerStand()
    except Missing as reason:
        lacking("Ranger's engine", reason)
        raise


@pytest.fixture(params=SYSTEMS)
def stand(request: pytest.FixtureRequest, stand_of: Callable[[str], Stand]) -> Stand:
    """Every system in turn."""
    return stand_of(request.param)


@pytest.fixture
def journal(tmp_path: Path, empty_store: bytes) -> Iterator[Journal]:
    file = tmp_path / "journal.db"
    file.write_bytes(empty_store)
    store = Store(f"sqlite:///{file}")
    yield Journal(store, "test")
    store.close()
