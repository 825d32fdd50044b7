"""What metalakes and catalogs have in common: loaded, taken in and out of use, dropped with all they hold."""

from headgate.model.errors import InUse, NotEmpty
from headgate.model.objects import ObjectType, clip
from headgate.model.records import ObjectRecord
from headgate.steward.acts import act
from headgate.steward.kernel import Kernel
from headgate.steward.permits import Permit
from headgate.store import objects


class Containers:
    """Objects of one type that hold objects of another."""

    type: ObjectType
    holds: ObjectType

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel

    @act("LOAD_{type}")
    def load(self, permit: Permit) -> ObjectRecord:
        return self.present(permit)

    def present(self, permit: Permit) -> ObjectRecord:
        """As `load`, for other acts under permits of their own."""
        with self.kernel.store.read() as read:
            return objects.present(read, permit.node.id)

    @act("SET_{type}_IN_USE")
    def set_in_use(self, permit: Permit, in_use: bool) -> None:
        with self.kernel.change(permit) as tx:
            before = objects.present(tx, permit.node.id)
            if before.in_use != in_use:
                objects.alter(tx, before, in_use=in_use)

    @act("DROP_{type}")
    def drop(self, permit: Permit, *, force: bool) -> None:
        """Forget one with all it holds; without force only one that is out of use and empty."""
        with self.kernel.change(permit) as tx:
            record = objects.present(tx, permit.node.id)
            name = f"{self.type} '{clip(record.name)}'"
            if record.in_use and not force:
                raise InUse(f"{name} is in use", hint="disable it first, or use force", about=self.type)
            if not force and objects.has_children(tx, record.id, self.holds):
                hint = "drop them first, or use force"
                raise NotEmpty(f"{name} has {self.holds}s", hint=hint, about=self.type)
            objects.drop(tx, record.id)
