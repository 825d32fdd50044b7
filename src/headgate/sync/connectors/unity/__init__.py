"""Unity Catalog over its REST API: one metastore with its catalogs."""

from typing import TYPE_CHECKING

from headgate.sync.connections import Connection, client
from headgate.sync.connectors.unity.capabilities import CAPABILITIES
from headgate.sync.systems import SystemKind, SystemRecord

if TYPE_CHECKING:
    from headgate.sync.contract import Connector


def _open(name: str, at: Connection) -> "Connector":
    from headgate.sync.connectors.unity.connector import UnityConnector

    return UnityConnector(client(at), name)


SYSTEM = SystemRecord(
    title="Unity Catalog",
    kinds=(SystemKind(kind="unity", capabilities=CAPABILITIES, open=_open),),
    address="https://unity.example.com",
    options=(),
)
