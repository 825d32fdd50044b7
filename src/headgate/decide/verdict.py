"""Check and list: facts about a caller on a chain of objects, held against the alternatives of an operation."""

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from headgate.decide.authority import Authority, Caller, Node
from headgate.decide.operations import OPERATIONS, Op
from headgate.decide.requirements import CallerFact
from headgate.model.objects import ObjectType

_SELF: Final = int(CallerFact.SELF)
_MEMBER: Final = int(CallerFact.MEMBER)
_SERVICE_ADMIN: Final = int(CallerFact.SERVICE_ADMIN)


class Verdict(msgspec.Struct, frozen=True):
    """The answer to "may this caller do this on that", and the revision it was given at."""

    allowed: bool
    op: Op
    object: int
    revision: int


def facts(authority: Authority, caller: Caller, node: Node) -> int:
    """Everything that holds of this caller on this object, as bits."""
    known = caller.facts
    if not known & _MEMBER:
        return known
    if node.chain[0][0] != caller.metalake:
        # INVARIANT: a caller is somebody only in the metalake they were compiled for.
        return known & _SERVICE_ADMIN
    allow, deny = caller.allow, caller.deny
    objects = authority.objects
    for id, own in node.chain[1:]:
        level = node if id == node.id else objects[id]
        if level.owner in caller.principals:
            known |= own
        if level.grants and not level.grants.keys().isdisjoint(caller.roles):
            allowed_here, denied_here = level.effects(caller.roles, caller.inactive)
            allow |= allowed_here
            deny |= denied_here
    if node.type is ObjectType.ROLE and node.id in caller.roles and node.id not in caller.possible:
        known |= _SELF
    return known | (allow & ~deny)


def satisfied(alternatives: tuple[int, ...], known: int) -> bool:
    """Whether the facts contain one of the alternatives."""
    for alternative in alternatives:  # noqa: SIM110 — a generator would double the time of a check
        if known & alternative == alternative:
            return True
    return False


def allowed(authority: Authority, caller: Caller, op: Op, node: Node, extra: int = 0) -> bool:
    """Whether the caller may. `extra` adds facts the object cannot tell, such as being the user asked about."""
    return satisfied(OPERATIONS[op].alternatives, facts(authority, caller, node) | extra)


def check(authority: Authority, caller: Caller, op: Op, node: Node, extra: int = 0) -> Verdict:
    """As `allowed`, with the revision the answer stands for."""
    return Verdict(allowed(authority, caller, op, node, extra), op, node.id, authority.revision)


def visible(authority: Authority, caller: Caller, op: Op, nodes: Iterable[Node]) -> Iterator[Node]:
    """Those of the nodes that a list operation shows to the caller.

    INVARIANT: shows a node exactly if `facts` of that node satisfy the operation's `shown`; what is worked out once for
    the parent is only reused where the node itself can add nothing.
    """
    shown = OPERATIONS[op].shown
    principals, roles = caller.principals, caller.roles
    sibling: Node | None = None
    siblings_shown = False
    for node in nodes:
        if (
            node.owner in principals
            or (node.grants and not node.grants.keys().isdisjoint(roles))
            or node.id in roles
        ):
            if satisfied(shown, facts(authority, caller, node)):
                yield node
            continue
        # Nothing is said of this very object to this caller: it shares the answer of its untouched siblings.
        if sibling is None or node.parent != sibling.parent or node.type is not sibling.type:
            sibling = node
            siblings_shown = satisfied(shown, facts(authority, caller, node))
        if siblings_shown:
            yield node
