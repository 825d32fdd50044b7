"""AWS Lake Formation over Glue: the data catalog of one account, presented as one catalog whose schemas are Glue's databases.

A user is an IAM user or role by its ARN; identities of other directories, accounts and organisations are groups whose members
only they know. Grants are additive, there are no roles, owners or gates. A grant that is no plain one on an object of the
catalog — on LF-tags, through a data cells filter, under a condition — is kept whole as a word of its own.
"""

from collections.abc import Sequence
from typing import Final

from headgate.model.errors import IllegalArgument
from headgate.model.objects import ObjectType
from headgate.sync.actions import of
from headgate.sync.capabilities import NO_GATES, Capabilities, Semantics
from headgate.sync.connectors.aws import Aws
from headgate.sync.connectors.lakeformation_hand import Hand
from headgate.sync.connectors.lakeformation_rows import filters_of
from headgate.sync.connectors.lakeformation_sight import Sight
from headgate.sync.connectors.lakeformation_tags import by_tags
from headgate.sync.connectors.lakeformation_words import Words
from headgate.sync.contract import Connector
from headgate.sync.facts import Facts, Kind, RowFilter
from headgate.sync.restrictions import Rule
from headgate.sync.results import Applied, Change
from headgate.sync.run import Reading

_T = ObjectType

# By the permissions reference INSERT and DELETE are rights to the underlying files, reading included.
_READ = of(_T.TABLE, "read")
_INSERT = of(_T.TABLE, "read", "insert", "update")
_DELETE = of(_T.TABLE, "read", "insert", "update", "delete")
_TABLE: Final = {
    "SELECT": _READ,
    "INSERT": _INSERT,
    "DELETE": _DELETE,
    "ALTER": of(_T.TABLE, "alter"),
    "DROP": of(_T.TABLE, "drop"),
    "DESCRIBE": of(_T.TABLE, "read_metadata"),
    "ALL": _DELETE | of(_T.TABLE, "alter", "drop", "read_metadata"),
}
_VIEW: Final = {
    "SELECT": of(_T.VIEW, "read"),
    "DROP": of(_T.VIEW, "drop"),
    "DESCRIBE": of(_T.VIEW, "read_metadata"),
    "ALL": of(_T.VIEW, "read", "drop", "read_metadata"),
}
_DATABASE: Final = {
    "CREATE_TABLE": of(_T.SCHEMA, "create_table", "create_view"),
    "ALTER": of(_T.SCHEMA, "alter"),
    "DROP": of(_T.SCHEMA, "drop"),
    "DESCRIBE": of(_T.SCHEMA, "read_metadata"),
    "ALL": of(_T.SCHEMA, "create_table", "create_view", "alter", "drop", "read_metadata"),
}

CAPABILITIES: Final = Capabilities(
    system="lakeformation",
    semantics=Semantics(
        natives={
            _T.CATALOG: {
                "CREATE_DATABASE": of(_T.CATALOG, "create_schema"),
                "DESCRIBE": of(_T.CATALOG, "read_metadata"),
                "ALTER": of(_T.CATALOG, "alter"),
                "DROP": of(_T.CATALOG, "drop"),
            },
            _T.SCHEMA: _DATABASE
            | {f"{word} ON ALL TABLES": gives | _VIEW.get(word, frozenset()) for word, gives in _TABLE.items()},
            _T.TABLE: _TABLE,
            _T.VIEW: _VIEW,
            _T.COLUMN: {"SELECT": of(_T.COLUMN, "read")},
        },
        inherits=frozenset({_T.SCHEMA}),
        gates=NO_GATES,
        owner_inherits=False,
    ),
    other_roles=True,
    direct=frozenset({Kind.USER, Kind.GROUP}),
    columns=True,
    rows=True,
    tags=frozenset({_T.SCHEMA, _T.TABLE, _T.COLUMN}),
    grant_option=True,
    dialect="redshift",
)  # fmt: skip


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
        return Sight(self.aws, Words(self.words.account, self.words.catalog.path[0])).reading()

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
        return Hand(self.aws, Words(self.words.account, self.words.catalog.path[0])).make(changes)
