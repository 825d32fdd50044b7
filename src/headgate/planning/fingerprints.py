"""Files as numbers: enough to say later whether a file was among them, and far smaller than their names."""

import hashlib
from collections.abc import Iterable
from functools import lru_cache

from headgate.catalogs.locations import normal

BYTES = 8


def fingerprints(paths: Iterable[str]) -> bytes:
    """The first eight bytes of the SHA-256 of each location, in the one spelling of `locations.normal`; sorted."""
    return b"".join(sorted(set(map(_fingerprint, paths))))


@lru_cache(maxsize=20_000)
def _fingerprint(path: str) -> bytes:
    # Kept, as the files of a table are planned again and again.
    return hashlib.sha256(normal(path).encode()).digest()[:BYTES]
