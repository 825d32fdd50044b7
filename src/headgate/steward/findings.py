"""Findings: what the authority says of one question, before anyone turns it into a permit, a refusal or an answer."""

import msgspec

from headgate.decide import Authority, Caller, Explanation, Node, Op, explain
from headgate.decide.authority import depth
from headgate.decide.operations import LOADS, OUTSIDE, required
from headgate.decide.requirements import CallerFact
from headgate.decide.verdict import allowed, facts, satisfied
from headgate.model.errors import Forbidden
from headgate.model.objects import ObjectRef, ObjectType, clip
from headgate.model.principals import Identity, PrincipalKind, PrincipalRef
from headgate.model.privileges import Privilege


class OperationFinding(msgspec.Struct, frozen=True):
    """Whether the condition of an operation holds for a caller, and whether the object is there at all.

    INVARIANT: `holds` of a missing object is what it would be if the object were there and nothing were said of it, so
    someone who may not know it cannot tell a missing object from a forbidden one.
    """

    identity: Identity
    op: Op | Privilege
    ref: ObjectRef
    node: Node
    caller: Caller
    authority: Authority
    extra: int
    exists: bool
    holds: bool
    partly: Node | None = None
    """The table that the caller sees only a part of, where the operation changes it; or what may hold one."""
    hidden: ObjectRef | None = None
    """What the caller may not know, if the finding is as if it were not there."""

    @property
    def allowed(self) -> bool:
        return self.holds and self.exists and self.partly is None

    def explanation(self) -> Explanation:
        """Why, in full."""
        explanation = explain(self.authority, self.caller, self.op, self.node, self.extra, asked=self.ref)
        if self.partly is not None:
            return msgspec.structs.replace(explanation, allowed=False, summary=_in_part(self, self.partly))
        if self.holds and not self.exists:
            return msgspec.structs.replace(
                explanation,
                allowed=False,
                summary=f"{self.ref.type} '{clip(self.ref.full_name)}' does not exist",
            )
        return explanation


class Refused(Forbidden):
    """The caller may not, and this is the question they asked."""

    def __init__(self, finding: OperationFinding) -> None:
        self.finding = finding
        if finding.partly is not None:
            super().__init__(
                _in_part(finding, finding.partly),
                hint="ask its owner to show you all of it, or let somebody who sees all of it do this",
                about=finding.ref.type,
            )
            return
        what = finding.op.name.lower().replace("_", " ")
        super().__init__(
            f"User '{clip(finding.identity.user)}' is not authorized to perform operation '{what}' on metadata "
            f"'{clip(finding.ref.full_name)}'",
            hint=_why_not(finding),
            about=finding.ref.type,
        )


class Widens(Forbidden):
    """A change that would show its actor more than they see now, or that decides whom policies of others are for."""


def _in_part(finding: OperationFinding, partly: Node) -> str:
    named = f"{partly.type} '{clip(finding.authority.ref(partly).full_name)}'"
    if partly.type is ObjectType.TABLE:
        return f"{named} cannot be changed by someone who sees only a part of it"
    return f"{named} may hold tables of which you would see only a part, and cannot be changed by you"


def may_know(authority: Authority, caller: Caller, node: Node) -> bool:
    """Whether somebody may know that an object is there: they may load it, or grant privileges on it."""
    return any(allowed(authority, caller, op, node) for op in (LOADS[node.type], Op.GRANT_PRIVILEGE))


def as_known(found: OperationFinding) -> OperationFinding:
    """A finding as its caller may hear it: of an object that they may not know, as if it were not there.

    INVARIANT: what a role of their own denies on such an object is part of what they may not know.
    """
    if found.allowed or not found.exists or found.op in OUTSIDE:
        return found
    authority, caller = found.authority, found.caller
    way = [authority.objects[id] for id, _ in found.node.chain]
    hidden = next((node for node in way[1:] if not may_know(authority, caller, node)), None)
    if hidden is None:
        return found
    above = authority.objects[hidden.parent]
    node = Node(0, found.node.type, found.ref.name, above.id, above.chain)
    holds = satisfied(required(found.op).alternatives, facts(authority, caller, node) | found.extra)
    return msgspec.structs.replace(
        found, node=node, exists=False, holds=holds, partly=None, hidden=authority.ref(hidden)
    )


def _why_not(finding: OperationFinding) -> str:
    if finding.op in OUTSIDE:
        return "only service admins may, as the server is configured"
    if finding.caller.member is None:
        return (
            f"Current user {clip(finding.identity.user)} doesn't exist in the metalake "
            f"{clip(finding.ref.metalake)}, you should add the user to the metalake first"
        )
    return finding.explanation().summary


def examine(
    authority: Authority,
    identity: Identity,
    op: Op | Privilege,
    ref: ObjectRef,
    about: PrincipalRef | None = None,
) -> OperationFinding:
    """Ask the authority whether this identity may do this on that, or whether the privilege is effective there.

    `about` names the user or group concerned.
    """
    node, exists = stand_in(authority, ref)
    if op in OUTSIDE:
        node, exists = Node(0, ObjectType.METALAKE, "", 0, ()), True
    caller = authority.caller(identity, node.metalake if node.chain else 0)
    extra = int(CallerFact.SELF) if about is not None and concerns(authority, caller, about) else 0
    known = facts(authority, caller, node) | extra
    holds = satisfied(required(op).alternatives, known)
    if not node.chain and op not in OUTSIDE:
        # A caller who may create a metalake may know that it is not there.
        holds = bool(known & CallerFact.SERVICE_ADMIN)
    return OperationFinding(identity, op, ref, node, caller, authority, extra, exists, holds)


def stand_in(authority: Authority, ref: ObjectRef) -> tuple[Node, bool]:
    """The object of that name, or one of its kind in its place of which nothing is said; and whether it is there."""
    way = authority.nearest(ref)
    if way and len(way) == depth(ref):
        return way[-1], True
    type = ObjectType.TABLE if ref.type is ObjectType.COLUMN else ref.type
    if not way:
        return Node(0, type, ref.name, 0, ()), False
    return Node(0, type, ref.name, way[-1].id, way[-1].chain), False


def concerns(authority: Authority, caller: Caller, about: PrincipalRef) -> bool:
    """Whether the caller is this user, or is in this group."""
    if about.kind is PrincipalKind.USER:
        return about.name == caller.identity.user
    group = authority.member(caller.metalake, PrincipalKind.GROUP, about.name)
    return group is not None and group.id in caller.principals
