"""The privileges, the kinds of object each may be bound to, and the names older clients use for them."""

import enum
from collections.abc import Iterable
from typing import Final

import msgspec

from headgate.model.errors import IllegalPrivilege
from headgate.model.objects import ObjectType, clip

_M, _C, _S = ObjectType.METALAKE, ObjectType.CATALOG, ObjectType.SCHEMA


class Privilege(enum.Enum):
    """What can be allowed or denied; each takes one bit."""

    CREATE_CATALOG = (0, (_M,))
    USE_CATALOG = (1, (_M, _C))
    CREATE_SCHEMA = (2, (_M, _C))
    USE_SCHEMA = (3, (_M, _C, _S))
    CREATE_TABLE = (4, (_M, _C, _S))
    CREATE_TOPIC = (5, (_M, _C, _S))
    CREATE_FILESET = (6, (_M, _C, _S))
    SELECT_TABLE = (7, (_M, _C, _S, ObjectType.TABLE))
    MODIFY_TABLE = (8, (_M, _C, _S, ObjectType.TABLE))
    CONSUME_TOPIC = (9, (_M, _C, _S, ObjectType.TOPIC))
    PRODUCE_TOPIC = (10, (_M, _C, _S, ObjectType.TOPIC))
    READ_FILESET = (11, (_M, _C, _S, ObjectType.FILESET))
    WRITE_FILESET = (12, (_M, _C, _S, ObjectType.FILESET))
    USE_MODEL = (13, (_M, _C, _S, ObjectType.MODEL))
    REGISTER_MODEL = (14, (_M, _C, _S))
    LINK_MODEL_VERSION = (15, (_M, _C, _S, ObjectType.MODEL))
    MANAGE_USERS = (16, (_M,))
    MANAGE_GROUPS = (17, (_M,))
    CREATE_ROLE = (18, (_M,))
    MANAGE_GRANTS = (
        19,
        (
            _M,
            _C,
            _S,
            ObjectType.TABLE,
            ObjectType.VIEW,
            ObjectType.TOPIC,
            ObjectType.FILESET,
            ObjectType.MODEL,
            ObjectType.FUNCTION,
        ),
    )
    CREATE_TAG = (20, (_M,))
    APPLY_TAG = (21, (_M, ObjectType.TAG))
    CREATE_POLICY = (22, (_M,))
    APPLY_POLICY = (23, (_M, ObjectType.POLICY))
    REGISTER_JOB_TEMPLATE = (24, (_M,))
    RUN_JOB = (25, (_M,))
    USE_JOB_TEMPLATE = (26, (_M, ObjectType.JOB_TEMPLATE))
    CREATE_VIEW = (27, (_M, _C, _S))
    SELECT_VIEW = (28, (_M, _C, _S, ObjectType.VIEW))
    REGISTER_FUNCTION = (29, (_M, _C, _S))
    EXECUTE_FUNCTION = (30, (_M, _C, _S, ObjectType.FUNCTION))
    MODIFY_FUNCTION = (31, (_M, _C, _S, ObjectType.FUNCTION))
    # Former names, which a role keeps as they were given.
    CREATE_MODEL = (32, (_M, _C, _S))
    CREATE_MODEL_VERSION = (33, (_M, _C, _S, ObjectType.MODEL))

    def __init__(self, position: int, bindable: tuple[ObjectType, ...]) -> None:
        self.bit: int = 1 << position
        self.bindable: frozenset[ObjectType] = frozenset(bindable)

    @property
    def wire(self) -> str:
        return self.name.lower()

    @property
    def current(self) -> "Privilege":
        """The privilege that is meant: another one only if this is a former name of it."""
        return FORMER.get(self, self)

    @classmethod
    def parse(cls, text: str) -> "Privilege":
        """Read a privilege as clients write it: any case, former names included."""
        try:
            return cls[text.upper()]
        except KeyError:
            raise IllegalPrivilege(
                f"'{clip(text)}' is not a privilege", hint=f"use one of {', '.join(p.wire for p in cls)}"
            ) from None


FORMER: Final = {
    Privilege.CREATE_MODEL: Privilege.REGISTER_MODEL,
    Privilege.CREATE_MODEL_VERSION: Privilege.LINK_MODEL_VERSION,
}
CURRENT: Final = tuple(privilege for privilege in Privilege if privilege not in FORMER)


def current_bits(bits: int) -> int:
    """Bits of privileges by what they mean: former names count as the privileges they stand for."""
    for former, privilege in FORMER.items():
        if bits & former.bit:
            bits = bits & ~former.bit | privilege.bit
    return bits


