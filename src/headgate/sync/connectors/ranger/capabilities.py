"""What a Ranger service for Hive can hold, and what its accesses give."""

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

_TABLE = {
    "select": of(_T.TABLE, "read"),
    "update": of(_T.TABLE, "insert", "update", "delete"),
    "alter": of(_T.TABLE, "alter"),
    "drop": of(_T.TABLE, "drop"),
    "index": of(_T.TABLE, "index"),
    "lock": of(_T.TABLE, "lock"),
}
_VIEW = {
    "select": of(_T.VIEW, "read"),
    "alter": of(_T.VIEW, "alter"),
    "drop": of(_T.VIEW, "drop"),
    "lock": of(_T.VIEW, "lock"),
}
_SCHEMA = {
    **{word: gives | _VIEW.get(word, frozenset()) for word, gives in _TABLE.items()},
    "alter": _TABLE["alter"] | _VIEW["alter"] | of(_T.SCHEMA, "alter"),
    "drop": _TABLE["drop"] | _VIEW["drop"] | of(_T.SCHEMA, "drop"),
    "create": of(_T.SCHEMA, "create_table", "create_view"),
}
ACCESSES: Final = frozenset(_SCHEMA)
"""Every access that a policy can allow or deny."""

CAPABILITIES: Final = Capabilities(
    system="ranger",
    semantics=Semantics(
        natives={
            _T.CATALOG: {**_SCHEMA, "create": _SCHEMA["create"] | of(_T.CATALOG, "create_schema")},
            _T.SCHEMA: _SCHEMA,
            _T.TABLE: _TABLE,
            _T.VIEW: _VIEW,
            _T.COLUMN: {"select": of(_T.COLUMN, "read")},
        },
        inherits=frozenset({_T.CATALOG, _T.SCHEMA}),
        gates=NO_GATES,
        owner_inherits=False,
    ),
    deny=True,
    groups=True,
    roles=True,
    role_holders=frozenset(Kind),
    direct=frozenset({Kind.USER, Kind.GROUP}),
    columns=True,
    rows=True,
    cells=True,
    masks=True,
    grant_option=True,
    creates=frozenset({Kind.ROLE}),
    dialect="hive",
)
