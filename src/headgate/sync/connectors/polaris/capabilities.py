"""What Polaris can hold, and what its privileges give."""

from typing import Final

from headgate.model.objects import ObjectType
from headgate.sync.access.actions import ACTIONS, of
from headgate.sync.access.capabilities import (
    NO_GATES,
    Capabilities,
    Semantics,
)
from headgate.sync.snapshots.facts import Kind

_T = ObjectType

_NEW_NAMESPACES = of(_T.CATALOG, "create_schema") | of(_T.SCHEMA, "create_schema")
_DATA = of(_T.TABLE, "read", "insert", "update", "delete", "alter")
_STRUCTURE = of(_T.TABLE, "alter", "drop", "read_metadata")
_VIEWS = of(_T.VIEW, "read", "alter", "drop", "read_metadata")

# What only lists, or changes properties alone, is none of the actions and stays opaque.
_TABLE: Final = {
    "TABLE_READ_DATA": of(_T.TABLE, "read"),
    "TABLE_WRITE_DATA": _DATA,
    "TABLE_READ_PROPERTIES": of(_T.TABLE, "read_metadata"),
    "TABLE_DROP": of(_T.TABLE, "drop"),
    "TABLE_FULL_METADATA": _STRUCTURE,
}
_VIEW: Final = {
    "VIEW_READ_PROPERTIES": of(_T.VIEW, "read"),
    "VIEW_WRITE_PROPERTIES": of(_T.VIEW, "read", "alter"),
    "VIEW_DROP": of(_T.VIEW, "drop"),
    "VIEW_FULL_METADATA": _VIEWS,
}
_NAMESPACE: Final = {
    **_TABLE,
    **_VIEW,
    "TABLE_CREATE": of(_T.SCHEMA, "create_table"),
    "TABLE_FULL_METADATA": _STRUCTURE | of(_T.SCHEMA, "create_table"),
    "VIEW_CREATE": of(_T.SCHEMA, "create_view"),
    "VIEW_FULL_METADATA": _VIEWS | of(_T.SCHEMA, "create_view"),
    "NAMESPACE_CREATE": of(_T.SCHEMA, "create_schema"),
    "NAMESPACE_DROP": of(_T.SCHEMA, "drop"),
    "NAMESPACE_READ_PROPERTIES": of(_T.SCHEMA, "read_metadata"),
    "NAMESPACE_WRITE_PROPERTIES": of(_T.SCHEMA, "alter"),
}
_METADATA = (
    frozenset().union(*(g for w, g in _NAMESPACE.items() if not w.endswith("_DATA")))
    | of(_T.CATALOG, "alter", "read_metadata")
    | _NEW_NAMESPACES
)
_CATALOG: Final = {
    **_NAMESPACE,
    "NAMESPACE_CREATE": _NEW_NAMESPACES,
    "CATALOG_READ_PROPERTIES": of(_T.CATALOG, "read_metadata"),
    "CATALOG_WRITE_PROPERTIES": of(_T.CATALOG, "alter"),
    "CATALOG_MANAGE_METADATA": _METADATA,
    "CATALOG_MANAGE_CONTENT": _METADATA | _DATA,
    # Who manages access makes catalog roles as well, which no privilege of other systems gives.
    "CATALOG_MANAGE_ACCESS": frozenset(a for t in (_T.CATALOG, _T.SCHEMA, _T.TABLE, _T.VIEW) for a in ACTIONS[t] if a.endswith(".manage_grants"))
    | of(_T.METALAKE, "administer"),
}  # fmt: skip

CAPABILITIES: Final = Capabilities(
    system="polaris",
    semantics=Semantics(
        natives={_T.CATALOG: _CATALOG, _T.SCHEMA: _NAMESPACE, _T.TABLE: _TABLE, _T.VIEW: _VIEW},
        inherits=frozenset({_T.CATALOG, _T.SCHEMA}),
        gates=NO_GATES,
        owner_inherits=False,
        nested_schemas=True,
    ),
    roles=True,
    role_holders=frozenset({Kind.USER}),
    role_properties=True,
)
