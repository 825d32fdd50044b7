"""Who stands behind a policy: who wrote it, who may change it, and which other policies its mask may overrule."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from headgate.decide.authority import Authority, Member, Rule
from headgate.decide.policies.rules import Audience, Parsed, readable
from headgate.model.principals import PrincipalKind

_NONE: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Writer:
    """Who wrote what a policy says now, with groups and with the roles that these bring."""

    user: str
    groups: frozenset[str] = _NONE
    roles: frozenset[str] = _NONE
    claimed: frozenset[str] = _NONE
    """The groups, and those that the metalake does not have: a policy is for them, but excepts nobody in them."""

    def among(self, audience: Audience) -> bool:
        return audience.has(self.user, self.groups, self.roles)

    def is_for(self, to: Audience) -> bool:
        return to.has(self.user, self.claimed, self.roles)


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
    """Whose words it says, in the groups that the metalake keeps; None if they are gone."""
    claimed: Writer | None = None
    """The writer also in the groups that their token told when they wrote; None if it told none."""
    since: int = 0
    """The revision at which they wrote."""
    by_token: bool = False
    """Whether `to` names a group, or a role that a group holds: tokens tell who is in it."""

    def lifts(self, other: "Standing") -> bool:
        """Whether both the owner of this policy and whoever wrote it may change the other one."""
        return self.owner_may_change(other) and self.may_change(other)

    def owner_may_change(self, other: "Standing") -> bool:
        """Whether the owner of this policy may change the other one."""
        return other.owner in self.hands or self.chief in self.hands

    def writer_at(self, other: "Standing") -> Writer | None:
        """Who wrote this policy, as far as it is known of them where the other one asks.

        What their token told when they wrote counts for what the other policy said already then: the guard asked them
        about it. Whom a later one is for, their next token may tell otherwise.
        """
        return self.claimed if self.claimed is not None and other.since <= self.since else self.writer

    def may_be_kept_from(self, other: "Standing", to: Audience, except_: Audience) -> bool:
        """Whether the other policy, for these people, may bind who wrote this one, who may not change it.

        INVARIANT: unknown is the worst. A writer who is gone is kept from whatever anybody is kept from; one whose groups
        nobody knows is in every group that `to` names, and in none that excepts them or lets them change the other one.
        """
        writer = self.writer_at(other)
        if writer is None:
            return True
        if writer.among(other.changers) or writer.among(except_):
            return False
        return writer.is_for(to) or (other.by_token and writer is not self.claimed)

    def may_change(self, other: "Standing") -> bool:
        """Whether who wrote this policy may change the other one."""
        writer = self.writer_at(other)
        return writer is not None and writer.among(other.changers)


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
        *_writers(authority, rule, node.metalake, owner),
        rule.since,
        _by_token(authority, rule, node.metalake),
    )


def _writers(
    authority: Authority, rule: Rule, metalake: int, owner: Audience
) -> tuple[Writer | None, Writer | None]:
    """The writer as the metalake knows them, and as their token told them."""
    if not rule.authors:
        # Nobody wrote what is only supposed: a trial of policies that are in no store.
        supposed = Writer(next(iter(owner.users), ""), owner.groups, _NONE, owner.groups)
        return supposed, supposed
    member = authority.member(metalake, PrincipalKind.USER, rule.authors[-1])
    removed = None if member is None else authority.removed.get((metalake, member.name))
    if member is None or (removed is not None and removed >= rule.since):
        # INVARIANT: somebody added later under the name did not write it.
        return None, None
    claimed = None if rule.groups is None else _writer(authority, member, rule.groups)
    return _writer(authority, member, ()), claimed


def _writer(authority: Authority, member: Member, claimed: Iterable[str]) -> Writer:
    principals = authority.principals_of(member, claimed)
    groups = frozenset(authority.members[id].name for id in principals if id != member.id)
    held = frozenset().union(*(authority.held.get(id) or frozenset() for id in principals))
    roles = frozenset(authority.objects[role].name for role in held)
    return Writer(member.name, groups, roles, groups.union(claimed))


def _by_token(authority: Authority, rule: Rule, metalake: int) -> bool:
    policy = readable(rule.document)
    if policy is None or policy.to.groups:
        return policy is not None
    return bool(policy.to.roles) and not policy.to.roles.isdisjoint(roles_of_groups(authority, metalake))


def roles_of_groups(authority: Authority, metalake: int) -> frozenset[str]:
    """The names of all roles that a group of a metalake holds."""
    ids = authority.roles_of_groups(metalake)
    return frozenset(authority.objects[role].name for role in ids)


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


def doubts(authority: Authority, rule: Rule) -> frozenset[int]:
    """The enabled policies that may keep something from who wrote this one, and those whose masks do not yield to it
    because of who wrote it: the readers of either are denied."""
    words, metalake = standing_of(authority, rule), authority.objects[rule.id].metalake
    own = readable(rule.document)
    found = set()
    for other in authority.policies.values():
        policy = readable(other.document)
        if other.id == rule.id or not other.enabled or authority.objects[other.id].metalake != metalake:
            continue
        standing = standing_of(authority, other)
        if (
            policy is None
            or words.may_be_kept_from(standing, policy.to, policy.except_)
            or (
                _is_above(own, policy) and words.owner_may_change(standing) and not words.may_change(standing)
            )
        ):
            found.add(other.id)
    return frozenset(found)


def _is_above(one: Parsed | None, other: Parsed) -> bool:
    """Whether the mask of one policy would go before that of another wherever they meet."""
    return one is not None and bool(one.mask and other.mask) and one.policy.priority > other.policy.priority


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
        given = will.owner_may_change(lower) and not was.owner_may_change(standing_of(before, other))
        if given and not will.may_change(lower):
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
