"""Metalakes: the roots of the tree."""

from headgate.model.errors import AlreadyExists, InUse, NotEmpty
from headgate.model.objects import ObjectType, checked_container_name, clip
from headgate.model.principals import PrincipalKind
from headgate.steward.kernel import Kernel
from headgate.steward.permits import Permit
from headgate.steward.updates import Updates
from headgate.store import access, objects
from headgate.store.records import ObjectRecord


class Metalakes:
    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel

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

    def create(
        self, permit: Permit, name: str, comment: str | None, properties: dict[str, str]
    ) -> ObjectRecord:
        """Make a metalake; who makes it becomes its first user and its owner."""
        checked_container_name(name, "metalake")
        with self.kernel.change(permit) as tx:
            if objects.find(tx, 0, ObjectType.METALAKE, name) is not None:
                raise AlreadyExists(f"metalake '{clip(name)}' already exists", about=ObjectType.METALAKE)
            id = objects.create(tx, 0, 0, ObjectType.METALAKE, name, comment=comment, properties=properties)
            owner = access.add_principal(tx, id, PrincipalKind.USER, permit.identity.user)
            access.set_owner(tx, id, owner)
            return objects.present(tx, id)

    def load(self, permit: Permit) -> ObjectRecord:
        with self.kernel.store.read() as read:
            return objects.present(read, permit.node.id)

    def alter(self, permit: Permit, updates: Updates) -> ObjectRecord:
        if updates.name is not None:
            checked_container_name(updates.name, "metalake")
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

    def set_in_use(self, permit: Permit, in_use: bool) -> None:
        with self.kernel.change(permit) as tx:
            before = objects.present(tx, permit.node.id)
            if before.in_use != in_use:
                objects.alter(tx, before, in_use=in_use)

    def drop(self, permit: Permit, *, force: bool) -> None:
        """Remove a metalake with all it holds; without force only one that is out of use and empty."""
        with self.kernel.change(permit) as tx:
            record = objects.present(tx, permit.node.id)
            if record.in_use and not force:
                raise InUse(
                    f"metalake '{clip(record.name)}' is in use",
                    hint="disable it first, or use force",
                    about=ObjectType.METALAKE,
                )
            if not force and objects.has_children(tx, record.id, ObjectType.CATALOG):
                raise NotEmpty(
                    f"metalake '{clip(record.name)}' has catalogs",
                    hint="drop them first, or use force",
                    about=ObjectType.METALAKE,
                )
            objects.drop(tx, record.id)
