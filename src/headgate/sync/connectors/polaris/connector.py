"""Apache Polaris over its management API: one realm with its catalogs.

A user is a principal and a role a principal role. What a principal role may do is kept in catalog roles, one set per catalog; a
push writes one of its own for each principal role, and what comes through a catalog role that is shared is read as held by each
of its principal roles. Grants reach everything below, there is no deny, no gate and no owner.
"""

from collections.abc import Sequence

import httpx

from headgate.model.objects import ObjectType
from headgate.sync.access.capabilities import Capabilities
from headgate.sync.connectors.polaris.capabilities import CAPABILITIES
from headgate.sync.connectors.polaris.grants import Realm
from headgate.sync.connectors.polaris.reading import PolarisReader
from headgate.sync.connectors.polaris.writing import PolarisWriter
from headgate.sync.contract import Connector
from headgate.sync.pushing.results import Applied, Change
from headgate.sync.pushing.run import Reading
from headgate.sync.transport.pacing import Pacing
from headgate.sync.transport.rest import ServiceClient

_T = ObjectType


class PolarisConnector(Connector):
    """One realm."""

    def __init__(self, client: httpx.Client, name: str, pacing: Pacing | None = None) -> None:
        super().__init__(name)
        self.realm = Realm(ServiceClient(client, pacing))

    @property
    def capabilities(self) -> Capabilities:
        return CAPABILITIES

    def read(self) -> Reading:
        return PolarisReader(self.realm).reading()

    def apply(self, changes: Sequence[Change]) -> list[Applied]:
        writer = PolarisWriter(self.realm)
        return [writer.make(change) for change in changes]
