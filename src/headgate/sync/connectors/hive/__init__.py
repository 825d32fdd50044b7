"""Hive Metastore over Thrift: its default catalog. Its grants mean what the authorizer that reads them says they mean."""

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from headgate.model.errors import IllegalArgument
from headgate.model.extras import Extra, needs
from headgate.sync.access.capabilities import Capabilities
from headgate.sync.connections import Connection, people
from headgate.sync.connectors.hive.authorizers import Authorizer
from headgate.sync.systems import SystemKind, SystemRecord

if TYPE_CHECKING:
    from headgate.sync.contract import Connector


def _kind(authorizer: Authorizer) -> SystemKind:
    """The kind of connection to a metastore that this authorizer reads."""

    def open(name: str, at: Connection) -> "Connector":
        with needs(Extra.HIVE):
            from headgate.sync.connectors.hive.connector import HiveConnector

        parts = urlsplit(at.url.hidden)
        if not parts.hostname:
            raise IllegalArgument(f"'{name}' does not say which server", hint=f'url = "{SYSTEM.address}"')
        return HiveConnector(
            parts.hostname,
            parts.port or 9083,
            at.catalog,
            name,
            authorizer=authorizer,
            people=people(name, at),
        )

    able: Capabilities = authorizer.capabilities
    return SystemKind(kind=able.system, capabilities=able, open=open)


SYSTEM = SystemRecord(
    title="Hive Metastore",
    kinds=tuple(map(_kind, Authorizer)),
    address="thrift://host:9083",
    options=(),
)
