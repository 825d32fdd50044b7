"""What an access matrix is worked out from: plain tables in which numbers stand for objects, principals and privileges.

A matrix is asked for of one system, or of two over the same objects and users, so that they can be compared. Who these are
is said by the texts; nothing here reads them.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

import msgspec

CATALOG: Final = "catalog"
SCHEMA: Final = "schema"
TABLE: Final = "table"
COLUMN: Final = "column"
USE_CATALOG: Final = "catalog.use"
USE_SCHEMA: Final = "schema.use"

OWNERSHIP: Final = -1
"""The number of the privilege that owners have: it gives everything and is never denied."""


class ObjectRow(NamedTuple):
    """An object, or a place in the tree where none is, such as the outer of two schemas of which only the inner exists."""

    object: int
    name: str
    type: str
    exists: bool
    parent: int | None
    catalog: int | None
    schema: int | None
    table: int | None
    """The catalog, schema and table that it is or lies in."""


class AboveRow(NamedTuple):
    """An object and one that holds it, or itself."""

    object: int
    step: int
    via: int | None
    """The step below, on the way to the object; none from the object to itself."""
    nested: bool
    """Whether the one holds the other only because schemas lie in schemas."""


class GrantRow(NamedTuple):
    """A privilege, allowed or denied to a holder."""

    holder: int
    object: int
    privilege: int
    denied: bool


class GivenRow(NamedTuple):
    """An action that a privilege gives when it is bound to an object of some type."""

    bound_to: str
    privilege: int
    action: str


class AccessSystem(msgspec.Struct, frozen=True):
    """One system: what is written in it, and how it reads that."""

    reach: list[tuple[int, int]]
    """user, principal it reaches (itself included)"""
    grants: list[GrantRow]
    owners: list[tuple[int, int]]
    """principal, object"""
    gives: list[GivenRow]
    inherits: frozenset[str]
    """Types of objects whose grants reach everything below."""
    owner_inherits: bool
    nested_schemas: bool
    """Whether an outer schema holds what is in the inner one."""
    gates: Mapping[str, tuple[str, ...]]
    """The uses that an action needs; actions that need none are left out."""
    needs: Mapping[str, frozenset[str]]
    """Other actions on the same object, without all of which an action counts for nothing."""


class AccessTables(msgspec.Struct, frozen=True):
    """Everything that one matrix, or the comparison of two, is made of."""

    objects: list[ObjectRow]
    above: list[AboveRow]
    """For every object, itself and all that holds it, by the nesting of schemas too."""
    users: list[str]
    """The text of every user, by number."""
    actions: Mapping[str, tuple[str, ...]]
    """All actions by the type they are done to: fewer than 63 of each."""
    systems: tuple[AccessSystem, ...]


class Bits:
    """Actions as bits of one number: all that may be done to one object are one cell."""

    def __init__(self, actions: Mapping[str, tuple[str, ...]]) -> None:
        self.of = {action: 1 << n for all in actions.values() for n, action in enumerate(all)}
        self.type_of = {action: type for type, all in actions.items() for action in all}
        self.all = {type: (1 << len(all)) - 1 for type, all in actions.items()}
        self.actions = actions

    def mask(self, actions: frozenset[str] | tuple[str, ...]) -> int:
        found = 0
        for action in actions:
            found |= self.of[action]
        return found
