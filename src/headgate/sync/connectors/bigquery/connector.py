"""BigQuery over its REST API: one project, presented as one catalog whose schemas are its datasets.

A user or service account is a user by its e-mail address, a group is one whose members the directory knows. The words are IAM
roles, and what a role gives follows from the permissions in it, those of the project's own roles included. Grants on a dataset
reach everything in it; there are no gates and owners. Bindings of the project itself, and what IAM denies there or above, are shown and
never touched.
Row filters are row access policies; whoever none of them names sees no row. Columns with security of their own are read as hidden.
"""

from collections.abc import Iterable, Sequence
from typing import Final

import httpx
import msgspec

from headgate.model.errors import IllegalArgument
from headgate.model.objects import ObjectType
from headgate.sync.access.capabilities import Capabilities
from headgate.sync.connectors.bigquery.bindings import Project
from headgate.sync.connectors.bigquery.capabilities import (
    PERMISSIONS,
    capabilities_with,
)
from headgate.sync.connectors.bigquery.denials import denied_actions
from headgate.sync.connectors.bigquery.reading import BigQueryReader
from headgate.sync.connectors.bigquery.rows import checked
from headgate.sync.connectors.bigquery.writing import BigQueryWriter
from headgate.sync.contract import Connector
from headgate.sync.pushing.results import Applied, Change
from headgate.sync.pushing.run import Reading
from headgate.sync.snapshots.facts import Facts, Principal, RowFilter
from headgate.sync.translating.restrictions import Rule
from headgate.sync.transport.pacing import Pacing
from headgate.sync.transport.rest import ServiceClient

_T = ObjectType
_UNSURE: Final = " DENIED IN PART"


class BigQueryConnector(Connector):
    """One project. Who there is, is not BigQuery's to say: `people` are the directory's users and groups."""

    def __init__(
        self,
        client: httpx.Client,
        project: str,
        people: Iterable[Principal] = (),
        name: str | None = None,
        pacing: Pacing | None = None,
    ) -> None:
        super().__init__(name or f"bigquery:{project}")
        self.project = Project(ServiceClient(client, pacing), project)
        self.people = frozenset(people)
        self._known: Capabilities | None = None

    @property
    def capabilities(self) -> Capabilities:
        if self._known is None:
            self._known = capabilities_with(self.project.custom_roles())
        return self._known

    def read(self) -> Reading:
        return BigQueryReader(self.project, self.people).reading()

    def spelled_out(self, facts: Facts) -> Facts:
        """INVARIANT: a grant that a denial touches is not passed on as a grant."""
        denied = denied_actions(facts.grants, PERMISSIONS)
        given = self.capabilities.semantics.given
        touched = [grant for grant in facts.grants if given(grant.object.type, grant.privilege) & denied]
        unsure = (msgspec.structs.replace(g, privilege=f"{g.privilege}{_UNSURE}") for g in touched)
        return facts.changed(add=unsure, remove=touched)

    def takes(self, rule: Rule) -> bool:
        if not isinstance(rule, RowFilter):
            return False
        try:
            checked(rule)
        except IllegalArgument:
            return False
        return True

    def apply(self, changes: Sequence[Change]) -> list[Applied]:
        return BigQueryWriter(self.project).make(changes)
