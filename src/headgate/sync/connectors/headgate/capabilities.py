"""What a metalake of Headgate can hold: everything canonical, but grants on columns."""

from typing import Final

from headgate.model.objects import OWNABLE, ObjectType
from headgate.sync.access import actions
from headgate.sync.access.capabilities import (
    CANONICAL,
    Capabilities,
    Semantics,
)
from headgate.sync.snapshots.facts import Kind
from headgate.sync.translating.dialects import OWN

_T = ObjectType

WITH_POLICIES: Final = frozenset(ObjectType) - {_T.ROLE, _T.JOB, _T.COLUMN}
"""The types of object that access policies concern; a role is a principal here."""

CAPABILITIES: Final = Capabilities(
    system="headgate",
    semantics=Semantics(
        natives={type: table for type, table in actions.CANONICAL.items() if type is not _T.COLUMN},
        inherits=CANONICAL.inherits,
        gates=CANONICAL.gates,
        owner_inherits=True,
        nested_schemas=True,
    ),
    deny=True,
    groups=True,
    memberships=True,
    roles=True,
    role_holders=frozenset({Kind.USER, Kind.GROUP}),
    rows=True,
    masks=True,
    rules_stay=True,
    role_properties=True,
    dialect=OWN,
    tags=frozenset({_T.CATALOG, _T.SCHEMA, _T.TABLE, _T.VIEW}),
    owners=OWNABLE & WITH_POLICIES,
    creates=frozenset({Kind.USER, Kind.GROUP, Kind.ROLE}),
    versions=True,
)
