"""People for tests: members of a metalake and what they may do, put into the store directly."""

from headgate.model.objects import ObjectRef, ObjectType
from headgate.model.principals import PrincipalKind
from headgate.model.privileges import Condition, Grant, Privilege, PrivilegeBits
from headgate.steward import Steward
from headgate.store import access, objects


class People:
    """`people.may("ann", "USE_CATALOG", "catalog", "lake.cat")` makes ann a member who may."""

    def __init__(self, steward: Steward, metalake: str = "lake") -> None:
        self.steward = steward
        self.metalake = metalake

    def join(self, user: str) -> int:
        metalake = self._id(ObjectRef(self.metalake, ObjectType.METALAKE))
        with self.steward.kernel.store.write("test", "join") as tx:
            known = access.find_principal(tx, metalake, PrincipalKind.USER, user)
            return known.id if known else access.add_principal(tx, metalake, PrincipalKind.USER, user)

    def may(self, user: str, privileges: str, type: str, name: str, *, deny: bool = False) -> None:
        member = self.join(user)
        metalake = self._id(ObjectRef(self.metalake, ObjectType.METALAKE))
        on = self._id(ObjectRef.parse(self.metalake, ObjectType.parse(type), name))
        condition = Condition.DENY if deny else Condition.ALLOW
        bits = PrivilegeBits.of(Grant(Privilege.parse(word), condition) for word in privileges.split())
        with self.steward.kernel.store.write("test", "grant") as tx:
            name = f"role-{user}-{on}-{privileges}-{condition}"
            role = objects.create(tx, metalake, metalake, ObjectType.ROLE, name)
            access.set_grants(tx, role, on, bits)
            access.hold_role(tx, role, member, True)

    def _id(self, ref: ObjectRef) -> int:
        node = self.steward.kernel.authority().find(ref)
        assert node is not None, f"{ref.full_name} is not there"
        return node.id
