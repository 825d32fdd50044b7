"""Canaries: values that occur nowhere by chance, so that finding one anywhere means that it came from its cell."""

import datetime as dt
import random
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

MARK: Final = 0x0A71C0DE
"""The upper half of every canary of eight bytes: as a number, and as the digits of a decimal."""
_WORD: Final = re.compile(rb"(?=(zq[a-z0-9]{10}))")
_LITTLE: Final = re.compile(rb"(?=(.{4}" + re.escape(MARK.to_bytes(4, "little")) + rb"))", re.DOTALL)
_BIG: Final = re.compile(rb"(?=(" + re.escape(MARK.to_bytes(4, "big")) + rb".{4}))", re.DOTALL)
_DIGITS: Final = re.compile(rb"(?=(75[0-9]{16}))")


class Aviary:
    """Makes canaries; the same ones for the same seed."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._given: set[Any] = set()

    def word(self) -> str:
        """For cells, and for names of columns; short enough to stand whole in statistics."""
        found: str = self._new(
            lambda: "zq" + "".join(self._rng.choices("abcdefghijklmnoprstuvwxy0123456789", k=10))
        )
        return found

    def number(self) -> int:
        """Eight bytes, eighteen digits."""
        found: int = self._new(lambda: MARK << 32 | self._rng.getrandbits(32))
        return found

    def small(self) -> int:
        """Four bytes, too short to search for in bytes: looked for among decoded values."""
        found: int = self._new(lambda: self._rng.randrange(1_500_000_000, 1_600_000_000))
        return found

    def day(self) -> dt.date:
        found: dt.date = self._new(
            lambda: dt.date(1970, 6, 1) + dt.timedelta(days=self._rng.randrange(18_000))
        )
        return found

    def _new(self, make: Any) -> Any:
        while (found := make()) in self._given:
            pass
        self._given.add(found)
        return found


@dataclass(frozen=True)
class Forbidden:
    """What must not be found: raw values and names that a lens does not show."""

    words: frozenset[str] = frozenset()
    numbers: frozenset[int] = frozenset()
    """Of eight bytes."""
    values: frozenset[Any] = field(default_factory=frozenset)
    """Everything, for the search among decoded values."""

    @classmethod
    def of(cls, raw: Iterable[Any], shown: Iterable[Any]) -> "Forbidden":
        """`raw` without `shown`, both as single values."""
        gone = frozenset(v for v in raw if _is_canary(v)) - frozenset(shown)
        return cls(
            frozenset(v if isinstance(v, str) else v.decode() for v in gone if isinstance(v, str | bytes)),
            frozenset(as_number(v) for v in gone if as_number(v) >> 32 == MARK),
            gone,
        )

    def in_bytes(self, data: bytes) -> list[str]:
        """The canaries in a heap of bytes: as text, as digits, and as numbers of either byte order."""
        found = {word for match in _WORD.findall(data) if (word := match.decode()) in self.words}
        numbers = {int.from_bytes(m, "little") for m in _LITTLE.findall(data)}
        numbers |= {int.from_bytes(m, "big") for m in _BIG.findall(data)}
        numbers |= {int(m) for m in _DIGITS.findall(data)}
        numbers |= {int(m.replace(b".", b"")) for m in re.findall(rb"75[0-9]{14}\.[0-9]{2}", data)}
        return sorted(found) + sorted(str(n) for n in numbers & self.numbers)

    def among(self, values: Iterable[Any]) -> list[str]:
        """The canaries among decoded values."""
        return sorted({str(v) for v in values if _hashable(v) and v in self.values})

    def __bool__(self) -> bool:
        return bool(self.values)


def _is_canary(value: Any) -> bool:
    if isinstance(value, str | bytes):
        return value[:2] in ("zq", b"zq")
    return value is not None and not isinstance(value, bool)


def as_number(value: Any) -> int:
    """The eight bytes of a value, if it is one that has a mark; 0 for others."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    unscaled = getattr(value, "as_tuple", None)
    return 0 if unscaled is None else int("".join(map(str, unscaled().digits)) or "0")


def leaves(value: Any) -> Iterable[Any]:
    """The single values inside of nested ones."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from leaves(inner)
    elif isinstance(value, list | tuple | set | frozenset):
        for inner in value:
            yield from leaves(inner)
    else:
        yield value


def _hashable(value: Any) -> bool:
    return not isinstance(value, bytearray | dict | list)
