"""The errors of Headgate: one small tree, each carrying what it is about and what to do next."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headgate.model.objects import ObjectRef, ObjectType


class HeadgateError(Exception):
    """Something Headgate refuses or cannot do."""

    def __init__(
        self,
        message: str,
        *,
        hint: str | None = None,
        about: "ObjectType | str | None" = None,
        ref: "ObjectRef | None" = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.about = about
        self.ref = ref

    def __str__(self) -> str:
        return f"{self.message}: {self.hint}" if self.hint else self.message


class IllegalArgument(HeadgateError):
    """The request does not make sense as it was written."""


class IllegalPrivilege(IllegalArgument):
    """A privilege is unknown, named twice, or may not be bound to that kind of object."""


class IllegalRole(IllegalArgument):
    """A role that was named in a grant does not exist."""


class IllegalObject(IllegalArgument):
    """An object that was named in a role does not exist or cannot be named there."""


class IllegalStatisticName(IllegalArgument):
    """A statistic has a name that clients may not write."""


class Unauthenticated(HeadgateError):
    """The caller did not prove who they are."""


class Forbidden(HeadgateError):
    """The caller may not do this."""


class NotFound(HeadgateError):
    """There is no such object, and the caller is allowed to know it."""


class AlreadyExists(HeadgateError):
    """An object of that name is there already."""


class NameTaken(AlreadyExists):
    """An object of another type has that name, and clients look both up by it."""


class NotEmpty(HeadgateError):
    """The object still holds others."""


class InUse(HeadgateError):
    """The object must be taken out of use first."""


class NotInUse(HeadgateError):
    """The object, or one that holds it, was taken out of use."""


class Damaged(HeadgateError):
    """What is stored cannot be read as it is, and asking again will not mend it."""


class Conflict(HeadgateError):
    """Somebody else changed the same thing in between."""


class Unsupported(HeadgateError):
    """This kind of object cannot do that."""


class ConnectionFailed(HeadgateError):
    """A system behind a catalog did not answer."""


class OutcomeUnknown(ConnectionFailed):
    """A change may have been made or not: whoever keeps it did not say, or went on from it."""


class Unavailable(HeadgateError):
    """Headgate cannot decide right now, and therefore does not."""
