"""Changes and what became of them: the words in which a push is planned, journaled and reported."""

import enum

import msgspec

from headgate.sync.pushing.openings import OpenAccess
from headgate.sync.snapshots.facts import Fact, Principal, Securable
from headgate.sync.translating.losses import Loss


class Mode(enum.StrEnum):
    """What happens to policies of the target that are not in the source."""

    MERGE = "merge"
    """Those that a push put there go; those of others stay."""
    OVERWRITE = "overwrite"
    """All of them go."""


class Outcome(enum.StrEnum):
    """What became of one item."""

    APPLIED = "applied"
    ALREADY = "already so"
    UNSUPPORTED = "skipped as unsupported"
    WIDENS = "refused as it would widen"
    FAILED = "failed"


class Change(msgspec.Struct, frozen=True, gc=False):
    """One fact made to hold, taken away, or put in place of another of the same key."""

    before: Fact | None = None
    after: Fact | None = None

    @property
    def undone(self) -> "Change":
        return Change(self.after, self.before)

    @property
    def fact(self) -> Fact:
        found = self.after if self.after is not None else self.before
        assert found is not None
        return found


class Applied(msgspec.Struct, frozen=True, gc=False):
    """A connector's answer to one change."""

    outcome: Outcome
    detail: str = ""


class Item(msgspec.Struct, frozen=True, gc=False):
    """One line of a result."""

    change: Change
    outcome: Outcome
    detail: str = ""


class Shift(msgspec.Struct, frozen=True, order=True, gc=False):
    """An action that a user gains or loses."""

    user: Principal
    object: Securable
    action: str


class SyncResult(msgspec.Struct, frozen=True):
    """What a push did, item by item, and what it could not carry over."""

    target: str
    mode: Mode
    push: int | None
    items: tuple[Item, ...]
    losses: tuple[Loss, ...] = ()
    gains: tuple[Shift, ...] = ()
    loses: tuple[Shift, ...] = ()
    unlisted: int = 0
    """Gains and losses beyond those that are listed."""
    notes: tuple[str, ...] = ()
    open: tuple[OpenAccess, ...] = ()
    """What the source keeps from people, and what others put into the target shows them nevertheless."""

    def count(self, outcome: Outcome) -> int:
        return sum(item.outcome is outcome for item in self.items)

    @property
    def complete(self) -> bool:
        """Whether nothing failed, was refused or was left out of what the target was to hold, nobody may do more, and nothing
        stays open that the source keeps from somebody."""
        left = {Outcome.FAILED, Outcome.WIDENS, Outcome.UNSUPPORTED}
        return not (self.notes or self.open) and not any(item.outcome in left for item in self.items)

    @property
    def ok(self) -> bool:
        """Whether everything that was planned is so now."""
        return not self.count(Outcome.FAILED)
