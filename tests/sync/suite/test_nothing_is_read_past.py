"""What a system keeps back by means that only it can judge is never shown to anybody elsewhere by what is fetched from it."""

from collections.abc import Callable

import pytest

from headgate.sync.pushing.journal import Journal
from headgate.sync.pushing.results import Mode
from headgate.sync.snapshots.facts import Facts, GrantFact
from headgate.sync.snapshots.names import PrincipalMap
from headgate.sync.snapshots.snapshot import PolicySnapshot
from tests.sync.stands import Stand
from tests.sync.worlds import CATALOG, INVENTORY, PEOPLE, TABLES, USERS, snapshot

ANN = USERS[0]
READS = Facts(
    [
        *INVENTORY,
        *PEOPLE,
        *(GrantFact(ANN, CATALOG, word) for word in ("USE_CATALOG", "USE_SCHEMA")),
        *(GrantFact(ANN, table, "SELECT_TABLE") for table in TABLES[:2]),
    ]
)
KEEPING = ("gravitino", "postgresql", "ranger", "lakeformation", "unity", "bigquery")


@pytest.mark.parametrize("system", KEEPING)
def test_what_a_system_keeps_back_is_shown_to_nobody_elsewhere(
    system: str, stand_of: Callable[[str], Stand], journal: Journal
) -> None:
    source, elsewhere = stand_of(system), stand_of("mariadb")
    names = PrincipalMap({str(source.own(ANN)): elsewhere.own(ANN).name})
    assert source.connector.push(snapshot(READS), Mode.MERGE, source.names, journal).ok
    left = source.keep_back()
    # Also by a file that was written meanwhile.
    fetched = PolicySnapshot.read(source.connector.fetch().to_yaml())
    result = elsewhere.connector.push(fetched, Mode.MERGE, names, journal)
    assert elsewhere.readable(ANN, TABLES[0]) == left
    assert elsewhere.readable(ANN, TABLES[1]) == ["x", "y"]
    assert any("lake.sales.orders" in loss.object for loss in result.losses), "and it is told what was lost"
