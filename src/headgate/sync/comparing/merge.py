"""Two-way synchronisation: a three-way merge against the last snapshot that both sides had in common."""

import enum
from collections.abc import Iterable

import msgspec

from headgate.sync.snapshots.facts import Fact, Facts, Present, key


class Prefer(enum.StrEnum):
    """Whose change counts where both sides changed the same item."""

    NEITHER = "neither"
    SOURCE = "source"
    TARGET = "target"


class Clash(msgspec.Struct, frozen=True):
    """One item that both sides changed, each in its own way. None means that a side took it away."""

    base: Fact | None
    source: Fact | None
    target: Fact | None


class Merged(msgspec.Struct, frozen=True):
    """What each side should hold now. They differ only in the clashes, which are left alone unless a side is preferred."""

    source: Facts
    target: Facts
    clashes: tuple[Clash, ...]


def merge(base: Facts, source: Facts, target: Facts, prefer: Prefer = Prefer.NEITHER) -> Merged:
    """Take over what only one side changed; report what both did."""
    was, one, other = _by_key(base), _by_key(source), _by_key(target)
    for_source: set[Fact] = {fact for fact in source if isinstance(fact, Present)}
    for_target: set[Fact] = {fact for fact in target if isinstance(fact, Present)}
    clashes: list[Clash] = []
    for item in was.keys() | one.keys() | other.keys():
        b, s, t = was.get(item), one.get(item), other.get(item)
        if s != t and s != b and t != b:
            clashes.append(Clash(b, s, t))
            if prefer is Prefer.NEITHER:
                _put(for_source, s)
                _put(for_target, t)
                continue
            chosen = s if prefer is Prefer.SOURCE else t
        else:
            chosen = t if s == b else s
        _put(for_source, chosen)
        _put(for_target, chosen)
    return Merged(Facts(for_source), Facts(for_target), tuple(sorted(clashes, key=str)))


def _by_key(facts: Iterable[Fact]) -> dict[tuple[object, ...], Fact]:
    return {key(fact): fact for fact in facts if not isinstance(fact, Present)}


def _put(into: set[Fact], fact: Fact | None) -> None:
    if fact is not None:
        into.add(fact)
