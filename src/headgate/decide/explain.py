"""Explain: the same facts and the same condition as a check, written out with where each fact comes from."""

from functools import reduce
from typing import Final

import msgspec

from headgate.decide.authority import Authority, Caller, Node
from headgate.decide.operations import Op, required
from headgate.decide.requirements import All, Any, CallerFact, Has, Is, Requirement, holds
from headgate.decide.verdict import facts, satisfied
from headgate.model.objects import ObjectRef, ObjectType
from headgate.model.privileges import Condition, Privilege


class Reason(msgspec.Struct, frozen=True, omit_defaults=True):
    """One step of the reasoning: what was asked, whether it holds, because of what, and the steps below it."""

    asks: str
    holds: bool
    because: tuple[str, ...] = ()
    parts: "tuple[Reason, ...]" = ()


class Explanation(msgspec.Struct, frozen=True, omit_defaults=True):
    """Why a caller may or may not do something."""

    allowed: bool
    operation: str
    user: str
    object: str
    type: str
    revision: int
    summary: str
    reason: Reason
    roles: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    groups_known: bool = True
    """Whether the user is in no other groups than these; if not, what any group denies counts."""


class GrantSource(msgspec.Struct, frozen=True):
    """A grant that bears on the question."""

    role: str
    privilege: str
    active: bool
    level: ObjectType
    object: str
    condition: Condition
    possible: bool = False
    """Whether it is not known that the role is held at all."""

    def __str__(self) -> str:
        verb = "allows" if self.condition is Condition.ALLOW else "denies"
        if self.possible:
            # Whoever may not hold a role is not told its name.
            what = f"{verb} {self.privilege} on {self.level} '{self.object}'"
            return f"a group's role {what} (the token does not tell the user's groups)"
        inactive = "" if self.active else " (role not active)"
        return f"role '{self.role}' {verb} {self.privilege} on {self.level} '{self.object}'{inactive}"


def sources(authority: Authority, caller: Caller, node: Node, privilege: Privilege) -> list[GrantSource]:
    """Every grant of a held role on the way to the object that names this privilege."""
    found = []
    for role in sorted(caller.roles):
        for object, _ in node.chain:
            bits = authority.objects[object].grants.get(role)
            if bits is None:
                continue
            for condition, stated in ((Condition.DENY, bits.deny), (Condition.ALLOW, bits.allow)):
                if stated & privilege.bit and (condition is Condition.DENY or role not in caller.possible):
                    level = authority.objects[object]
                    found.append(
                        GrantSource(
                            authority.objects[role].name,
                            privilege.wire,
                            role not in caller.inactive,
                            level.type,
                            authority.ref(level).full_name,
                            condition,
                            role in caller.possible,
                        )
                    )
    return found


def explain(
    authority: Authority,
    caller: Caller,
    op: Op | Privilege,
    node: Node,
    extra: int = 0,
    *,
    asked: ObjectRef | None = None,
) -> Explanation:
    """The verdict of `check` with its reasons: role, grant, level, owner, or the privilege that is missing.

    `asked` names the object where the node only stands for one that may not be there.
    """
    asked = asked or authority.ref(node)
    known = facts(authority, caller, node) | extra
    reason = _reason(authority, caller, node, required(op).requirement, known)
    answer = satisfied(required(op).alternatives, known)
    return Explanation(
        allowed=answer,
        operation=op.name.lower(),
        user=caller.identity.user,
        object=asked.full_name,
        type=asked.type,
        revision=authority.revision,
        summary=_allowed_by(reason)
        if answer
        else _denied_by(caller, reason, required(op).alternatives, known),
        reason=reason,
        roles=tuple(sorted(authority.objects[role].name for role in caller.roles - caller.possible)),
        groups=tuple(sorted(authority.members[p].name for p in caller.principals if p != caller.member)),
        groups_known=caller.identity.groups_known,
    )


def _reason(authority: Authority, caller: Caller, node: Node, requirement: Requirement, known: int) -> Reason:
    held = holds(requirement, known)
    match requirement:
        case Has(privilege):
            found = sources(authority, caller, node, privilege)
            denies = [str(s) for s in found if s.condition is Condition.DENY]
            allows = [str(s) for s in found if s.condition is Condition.ALLOW]
            because = denies or allows or ["no held role allows it here or above"]
            return Reason(f"privilege {privilege.wire}", held, tuple(because))
        case Is(fact):
            return Reason(_ASKS[fact], held, _fact_sources(authority, caller, node, fact, held))
        case Any(parts):
            return Reason(
                "any of", held, (), tuple(_reason(authority, caller, node, p, known) for p in parts)
            )
        case All(parts):
            return Reason(
                "all of", held, (), tuple(_reason(authority, caller, node, p, known) for p in parts)
            )


