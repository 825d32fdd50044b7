"""Who is calling: the schemes that turn headers into an identity. Without a proof there is no identity."""

import base64
import binascii
import ipaddress
from collections.abc import Mapping, Sequence
from typing import Protocol

from headgate.model.errors import Forbidden, IllegalArgument, Unauthenticated
from headgate.model.objects import clip
from headgate.model.principals import ActiveRoles, Identity


class Scheme(Protocol):
    """One way of proving who one is."""

    def identify(
        self, scheme: str, credentials: str, address: str | None
    ) -> tuple[str, frozenset[str]] | None:
        """The user and groups that these credentials prove; None if they are not of this scheme's kind.

        Raises `Unauthenticated` for credentials of this kind that prove nothing.
        """


class Authentication:
    """Tries its schemes in order; the first that knows the kind of credentials decides."""

    def __init__(self, schemes: Sequence[Scheme]) -> None:
        self.schemes = schemes

    def identify(self, headers: Mapping[str, str], address: str | None) -> Identity:
        scheme, _, credentials = headers.get("authorization", "").partition(" ")
        if not credentials:
            raise Unauthenticated(
                "the request has no credentials", hint="send an Authorization header with a token"
            )
        for known in self.schemes:
            found = known.identify(scheme.lower(), credentials.strip(), address)
            if found is not None:
                user, groups = found
                return Identity(
                    user,
                    groups,
                    ActiveRoles.parse(headers.get("x-gravitino-active-roles")),
                    address,
                    engine=headers.get("headgate-engine"),
                    purpose=headers.get("headgate-purpose"),
                )
        raise Unauthenticated(
            f"credentials of kind '{clip(scheme, 20)}' are not accepted here",
            hint="send 'Authorization: Bearer <token>'",
        )


class SimpleScheme:
    """Gravitino's `simple`: believes any user name. For development, and only from this machine."""

    def identify(
        self, scheme: str, credentials: str, address: str | None
    ) -> tuple[str, frozenset[str]] | None:
        if scheme != "basic":
            return None
        if address is None or not _is_loopback(address):
            raise Forbidden("the simple scheme is accepted from this machine only", hint="use a token")
        try:
            user = base64.b64decode(credentials, validate=True).decode().partition(":")[0]
        except (binascii.Error, UnicodeDecodeError):
            raise Unauthenticated("the Basic credentials cannot be read") from None
        if not user:
            raise Unauthenticated("the Basic credentials name no user")
        return checked_user(user), frozenset()


def checked_user(name: str) -> str:
    """A user name as a token may claim it: readable and of sane length."""
    if not name or len(name) > 256 or not name.isprintable():
        raise IllegalArgument("the user name of the credentials cannot be used")
    return name


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False
