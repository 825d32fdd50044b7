"""Which properties hold secrets: they are kept and used, but no answer, log or repr ever tells them."""

import re
from collections.abc import Mapping
from typing import Final

import msgspec

_KEY: Final = re.compile(
    r"pass(word|wd|phrase)|\bjaas\b|\bpwd\b|secret|token|credential|keytab|\bsas\b|connection[-_.]?string"
    r"|(access|account|api|private|shared|signing|encryption|storage|service[-_.]?account)[-_.]?key|key[-_.]?id\b"
    r"|service[-_.]?account[-_.]?json",
    re.IGNORECASE,
)
_USERINFO: Final = re.compile(r"://[^/\s@]*:[^/\s@]*@")

_ACCESS: Final = re.compile(
    r"external[-_.]?id|(^|[-_.])arn($|[-_.])|(^|[-_.])(role|sts|kms|oauth2?|assume)($|[-_.])"
    r"|(^|[-_.])(scope|principal|user|username)$",
    re.IGNORECASE,
)
_HARMLESS: Final = frozenset({"credential-providers"})


def is_secret(key: str, value: str = "") -> bool:
    """Whether a property looks like a secret by its key, or its value carries a password inside a URL."""
    if key.lower() in _HARMLESS:
        return False
    return _KEY.search(key.replace("_", "-")) is not None or _USERINFO.search(value) is not None


def without_secrets(properties: Mapping[str, str]) -> dict[str, str]:
    """The properties that may be shown."""
    return {key: value for key, value in properties.items() if not is_secret(key, value)}


def without_access(properties: Mapping[str, str]) -> dict[str, str]:
    """The properties that may be shown to who only uses a catalog: not how its storage and server are got into.

    Roles, external ids and token servers are no secrets, but half of what somebody needs to pose as the catalog.
    """
    return {key: value for key, value in without_secrets(properties).items() if not _ACCESS.search(key)}


class Secret(msgspec.Struct, frozen=True):
    """A text that is never shown: not by `repr`, not by `str`, not in a log."""

    hidden: str

    def __repr__(self) -> str:
        return "Secret(…)"

    __str__ = __repr__
