"""Users and groups of a metalake: who is in it, what is known of them, who is in which group, who holds which role."""

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from headgate.decide import Authority, Op
from headgate.decide.operations import OPERATIONS
from headgate.decide.policies.standing import named_in_policies
from headgate.decide.requirements import CallerFact
from headgate.decide.verdict import facts, satisfied
from headgate.model.errors import IllegalArgument, IllegalRole, InUse, NotFound
from headgate.model.objects import ObjectRef, ObjectType, checked_name, checked_person_name, clip
from headgate.model.principals import Attributes, PrincipalKind, PrincipalRef
from headgate.model.records import PrincipalRecord
from headgate.steward.acts import act
from headgate.steward.findings import concerns
from headgate.steward.kernel import Kernel
from headgate.steward.permits import Permit
from headgate.steward.policies.guard import named_policy
from headgate.store import Read, Write, access, dropped, objects


class DescribedPrincipal(msgspec.Struct, frozen=True):
    """A user or group with the names of the roles it holds itself."""

    record: PrincipalRecord
    roles: tuple[str, ...]


class Principals:
    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel

    @act(Op.LIST_GROUPS, Op.LIST_USERS)
    def list(self, permit: Permit, kind: PrincipalKind) -> list[DescribedPrincipal]:
        """Those the caller may see, by name: all, or themselves and the groups they are in."""
        shown = OPERATIONS[permit.op].shown
        known = facts(permit.authority, permit.caller, permit.node)
        everyone = satisfied(shown, known)
        assert satisfied(shown, known | CallerFact.SELF), "a list of principals shows people themselves"
        with self.kernel.store.read() as read:
            found = [
                record
                for record in access.principals(read, permit.node.id, kind)
                if everyone or concerns(permit.authority, permit.caller, PrincipalRef(kind, record.name))
            ]
            return list(_described(read, found))

    @act(Op.GET_GROUP, Op.GET_USER)
    def get(self, permit: Permit, principal: PrincipalRef) -> DescribedPrincipal:
        with self.kernel.store.read() as read:
            return _one(read, present(read, permit.node.id, principal))

    @act(Op.ADD_GROUP, Op.ADD_USER)
    def add(
        self, permit: Permit, principal: PrincipalRef, *, external_id: str | None = None, enabled: bool = True
    ) -> DescribedPrincipal:
        checked_person_name(principal.name, principal.kind)
        if external_id is not None:
            checked_person_name(external_id, "external id")
        with self.kernel.change(permit) as tx:
            access.add_principal(
                tx, permit.node.id, principal.kind, principal.name, external_id=external_id, enabled=enabled
            )
            return _one(tx, present(tx, permit.node.id, principal))

    @act(Op.REMOVE_GROUP, Op.REMOVE_USER)
    def remove(self, permit: Permit, principal: PrincipalRef) -> bool:
        """Take a user or group out of the metalake with its roles, memberships and ownerships; False if not there.

        INVARIANT: removal takes away only what the caller could take away directly, and nothing that keeps anybody from
        anything: who comes back under the same name is bound as before.
        """
        with self.kernel.change(permit) as tx:
            record = access.find_principal(tx, permit.node.id, principal.kind, principal.name)
            if record is None:
                return False
            owner = access.owner(tx, permit.node.id)
            if owner is not None and owner.id == record.id:
                # Else managing users would be enough to leave a metalake without anyone in charge.
                raise IllegalArgument(
                    f"{record.kind} '{clip(record.name)}' owns the metalake",
                    hint="set another owner of the metalake first",
                )
            authority = self.kernel.authority()
            self._unnamed(tx, authority, permit, record)
            for op, ref in _taken(tx, authority, permit.ref, record):
                self.kernel.demand(authority, permit.identity, op, ref)
            access.remove_principal(tx, record)
            return True

    def _unnamed(self, tx: Write, authority: Authority, permit: Permit, record: PrincipalRecord) -> None:
        """Refuse to remove someone whom a policy names, or who holds a role that denies something."""
        named = named_in_policies(authority, permit.node.id)
        of_kind = named.users if record.kind is PrincipalKind.USER else named.groups
        for policy in sorted(of_kind.get(record.name, ())):
            raise InUse(
                f"{named_policy(authority, permit.identity, policy)} names {record.kind} '{clip(record.name)}'",
                hint="change the policy first",
                about=record.kind,
            )
        for role in sorted(authority.held.get(record.id) or ()):
            if dropped.denying(tx, role) or any(bits.deny for _, bits in access.grants_of(tx, role)):
                raise InUse(
                    f"{record.kind} '{clip(record.name)}' holds a role that denies something",
                    hint="revoke the role first",
                    about=record.kind,
                )

    # -- what policies ask about a user ---------------------------------------------------------------------------

    @act(Op.SET_USER_ATTRIBUTES)
    def set_attributes(self, permit: Permit, user: str, attributes: Attributes) -> DescribedPrincipal:
        for name, value in attributes.items():
            checked_name(name, "attribute")
            for text in (value,) if isinstance(value, str) else value:
                if len(text) > 1000:
                    raise IllegalArgument(
                        f"attribute '{clip(name)}' has a value of {len(text)} characters",
                        hint="use at most 1000",
                    )
        with self.kernel.change(permit) as tx:
            principal = PrincipalRef(PrincipalKind.USER, user)
            access.set_attributes(tx, present(tx, permit.node.id, principal), attributes)
            return _one(tx, present(tx, permit.node.id, principal))

    # -- members of groups ----------------------------------------------------------------------------------------

    @act(Op.GET_GROUP)
    def members(self, permit: Permit, group: str) -> Sequence[PrincipalRecord]:
        with self.kernel.store.read() as read:
            record = present(read, permit.node.id, PrincipalRef(PrincipalKind.GROUP, group))
            return access.members(read, record.id)

    @act(Op.SET_GROUP_MEMBERS)
    def set_members(
        self, permit: Permit, group: str, wanted: Iterable[PrincipalRef]
    ) -> Sequence[PrincipalRecord]:
        """Make exactly these the members of a group.

        INVARIANT: what a membership carries is given only by someone who could give it directly: roles of the group
        and of those above it by whoever may grant roles, what these own by whoever may set its owner.
        """
        with self.kernel.change(permit) as tx:
            record = present(tx, permit.node.id, PrincipalRef(PrincipalKind.GROUP, group))
            members = [present(tx, permit.node.id, member) for member in wanted]
            authority = self.kernel.authority()
            for op, ref in _carried(tx, authority, permit.ref, record.id):
                self.kernel.demand(authority, permit.identity, op, ref)
            access.set_members(tx, record, members)
            return access.members(tx, record.id)

    # -- roles held -----------------------------------------------------------------------------------------------

    @act(Op.GRANT_ROLE, Op.REVOKE_ROLE, also=(Op.GRANT_ROLE, Op.REVOKE_ROLE))
    def hold_roles(
        self, permit: Permit, principal: PrincipalRef, roles: Iterable[str], *, held: bool
    ) -> DescribedPrincipal:
        """Give roles to a user or group, or take them away; what is so already stays so."""
        with self.kernel.change(permit) as tx:
            record = present(tx, permit.node.id, principal)
            for name in roles:
                role = objects.find(tx, permit.node.id, ObjectType.ROLE, name)
                if role is None:
                    raise IllegalRole(f"role '{clip(name)}' does not exist", hint="create it first")
                access.hold_role(tx, role.id, record.id, held)
            return _one(tx, record)


