"""Who acts: users and groups, and the identity that a request proved."""

import enum
from typing import TypeAlias

import msgspec

from headgate.model.errors import IllegalArgument
from headgate.model.objects import clip


class PrincipalKind(enum.StrEnum):
    USER = "user"
    GROUP = "group"

    __hash__ = str.__hash__

    @classmethod
    def parse(cls, text: str) -> "PrincipalKind":
        try:
            return cls(text.lower())
        except ValueError:
            raise IllegalArgument(
                f"'{clip(text)}' is not a kind of principal", hint="use user or group"
            ) from None


class PrincipalRef(msgspec.Struct, frozen=True):
    """A user or group named as a client names it."""

    kind: PrincipalKind
    name: str


Attributes: TypeAlias = dict[str, str | tuple[str, ...]]
"""What is kept about a user for policies to ask: flat, each a text or several."""


class ActiveRoles(msgspec.Struct, frozen=True):
    """Which of the held roles a request uses: all, none, or those named. Denies always count."""

    all: bool = True
    names: frozenset[str] = frozenset()

    @classmethod
    def parse(cls, text: str | None) -> "ActiveRoles":
        """Read ``ALL``, ``NONE`` or ``a,b``; anything else is refused, never guessed."""
        if text is None:
            return cls()
        word = text.strip()
        if word.upper() == "ALL":
            return cls()
        if word.upper() == "NONE":
            return cls(all=False)
        names = [name.strip() for name in word.split(",")]
        if not word or not all(names) or any(name.upper() in ("ALL", "NONE") for name in names):
            raise IllegalArgument(
                f"active roles '{clip(text)}' cannot be read",
                hint="use ALL, NONE or role names joined by commas",
            )
        return cls(all=False, names=frozenset(names))


class Identity(msgspec.Struct, frozen=True):
    """What authentication proved: a user name, the groups its token claims, and where the request came from.

    INVARIANT: where the token does not tell the groups, they are unknown and not none: what a group denies or restricts
    then counts, what a group allows or exempts does not.
    """

    user: str
    groups: frozenset[str] = frozenset()
    active_roles: ActiveRoles = ActiveRoles()
    address: str | None = None
    engine: str | None = None
    purpose: str | None = None
    groups_known: bool = True
    made: int | None = None
    """The revision at which the token was made, if Headgate made it."""


class Audit(msgspec.Struct, frozen=True):
    """Who made a thing and who changed it last; times are ISO-8601 in UTC."""

    creator: str
    create_time: str
    last_modifier: str | None = None
    last_modified_time: str | None = None