_ASKS = {
    CallerFact.OWNS_METALAKE: "owner of the metalake",
    CallerFact.OWNS_CATALOG: "owner of the catalog",
    CallerFact.OWNS_SCHEMA: "owner of the schema",
    CallerFact.OWNS_OBJECT: "owner of the object",
    CallerFact.MEMBER: "user of the metalake",
    CallerFact.SERVICE_ADMIN: "service admin",
    CallerFact.SELF: "about oneself, one's group or a role one holds",
}

_OWNED = {
    CallerFact.OWNS_METALAKE: {ObjectType.METALAKE},
    CallerFact.OWNS_CATALOG: {ObjectType.CATALOG},
    CallerFact.OWNS_SCHEMA: {ObjectType.SCHEMA},
    CallerFact.OWNS_OBJECT: set(ObjectType) - {ObjectType.METALAKE, ObjectType.CATALOG, ObjectType.SCHEMA},
}


def _fact_sources(
    authority: Authority, caller: Caller, node: Node, fact: CallerFact, held: bool
) -> tuple[str, ...]:
    if fact in _OWNED:
        return tuple(_owners(authority, caller, node, fact))
    if fact is CallerFact.MEMBER and not held:
        return (f"user '{caller.identity.user}' is not an enabled user of this metalake",)
    return ()


def _owners(authority: Authority, caller: Caller, node: Node, fact: CallerFact) -> list[str]:
    found = []
    for id, _ in node.chain:
        level = authority.objects[id]
        owner = level.owner
        if level.type in _OWNED[fact] and owner in caller.principals and owner is not None:
            who = authority.members[owner]
            found.append(f"{who.kind} '{who.name}' owns {level.type} '{authority.ref(level).full_name}'")
    return found


def _allowed_by(reason: Reason) -> str:
    """The shortest chain of facts that made it so."""
    if not reason.parts:
        return "; ".join(reason.because[:1]) or reason.asks
    held = [part for part in reason.parts if part.holds]
    if reason.asks == "any of":
        return min((_allowed_by(part) for part in held), key=len)
    words = [text for part in held if part.asks != _ASKS[CallerFact.MEMBER] and (text := _allowed_by(part))]
    return "; ".join(dict.fromkeys(words)) or "user of the metalake"


def _denied_by(caller: Caller, reason: Reason, alternatives: tuple[int, ...], known: int) -> str:
    if not caller.facts & CallerFact.MEMBER and any(p.asks == _ASKS[CallerFact.MEMBER] for p in reason.parts):
        return f"user '{caller.identity.user}' is not an enabled user of this metalake"
    denies = list(dict.fromkeys(_denies(reason)))
    if denies:
        return "; ".join(denies)
    return f"missing: {_missing(alternatives, known)}"


def _denies(reason: Reason) -> list[str]:
    mine = [] if reason.holds or reason.parts else [b for b in reason.because if " denies " in b]
    return mine + [text for part in reason.parts for text in _denies(part)]


_OWNERSHIP: Final = int(
    CallerFact.OWNS_METALAKE | CallerFact.OWNS_CATALOG | CallerFact.OWNS_SCHEMA | CallerFact.OWNS_OBJECT
)


def _missing(alternatives: tuple[int, ...], known: int) -> str:
    """The least that would have to become true: privileges rather than ownership, and few rather than many."""
    gaps = {alternative & ~known for alternative in alternatives}
    candidates = [gap for gap in gaps if not gap & _OWNERSHIP] or list(gaps)
    fewest = min(gap.bit_count() for gap in candidates)
    best = sorted(gap for gap in candidates if gap.bit_count() == fewest)
    common = reduce(int.__and__, best)
    words = _names(common)
    choices = [" and ".join(_names(gap & ~common)) for gap in best if gap & ~common]
    if choices:
        words.append(choices[0] if len(choices) == 1 else f"one of {', '.join(choices)}")
    return " and ".join(words)


def _names(bits: int) -> list[str]:
    privileges = [f"privilege {p.wire}" for p in Privilege if bits & p.bit]
    return privileges + [asks for fact, asks in _ASKS.items() if bits & fact]
