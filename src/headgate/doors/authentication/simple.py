"""Gravitino's `simple` scheme: believes any user name. For development, and only from this machine."""

import base64
import binascii
import ipaddress

from headgate.doors.authentication.schemes import Proven, checked_user
from headgate.model.errors import Forbidden, Unauthenticated


class SimpleScheme:
    """Takes the user of a Basic header at its word, if the request comes from this machine."""

    def identify(self, scheme: str, credentials: str, address: str | None) -> Proven | None:
        if scheme != "basic":
            return None
        if address is None or not is_loopback(address):
            raise Forbidden("the simple scheme is accepted from this machine only", hint="use a token")
        try:
            user = base64.b64decode(credentials, validate=True).decode().partition(":")[0]
        except (binascii.Error, UnicodeDecodeError):
            raise Unauthenticated("the Basic credentials cannot be read") from None
        if not user:
            raise Unauthenticated("the Basic credentials name no user")
        return Proven(checked_user(user), frozenset())


def anonymous(address: str | None) -> Proven | None:
    """The user `anonymous`, as in Gravitino, for requests of this machine that name nobody."""
    here = address is not None and is_loopback(address)
    return Proven("anonymous", frozenset()) if here else None


def is_loopback(host: str) -> bool:
    """Whether an address, or the name of one, can only mean this machine."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
