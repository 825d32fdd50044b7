"""What Lake Formation can hold, and what its permissions give."""

from typing import Final

from headgate.model.objects import ObjectType
from headgate.sync.access.actions import of
from headgate.sync.access.capabilities import (
    NO_GATES,
    Capabilities,
    Semantics,
)
from headgate.sync.snapshots.facts import Kind

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
