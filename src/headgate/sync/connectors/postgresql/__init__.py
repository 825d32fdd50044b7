"""PostgreSQL: one database is one catalog."""

from typing import TYPE_CHECKING

from headgate.model.extras import Extra, needs
from headgate.sync.connections import Connection
from headgate.sync.connectors.postgresql.capabilities import CAPABILITIES
from headgate.sync.systems import SystemKind, SystemRecord

if TYPE_CHECKING:
    from headgate.sync.contract import Connector


def _open(name: str, at: Connection) -> "Connector":
    with needs(Extra.POSTGRES):
        from headgate.sync.connectors.postgresql.connector import PostgresConnector

    return PostgresConnector(at.url.hidden, at.catalog, name)


SYSTEM = SystemRecord(
    title="PostgreSQL",
    kinds=(SystemKind(kind="postgresql", capabilities=CAPABILITIES, open=_open),),
    address="postgresql://admin:password@db/warehouse",
    options=(),
)
