"""What a scheme is, and how the request's credentials find theirs."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

from headgate.model.errors import Unauthenticated
from headgate.model.objects import clip
from headgate.model.principals import ActiveRoles, Identity


class Proven(NamedTuple):
    """The user and the groups that credentials prove, and when Headgate's own token was made."""

    user: str
    groups: frozenset[str] | None
    """None if the credentials do not tell the groups."""
    made: int | None = None
    """The revision of the store at that time."""


class Scheme(Protocol):
    """One way of proving who one is."""

    def identify(self, scheme: str, credentials: str, address: str | None) -> Proven | None:
        """The user and groups that these credentials prove; None if they are not of this scheme's kind.

        Raises `Unauthenticated` for credentials of this kind that prove nothing.
        """


class Authentication:
    """Tries its schemes in order; the first that knows the kind of credentials decides.

    `anonymous` says who calls without an Authorization header, by address; without it nobody does.
    """

    def __init__(
        self, schemes: Sequence[Scheme], anonymous: Callable[[str | None], Proven | None] | None = None
    ) -> None:
        self.schemes = schemes
        self.anonymous = anonymous

    def identify(self, headers: Mapping[str, str], address: str | None) -> Identity:
        found = self._proven(headers.get("authorization"), address)
        return Identity(
            found.user,
            frozenset() if found.groups is None else found.groups,
            ActiveRoles.parse(headers.get("x-gravitino-active-roles")),
            address,
            engine=headers.get("headgate-engine"),
            purpose=headers.get("headgate-purpose"),
            groups_known=found.groups is not None,
            made=found.made,
        )

    def _proven(self, header: str | None, address: str | None) -> Proven:
        if header is None and self.anonymous is not None:
            nobody = self.anonymous(address)
            if nobody is not None:
                return nobody
        scheme, _, credentials = (header or "").partition(" ")
        if not credentials:
            raise Unauthenticated(
                "the request has no credentials", hint="send an Authorization header with a token"
            )
        for known in self.schemes:
            found = known.identify(scheme.lower(), credentials.strip(), address)
            if found is not None:
                return found
        if scheme.lower() == "bearer":
            raise Unauthenticated(
                "the token is neither one of this server nor of an issuer it trusts",
                hint="make one with 'headgate token create'",
            )
        raise Unauthenticated(
            f"credentials of kind '{clip(scheme, 20)}' are not accepted here",
            hint="send 'Authorization: Bearer <token>'",
        )


def checked_user(name: str) -> str:
    """A user or group name as credentials may claim it: readable and of sane length."""
    if not name or len(name) > 256 or not name.isprintable() or name != name.strip():
        raise Unauthenticated("a name in the credentials cannot be used")
    return name
