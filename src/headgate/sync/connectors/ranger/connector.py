"""Apache Ranger over the REST API of its admin server: one service for Hive, presented as one catalog.

Ranger keeps policies, users, groups and roles, but no list of tables: an inventory names what there is to protect. There
are no gates; a policy about everything of a container covers what comes later; a denial beats whatever is allowed.
"""

from collections.abc import Callable, Iterable, Sequence

import httpx

from headgate.model.errors import IllegalArgument
from headgate.model.objects import ObjectType
from headgate.sync.access.capabilities import Capabilities
from headgate.sync.connectors.ranger import policies as documents
from headgate.sync.connectors.ranger.capabilities import CAPABILITIES
from headgate.sync.connectors.ranger.policies import MASKS, ROWS
from headgate.sync.connectors.ranger.reading import RangerReader
from headgate.sync.connectors.ranger.service import RangerClient, RangerService
from headgate.sync.connectors.ranger.writing import RangerWriter
from headgate.sync.contract import Connector
from headgate.sync.pushing.results import Applied, Change
from headgate.sync.pushing.run import Reading
from headgate.sync.snapshots.facts import (
    Mask,
    Securable,
)
from headgate.sync.translating.restrictions import Rule

_T = ObjectType


class RangerConnector(Connector):
    """One service; the client carries the address and the credentials of an administrator."""

    def __init__(
        self,
        client: httpx.Client,
        service: str,
        catalog: str,
        inventory: Callable[[], Iterable[Securable]],
        name: str | None = None,
    ) -> None:
        super().__init__(name or f"ranger:{service}")
        self.rest = RangerClient(client, service)
        self.catalog = catalog
        self.inventory = inventory

    @property
    def capabilities(self) -> Capabilities:
        return CAPABILITIES

    def read(self) -> Reading:
        return RangerReader(RangerService(self.rest), self.catalog, self.inventory()).reading()

    def takes(self, rule: Rule) -> bool:
        try:
            documents.resources(rule.object, MASKS if isinstance(rule, Mask) else ROWS)
        except IllegalArgument:
            return False
        return True

    def apply(self, changes: Sequence[Change]) -> list[Applied]:
        writer = RangerWriter(RangerService(self.rest), self.catalog, self.inventory())
        return [writer.make(change) for change in changes]
