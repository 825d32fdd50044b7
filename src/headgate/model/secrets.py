"""Which properties hold secrets: they are kept and used, but no answer, log or repr ever tells them."""

import re
from collections.abc import Mapping
from typing import Final

import msgspec

_KEY: Final = re.compile(
    r"pass(word|wd|phrase)|\bpwd\b|secret|token|credential|keytab|\bsas\b|connection[-_.]?string"
    r"|(access|account|api|private|shared|signing|encryption|storage|service[-_.]?account)[-_.]?key|key[-_.]?id\b"
    r"|service[-_.]?account[-_.]?json",
    re.IGNORECASE,
)
_USERINFO: Final = re.compile(r"://[^/\s@]*:[^/\s@]*@")

_HARMLESS: Final = frozenset({"credential-providers"})


def is_secret(key: str, value: str = "") -> bool:
    """Whether a property looks like a secret by its key, or its value carries a password inside a URL."""
    if key.lower() in _HARMLESS:
        return False
    return _KEY.search(key.replace("_", "-")) is not None or _USERINFO.search(value) is not None


def without_secrets(properties: Mapping[str, str]) -> dict[str, str]:
    """The properties that may be shown."""
    return {key: value for key, value in properties.items() if not is_secret(key, value)}


class Secret(msgspec.Struct, frozen=True):
    """A text that is never shown: not by `repr`, not by `str`, not in a log."""

    hidden: str

    def __repr__(self) -> str:
        return "Secret(…)"

    __str__ = __repr__
