"""The order of changes: a push that dies on the way has never shown anybody more than before."""

from typing import Final

from headgate.model.objects import ObjectType
from headgate.model.privileges import Condition
from headgate.sync.pushing.results import Change
from headgate.sync.snapshots.facts import Fact, GrantFact, Known, Mask, MemberFact, Property, RowFilter

_WIDENING_LAST: Final = {ObjectType.SCHEMA: 5, ObjectType.CATALOG: 6, ObjectType.METALAKE: 7}


def place_in_order(change: Change) -> tuple[int, str]:
    """Make roles, take away, restrict, deny, then grant: leaves before the gates to them, owners last."""
    fact = change.fact
    adds = change.after is not None
    match fact:
        case Known(principal) | Property(principal):
            # A role is made with its properties, and they go before it does: some systems take both in one request.
            first = isinstance(fact, Known) is adds
            return (0 if adds else 11), f"{principal} {0 if first else 1} {text_of(fact)}"
        case GrantFact(_, _, _, Condition.DENY):
            rank = 3 if adds else 9
        case GrantFact(_, object):
            rank = _WIDENING_LAST.get(object.type, 4) if adds else 1
        case MemberFact():
            rank = 8 if adds else 1
        case RowFilter() | Mask():
            rank = 2 if adds else 9
        case _:
            rank = 10
    return rank, text_of(fact)


def text_of(fact: Fact) -> str:
    return str(fact)
