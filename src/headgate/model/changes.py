"""The entries of the journal: each sets one fact, so applying one twice is applying it once.

A change of governance state is a list of these under one revision. The store writes them in the transaction that
changes its tables; the decision point takes them to go from one revision to the next without reading everything.
"""

from typing import Final

import msgspec

from headgate.model.objects import ObjectType
from headgate.model.principals import Attributes, PrincipalKind


class ObjectPut(msgspec.Struct, frozen=True, tag_field="set", tag="object"):
    """An object exists under this parent (0 for a metalake) with this name."""

    id: int
    parent: int
    type: ObjectType
    name: str
    in_use: bool = True


class ObjectGone(msgspec.Struct, frozen=True, tag_field="set", tag="object-gone"):
    """An object exists no more; what it held was reported gone before it."""

    id: int


class PrincipalPut(msgspec.Struct, frozen=True, tag_field="set", tag="principal"):
    """A user or group belongs to a metalake."""

    id: int
    metalake: int
    kind: PrincipalKind
    name: str
    enabled: bool = True
    attributes: Attributes = {}


class PrincipalGone(msgspec.Struct, frozen=True, tag_field="set", tag="principal-gone"):
    """A user or group belongs to the metalake no more."""

    id: int


class UserRemoved(msgspec.Struct, frozen=True, tag_field="set", tag="user-removed"):
    """A user of this name was removed at this revision: tokens made before it speak for nobody added later."""

    metalake: int
    name: str
    revision: int


class RoleGrants(msgspec.Struct, frozen=True, tag_field="set", tag="grants"):
    """What a role allows and denies on an object; both zero when nothing is left."""

    role: int
    object: int
    allow: int
    deny: int


class RoleHeld(msgspec.Struct, frozen=True, tag_field="set", tag="role-held"):
    """Whether a principal holds a role."""

    role: int
    principal: int
    held: bool


class GroupMember(msgspec.Struct, frozen=True, tag_field="set", tag="member"):
    """Whether a principal is a member of a group."""

    group: int
    member: int
    is_member: bool


class OwnerSet(msgspec.Struct, frozen=True, tag_field="set", tag="owner"):
    """Who owns an object; None when nobody does."""

    object: int
    principal: int | None


class LabelSet(msgspec.Struct, frozen=True, tag_field="set", tag="label"):
    """Whether a tag or policy is on an object, with its value; `field` is the id of a column, 0 for the object itself."""

    label: int
    object: int
    field: int
    value: str | None
    present: bool


class PolicySet(msgspec.Struct, frozen=True, tag_field="set", tag="policy"):
    """What a policy of Headgate's own says, as its document in JSON; None when it is gone. Labels say where it is on."""

    id: int
    document: str | None
    enabled: bool = True
    authors: tuple[str, ...] = ()
    """The users who ever wrote it, by name; whoever wrote what it says now is the last."""
    groups: tuple[str, ...] | None = None
    """The groups that the token of that last one told when they wrote; None if it told none."""
    since: int = 0
    """The revision at which they wrote it; 0 if that is not known."""


class TableWritten(msgspec.Struct, frozen=True, tag_field="set", tag="written"):
    """A user, by name, has written a table or was given access to write it, and nothing undoes that."""

    table: int
    user: str


class KeyTable(msgspec.Struct, frozen=True, tag_field="set", tag="key-table"):
    """The pool in which a table shares the tokens of a mask's key with others; None if it has tokens of its own."""

    metalake: int
    key: str
    table: int
    pool: str | None


Change = (
    ObjectPut
    | ObjectGone
    | PrincipalPut
    | PrincipalGone
    | UserRemoved
    | RoleGrants
    | RoleHeld
    | GroupMember
    | OwnerSet
    | LabelSet
    | PolicySet
    | TableWritten
    | KeyTable
)

SHOWS_NO_MORE: Final = (RoleGrants, TableWritten, KeyTable)
"""Changes after which no lens shows more of a table."""
