"""What Unity Catalog can hold, and what its privileges give."""

from typing import Final

from headgate.model.objects import ObjectType
from headgate.sync.access.actions import of
from headgate.sync.access.capabilities import (
    FULL_GATES,
    Capabilities,
    Semantics,
)
from headgate.sync.snapshots.facts import Kind

_T = ObjectType

_CHANGES = of(_T.TABLE, "insert", "update", "delete", "alter")
_SCHEMA: Final = {
    "USE SCHEMA": of(_T.SCHEMA, "use"),
    "CREATE TABLE": of(_T.SCHEMA, "create_table", "create_view"),
    "CREATE FUNCTION": of(_T.SCHEMA, "register_function"),
    "CREATE VOLUME": of(_T.SCHEMA, "create_fileset"),
    "CREATE MODEL": of(_T.SCHEMA, "register_model"),
    "SELECT": of(_T.TABLE, "read") | of(_T.VIEW, "read"),
    "MODIFY": _CHANGES,
    "EXECUTE": of(_T.FUNCTION, "execute") | of(_T.MODEL, "use"),
    "READ VOLUME": of(_T.FILESET, "read"),
}

CAPABILITIES: Final = Capabilities(
    system="unity",
    semantics=Semantics(
        natives={
            _T.METALAKE: {"CREATE CATALOG": of(_T.METALAKE, "create_catalog")},
            _T.CATALOG: {
                **_SCHEMA,
                "USE CATALOG": of(_T.CATALOG, "use"),
                "CREATE SCHEMA": of(_T.CATALOG, "create_schema"),
            },
            _T.SCHEMA: _SCHEMA,
            _T.TABLE: {"SELECT": of(_T.TABLE, "read"), "MODIFY": _CHANGES},
            _T.VIEW: {"SELECT": of(_T.VIEW, "read")},
            _T.FUNCTION: {"EXECUTE": of(_T.FUNCTION, "execute")},
            _T.FILESET: {"READ VOLUME": of(_T.FILESET, "read")},
            _T.MODEL: {"EXECUTE": of(_T.MODEL, "use")},
        },
        inherits=frozenset({_T.CATALOG, _T.SCHEMA}),
        gates=FULL_GATES,
        owner_inherits=False,
        needs=dict.fromkeys(_CHANGES, of(_T.TABLE, "read")),
    ),
    direct=frozenset({Kind.USER}),
    creates=frozenset({Kind.USER}),
)
