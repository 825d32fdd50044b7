"""What the words in a Hive Metastore mean to each authorizer that reads them: one table of capabilities for each."""

import enum
from typing import Final

from headgate.model.objects import LEAVES, ObjectType
from headgate.sync.access import actions
from headgate.sync.access.actions import of
from headgate.sync.access.capabilities import NO_GATES, Capabilities, Natives, Semantics
from headgate.sync.snapshots.facts import Kind

_T = ObjectType
_ANYBODY = frozenset({Kind.USER, Kind.GROUP})
_OWNED = frozenset({_T.SCHEMA, _T.TABLE, _T.VIEW, _T.FUNCTION})

_READ = {_T.TABLE: of(_T.TABLE, "read"), _T.VIEW: of(_T.VIEW, "read")}
_BOTH = _READ[_T.TABLE] | _READ[_T.VIEW]


def _with_all(word: str, table: dict[str, frozenset[str]]) -> dict[str, frozenset[str]]:
    """The table with a word that gives everything: the metastore stores the word as it is."""
    return {**table, word: frozenset().union(*table.values())}


SQL_STANDARD: Final = Capabilities(
    system="hive",
    semantics=Semantics(
        natives={
            _T.TABLE: {
                "SELECT": of(_T.TABLE, "read"),
                "INSERT": of(_T.TABLE, "insert"),
                "UPDATE": of(_T.TABLE, "update"),
                "DELETE": of(_T.TABLE, "delete"),
                "ALL": of(_T.TABLE, "read", "insert", "update", "delete", "read_metadata"),
            },
            _T.VIEW: {"SELECT": of(_T.VIEW, "read"), "ALL": of(_T.VIEW, "read", "show")},
        },
        inherits=frozenset(),
        gates=NO_GATES,
        owner_inherits=False,
    ),
    roles=True,
    role_holders=frozenset({Kind.USER, Kind.ROLE}),
    direct=_ANYBODY,
    owners=_OWNED,
    grant_option=True,
    creates=frozenset({Kind.ROLE}),
)
"""Hive's SQL-standard authorizer, and Trino's: tables and views only, no groups. The narrowest, and so the default."""

_LEGACY_TABLE = {
    "SELECT": of(_T.TABLE, "read"),
    "INSERT": of(_T.TABLE, "insert"),
    "UPDATE": of(_T.TABLE, "update"),
    "DELETE": of(_T.TABLE, "delete"),
    "ALTER": of(_T.TABLE, "alter"),
    "DROP": of(_T.TABLE, "drop"),
    "INDEX": of(_T.TABLE, "index"),
    "LOCK": of(_T.TABLE, "lock"),
}
_LEGACY_VIEW = {
    "SELECT": of(_T.VIEW, "read"),
    "ALTER": of(_T.VIEW, "alter"),
    "DROP": of(_T.VIEW, "drop"),
    "LOCK": of(_T.VIEW, "lock"),
}
_LEGACY_SCHEMA = {
    **{word: gives | _LEGACY_VIEW.get(word, frozenset()) for word, gives in _LEGACY_TABLE.items()},
    "CREATE": of(_T.SCHEMA, "create_table", "create_view"),
}
_LEGACY_SCHEMA["ALTER"] |= of(_T.SCHEMA, "alter")
_LEGACY_SCHEMA["DROP"] |= of(_T.SCHEMA, "drop")
_LEGACY: Natives = {
    _T.SCHEMA: _with_all("ALL", _LEGACY_SCHEMA),
    _T.TABLE: _with_all("ALL", _LEGACY_TABLE),
    _T.VIEW: _with_all("ALL", _LEGACY_VIEW),
    _T.COLUMN: {"SELECT": of(_T.COLUMN, "read"), "UPDATE": of(_T.COLUMN, "insert", "update")},
}

LEGACY: Final = Capabilities(
    system="hive-legacy",
    semantics=Semantics(
        natives=_LEGACY,
        inherits=frozenset({_T.SCHEMA}),
        gates=NO_GATES,
        owner_inherits=False,
    ),
    groups=True,
    roles=True,
    role_holders=frozenset(Kind),
    direct=_ANYBODY,
    columns=True,
    owners=_OWNED,
    grant_option=True,
    creates=frozenset({Kind.ROLE}),
)
"""Hive's first authorizer: from databases down to columns, groups too.

Grants on the whole metastore are left out: the metastore does not count those of a role when it resolves a user's.
"""

_MODIFY = of(_T.TABLE, "insert", "update", "delete")
_ACL_SCHEMA = {
    "SELECT": _BOTH | of(_T.FUNCTION, "execute"),
    "MODIFY": _MODIFY,
    "CREATE": of(_T.SCHEMA, "create_table", "create_view"),
    "CREATE_NAMED_FUNCTION": of(_T.SCHEMA, "register_function"),
    "USAGE": of(_T.SCHEMA, "use"),
    "READ_METADATA": of(_T.TABLE, "read_metadata") | of(_T.VIEW, "show"),
}
_ACL_GATES: Final[dict[str, tuple[str, ...]]] = {
    actions.USE_SCHEMA: (),
    **dict.fromkeys((_T.SCHEMA, _T.COLUMN, *LEAVES), (actions.USE_SCHEMA,)),
}

TABLE_ACL: Final = Capabilities(
    system="hive-acl",
    semantics=Semantics(
        natives={
            _T.CATALOG: _with_all(
                "ALL PRIVILEGES",
                {
                    **_ACL_SCHEMA,
                    "CREATE": _ACL_SCHEMA["CREATE"] | of(_T.CATALOG, "create_schema"),
                    "MODIFY_CLASSPATH": of(_T.CATALOG, "extend"),
                },
            ),
            _T.SCHEMA: _with_all("ALL PRIVILEGES", _ACL_SCHEMA),
            _T.TABLE: _with_all(
                "ALL PRIVILEGES",
                {
                    "SELECT": of(_T.TABLE, "read"),
                    "MODIFY": _MODIFY,
                    "READ_METADATA": of(_T.TABLE, "read_metadata"),
                },
            ),
            _T.VIEW: _with_all(
                "ALL PRIVILEGES", {"SELECT": of(_T.VIEW, "read"), "READ_METADATA": of(_T.VIEW, "show")}
            ),
        },
        inherits=frozenset({_T.CATALOG, _T.SCHEMA}),
        gates=_ACL_GATES,
        owner_inherits=False,
    ),
    groups=True,
    roles=True,
    role_holders=frozenset(Kind),
    direct=_ANYBODY,
    owners=_OWNED,
    grant_option=True,
    creates=frozenset({Kind.ROLE}),
)
"""Table access control in its own words: the use of a schema is a gate. A metastore keeps no rows for single functions."""


class Authorizer(enum.Enum):
    """Who reads the grants, and so what they mean."""

    SQL_STANDARD = "sql-standard"
    LEGACY = "legacy"
    TABLE_ACL = "table-acl"

    @property
    def capabilities(self) -> Capabilities:
        return {self.SQL_STANDARD: SQL_STANDARD, self.LEGACY: LEGACY, self.TABLE_ACL: TABLE_ACL}[self]
