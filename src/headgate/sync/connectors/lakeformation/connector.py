"""AWS Lake Formation over Glue: the data catalog of one account, presented as one catalog whose schemas are Glue's databases.

A user is an IAM user or role by its ARN; identities of other directories, accounts and organisations are groups whose members
only they know. Grants are additive, there are no roles, owners or gates. A grant that is no plain one on an object of the
catalog — on LF-tags, through a data cells filter, under a condition — is kept whole as a word of its own.
"""

from collections.abc import Sequence

from headgate.model.errors import IllegalArgument
from headgate.model.objects import ObjectType
from headgate.sync.access.capabilities import Capabilities
from headgate.sync.connectors.lakeformation.capabilities import CAPABILITIES
from headgate.sync.connectors.lakeformation.reading import LakeFormationReader
from headgate.sync.connectors.lakeformation.rows import filters_of
from headgate.sync.connectors.lakeformation.tags import by_tags
from headgate.sync.connectors.lakeformation.words import Words
from headgate.sync.connectors.lakeformation.writing import LakeFormationWriter
from headgate.sync.contract import Connector
from headgate.sync.pushing.results import Applied, Change
from headgate.sync.pushing.run import Reading
from headgate.sync.snapshots.facts import Facts, RowFilter
from headgate.sync.translating.restrictions import Rule
from headgate.sync.transport.aws import Aws

_T = ObjectType


class LakeFormationConnector(Connector):
    """The data catalog of one account in one region."""

    def __init__(self, aws: Aws, account: str, catalog: str, name: str | None = None) -> None:
        super().__init__(name or f"lakeformation:{catalog}")
        self.aws = aws
        self.words = Words(account, catalog)

    @property
    def capabilities(self) -> Capabilities:
        return CAPABILITIES

    def read(self) -> Reading:
        return LakeFormationReader(self.aws, Words(self.words.account, self.words.catalog.path[0])).reading()

    def spelled_out(self, facts: Facts) -> Facts:
        return by_tags(facts, self.words, CAPABILITIES.semantics)

    def takes(self, rule: Rule) -> bool:
        if not isinstance(rule, RowFilter):
            return False
        try:
            filters_of(rule)
        except IllegalArgument:
            return False
        return True

    def apply(self, changes: Sequence[Change]) -> list[Applied]:
        return LakeFormationWriter(self.aws, Words(self.words.account, self.words.catalog.path[0])).make(
            changes
        )
