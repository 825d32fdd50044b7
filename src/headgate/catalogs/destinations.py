"""Where a catalog's secrets go. INVARIANT: a secret goes to no other address than those it was given for.

Who may alter a catalog is not told its secrets. An address of their own choice would tell them.
"""

import re
from collections.abc import Collection, Mapping
from typing import Final

from headgate.model.secrets import is_secret

_ADDRESS: Final = re.compile(r"(^|[-_.])(uris?|urls?|endpoints?|servers?|hosts?)$", re.IGNORECASE)
_SYSTEMS: Final = {
    "s3": "storage",
    "aws": "storage",
    "jdbc": "database",
    "uri": "server",
    "oauth2": "server",
    "token": "server",
    "credential": "server",
}
"""By the first word of a property: which system it is for. AWS's keys are for its metastore as for its storage."""
_NO_SECRETS: Final = frozenset({"s3-token-expire-in-secs", "s3.token-expire-in-secs"})


def kept_secrets(
    before: Mapping[str, str], after: Mapping[str, str], given: Collection[str]
) -> tuple[str, list[str]] | None:
    """An address that changes, and the secrets that would go there though they are not among those that are given anew.

    An address that is removed changes as well: another one, or a usual one, takes its place.
    """
    for address in sorted(key for key in {*before, *after} if _ADDRESS.search(key)):
        if before.get(address) == after.get(address):
            continue
        kept = [key for key in sorted(after) if key not in given and _goes_to(key, after[key], address)]
        if kept:
            return address, kept
    return None


def _goes_to(key: str, value: str, address: str) -> bool:
    """Whether a property is a secret for the system behind an address. One that is not known is for every system."""
    if key in _NO_SECRETS or _ADDRESS.search(key) or not is_secret(key, value):
        return False
    one, other = _system(key), _system(address)
    return one is None or other is None or one == other


def _system(key: str) -> str | None:
    return _SYSTEMS.get(re.split(r"[-_.]", key.lower(), maxsplit=1)[0])
