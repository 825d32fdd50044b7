"""Apache Ranger over the REST API of its admin server: one service for Hive is one catalog."""

from pathlib import Path
from typing import TYPE_CHECKING

from headgate.sync.connections import Connection, client, option
from headgate.sync.connectors.ranger.capabilities import CAPABILITIES
from headgate.sync.snapshots.facts import Present, Securable
from headgate.sync.snapshots.snapshot import PolicySnapshot
from headgate.sync.systems import SystemKind, SystemRecord

if TYPE_CHECKING:
    from headgate.sync.contract import Connector


def _open(name: str, at: Connection) -> "Connector":
    from headgate.sync.connectors.ranger.connector import RangerConnector

    service, objects = option(name, at, "service"), Path(option(name, at, "objects"))

    def inventory() -> list[Securable]:
        # Ranger knows patterns, not tables: a snapshot of a system that has the tables names them.
        facts = PolicySnapshot.read(objects.read_bytes()).facts
        return [fact.object for fact in facts if isinstance(fact, Present)]

    return RangerConnector(client(at), service, at.catalog, inventory, name)


SYSTEM = SystemRecord(
    title="Ranger",
    kinds=(SystemKind(kind="ranger", capabilities=CAPABILITIES, open=_open),),
    address="https://ranger:6182",
    options=("service", "objects"),
)
