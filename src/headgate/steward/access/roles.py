"""Roles: what each allows and denies on which objects, who may see them, how privileges come and go."""

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from headgate.decide import Authority, Node, Op, visible
from headgate.decide.operations import LOADS
from headgate.decide.policies.standing import named_in_policies
from headgate.model.errors import IllegalArgument, IllegalObject, IllegalPrivilege, InUse, NotFound
from headgate.model.objects import (
    LEAVES_OF,
    ObjectRef,
    ObjectType,
    checked_person_name,
    clip,
)
from headgate.model.privileges import LEAF_OF, Grant, PrivilegeBits, bits_of_all_names, checked_grants
from headgate.model.records import ObjectRecord
from headgate.steward.acts import act
from headgate.steward.findings import as_known, examine, may_know
from headgate.steward.kernel import Kernel
from headgate.steward.metadata.catalogs import catalog_type
from headgate.steward.ownership import created
from headgate.steward.permits import Permit
from headgate.steward.policies.guard import named_policy
from headgate.store import Read, Write, access, dropped, objects


class RoleSecurable(msgspec.Struct, frozen=True):
    """An object with the privileges that a role allows and denies on it."""

    ref: ObjectRef
    grants: tuple[Grant, ...]


class Role(msgspec.Struct, frozen=True):
    """A role with everything it says."""

    record: ObjectRecord
    objects: tuple[RoleSecurable, ...]


class Roles:
    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel

    @act(Op.LIST_ROLES)
    def list(self, permit: Permit) -> list[str]:
        """The names of the roles that the caller may see."""
        nodes = permit.authority.children_of(permit.node.id, ObjectType.ROLE)
        return _names(permit, nodes)

    @act(Op.LIST_OBJECT_ROLES)
    def list_on(self, permit: Permit, ref: ObjectRef) -> Sequence[str]:
        """The names of the roles the caller may see that say something of an object.

        To someone who may not know whether the object is there, a missing one looks like one without roles.
        """
        authority = permit.authority
        node = authority.find(ref)
        nodes = [] if node is None else authority.children_of(permit.node.id, ObjectType.ROLE)
        roles = [role for role in nodes if node is not None and role.id in node.grants]
        if node is None or not (self._every(authority, permit) or self._known(authority, permit, node)):
            # The owner of a role knows what it names; its holders do not.
            roles = [role for role in roles if role.owner in permit.caller.principals]
            if not roles and as_known(examine(authority, permit.identity, LOADS[ref.type], ref)).holds:
                raise NotFound(
                    f"{ref.type} '{clip(ref.full_name)}' does not exist",
                    about="metadata-object",
                )
        return _names(permit, roles)

    @act(Op.CREATE_ROLE)
    def create(
        self, permit: Permit, name: str, properties: dict[str, str], securables: Iterable[RoleSecurable]
    ) -> Role:
        """Make a role. Its maker owns it but does not hold it: holding takes a grant."""
        checked_person_name(name, "role")
        with self.kernel.change(permit) as tx:
            role = created(tx, permit, ObjectType.ROLE, name, properties=properties)
            for node, bits in self._resolved(tx, securables):
                access.set_grants(tx, role.id, node.id, bits)
            return self._role(tx, permit, role.id)

    @act(Op.GET_ROLE)
    def get(self, permit: Permit) -> Role:
        with self.kernel.store.read() as read:
            return self._role(read, permit, permit.node.id)

    @act(Op.DELETE_ROLE)
    def delete(self, permit: Permit) -> None:
        with self.kernel.change(permit) as tx:
            authority = self.kernel.authority()
            named = named_in_policies(authority, permit.node.metalake).roles
            for policy in sorted(named.get(permit.node.name, ())):
                raise InUse(
                    f"{named_policy(authority, permit.identity, policy)} names role '{clip(permit.node.name)}'",
                    hint="change the policy first",
                    about=ObjectType.ROLE,
                )
            # INVARIANT: a denial is lifted only by somebody who may revoke it. Owning the role is not enough.
            for object, bits in access.grants_of(tx, permit.node.id):
                if bits.deny:
                    ref = authority.ref(authority.objects[object])
                    self.kernel.demand(authority, permit.identity, Op.REVOKE_PRIVILEGE, ref)
            if dropped.denying(tx, permit.node.id):
                # Nobody knows yet who may revoke it where it comes back.
                self.kernel.demand(authority, permit.identity, Op.REVOKE_PRIVILEGE, _metalake(permit))
            objects.drop(tx, permit.node.id)

    @act(Op.OVERRIDE_ROLE)
    def override(self, permit: Permit, name: str, securables: Iterable[RoleSecurable]) -> Role:
        """Make exactly these what a role allows and denies."""
        with self.kernel.change(permit) as tx:
            role = _present(tx, permit.node.id, name)
            wanted = {node.id: bits for node, bits in self._resolved(tx, securables)}
            for object, _ in access.grants_of(tx, role.id):
                wanted.setdefault(object, PrivilegeBits())
            for object, bits in wanted.items():
                access.set_grants(tx, role.id, object, bits)
            objects.alter(tx, role)
            return self._role(tx, permit, role.id)

    @act(Op.GRANT_PRIVILEGE)
    def grant(self, permit: Permit, name: str, grants: Iterable[Grant]) -> Role:
        """Add privileges on the permit's object to a role; those it has stay."""
        return self._change(permit, name, grants, revoke=False)

    @act(Op.REVOKE_PRIVILEGE)
    def revoke(self, permit: Permit, name: str, grants: Iterable[Grant]) -> Role:
        """Take privileges on the permit's object from a role, each under its condition; what is not there is no matter."""
        return self._change(permit, name, grants, revoke=True)

    def _change(self, permit: Permit, name: str, grants: Iterable[Grant], *, revoke: bool) -> Role:
        kept = _checked(grants, permit.ref)
        change = PrivilegeBits.of(kept)
        if revoke:
            # A privilege that is taken away does not stay under a former name.
            change = PrivilegeBits(bits_of_all_names(change.allow), bits_of_all_names(change.deny))
        with self.kernel.change(permit) as tx:
            role = _present(tx, permit.node.metalake, name)
            if not revoke:
                _fits_catalog(tx, permit.node, kept)
            before = access.grants_on(tx, role.id, permit.node.id)
            after = (
                PrivilegeBits(before.allow & ~change.allow, before.deny & ~change.deny)
                if revoke
                else PrivilegeBits(before.allow | change.allow, before.deny | change.deny)
            )
            if after != before:
                access.set_grants(tx, role.id, permit.node.id, after)
                objects.alter(tx, role)
            return self._role(tx, permit, role.id)

    def _resolved(
        self, tx: Write, securables: Iterable[RoleSecurable]
    ) -> Iterator[tuple[Node, PrivilegeBits]]:
        """The objects that these name and what is said of each, or the error that says what cannot be."""
        authority = self.kernel.authority()
        seen: set[int] = set()
        for securable in securables:
            ref = securable.ref
            grants = _checked(securable.grants, ref)
            node = authority.find(ref)
            if node is None:
                raise IllegalObject(
                    f"{ref.type} '{clip(ref.full_name)}' does not exist", hint="create it first"
                )
            if node.id in seen:
                raise IllegalArgument(
                    f"{ref.type} '{clip(ref.full_name)}' is named twice in one role", hint="name it once"
                )
            seen.add(node.id)
            _fits_catalog(tx, node, grants)
            yield node, PrivilegeBits.of(grants)

    def _role(self, read: Read, permit: Permit, id: int) -> Role:
        """A role with what it says of objects that the caller may know; who grants in the metalake may know all."""
        record, grants = objects.present(read, id), access.grants_of(read, id)
        # Asked after the grants were read, so what it does not know was dropped in between.
        authority = self.kernel.authority()
        every = self._every(authority, permit)
        named = ((authority.objects.get(object), bits) for object, bits in grants)
        return Role(
            record,
            tuple(
                RoleSecurable(authority.ref(node), bits.grants)
                for node, bits in named
                if node is not None and (every or self._known(authority, permit, node))
            ),
        )

    def _every(self, authority: Authority, permit: Permit) -> bool:
        return examine(authority, permit.identity, Op.GRANT_ROLE, _metalake(permit)).allowed

    def _known(self, authority: Authority, permit: Permit, node: Node) -> bool:
        """Whether the caller may load an object, or govern it: who grants on it may see what is granted there."""
        return may_know(authority, authority.caller(permit.identity, node.metalake), node)


