"""Unity Catalog (open source) over its REST API: one metastore with its catalogs.

There are users, known by their e-mail address, and grants to them; no groups, roles or denials. Privileges reach from a catalog
to everything in it, the use of catalog and schema is asked for on the way, and changing a table asks for reading it as well.
The server lists owners, but nobody can set them. Row filters and masks, which a hosted server has, are read as hiding everything.
"""

from collections.abc import Sequence
from typing import Final

import httpx
import msgspec

from headgate.model.objects import ObjectType
from headgate.sync.access.capabilities import Capabilities
from headgate.sync.connectors.unity.capabilities import CAPABILITIES
from headgate.sync.connectors.unity.reading import UnityReader
from headgate.sync.connectors.unity.writing import UnityWriter
from headgate.sync.contract import Connector
from headgate.sync.pushing.results import Applied, Change
from headgate.sync.pushing.run import Reading
from headgate.sync.snapshots.facts import (
    Facts,
)
from headgate.sync.transport.pacing import Pacing
from headgate.sync.transport.rest import ServiceClient

_T = ObjectType
_DORMANT: Final = "MODIFY WITHOUT SELECT"


class UnityConnector(Connector):
    """One metastore, by an identity that owns it: anybody else is shown a part only."""

    def __init__(self, client: httpx.Client, name: str, pacing: Pacing | None = None) -> None:
        super().__init__(name)
        self.rest = ServiceClient(client, pacing)

    @property
    def capabilities(self) -> Capabilities:
        return CAPABILITIES

    def read(self) -> Reading:
        return UnityReader(self.rest).reading()

    def spelled_out(self, facts: Facts) -> Facts:
        """INVARIANT: what lets nobody do anything here must not elsewhere: MODIFY without SELECT, and what the disabled hold."""
        unknown = [grant for grant in facts.grants if grant.holder not in facts.known]
        facts = facts.changed(
            remove=[*unknown, *(owner for owner in facts.owners if owner.principal not in facts.known)]
        )
        reads = {(g.holder, g.object) for g in facts.grants if g.privilege == "SELECT"}
        asleep = [
            grant
            for grant in facts.grants
            if grant.privilege == "MODIFY"
            and not any((grant.holder, step) in reads for step in grant.object.chain())
        ]
        renamed = (msgspec.structs.replace(grant, privilege=_DORMANT) for grant in asleep)
        return facts.changed(add=renamed, remove=asleep)

    def apply(self, changes: Sequence[Change]) -> list[Applied]:
        writer = UnityWriter(self.rest)
        return [writer.make(change) for change in changes]
