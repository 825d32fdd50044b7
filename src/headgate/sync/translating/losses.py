"""What a translation could not carry over, each with its reason: the report that people read before they push."""

import enum

import msgspec

from headgate.sync.snapshots.facts import Principal, Securable


class Cause(enum.StrEnum):
    """Why something was left out, narrowed or written another way."""

    UNMAPPED = "unmapped principal"
    MISSING_PRINCIPAL = "principal missing in the target"
    MISSING_OBJECT = "object missing in the target"
    NO_SUCH_LEVEL = "the target has no such kind of object"
    NARROWER = "the target cannot say all of it without saying more"
    OPAQUE = "a privilege that only its own system knows"
    DORMANT = "of no effect in the source, where it would take effect in the target"
    DENY = "the target has no deny: written as the allowed remainder"
    DENIAL = "a denial of the target would not mean the same: written as the allowed remainder"
    GROUP = "the target has no groups: written for the members"
    ROLE = "the target has no roles: written for the holders"
    ROLE_UNWRITTEN = "a push writes no roles to the target: written for the holders"
    APART = "some whom it reaches may not do all of it in the target: written for each of them"
    NESTED = "the target does not nest roles: written for the holders"
    CYCLE = "they hold each other: written for the members of both"
    DIRECT = "the target grants to roles only: written as a role of one holder"
    EVERYONE = "held by everyone: written for those who are known"
    GATE = "the target asks for no such use: there is nothing to open"
    FUTURE = "written for the objects that exist: new ones are not covered"
    OWNER = "ownership is not carried over"
    OPTION = "the right to hand on is not carried over"
    FILTER = "the target cannot filter these rows: reading is not granted"
    MASK = "the target cannot mask this column: reading is not granted"
    MASKED_COLUMN = "the target cannot mask this column: only the others are granted"
    VIEW = "the view may show what is restricted for them in its tables: reading is not granted"
    STRANGER = "the source does not know it, and it may show what they do not see there: not granted"
    DEFINER = "the function runs with its definer's rights, and something is restricted for them: not granted"
    KIN = "it shares rows with a table that they see only a part of, or nothing: reading is not granted"
    NAME = "the name is too long for the target, which would cut it off"
    ABOVE = "in the target no row filter binds them: nothing is granted"
    TAG = "tags are not carried over"
    COLUMN = "the target has no grants on columns"
    PROPERTY = "the target keeps no such property of a role"


STRUCTURE = frozenset(
    {
        *(Cause.GROUP, Cause.ROLE, Cause.ROLE_UNWRITTEN, Cause.APART, Cause.NESTED, Cause.CYCLE),
        *(Cause.DIRECT, Cause.EVERYONE, Cause.GATE),
    }
)
"""Written another way with the same effect on those who are known today."""


class Loss(msgspec.Struct, frozen=True, order=True):
    """One thing that the target does not get as the source has it."""

    cause: Cause
    principal: str = ""
    object: str = ""
    what: str = ""

    def __str__(self) -> str:
        about = " ".join(part for part in (self.principal, self.what, self.object) if part)
        return f"{about}: {self.cause}"


class LossBook:
    """Collects losses; the same one twice is one."""

    def __init__(self) -> None:
        self.found: set[Loss] = set()

    def note(
        self,
        cause: Cause,
        principal: Principal | None = None,
        object: Securable | None = None,
        what: str = "",
    ) -> None:
        who = "" if principal is None else str(principal)
        self.found.add(Loss(cause, who, "" if object is None else str(object), what))

    @property
    def all(self) -> tuple[Loss, ...]:
        return tuple(sorted(self.found))
