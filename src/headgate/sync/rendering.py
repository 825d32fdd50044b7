"""Facts, differences and clashes in the words that people read in a plan or a result."""

from typing import Any

from headgate.model.privileges import Condition
from headgate.sync.comparing.diff import Difference
from headgate.sync.comparing.merge import Clash
from headgate.sync.pushing.openings import OpenAccess
from headgate.sync.pushing.results import Shift
from headgate.sync.snapshots.facts import (
    Fact,
    GrantFact,
    Known,
    Mask,
    MemberFact,
    OwnerFact,
    Present,
    Principal,
    Property,
    RowFilter,
    Tag,
)


def render_fact(fact: Fact) -> str:
    """A fact as one line."""
    match fact:
        case Known(principal):
            return f"{principal} exists"
        case Present(object):
            return f"{object} exists"
        case MemberFact(of, who):
            return f"{who} has {of}"
        case GrantFact(holder, object, privilege, decision, option):
            verb = "may" if decision is Condition.ALLOW else "may not"
            return f"{holder} {verb} {privilege} on {object}{', and hand it on' if option else ''}"
        case OwnerFact(object, principal):
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


def render_difference(difference: Difference) -> dict[str, Any]:
    """A difference as HTTP answers and commands show it."""
    return {
        "same": difference.same,
        "added": [render_fact(fact) for fact in difference.added],
        "removed": [render_fact(fact) for fact in difference.removed],
        "gains": render_shifts(difference.gains),
        "loses": render_shifts(difference.loses),
    }


def render_shifts(shifts: tuple[Shift, ...]) -> list[dict[str, str]]:
    """Who gains or loses what."""
    return [{"user": str(s.user), "object": str(s.object), "action": s.action} for s in shifts]


def render_open(found: tuple[OpenAccess, ...]) -> list[dict[str, Any]]:
    """What stays open, for whom and by what."""
    return [
        {
            "user": str(each.user),
            "object": str(each.object),
            "action": each.action,
            "by": [render_fact(fact) for fact in each.by],
        }
        for each in found
    ]


def render_clash(clash: Clash) -> str:
    """What each side of a two-way synchronisation says of the same item."""
    source, target = (
        "nothing" if side is None else f"'{render_fact(side)}'" for side in (clash.source, clash.target)
    )
    return f"the source says {source}, the target {target}"


def _names(principals: tuple[Principal, ...]) -> str:
    return ", ".join(map(str, principals))


def _except(principals: tuple[Principal, ...]) -> str:
    return f" but {_names(principals)}" if principals else ""
