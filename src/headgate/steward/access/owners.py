"""Owners: the user or group that an object belongs to."""

from headgate.decide import Op
from headgate.decide.operations import LOADS
from headgate.model.errors import NotFound
from headgate.model.principals import PrincipalRef
from headgate.model.records import PrincipalRecord
from headgate.steward.access.principals import present
from headgate.steward.acts import act
from headgate.steward.kernel import Kernel
from headgate.steward.permits import Permit
from headgate.store import access


class Owners:
    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel

    @act(*LOADS.values())
    def get(self, permit: Permit) -> PrincipalRecord | None:
        with self.kernel.store.read() as read:
            return access.owner(read, permit.node.id)

    @act(Op.SET_OWNER)
    def set(self, permit: Permit, principal: PrincipalRef) -> None:
        with self.kernel.change(permit) as tx:
            try:
                owner = present(tx, permit.node.metalake, principal)
            except NotFound as missing:
                raise NotFound(missing.message, hint=missing.hint, about="principal") from None
            access.set_owner(tx, permit.node.id, owner.id)
