"""Facts, differences and clashes in the words that people read in a plan or a result."""

from typing import Any

from headgate.model.privileges import Condition
from headgate.sync.diff import Difference
from headgate.sync.facts import (
    Fact,
    Grant,
    Known,
    Mask,
    Member,
    Owner,
    Present,
    Principal,
    Property,
    RowFilter,
    Tag,
)
from headgate.sync.merge import Clash
from headgate.sync.results import Shift


def said(fact: Fact) -> str:
    """One line that says what holds."""
    match fact:
        case Known(principal):
            return f"{principal} exists"
        case Present(object):
            return f"{object} exists"
        case Member(of, who):
            return f"{who} has {of}"
        case Grant(holder, object, privilege, decision, option):
            verb = "may" if decision is Condition.ALLOW else "may not"
            return f"{holder} {verb} {privilege} on {object}{', and hand it on' if option else ''}"
        case Owner(object, principal):
            return f"{principal} owns {object}"
        case RowFilter():
            whom = f"{_names(fact.to) or 'all'}{_except(fact.exempt)}"
            return f"{whom} see of {fact.object} only rows where {fact.sql}"
        case Mask():
            whom = f"{_names(fact.to) or 'all'}{_except(fact.exempt)}"
            return f"{whom} see {fact.object} masked"
        case Tag(object, name, value):
            return f"{object} has the tag {name}{f' = {value}' if value else ''}"
        case Property(principal, name, value):
            return f"{principal} has the property {name} = {value}"


def shown(difference: Difference) -> dict[str, Any]:
    """A difference as it is told over HTTP and by commands."""
    return {
        "same": difference.same,
        "added": [said(fact) for fact in difference.added],
        "removed": [said(fact) for fact in difference.removed],
        "gains": shifted(difference.gains),
        "loses": shifted(difference.loses),
    }


def shifted(shifts: tuple[Shift, ...]) -> list[dict[str, str]]:
    """Who gains or loses what."""
    return [{"user": str(s.user), "object": str(s.object), "action": s.action} for s in shifts]


def clashing(clash: Clash) -> str:
    """What each side of a two-way synchronisation says of the same item."""
    source, target = (
        "nothing" if side is None else f"'{said(side)}'" for side in (clash.source, clash.target)
    )
    return f"the source says {source}, the target {target}"


def _names(principals: tuple[Principal, ...]) -> str:
    return ", ".join(map(str, principals))


def _except(principals: tuple[Principal, ...]) -> str:
    return f" but {_names(principals)}" if principals else ""
