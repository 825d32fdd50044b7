"""What BigQuery can hold, and what its roles give by the permissions in them."""

from typing import Final

from headgate.model.objects import ObjectType
from headgate.sync.access.actions import of, reaches, type_of
from headgate.sync.access.capabilities import (
    NO_GATES,
    Capabilities,
    Semantics,
)
from headgate.sync.snapshots.facts import Kind

_T = ObjectType

# To export or to snapshot is to read; to see that something is there is less than any action.
PERMISSIONS: Final = {
    "tables.getData": of(_T.TABLE, "read") | of(_T.VIEW, "read"),
    "tables.updateData": of(_T.TABLE, "insert", "update", "delete"),
    "tables.update": of(_T.TABLE, "alter") | of(_T.VIEW, "alter"),
    "tables.delete": of(_T.TABLE, "drop") | of(_T.VIEW, "drop"),
    "tables.create": of(_T.SCHEMA, "create_table", "create_view"),
    "tables.createIndex": of(_T.TABLE, "index"),
    "tables.setIamPolicy": of(_T.TABLE, "manage_grants") | of(_T.VIEW, "manage_grants"),
    "rowAccessPolicies.create": of(_T.TABLE, "manage_grants"),
    "rowAccessPolicies.delete": of(_T.TABLE, "manage_grants"),
    "routines.get": of(_T.FUNCTION, "execute"),
    "routines.create": of(_T.SCHEMA, "register_function"),
    "routines.update": of(_T.FUNCTION, "alter"),
    "routines.delete": of(_T.FUNCTION, "drop"),
    "models.getData": of(_T.MODEL, "use"),
    "models.create": of(_T.SCHEMA, "register_model"),
    "datasets.create": of(_T.CATALOG, "create_schema"),
    "datasets.update": of(_T.SCHEMA, "alter", "manage_grants"),
    "datasets.setIamPolicy": of(_T.SCHEMA, "manage_grants"),
    "datasets.delete": of(_T.SCHEMA, "drop"),
}
_VIEWER: Final = {"tables.getData", "routines.get", "models.getData"}
_EDITOR: Final = _VIEWER | {
    "tables.updateData", "tables.update", "tables.delete", "tables.create", "tables.createIndex", "routines.create",
    "routines.update", "routines.delete", "models.create",
}  # fmt: skip
_OWNER: Final = set(PERMISSIONS) - {"datasets.create"}
PREDEFINED: Final = {
    "roles/bigquery.dataViewer": frozenset(_VIEWER),
    "roles/bigquery.dataEditor": frozenset(_EDITOR),
    "roles/bigquery.dataOwner": frozenset(_OWNER),
}
LEVELS: Final = (_T.SCHEMA, _T.TABLE, _T.VIEW)


def _natives(roles: dict[str, frozenset[str]]) -> dict[ObjectType, dict[str, frozenset[str]]]:
    """What each role gives when it is bound to an object of each type."""
    gives = {
        role: frozenset().union(
            *(PERMISSIONS.get(p.removeprefix("bigquery."), frozenset()) for p in permissions)
        )
        for role, permissions in roles.items()
    }
    return {
        level: {role: here for role, all in gives.items() if (here := frozenset(a for a in all if reaches(level, type_of(a))))}
        for level in LEVELS
    }  # fmt: skip


def capabilities_with(custom: dict[str, frozenset[str]]) -> Capabilities:
    """What BigQuery can hold with the roles that a project has made for itself."""
    return Capabilities(
        system="bigquery",
        semantics=Semantics(
            natives=_natives({**PREDEFINED, **custom}),
            inherits=frozenset({_T.SCHEMA}),
            gates=NO_GATES,
            owner_inherits=False,
        ),
        groups=True,
        other_roles=True,
        direct=frozenset({Kind.USER, Kind.GROUP}),
        rows=True,
        rows_add_up=True,
        dialect="bigquery",
        versions=True,
    )


CAPABILITIES: Final = capabilities_with({})