def _metalake(permit: Permit) -> ObjectRef:
    return ObjectRef(permit.ref.metalake, ObjectType.METALAKE)


def _names(permit: Permit, roles: Iterable[Node]) -> list[str]:
    return sorted(node.name for node in visible(permit.authority, permit.caller, permit.op, roles))


def _present(read: Read, metalake: int, name: str) -> ObjectRecord:
    role = objects.find(read, metalake, ObjectType.ROLE, name)
    if role is None:
        raise NotFound(f"role '{clip(name)}' does not exist", hint="create it first", about=ObjectType.ROLE)
    return role


def _checked(grants: Iterable[Grant], ref: ObjectRef) -> tuple[Grant, ...]:
    kept = checked_grants(grants, ref.type)
    if not kept:
        raise IllegalPrivilege(
            f"no privilege is named for {ref.type} '{clip(ref.full_name)}'", hint="name at least one"
        )
    return kept


def _fits_catalog(tx: Write, node: Node, grants: Iterable[Grant]) -> None:
    """Refuse privileges about leaves that a catalog of this type cannot hold."""
    if node.type not in (ObjectType.CATALOG, ObjectType.SCHEMA):
        return
    catalog = objects.present(tx, node.chain[1][0])
    leaves = LEAVES_OF[catalog_type(catalog)]
    for grant in grants:
        leaf = LEAF_OF.get(grant.privilege)
        if leaf is not None and leaf not in leaves:
            raise IllegalPrivilege(
                f"privilege {grant.privilege.wire} cannot be bound in catalog '{clip(catalog.name)}'",
                hint=f"a {catalog_type(catalog)} catalog holds no {leaf}",
            )
