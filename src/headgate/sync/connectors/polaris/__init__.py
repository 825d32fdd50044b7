"""Apache Polaris over its management API: one realm with its catalogs."""

from typing import TYPE_CHECKING

from headgate.sync.connections import Connection, client
from headgate.sync.connectors.polaris.capabilities import CAPABILITIES
from headgate.sync.systems import SystemKind, SystemRecord

if TYPE_CHECKING:
    from headgate.sync.contract import Connector


def _open(name: str, at: Connection) -> "Connector":
    from headgate.sync.connectors.polaris.connector import PolarisConnector

    return PolarisConnector(client(at), name)


SYSTEM = SystemRecord(
    title="Polaris",
    kinds=(SystemKind(kind="polaris", capabilities=CAPABILITIES, open=_open),),
    address="https://polaris.example.com",
    options=(),
)
