"""What a system can hold and how it reads its own grants: declared once per system, used by everything that translates."""

from collections.abc import Mapping
from typing import Final

import msgspec

from headgate.model.objects import LEAVES, ObjectType
from headgate.sync.access import actions
from headgate.sync.snapshots.facts import Kind, Principal

Natives = Mapping[ObjectType, Mapping[str, frozenset[str]]]
"""The system's own privileges by the type they are bound to, and the actions each gives."""

_T = ObjectType


def _gates(schema_actions: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    both = (actions.USE_CATALOG, actions.USE_SCHEMA)
    table: dict[str, tuple[str, ...]] = {_T.CATALOG: (actions.USE_CATALOG,), actions.USE_CATALOG: ()}
    table |= {_T.SCHEMA: schema_actions, actions.USE_SCHEMA: (actions.USE_CATALOG,)}
    return table | dict.fromkeys((*LEAVES, _T.COLUMN), both)


FULL_GATES: Final = _gates((actions.USE_CATALOG, actions.USE_SCHEMA))
"""Everything in a catalog needs the use of the catalog, everything in a schema that of the schema too."""
CATALOG_GATE_ON_SCHEMAS: Final = _gates((actions.USE_CATALOG,))
"""As before, but creating in a schema does not need its use."""
NO_GATES: Final[dict[str, tuple[str, ...]]] = {}
_GRANTING: Final = {
    action: () for all in actions.ACTIONS.values() for action in all if action.endswith(".manage_grants")
}
"""Who governs an object need not be let into what contains it."""


class Semantics(msgspec.Struct, frozen=True):
    """How a system reads its own grants: what they give, how far they reach, what must be open on the way."""

    natives: Natives
    inherits: frozenset[ObjectType]
    """Containers whose grants reach everything below, what comes later included."""
    gates: Mapping[str, tuple[str, ...]]
    """The uses that an action needs, by action or else by type."""
    owner_inherits: bool
    """Whether the owner of a container may do everything to what is below."""
    nested_schemas: bool = False
    needs: Mapping[str, frozenset[str]] = {}
    """Actions on an object that count only for somebody who may do these others to it as well."""

    def given(self, type: ObjectType, privilege: str) -> frozenset[str]:
        """The actions that a privilege gives when it is bound to an object of that type; none if it is unknown."""
        return self.natives.get(type, {}).get(privilege, frozenset())

    def gates_of(self, action: str) -> tuple[str, ...]:
        found = self.gates.get(action)
        return self.gates.get(actions.type_of(action), ()) if found is None else found


CANONICAL: Final = Semantics(
    natives=actions.CANONICAL,
    inherits=frozenset({_T.METALAKE, _T.CATALOG, _T.SCHEMA}),
    gates={**FULL_GATES, **_GRANTING},
    owner_inherits=True,
    nested_schemas=True,
)
"""The meaning of a canonical snapshot."""


class Capabilities(msgspec.Struct, frozen=True):
    """What a system can hold of a policy. What is not declared here is narrowed, expanded or left out, and reported."""

    system: str
    semantics: Semantics
    deny: bool = False
    groups: bool = False
    memberships: bool = False
    """Whether the system itself keeps who is in a group."""
    roles: bool = False
    other_roles: bool = False
    """Whether the system has roles all the same, that a push does not write: of another sort, or such as must be activated."""
    role_holders: frozenset[Kind] = frozenset()
    """Who may hold a role: a role among them means that roles nest."""
    direct: frozenset[Kind] = frozenset()
    """Who besides roles may be granted a privilege."""
    columns: bool = False
    rows: bool = False
    rows_add_up: bool = False
    """Whether whoever meets two filters of a table sees what either shows, and whoever meets none sees nothing."""
    masks: bool = False
    cells: bool = False
    """Whether one can be let read some columns of a table whose rows are filtered."""
    rules_stay: bool = False
    """Whether row filters and masks that no push put there are left alone even by an overwrite."""
    tags: frozenset[ObjectType] = frozenset()
    """What a push may put tags on."""
    role_properties: bool = False
    """Whether roles have properties."""
    owners: frozenset[ObjectType] = frozenset()
    grant_option: bool = False
    creates: frozenset[Kind] = frozenset()
    """What a push may make when it is missing."""
    dialect: str | None = None
    """The SQL dialect of row filters and masks."""
    longest_name: int | None = None
    """How many bytes the name of a principal may have; a longer one would be cut off, and two could become one."""
    versions: bool = False
    """Whether a write can be made conditional on what was read."""

    def names(self, principal: Principal) -> bool:
        """Whether the system keeps the whole name of the principal, so that no other has the same."""
        return self.longest_name is None or len(principal.name.encode()) <= self.longest_name

    @property
    def levels(self) -> frozenset[ObjectType]:
        return frozenset(self.semantics.natives)

    @property
    def inheritance(self) -> bool:
        return bool(self.semantics.inherits)
