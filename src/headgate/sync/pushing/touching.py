"""What a push may put in place, replace or take away: what others put there is theirs."""

from headgate.model.privileges import Condition
from headgate.sync.access.capabilities import Capabilities
from headgate.sync.pushing.results import Mode
from headgate.sync.snapshots.facts import (
    Fact,
    GrantFact,
    Kind,
    Known,
    Mask,
    MemberFact,
    OwnerFact,
    Present,
    Property,
    RowFilter,
    Tag,
)


def is_managed(fact: Fact) -> bool:
    """What a push may put in place or take away."""
    return not isinstance(fact, Present)


def is_kept_by_target(fact: Fact, capabilities: Capabilities) -> bool:
    """Whether the target itself keeps such a fact."""
    if isinstance(fact, MemberFact) and fact.of.kind is Kind.GROUP:
        return capabilities.memberships
    return True


def is_removable(fact: Fact, owned: frozenset[Fact], mode: Mode, capabilities: Capabilities) -> bool:
    if isinstance(fact, RowFilter | Mask):
        written = capabilities.rows if isinstance(fact, RowFilter) else capabilities.masks
        return written and (fact in owned or (mode is Mode.OVERWRITE and not capabilities.rules_stay))
    if isinstance(fact, Known | OwnerFact):
        # A principal or an owner that somebody else made is never removed, only what it was granted.
        return fact in owned and isinstance(fact, Known)
    if isinstance(fact, Tag | Property):
        # A tag or property of others may mean something to them that is not known here.
        return fact in owned
    if isinstance(fact, GrantFact | MemberFact):
        return fact in owned or mode is Mode.OVERWRITE
    return False


def untouchable(now: Fact, fact: Fact, owned: frozenset[Fact], mode: Mode, able: Capabilities) -> str:
    """Why what somebody else put there is not replaced; empty if it may be."""
    stays = isinstance(now, RowFilter | Mask) and able.rules_stay
    if (mode is Mode.OVERWRITE and not stays) or now in owned or isinstance(fact, OwnerFact):
        return ""
    if isinstance(now, GrantFact) and isinstance(fact, GrantFact):
        if fact.decision is Condition.DENY and now.decision is Condition.ALLOW:
            return ""
        if fact.decision is now.decision:
            return "" if fact.option else "somebody else granted the same with the right to hand it on"
    return "somebody else put another of the same name there"
