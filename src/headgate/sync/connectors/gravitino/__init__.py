"""Apache Gravitino over its REST API: one metalake."""

from typing import TYPE_CHECKING

from headgate.sync.connections import Connection, client
from headgate.sync.connectors.gravitino.capabilities import CAPABILITIES
from headgate.sync.systems import SystemKind, SystemRecord

if TYPE_CHECKING:
    from headgate.sync.contract import Connector


def _open(name: str, at: Connection) -> "Connector":
    from headgate.sync.connectors.gravitino.connector import GravitinoConnector

    return GravitinoConnector(client(at), at.metalake, name)


SYSTEM = SystemRecord(
    title="Gravitino",
    kinds=(SystemKind(kind="gravitino", capabilities=CAPABILITIES, open=_open),),
    address="https://gravitino.example.com",
    options=(),
)
