"""A set of files that can only be asked whether it holds one: small enough to keep for a large plan."""

from __future__ import annotations

import bisect
import hashlib
from collections.abc import Iterable
from typing import Final

from headgate.catalogs.locations import normal

_BYTES: Final = 16
"""No two files of any table share as many bytes of a digest; eight would do to compare, but not to permit."""


class FileSet:
    """Files by digests of their locations, in the one spelling of `locations.normal`; sorted, 16 bytes each."""

    __slots__ = ("_digests",)

    def __init__(self, paths: Iterable[str]) -> None:
        self._digests = b"".join(sorted({_digest(path) for path in paths}))

    def __contains__(self, path: str) -> bool:
        wanted = _digest(path)
        at = bisect.bisect_left(range(len(self)), wanted, key=self._at)
        return at < len(self) and self._at(at) == wanted

    def __len__(self) -> int:
        return len(self._digests) // _BYTES

    @property
    def nbytes(self) -> int:
        return len(self._digests)

    def _at(self, place: int) -> bytes:
        return self._digests[place * _BYTES : (place + 1) * _BYTES]


def _digest(path: str) -> bytes:
    return hashlib.blake2b(normal(path).encode(), digest_size=_BYTES).digest()
