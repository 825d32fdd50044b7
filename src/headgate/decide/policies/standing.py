"""Who stands behind a policy: who wrote it, who may change it, and which other policies its mask may overrule."""

from collections.abc import Iterator
from dataclasses import dataclass

from headgate.decide.authority import Authority, Rule
from headgate.decide.policies.rules import Audience, readable
from headgate.model.principals import PrincipalKind

_NONE: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Writer:
    """Who wrote what a policy says now, with the groups and roles that the metalake keeps of them."""

    user: str
    groups: frozenset[str] = _NONE
    roles: frozenset[str] = _NONE

    def among(self, audience: Audience) -> bool:
        return audience.has(self.user, self.groups, self.roles)


@dataclass(frozen=True)
class Standing:
    """The people behind a policy, as far as lenses depend on them."""

    authors: Audience
    """Everyone who ever wrote it, and its owner."""
    changers: Audience
    """Those who may change it: its owner and the owner of the metalake."""
    owner: int | None
    hands: frozenset[int]
    """The owner, and every group that the owner is in."""
    chief: int | None
    """The owner of the metalake."""
    writer: Writer | None = None
    """Whose words it says; its owner, if they are gone."""

    def lifts(self, other: "Standing") -> bool:
        """Whether the owner of this policy may change the other one."""
        return other.owner in self.hands or self.chief in self.hands


def standing_of(authority: Authority, rule: Rule) -> Standing:
    """Who stands behind a policy. The same operation, ALTER_POLICY, says who may change it."""
    return authority.kept(("standing", rule.id), lambda: _standing(authority, rule))


def _standing(authority: Authority, rule: Rule) -> Standing:
    node = authority.objects[rule.id]
    chief = authority.objects[node.metalake].owner
    member = None if node.owner is None else authority.members.get(node.owner)
    hands = frozenset() if member is None else authority.principals_of(member, ())
    owner = _named(authority, node.owner)
    return Standing(
        Audience(False, owner.users | frozenset(rule.authors), owner.groups, _NONE),
        _either(owner, _named(authority, chief)),
        node.owner,
        hands,
        chief,
        _writer(authority, rule, node.metalake) or _in_place_of_writer(owner),
    )


def _writer(authority: Authority, rule: Rule, metalake: int) -> Writer | None:
    member = authority.member(metalake, PrincipalKind.USER, rule.authors[-1]) if rule.authors else None
    if member is None:
        return None
    principals = authority.principals_of(member, ())
    groups = frozenset(authority.members[id].name for id in principals if id != member.id)
    held = frozenset().union(*(authority.held.get(id) or frozenset() for id in principals))
    return Writer(member.name, groups, frozenset(authority.objects[role].name for role in held))


def _in_place_of_writer(owner: Audience) -> Writer | None:
    user = next(iter(owner.users), "")
    return Writer(user, owner.groups) if user or owner.groups else None


def _named(authority: Authority, principal: int | None) -> Audience:
    member = None if principal is None else authority.members.get(principal)
    if member is None:
        return Audience(False, _NONE, _NONE, _NONE)
    name = frozenset({member.name})
    return (
        Audience(False, name, _NONE, _NONE)
        if member.kind is PrincipalKind.USER
        else Audience(False, _NONE, name, _NONE)
    )


def _either(one: Audience, other: Audience) -> Audience:
    return Audience(False, one.users | other.users, one.groups | other.groups, _NONE)


def overruled(before: Authority, after: Authority, policy: int) -> Iterator[int]:
    """The policies whose masks another one comes to overrule by a new owner, although who wrote it may not change them."""
    rule = before.policies[policy]
    above = readable(rule.document)
    was, will = standing_of(before, rule), standing_of(after, after.policies[policy])
    for other in before.policies.values() if above is not None and above.mask else ():
        below = readable(other.document)
        if other.id == policy or below is None or not below.mask or other.id not in after.policies:
            continue
        if above is None or above.policy.priority <= below.policy.priority:
            continue
        lower = standing_of(after, after.policies[other.id])
        lifted = will.lifts(lower) and not was.lifts(standing_of(before, other))
        if lifted and not (will.writer is not None and will.writer.among(lower.changers)):
            yield other.id


def known_groups(authority: Authority, metalake: int) -> frozenset[str]:
    """The names of all groups that a metalake keeps."""
    return authority.kept(
        ("groups", metalake),
        lambda: frozenset(
            member.name
            for member in authority.members.values()
            if member.metalake == metalake and member.kind is PrincipalKind.GROUP
        ),
    )


@dataclass(frozen=True)
class Named:
    """The policies of a metalake that name a user, a group or a role, by that name."""

    users: dict[str, frozenset[int]]
    groups: dict[str, frozenset[int]]
    roles: dict[str, frozenset[int]]


def named_in_policies(authority: Authority, metalake: int) -> Named:
    """Whom the policies of a metalake name in `to`, in `except` or with is_member, disabled policies included."""
    return authority.kept(("named", metalake), lambda: _named_in(authority, metalake))


def _named_in(authority: Authority, metalake: int) -> Named:
    found: tuple[dict[str, set[int]], ...] = ({}, {}, {})
    for rule in authority.policies.values():
        policy = readable(rule.document)
        if authority.objects[rule.id].metalake != metalake or policy is None:
            continue
        members = {fact.key for fact in policy.facts if fact.kind == "member"}
        names = (
            policy.to.users | policy.except_.users,
            policy.to.groups | policy.except_.groups | members,
            policy.to.roles | policy.except_.roles,
        )
        for at, every in zip(found, names, strict=True):
            for name in every:
                at.setdefault(name, set()).add(rule.id)
    return Named(*({name: frozenset(ids) for name, ids in at.items()} for at in found))
