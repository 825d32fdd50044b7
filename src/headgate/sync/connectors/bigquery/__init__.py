"""BigQuery over its REST API: one project is one catalog."""

from typing import TYPE_CHECKING

from headgate.sync.connections import Connection, client, option, people
from headgate.sync.connectors.bigquery.capabilities import CAPABILITIES
from headgate.sync.systems import SystemKind, SystemRecord

if TYPE_CHECKING:
    from headgate.sync.contract import Connector


def _open(name: str, at: Connection) -> "Connector":
    from headgate.sync.connectors.bigquery.connector import BigQueryConnector

    return BigQueryConnector(client(at), option(name, at, "project"), people(name, at), name)


SYSTEM = SystemRecord(
    title="BigQuery",
    kinds=(SystemKind(kind="bigquery", capabilities=CAPABILITIES, open=_open),),
    address="https://bigquery.googleapis.com",
    options=("project",),
)
