"""The difference of two sets of policies: in what is written, and in what people may do."""

from collections.abc import Callable
from typing import TypeAlias

import msgspec

from headgate.sync.access.capabilities import CANONICAL, Natives, Semantics
from headgate.sync.access.effective import check_fits, effective, most
from headgate.sync.comparing.alike import alike
from headgate.sync.pushing.results import Shift
from headgate.sync.pushing.shifts import shifts
from headgate.sync.snapshots.facts import Fact, Facts, Present
from headgate.sync.snapshots.names import PrincipalMap
from headgate.sync.translating.restrictions import Rule


class Difference(msgspec.Struct, frozen=True):
    """What the one has and the other has not; `gains` and `loses` are those of users if the other became the one."""

    added: tuple[Fact, ...]
    removed: tuple[Fact, ...]
    gains: tuple[Shift, ...]
    loses: tuple[Shift, ...]

    @property
    def same(self) -> bool:
        return not (self.added or self.removed or self.gains or self.loses)


Shifts: TypeAlias = tuple[tuple[Shift, ...], tuple[Shift, ...]]
"""What users gain, and what they lose."""
Judge: TypeAlias = Callable[[Facts, Facts, Semantics], Shifts]
"""Says who would gain and lose what if the second set of facts became as the first, read by the same semantics."""


def in_memory(wanted: Facts, now: Facts, semantics: Semantics) -> Shifts:
    """The judge for what fits into memory; more is refused before it is tried."""
    held = most(wanted, semantics, now) + most(now, semantics, wanted)
    check_fits(held, "the two", "compare them on Spark: headgate sync diff --spark")
    then, before = effective(wanted, semantics, now), effective(now, semantics, wanted)
    return shifts(then, before), shifts(before, then)


def diff(
    source: Facts,
    target: Facts,
    vocabulary: Natives,
    names: PrincipalMap | None = None,
    judge: Judge = in_memory,
) -> Difference:
    """Compare two sets of canonical facts, the source's under the target's names where a map is given."""
    one = Facts(renamed(source, names)) if names else source
    semantics = msgspec.structs.replace(CANONICAL, natives=vocabulary)
    gains, loses = judge(one, target, semantics)
    same = alike(one, target)
    return Difference(
        tuple(sorted(_written(one, same) - _written(target, same), key=str)),
        tuple(sorted(_written(target, same) - _written(one, same), key=str)),
        gains,
        loses,
    )


def _written(facts: Facts, besides: frozenset[Rule]) -> frozenset[Fact]:
    return frozenset(fact for fact in facts if not isinstance(fact, Present)) - besides


def renamed(facts: Facts, names: PrincipalMap) -> set[Fact]:
    """The facts under other names; whoever has none in the map keeps theirs, so that a difference shows them."""
    to = {principal: names.of(principal) or principal for principal in facts.principals}
    result: set[Fact] = set()
    for fact in facts:
        changes: dict[str, object] = {}
        for field in ("principal", "of", "who", "holder"):
            if hasattr(fact, field):
                changes[field] = to[getattr(fact, field)]
        for field in ("to", "exempt"):
            if hasattr(fact, field):
                changes[field] = tuple(to.get(p, p) for p in getattr(fact, field))
        result.add(msgspec.structs.replace(fact, **changes) if changes else fact)
    return result
