"""What an operation requires, as a small expression over facts about caller and object.

Facts are bits of one integer: the effective privileges (allowed on some level and denied on none), what the caller
owns, and who the caller is. A requirement only ever asks for facts, never for their absence, so it compiles to a few
sets of bits of which one must be contained in the facts. The expression itself stays, for explaining.
"""

import enum
from functools import reduce
from itertools import product
from typing import Final, TypeAlias

import msgspec

from headgate.model.privileges import Privilege

_FIRST: Final = len(Privilege)


class CallerFact(enum.IntFlag):
    """What can be true of a caller and an object besides privileges."""

    OWNS_METALAKE = 1 << _FIRST
    OWNS_CATALOG = 1 << (_FIRST + 1)
    OWNS_SCHEMA = 1 << (_FIRST + 2)
    OWNS_OBJECT = 1 << (_FIRST + 3)
    """Owns the table, view, role, tag … itself."""
    MEMBER = 1 << (_FIRST + 4)
    """Is an enabled user of the metalake."""
    SERVICE_ADMIN = 1 << (_FIRST + 5)
    SELF = 1 << (_FIRST + 6)
    """Is the user, is in the group or holds the role that is asked about."""


class Has(msgspec.Struct, frozen=True):
    """The privilege is allowed on some level of the chain and denied on none."""

    privilege: Privilege


class Is(msgspec.Struct, frozen=True):
    """A fact holds."""

    fact: CallerFact


class All(msgspec.Struct, frozen=True):
    """Every part holds."""

    parts: "tuple[Requirement, ...]"


class Any(msgspec.Struct, frozen=True):
    """At least one part holds."""

    parts: "tuple[Requirement, ...]"


Requirement: TypeAlias = Has | Is | All | Any


def has(*privileges: Privilege) -> Requirement:
    """Any of these privileges."""
    return any_of(*(Has(privilege) for privilege in privileges))


def is_(*facts: CallerFact) -> Requirement:
    """Any of these facts."""
    return any_of(*(Is(fact) for fact in facts))


def any_of(*parts: Requirement) -> Requirement:
    return parts[0] if len(parts) == 1 else Any(parts)


def all_of(*parts: Requirement) -> Requirement:
    return parts[0] if len(parts) == 1 else All(parts)


def alternatives_of(requirement: Requirement) -> tuple[int, ...]:
    """The requirement as alternatives: it holds if the facts contain all bits of one of them."""
    match requirement:
        case Has(privilege):
            return (privilege.bit,)
        case Is(fact):
            return (int(fact),)
        case Any(parts):
            found = {bits for part in parts for bits in alternatives_of(part)}
        case All(parts):
            found = {
                reduce(int.__or__, choice, 0)
                for choice in product(*(alternatives_of(part) for part in parts))
            }
    # What contains another alternative adds nothing to it.
    return tuple(sorted(m for m in found if not any(other != m and m & other == other for other in found)))


def holds(requirement: Requirement, facts: int) -> bool:
    """Evaluate the expression itself; `alternatives_of` must always agree."""
    match requirement:
        case Has(privilege):
            return bool(facts & privilege.bit)
        case Is(fact):
            return bool(facts & fact)
        case Any(parts):
            return any(holds(part, facts) for part in parts)
        case All(parts):
            return all(holds(part, facts) for part in parts)
