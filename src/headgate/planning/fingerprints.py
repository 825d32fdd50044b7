"""Files as numbers: enough to say later whether a file was among them, and far smaller than their names."""

import hashlib
from collections.abc import Iterable

from headgate.catalogs.locations import normal

BYTES = 8


def fingerprints(paths: Iterable[str]) -> bytes:
    """The first eight bytes of the SHA-256 of each location, in the one spelling of `locations.normal`; sorted."""
    prints = {hashlib.sha256(normal(path).encode()).digest()[:BYTES] for path in paths}
    return b"".join(sorted(prints))
