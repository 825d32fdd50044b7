"""Permits: the proof that a question was asked and answered with yes. Whatever the steward does takes one."""

from typing import Final

import msgspec

from headgate.decide import Authority, Caller, Node, Op
from headgate.model.errors import NotFound
from headgate.model.objects import LEAVES, ObjectRef, ObjectType, clip
from headgate.model.principals import Identity, PrincipalRef

EVEN_DISABLED: Final = frozenset(
    {
        Op.CREATE_METALAKE,
        Op.LIST_METALAKES,
        Op.LOAD_METALAKE,
        Op.SET_METALAKE_IN_USE,
        Op.DROP_METALAKE,
        Op.SET_CATALOG_IN_USE,
        Op.DROP_CATALOG,
        Op.LOAD_CATALOG,
    }
)
"""What may be done with an object that was taken out of use, so that it can be seen, enabled or dropped."""


class Permit(msgspec.Struct, frozen=True):
    """The caller may do the operation on the object, as of the authority's revision. Made by the kernel only."""

    identity: Identity
    op: Op
    ref: ObjectRef
    node: Node
    caller: Caller
    authority: Authority
    about: PrincipalRef | None = None
    """The user or group concerned, where the object cannot tell."""

    @property
    def revision(self) -> int:
        return self.authority.revision


def nothing_here(authority: Authority, ref: ObjectRef) -> NotFound:
    """The error for the first object on the way that does not exist."""
    missing = ref
    while missing.type is not ObjectType.METALAKE and authority.find(missing.parent) is None:
        missing = missing.parent
    if missing.type is ObjectType.COLUMN:
        missing = missing.parent
    if missing.type is ObjectType.SCHEMA and ref.type in LEAVES:
        # A caller who asks for a table by its full name is told that there is none, as Gravitino and Iceberg do.
        missing = ref
    return NotFound(
        f"{missing.type} '{clip(missing.full_name)}' does not exist", about=missing.type, ref=missing
    )
