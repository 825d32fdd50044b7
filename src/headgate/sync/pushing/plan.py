"""What a push is going to do, in order, and what it refuses to do: worked out before anything is touched."""

import hashlib

import msgspec

from headgate.sync.access.capabilities import Capabilities
from headgate.sync.access.effective import Effective
from headgate.sync.access.surroundings import Surroundings
from headgate.sync.pushing.openings import OpenAccess, stay_open
from headgate.sync.pushing.order import place_in_order, text_of
from headgate.sync.pushing.plan_draft import PlanDraft
from headgate.sync.pushing.results import Change, Mode, Shift
from headgate.sync.pushing.shifts import listed
from headgate.sync.snapshots.facts import (
    Fact,
    Facts,
    encoded,
)
from headgate.sync.translating.losses import Loss
from headgate.sync.translating.translate import Translation


class PushPlan(msgspec.Struct, frozen=True):
    """The changes of a push in the order they are made, and their effect."""

    changes: tuple[Change, ...]
    already: tuple[Fact, ...]
    """What is wanted and there already."""
    refused: tuple[tuple[Fact, str], ...]
    """What would let somebody do more than the source does, or would touch what others put there."""
    foreign: tuple[Fact, ...]
    """What others put there and an overwrite takes away."""
    losses: tuple[Loss, ...]
    gains: tuple[Shift, ...]
    loses: tuple[Shift, ...]
    unlisted: int
    """Gains and losses beyond those that are listed one by one."""
    bound: Effective
    """The most that anybody may be able to do afterwards."""
    assumed: frozenset[Fact] = frozenset()
    """Who is in which group by the source, where the target leaves that to others."""
    open: tuple[OpenAccess, ...] = ()
    """What the source keeps from people, and what others put into the target shows them nevertheless."""

    @property
    def digest(self) -> str:
        """Stands for the changes: who agreed to a plan agreed to these and no others."""
        sides = (side for change in self.changes for side in (change.before, change.after))
        text = b"\n".join(b"" if side is None else encoded(side) for side in sides)
        return hashlib.sha256(text).hexdigest()


def plan(
    current: Facts,
    wanted: Translation,
    owned: frozenset[Fact],
    mode: Mode,
    capabilities: Capabilities,
    around: Surroundings = Surroundings(),
) -> PushPlan:
    """Hold what is wanted against what is there."""
    work = PlanDraft(current, wanted, owned, mode, capabilities, around)
    work.settle()
    add, remove, after, before = work.add, work.remove, work.after.users, work.before.users
    changes = [Change(now, fact) for fact, now in add.items()] + [Change(fact, None) for fact in remove]
    (gains, more), (loses, besides) = listed(after, before), listed(before, after)
    return PushPlan(
        tuple(sorted(changes, key=place_in_order)),
        tuple(sorted(work.already, key=text_of)),
        tuple(sorted(work.refused.items(), key=lambda item: text_of(item[0]))),
        tuple(sorted((fact for fact in remove | work.replaced if fact not in owned), key=text_of)),
        wanted.losses,
        gains,
        loses,
        more + besides,
        work.bound,
        frozenset(work.assumed),
        stay_open(work.after, work.allowed, work.kept, capabilities.semantics),
    )
