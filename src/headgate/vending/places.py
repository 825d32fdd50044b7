"""Places in S3: a bucket and a key, taken apart once, and only if the key can mean one thing."""

import re
from typing import Final

import msgspec

from headgate.catalogs.locations import normal
from headgate.model.objects import clip
from headgate.vending.errors import Unscopable

_BUCKET: Final = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]", re.ASCII)
_POLICY_WORDS: Final = frozenset("*?${}\"'\\")
_MOST_KEY_BYTES: Final = 1024


class StoragePlace(msgspec.Struct, frozen=True):
    """An object or a folder of S3; a folder's key has no slash at its end."""

    bucket: str
    key: str

    @property
    def location(self) -> str:
        return f"s3://{self.bucket}/{self.key}"

    @property
    def parent(self) -> "StoragePlace":
        return StoragePlace(self.bucket, self.key.rpartition("/")[0])


def folder(location: str) -> StoragePlace:
    """The folder that a location names, with or without a slash at its end."""
    return place(location.removesuffix("/"))


def place(location: str) -> StoragePlace:
    """The place that a location names."""
    scheme, separator, rest = normal(location).partition("://")
    bucket, _, key = rest.partition("/")
    if scheme != "s3" or not separator or not is_bucket(bucket) or not is_plain(key):
        raise Unscopable(
            f"no access can be given to '{clip(location, 200)}'",
            hint="only objects of S3 with plain keys can be given out one by one",
        )
    return StoragePlace(bucket, key)


def is_bucket(name: str) -> bool:
    return _BUCKET.fullmatch(name) is not None and ".." not in name


def is_plain(key: str) -> bool:
    """Whether a key is one that every S3 server takes for the same object.

    INVARIANT: no empty, ``.`` or ``..`` segment, no control character and no backslash: nothing that a server, a proxy
    or a file system underneath could collapse into another key.
    """
    return (
        all(part not in ("", ".", "..") for part in key.split("/"))
        and key.isprintable()
        and "\\" not in key
        and len(key.encode("utf-8", "surrogatepass")) <= _MOST_KEY_BYTES
        and not any("\ud800" <= character <= "\udfff" for character in key)
    )


def policy_key(place: StoragePlace) -> str:
    """The key as a session policy names it, or a refusal where the policy language would read more into it."""
    if not place.key.isascii() or not _POLICY_WORDS.isdisjoint(place.key):
        raise Unscopable(
            f"a session policy cannot name '{clip(place.location, 200)}' alone",
            hint="rename it, or use remote signing, which checks keys one by one",
        )
    return place.key
