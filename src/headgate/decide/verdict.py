"""Check and list: facts about a caller on a chain of objects, held against the masks of an operation."""

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from headgate.decide.authority import Authority, Caller, Node
from headgate.decide.operations import OPERATIONS, Op
from headgate.decide.requirements import Fact
from headgate.model.objects import LEAVES, ObjectType
from headgate.model.privileges import Privilege

_USE_CATALOG: Final = Privilege.USE_CATALOG.bit
_CATALOG_NOT_DENIED: Final = int(Fact.CATALOG_NOT_DENIED)
_SELF: Final = int(Fact.SELF)
_MEMBER: Final = int(Fact.MEMBER)
_SERVICE_ADMIN: Final = int(Fact.SERVICE_ADMIN)

_PLACE: Final[dict[ObjectType, int]] = {
    type: int(
        Fact.IN_SCHEMA if type in LEAVES else Fact.IN_CATALOG if type is ObjectType.SCHEMA else Fact.ON_TOP
    )
    for type in ObjectType
}


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
    allow = deny = 0
    owner_of = authority.owners.get
    principals = caller.principals
    for id, own in node.chain:
        for grants in caller.grants:
            masks = grants.get(id)
            if masks is not None:
                allow |= masks.allow
                deny |= masks.deny
        for grants in caller.denies_only:
            masks = grants.get(id)
            if masks is not None:
                deny |= masks.deny
        if owner_of(id) in principals:
            known |= own
    if not deny & _USE_CATALOG:
        known |= _CATALOG_NOT_DENIED
    if node.type is ObjectType.ROLE and node.id in caller.roles:
        known |= _SELF
    return known | _PLACE[node.type] | (allow & ~deny)


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
    entries = list(nodes)
    ids = {node.id for node in entries}
    named = set(caller.roles & ids)
    for grants in (*caller.grants, *caller.denies_only):
        named |= grants.keys() & ids
    owner_of = authority.owners.get
    principals = caller.principals
    above: dict[tuple[int, ObjectType], bool] = {}
    for node in entries:
        if node.id in named or owner_of(node.id) in principals:
            answer = satisfied(shown, facts(authority, caller, node))
        else:
            # Nothing is said of this very object: it shares the answer of its untouched siblings.
            place = (node.parent, node.type)
            known = above.get(place)
            if known is None:
                known = above[place] = satisfied(shown, facts(authority, caller, node))
            answer = known
        if answer:
            yield node
