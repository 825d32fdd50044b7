"""Who somebody is to a metalake: the groups they are in and the roles that come from these.

INVARIANT: of oneself it is what the explanation of one's own view says; of others only groups that the asker may look at, each
reached through groups that they may look at, with the roles that those groups show.
"""

import msgspec

from headgate.decide import Authority, Op
from headgate.decide.policies.people import person
from headgate.model.objects import ObjectRef, ObjectType
from headgate.model.principals import Attributes, Identity, PrincipalKind, PrincipalRef
from headgate.steward.access.principals import DescribedPrincipal, Principals
from headgate.steward.acts import act
from headgate.steward.findings import examine
from headgate.steward.kernel import Kernel
from headgate.steward.permits import Permit


class OwnStanding(msgspec.Struct, frozen=True):
    """What a metalake knows of the caller."""

    metalake: str
    user: bool
    """Whether they are a user of it; whoever is not learns nothing else, nor whether there is such a metalake."""
    groups: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    attributes: Attributes = {}


class InheritedRoles(msgspec.Struct, frozen=True):
    """A group that somebody is in, and the roles that it holds."""

    group: str
    roles: tuple[str, ...]


class Memberships:
    def __init__(self, kernel: Kernel, principals: Principals) -> None:
        self.kernel = kernel
        self.principals = principals

    def is_service_admin(self, identity: Identity) -> bool:
        return identity.user in self.kernel.authority().service_admins

    def mine(self, identity: Identity, metalake: str, at_least: int = 0) -> OwnStanding:
        """Who the caller is to a metalake. Takes no right: everybody may hear it of themselves."""
        authority = self.kernel.authority(at_least)
        node = authority.metalake(metalake)
        caller = None if node is None else authority.caller(identity, node.id)
        if caller is None or caller.member is None:
            return OwnStanding(metalake, False)
        who = person(authority, caller)
        return OwnStanding(
            metalake,
            True,
            tuple(sorted(who.groups)),
            tuple(sorted(who.roles - who.possible)),
            who.attributes,
        )

    @act(Op.GET_USER)
    def of(self, permit: Permit, user: str) -> tuple[DescribedPrincipal, tuple[InheritedRoles, ...]]:
        """A user, and the groups they are in as far as the caller may know them."""
        described = self.principals.get(permit, PrincipalRef(PrincipalKind.USER, user))
        authority = permit.authority
        found: dict[int, InheritedRoles] = {}
        waiting = [described.record.id]
        while waiting:
            for id in sorted(authority.groups_of.get(waiting.pop()) or ()):
                if id not in found and self._shown(permit, authority.members[id].name):
                    found[id] = InheritedRoles(authority.members[id].name, _roles(authority, id))
                    waiting.append(id)
        return described, tuple(sorted(found.values(), key=lambda inherited: inherited.group))

    def _shown(self, permit: Permit, group: str) -> bool:
        metalake = ObjectRef(permit.ref.metalake, ObjectType.METALAKE)
        about = PrincipalRef(PrincipalKind.GROUP, group)
        return examine(permit.authority, permit.identity, Op.GET_GROUP, metalake, about).allowed


def _roles(authority: Authority, principal: int) -> tuple[str, ...]:
    return tuple(sorted(authority.objects[role].name for role in authority.held.get(principal) or ()))
