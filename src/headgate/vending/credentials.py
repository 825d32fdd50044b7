"""Credentials for storage, as they are told to clients; no log or repr tells them."""

import hashlib
from typing import Final

import msgspec

from headgate.vending.places import StoragePlace, folder, place
from headgate.vending.scope import Scope

KEY_PRINT: Final = 32
"""How many hexadecimal digits of its SHA-256 stand for an access key."""


class StorageCredential(msgspec.Struct, frozen=True):
    """What a client needs for everything below a prefix."""

    prefix: str
    config: dict[str, str]

    @property
    def print(self) -> str:
        """Stands for the access key in the audit: storage that logs no session names logs keys. Tells nothing of it."""
        return key_print(self.config["s3.access-key-id"])

    def __repr__(self) -> str:
        return f"StorageCredential({self.prefix!r}, …)"


def key_print(key_id: str) -> str:
    return hashlib.sha256(key_id.encode()).hexdigest()[:KEY_PRINT]


def prefixes(scope: Scope) -> list[str]:
    """Where a client shall use the credentials of a scope: per bucket the narrowest folder that holds all of it.

    It only tells clients which of several credentials to use. One per bucket, because clients that refresh take one.
    """
    places = [folder(location) for location in (*scope.folders, *scope.write)]
    places += [place(file).parent for file in scope.files]
    buckets: dict[str, list[StoragePlace]] = {}
    for at in places:
        buckets.setdefault(at.bucket, []).append(at)
    return [f"s3://{bucket}/{_common([at.key for at in found])}" for bucket, found in buckets.items()]


def _common(keys: list[str]) -> str:
    """The folder that holds all of these, with a slash at its end; nothing if only the bucket does."""
    first, *others = [key.split("/") if key else [] for key in keys]
    depth = len(first)
    for other in others:
        same = [a == b for a, b in zip(first, other, strict=False)]
        depth = min(depth, same.index(False) if False in same else len(same))
    return "".join(f"{part}/" for part in first[:depth])
