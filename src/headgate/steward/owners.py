"""Owners: the user or group that an object belongs to."""

from headgate.model.errors import NotFound
from headgate.model.principals import PrincipalRef
from headgate.steward.kernel import Kernel
from headgate.steward.permits import Permit
from headgate.steward.principals import present
from headgate.store import access
from headgate.store.records import PrincipalRecord


class Owners:
    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel

    def get(self, permit: Permit) -> PrincipalRecord | None:
        with self.kernel.store.read() as read:
            return access.owner(read, permit.node.id)

    def set(self, permit: Permit, principal: PrincipalRef) -> None:
        with self.kernel.change(permit) as tx:
            try:
                owner = present(tx, permit.node.metalake, principal)
            except NotFound as missing:
                raise NotFound(missing.message, hint=missing.hint, about="principal") from None
            access.set_owner(tx, permit.node.id, owner.id)