def present(read: Read, metalake: int, principal: PrincipalRef) -> PrincipalRecord:
    """The user or group of that name, or the error that says there is none."""
    found = access.find_principal(read, metalake, principal.kind, principal.name)
    if found is None:
        raise NotFound(
            f"{principal.kind} '{clip(principal.name)}' does not exist in the metalake",
            hint="add it first",
            about=principal.kind,
        )
    return found


def _described(read: Read, records: list[PrincipalRecord]) -> Iterator[DescribedPrincipal]:
    roles = access.roles_held(read, [record.id for record in records])
    for record in records:
        yield DescribedPrincipal(record, tuple(roles[record.id]))


def _one(read: Read, record: PrincipalRecord) -> DescribedPrincipal:
    return next(_described(read, [record]))


def _carried(
    tx: Write, authority: Authority, metalake: ObjectRef, group: int
) -> Iterator[tuple[Op, ObjectRef]]:
    """What someone must be allowed to do in order to give what being in this group gives."""
    above, waiting = {group}, [group]
    while waiting:
        for parent in authority.groups_of.get(waiting.pop()) or ():
            if parent not in above:
                above.add(parent)
                waiting.append(parent)
    if any(authority.held.get(id) for id in above):
        yield Op.GRANT_ROLE, metalake
    for object in access.owned(tx, above):
        yield Op.SET_OWNER, authority.ref(authority.objects[object])


def _taken(
    tx: Write, authority: Authority, metalake: ObjectRef, record: PrincipalRecord
) -> Iterator[tuple[Op, ObjectRef]]:
    """What someone must be allowed to do in order to take away all that a user or group has."""
    if record.attributes:
        yield Op.SET_USER_ATTRIBUTES, metalake
    if authority.held.get(record.id):
        yield Op.REVOKE_ROLE, metalake
    groups = set(authority.groups_of.get(record.id) or ())
    if record.kind is PrincipalKind.GROUP and access.members(tx, record.id):
        groups.add(record.id)
    for group in sorted(groups):
        yield Op.SET_GROUP_MEMBERS, metalake
        yield from _carried(tx, authority, metalake, group)
    for object in access.owned(tx, [record.id]):
        yield Op.SET_OWNER, authority.ref(authority.objects[object])
