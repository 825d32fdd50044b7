"""How restricted views are enforced: by copies, by an engine that is trusted, or by refusing to read at all."""

import msgspec

from headgate.model.errors import Forbidden
from headgate.model.objects import ObjectType, clip
from headgate.steward.kernel import Kernel
from headgate.steward.metadata.catalogs import catalog_node
from headgate.steward.permits import Permit
from headgate.steward.reads.modes import DELEGATE, MATERIALISE, PROPERTY, REFUSE, TRUSTED
from headgate.store import objects


class How(msgspec.Struct, frozen=True):
    """How a caller's restricted view is enforced."""

    mode: str
    trusted: bool
    """Whether the caller is an engine that enforces it by itself."""


class Enforcement:
    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self._kept: dict[tuple[int, int], tuple[int, str, frozenset[str]]] = {}

    def checked(self, permit: Permit) -> How:
        """How restricted reads of a table are enforced; refuses where they are refused."""
        how = self.of(permit)
        if how.mode == REFUSE:
            raise Forbidden(
                f"table '{clip(permit.ref.full_name)}' is not read by someone who may see only a part of it",
                hint="its catalog says so (headgate.enforce = refuse); ask its owner for all of it",
                about=ObjectType.TABLE,
            )
        return how

    def of(self, permit: Permit) -> How:
        """How the permit's table is enforced for its caller.

        INVARIANT: an engine is trusted only if both its catalog delegates and the metalake names it.
        """
        catalog, metalake = catalog_node(permit).id, permit.node.metalake
        kept = self._kept.get((catalog, metalake))
        if kept is None or kept[0] != permit.revision:
            with self.kernel.store.read() as read:
                mode = objects.present(read, catalog).properties.get(PROPERTY, MATERIALISE)
                named = objects.present(read, metalake).properties.get(TRUSTED, "")
            users = frozenset(name.strip() for name in named.split(",") if name.strip())
            kept = (permit.revision, mode, users)
            self._kept[catalog, metalake] = kept
        _, mode, users = kept
        return How(mode, mode == DELEGATE and permit.identity.user in users)