def bits_of_all_names(bits: int) -> int:
    """Bits with each of their privileges under every name it has."""
    bits = current_bits(bits)
    for former, privilege in FORMER.items():
        if bits & privilege.bit:
            bits |= former.bit
    return bits


class Condition(enum.StrEnum):
    """Whether a privilege is given or taken away."""

    ALLOW = "allow"
    DENY = "deny"

    @classmethod
    def parse(cls, text: str) -> "Condition":
        try:
            return cls(text.lower())
        except ValueError:
            raise IllegalPrivilege(f"'{clip(text)}' is not a condition", hint="use allow or deny") from None


class Grant(msgspec.Struct, frozen=True, order=True):
    """One privilege, allowed or denied."""

    privilege: Privilege
    condition: Condition = Condition.ALLOW


class PrivilegeBits(msgspec.Struct, frozen=True):
    """The privileges that one role allows and denies on one object, a bit each."""

    allow: int = 0
    deny: int = 0

    @classmethod
    def of(cls, grants: Iterable[Grant]) -> "PrivilegeBits":
        allow = deny = 0
        for grant in grants:
            if grant.condition is Condition.ALLOW:
                allow |= grant.privilege.bit
            else:
                deny |= grant.privilege.bit
        return cls(allow, deny)

    @property
    def grants(self) -> tuple[Grant, ...]:
        """The same as a list, in the order of the privileges."""
        return tuple(
            Grant(privilege, condition)
            for privilege in Privilege
            for condition, bits in ((Condition.ALLOW, self.allow), (Condition.DENY, self.deny))
            if bits & privilege.bit
        )


def checked_grants(grants: Iterable[Grant], type: ObjectType) -> tuple[Grant, ...]:
    """Return grants for an object of this type, or refuse duplicates and privileges that do not belong there."""
    seen: set[Privilege] = set()
    kept = tuple(grants)
    for grant in kept:
        if grant.privilege.current in seen:
            raise IllegalPrivilege(
                f"privilege {grant.privilege.wire} is named twice for one object", hint="name it once"
            )
        seen.add(grant.privilege.current)
        if type not in grant.privilege.bindable:
            levels = ", ".join(sorted(grant.privilege.bindable))
            raise IllegalPrivilege(
                f"privilege {grant.privilege.wire} cannot be bound to a {type}", hint=f"bind it to {levels}"
            )
    return kept


READING: Final[dict[ObjectType, tuple[Privilege, ...]]] = {
    ObjectType.TABLE: (Privilege.SELECT_TABLE, Privilege.MODIFY_TABLE),
    ObjectType.VIEW: (Privilege.SELECT_VIEW,),
    ObjectType.TOPIC: (Privilege.CONSUME_TOPIC, Privilege.PRODUCE_TOPIC),
    ObjectType.FILESET: (Privilege.READ_FILESET, Privilege.WRITE_FILESET),
    ObjectType.MODEL: (Privilege.USE_MODEL,),
    ObjectType.FUNCTION: (Privilege.EXECUTE_FUNCTION, Privilege.MODIFY_FUNCTION),
}
"""The privileges that read each kind of leaf: who may write one also reads it.

Each stands by itself: a denial of SELECT_TABLE takes nothing from whoever is allowed MODIFY_TABLE, and the other way round.
"""

LEAF_OF: Final[dict[Privilege, ObjectType]] = {
    privilege: next(iter(leaf))
    for privilege in Privilege
    if privilege is not Privilege.MANAGE_GRANTS
    and (
        leaf := privilege.bindable
        & {
            ObjectType.TABLE,
            ObjectType.VIEW,
            ObjectType.TOPIC,
            ObjectType.FILESET,
            ObjectType.MODEL,
            ObjectType.FUNCTION,
        }
    )
}
"""The kind of leaf a privilege is about, so that a topic privilege is not bound to a relational catalog."""
LEAF_OF.update(
    {
        Privilege.CREATE_TABLE: ObjectType.TABLE,
        Privilege.CREATE_TOPIC: ObjectType.TOPIC,
        Privilege.CREATE_FILESET: ObjectType.FILESET,
        Privilege.REGISTER_MODEL: ObjectType.MODEL,
        Privilege.CREATE_MODEL: ObjectType.MODEL,
        Privilege.CREATE_VIEW: ObjectType.VIEW,
        Privilege.REGISTER_FUNCTION: ObjectType.FUNCTION,
    }
)
