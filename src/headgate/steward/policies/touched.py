"""What a list of changes touches: the tables whose lenses rest on it, and its actor as policies see them."""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from headgate.decide import Authority, Caller, Node, Op, allowed
from headgate.decide.changes.widening import answers
from headgate.decide.policies.clauses import policies_on_the_way, way_key
from headgate.decide.policies.lens import may_bind
from headgate.decide.policies.people import Person, person
from headgate.decide.policies.rules import Parsed
from headgate.decide.policies.scopes import on_of
from headgate.decide.policies.standing import named_in_policies
from headgate.model import changes as c
from headgate.model.objects import ObjectType
from headgate.model.principals import ActiveRoles, Identity, PrincipalKind
from headgate.steward.metadata.shapes import tables_below

_CONTAINERS: Final = (ObjectType.CATALOG, ObjectType.SCHEMA)
_HOLDS_POLICIES: Final = (*_CONTAINERS, ObjectType.TABLE)

_MOST_GROUPS: Final = 5

EVERYTHING: Final = -1
"""Stands for every object of the metalake that a policy is on."""


@dataclass(frozen=True)
class Touched:
    """The state before and after changes, and who makes them."""

    before: Authority
    after: Authority
    identity: Identity
    changes: Sequence[c.Change]

    def metalakes(self) -> frozenset[int]:
        """The metalakes that the changes are in."""
        found = {self._metalake(each) for each in self.changes}
        return frozenset(id for id in found if id is not None and id in self.before.objects)

    def _metalake(self, change: c.Change) -> int | None:
        match change:
            case (
                c.PrincipalPut(metalake=metalake)
                | c.UserRemoved(metalake=metalake)
                | c.KeyTable(metalake=metalake)
            ):
                return metalake
            case c.PrincipalGone(id) | c.GroupMember(group=id):
                member = self.before.members.get(id) or self.after.members.get(id)
                return None if member is None else member.metalake
            case c.RoleHeld(role=id) | c.RoleGrants(role=id):
                pass
            case c.OwnerSet(object=id) | c.LabelSet(object=id) | c.TableWritten(table=id):
                pass
            case c.ObjectPut(id=id) | c.ObjectGone(id=id) | c.PolicySet(id=id):
                pass
        node = self.before.objects.get(id) or self.after.objects.get(id)
        return None if node is None else node.metalake

    # -- the actor ------------------------------------------------------------------------------------------------

    def caller(self, authority: Authority, metalake: int, roles: ActiveRoles = ActiveRoles()) -> Caller:
        return authority.caller(msgspec.structs.replace(self.identity, active_roles=roles), metalake)

    def people(self, metalake: int) -> list[tuple[Person, Person]]:
        """The actor as policies see them, before and after; with all roles active, and with none where that differs.

        INVARIANT: a caller whose token does not tell the groups is judged in every group they may be in as well: what is not
        known denies now, and would hide what they see with a token that tells.
        """
        choices = [ActiveRoles()]
        if named_in_policies(self.before, metalake).roles or named_in_policies(self.after, metalake).roles:
            choices.append(ActiveRoles(all=False))
        found = []
        for identity, roles in itertools.product(self._identities(metalake), choices):
            known = msgspec.structs.replace(identity, active_roles=roles)
            callers = self.before.caller(known, metalake), self.after.caller(known, metalake)
            if callers[0].member is not None and callers[1].member is not None:
                found.append((person(self.before, callers[0]), person(self.after, callers[1])))
        return found

    def _identities(self, metalake: int) -> Iterator[Identity]:
        """The actor; without knowing their groups, also with every choice of those that policies ask for."""
        yield self.identity
        for groups in () if self.identity.groups_known else _choices(self._asked(metalake)):
            more = self.identity.groups | frozenset(groups)
            yield msgspec.structs.replace(self.identity, groups=more, groups_known=True)

    def in_doubt(self, metalake: int) -> bool:
        """Whether the actor may be in more sets of groups than they are judged in."""
        return not self.identity.groups_known and len(self._asked(metalake)) > _MOST_GROUPS

    def _asked(self, metalake: int) -> list[str]:
        """The groups that policies ask for, by name or by a role."""
        asked: set[str] = set()
        for side in (self.before, self.after):
            named = named_in_policies(side, metalake)
            asked |= named.groups.keys()
            roles = {side.child(metalake, ObjectType.ROLE, name) for name in named.roles}
            ids = {role.id for role in roles if role is not None}
            for member in side.members.values():
                if member.metalake == metalake and member.kind is PrincipalKind.GROUP:
                    asked |= {member.name} if ids & (side.held.get(member.id) or frozenset()) else set()
        return sorted(asked)

    def may_change(self, policy: int) -> bool:
        """Whether the actor may change a policy as things are before."""
        node = self.before.objects.get(policy)
        if node is None:
            return True
        return allowed(self.before, self.caller(self.before, node.metalake), Op.ALTER_POLICY, node)

    def groups_above(self, group: int) -> frozenset[str]:
        """The names of a group and of all groups that it is in, before or after."""
        found: set[str] = set()
        for side in (self.before, self.after):
            member = side.members.get(group)
            if member is not None:
                found.update(
                    side.members[id].name for id in side.principals_of(member, ()) if id in side.members
                )
        return frozenset(found)

    def roles_above(self, group: int) -> frozenset[str]:
        """The names of the roles that a group and all groups that it is in hold, before or after."""
        found: set[str] = set()
        for side in (self.before, self.after):
            member = side.members.get(group)
            above = () if member is None else side.principals_of(member, ())
            found.update(side.objects[role].name for id in above for role in side.held.get(id) or ())
        return frozenset(found)

    # -- the tables -----------------------------------------------------------------------------------------------

    def tables(self, metalake: int) -> Iterator[int]:
        """The tables that were there, had a policy on the way and are still there, of those that the changes reach."""
        scopes = {scope for each in self.changes for scope in self._scopes(each, metalake)}
        if EVERYTHING in scopes:
            scopes = {id for side in (self.before, self.after) for id in _governed(side, metalake)}
        seen: set[int] = set()
        for scope in sorted(scopes):
            for side in (self.before, self.after):
                node = side.objects.get(scope)
                if node is None or node.metalake != metalake:
                    continue
                for table in tables_below(side, node):
                    if table.id not in seen:
                        seen.add(table.id)
                        if self._governed_still(table.id):
                            yield table.id

    def _governed_still(self, table: int) -> bool:
        node = self.before.objects.get(table)
        return (
            node is not None and table in self.after.objects and bool(policies_on_the_way(self.before, node))
        )

    def _scopes(self, change: c.Change, metalake: int) -> Iterable[int]:
        """The objects below which a change may change the actor's lens. A kind that is not known here reaches all."""
        match change:
            case c.RoleGrants() | c.UserRemoved() | c.TableWritten() | c.KeyTable():
                return ()
            case c.OwnerSet(object=id):
                return self._places(id) if id != metalake else (EVERYTHING,)
            case c.PolicySet(id=id):
                return self._places(id)
            case c.LabelSet(object=id):
                return (id,)
            case c.ObjectPut():
                return self._moved(change)
            case c.ObjectGone(id=id):
                gone = self.before.objects.get(id)
                return (EVERYTHING,) if gone is not None and gone.type is ObjectType.TAG else ()
            case c.PrincipalPut(id=id, kind=kind):
                mine = id == self.caller(self.before, metalake).member
                return (EVERYTHING,) if mine or kind is PrincipalKind.GROUP else ()
            case c.PrincipalGone(id=id):
                member = self.before.members.get(id)
                return (EVERYTHING,) if member is None or member.kind is PrincipalKind.GROUP else ()
            case c.RoleHeld(principal=who) | c.GroupMember(member=who) if not self._mine(who, metalake):
                return ()
        return (EVERYTHING,)

    def _mine(self, principal: int, metalake: int) -> bool:
        """Whether the actor is this principal, or in it, before or after; or may be, where their groups are not known."""
        sides = (self.before, self.after)
        member = self.before.members.get(principal) or self.after.members.get(principal)
        if not self.identity.groups_known and member is not None and member.kind is PrincipalKind.GROUP:
            return True
        return any(principal in self.caller(side, metalake).principals for side in sides)

    def on_after(self, policy: int) -> Node | None:
        """What a policy is on after the changes."""
        return on_of(self.after, policy)

    def _places(self, policy: int) -> Iterable[int]:
        found = (on_of(side, policy) for side in (self.before, self.after))
        return [node.id for node in found if node is not None]

    def _moved(self, put: c.ObjectPut) -> Iterable[int]:
        was = self.before.objects.get(put.id)
        if put.type in (ObjectType.TAG, ObjectType.ROLE):
            return (EVERYTHING,) if was is None or was.name != put.name else ()
        # Names of objects matter to no lens: policies and tags rest on ids.
        return (put.id,) if was is not None and was.parent != put.parent else ()

    # -- what needs no columns to be told -------------------------------------------------------------------------

    def rests(self, table: int, people: Sequence[tuple[Person, Person]], known: dict[Any, bool]) -> bool:
        """Whether the actor's lens stays as it is whatever the columns: the same policies, tags and answers."""
        old, new = self.before.objects[table], self.after.objects[table]
        bare = self.before.labels.get(table) is None and self.after.labels.get(table) is None
        key = (old.parent, new.parent) if bare else table
        if key not in known:
            known[key] = way_key(self.before, old) == way_key(self.after, new) and all(
                _answers_for(policy, was) == _answers_for(policy, will)
                for _, policy in policies_on_the_way(self.before, old)
                for was, will in people
            )
        return known[key]

    def changeable(self, table: int, people: Sequence[tuple[Person, Person]]) -> frozenset[int] | None:
        """The policies on a table that the actor may change; None if those are all that can bind them."""
        found = policies_on_the_way(self.before, self.before.objects[table])
        later = policies_on_the_way(self.after, self.after.objects[table])
        mine = frozenset(id for id, _ in (*found, *later) if self.may_change(id))
        others = [policy for id, policy in found if id not in mine]
        return mine if any(may_bind(policy, who) for policy in others for who, _ in people) else None

    def empty(self, metalake: int) -> Iterator[int]:
        """The enabled policies on something that holds no table yet."""
        for id, rule in self.before.policies.items():
            on = on_of(self.before, id) if rule.enabled and id in self.after.policies else None
            if on is not None and on.metalake == metalake and not tables_below(self.before, on):
                yield id

    # -- names and objects that policies stand on -----------------------------------------------------------------

    def let_go(self, metalake: int) -> Iterator[tuple[Node, int]]:
        """The objects that get another name or are dropped, each with a policy that is on it or below it.

        Documents of policies name what they are on. Under another name it is not found by them any more, and whoever
        takes the old name stands where it stood.
        """
        moved: set[int] = set()
        for each in self.changes:
            if not isinstance(each, c.ObjectPut | c.ObjectGone):
                continue
            was = self.before.objects.get(each.id)
            if was is None or was.metalake != metalake or was.type not in _HOLDS_POLICIES:
                continue
            if isinstance(each, c.ObjectGone) or (was.name, was.parent) != (each.name, each.parent):
                moved.add(was.id)
        for policy in sorted(self.before.policies) if moved else ():
            on = on_of(self.before, policy)
            if on is None or policy not in self.after.policies:
                continue
            for id, _ in on.chain:
                if id in moved:
                    yield self.before.objects[id], policy
                    break

    def tagged_and_gone(self, metalake: int) -> Iterator[tuple[Node, int]]:
        """The catalogs and schemas that are dropped, each with a policy that asks for a tag which stands on it."""
        for each in self.changes:
            gone = self.before.objects.get(each.id) if isinstance(each, c.ObjectGone) else None
            if gone is None or gone.metalake != metalake or gone.type not in _CONTAINERS:
                continue
            labels = self.before.labels.get(gone.id) or ()
            tags = {self.before.objects[label.label].name for label in labels}
            for id, policy in policies_on_the_way(self.before, gone):
                if policy is not None and not policy.tags.isdisjoint(tags):
                    yield gone, id

    def retagged(self, metalake: int) -> Iterator[Node]:
        """What holds tables, or may come to, and gets or loses a label; and what policies are on below it.

        Tags themselves are neither dropped nor renamed while a policy asks for them.
        """
        marked = {each.object for each in self.changes if isinstance(each, c.LabelSet)}
        there = {id for id in marked if self._holds_tables(id, metalake)}
        for policy in self.before.policies if there else ():
            on = on_of(self.before, policy)
            if on is not None and not marked.isdisjoint(id for id, _ in on.chain):
                there |= {on.id} if self._holds_tables(on.id, metalake) else set()
        for id in sorted(there):
            yield self.before.objects[id]

    def _holds_tables(self, id: int, metalake: int) -> bool:
        node = self.before.objects.get(id)
        held = (*_CONTAINERS, ObjectType.METALAKE)
        return (
            node is not None
            and node.type in held
            and metalake in (id, node.metalake)
            and id in self.after.objects
        )


def _choices(groups: list[str]) -> Iterator[tuple[str, ...]]:
    """Every set of these groups; of many, none, all, each alone and all but each."""
    if len(groups) <= _MOST_GROUPS:
        yield from itertools.chain.from_iterable(
            itertools.combinations(groups, count) for count in range(len(groups) + 1)
        )
        return
    yield from ((), tuple(groups))
    for group in groups:
        yield (group,)
        yield tuple(other for other in groups if other != group)


def _governed(authority: Authority, metalake: int) -> Iterator[int]:
    for policy in authority.policies:
        on = on_of(authority, policy)
        if on is not None and on.metalake == metalake:
            yield on.id


def _answers_for(policy: Parsed | None, who: Person) -> object:
    """All that a policy can tell people apart by, circumstances left out."""
    if policy is None:
        return None
    return (
        policy.to.has(who.user, who.claimed, who.roles),
        policy.except_.has(who.user, who.groups, who.active),
        answers((fact for fact in policy.facts if fact.kind != "tag"), who),
    )
