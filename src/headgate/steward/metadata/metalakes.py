"""Metalakes: the roots of the tree."""

from headgate.decide import Op
from headgate.model.errors import AlreadyExists
from headgate.model.objects import ObjectType, checked_container_name, clip
from headgate.model.principals import PrincipalKind
from headgate.model.properties import check_read
from headgate.model.records import ObjectRecord
from headgate.steward.acts import act
from headgate.steward.metadata.containers import Containers
from headgate.steward.permits import Permit
from headgate.steward.updates import Updates
from headgate.store import access, objects


class Metalakes(Containers):
    type = ObjectType.METALAKE
    holds = ObjectType.CATALOG

    @act(Op.LIST_METALAKES)
    def list(self, permit: Permit) -> list[ObjectRecord]:
        """Those the caller is a user of, by name."""
        authority = permit.authority
        mine = [
            node.id
            for node in authority.children_of(0, ObjectType.METALAKE)
            if authority.caller(permit.identity, node.id).member is not None
        ]
        with self.kernel.store.read() as read:
            return sorted(objects.many(read, mine), key=lambda record: record.name)

    @act(Op.CREATE_METALAKE)
    def create(
        self, permit: Permit, name: str, comment: str | None, properties: dict[str, str]
    ) -> ObjectRecord:
        """Make a metalake; who makes it becomes its first user and its owner."""
        checked_container_name(name, "metalake")
        check_read("metalake", properties)
        with self.kernel.change(permit) as tx:
            if objects.find(tx, 0, ObjectType.METALAKE, name) is not None:
                raise AlreadyExists(f"metalake '{clip(name)}' already exists", about=ObjectType.METALAKE)
            id = objects.create(tx, 0, 0, ObjectType.METALAKE, name, comment=comment, properties=properties)
            owner = access.add_principal(tx, id, PrincipalKind.USER, permit.identity.user)
            access.set_owner(tx, id, owner)
            return objects.present(tx, id)

    @act(Op.ALTER_METALAKE)
    def alter(self, permit: Permit, updates: Updates) -> ObjectRecord:
        if updates.name is not None:
            checked_container_name(updates.name, "metalake")
        check_read("metalake", updates.put)
        with self.kernel.change(permit) as tx:
            before = objects.present(tx, permit.node.id)
            objects.alter(
                tx,
                before,
                name=updates.name,
                comment=updates.comment,
                properties=updates.applied_to(before.properties),
            )
            return objects.present(tx, before.id)
