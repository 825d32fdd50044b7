"""An immutable map whose copies share what did not change, so one change of a million entries stays cheap."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")

_SHARD: Final = 512
"""Entries a shard may hold on average before the map is spread over more of them."""


class Map(Generic[K, V]):
    """A map in shards by hash; `changed` copies only the shards it touches."""

    __slots__ = ("_count", "_mask", "_shards")

    def __init__(self, entries: Mapping[K, V] | None = None) -> None:
        entries = entries or {}
        self._count = len(entries)
        self._mask = _shards_for(self._count) - 1
        shards: list[dict[K, V]] = [{} for _ in range(self._mask + 1)]
        for key, value in entries.items():
            shards[hash(key) & self._mask][key] = value
        self._shards = tuple(shards)

    def get(self, key: K) -> V | None:
        return self._shards[hash(key) & self._mask].get(key)

    def __getitem__(self, key: K) -> V:
        return self._shards[hash(key) & self._mask][key]

    def __contains__(self, key: K) -> bool:
        return key in self._shards[hash(key) & self._mask]

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[K]:
        for shard in self._shards:
            yield from shard

    def items(self) -> Iterator[tuple[K, V]]:
        for shard in self._shards:
            yield from shard.items()

    def values(self) -> Iterator[V]:
        for shard in self._shards:
            yield from shard.values()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Map) and dict(self.items()) == dict(other.items())

    __hash__ = None  # type: ignore[assignment]

    def changed(self, puts: Mapping[K, V], gone: Iterable[K] = ()) -> "Map[K, V]":
        """This map with some entries put and others gone."""
        dropped = [key for key in gone if key in self]
        if not puts and not dropped:
            return self
        if self._count + len(puts) > 4 * _SHARD * (self._mask + 1):
            everything = dict(self.items())
            for key in dropped:
                del everything[key]
            everything.update(puts)
            return Map(everything)
        shards = list(self._shards)
        fresh: set[int] = set()
        for key in dropped:
            del _own(shards, fresh, hash(key) & self._mask)[key]
        for key, value in puts.items():
            _own(shards, fresh, hash(key) & self._mask)[key] = value
        result: Map[K, V] = Map.__new__(Map)
        result._mask = self._mask
        result._shards = tuple(shards)
        result._count = self._count + sum(len(shards[i]) - len(self._shards[i]) for i in fresh)
        return result


def _own(shards: list[dict[K, V]], fresh: set[int], index: int) -> dict[K, V]:
    if index not in fresh:
        shards[index] = dict(shards[index])
        fresh.add(index)
    return shards[index]


def _shards_for(count: int) -> int:
    shards = 1
    while shards * _SHARD < count:
        shards *= 2
    return shards
