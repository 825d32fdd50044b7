"""Apache Gravitino over its REST API: one metalake.

Privileges are granted to roles only. Who is in a group is known to the identity provider alone, so a group of the source is
written as the group that the map of principals names, and its members are taken to be the same. The client must own the metalake:
to anybody else the server shows a part of its roles, tags and policies.
"""

from collections.abc import Sequence

import httpx

from headgate.model.objects import ObjectType
from headgate.sync.access.capabilities import Capabilities
from headgate.sync.connectors.gravitino.capabilities import CAPABILITIES
from headgate.sync.connectors.gravitino.reading import GravitinoReader
from headgate.sync.connectors.gravitino.rest import GravitinoClient
from headgate.sync.connectors.gravitino.writing import GravitinoWriter
from headgate.sync.contract import Connector
from headgate.sync.pushing.results import Applied, Change
from headgate.sync.pushing.run import Reading

_T = ObjectType


class GravitinoConnector(Connector):
    """One metalake; the client carries the address and the credentials."""

    def __init__(self, client: httpx.Client, metalake: str, name: str | None = None) -> None:
        super().__init__(name or f"gravitino:{metalake}")
        self.rest = GravitinoClient(client, metalake)
        self.metalake = metalake

    @property
    def capabilities(self) -> Capabilities:
        return CAPABILITIES

    def close(self) -> None:
        self.rest.client.close()

    def read(self) -> Reading:
        return GravitinoReader(self.rest, self.metalake).reading()

    def apply(self, changes: Sequence[Change]) -> list[Applied]:
        writer = GravitinoWriter(self.rest, self.metalake, changes)
        return [writer.make(change) for change in changes]
