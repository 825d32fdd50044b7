"""How restricted views are enforced: by copies, by an engine that is trusted, or by refusing to read at all."""

import msgspec

from headgate.steward.catalogs import catalog_node
from headgate.steward.kernel import Kernel
from headgate.steward.modes import DELEGATE, MATERIALISE, PROPERTY, TRUSTED
from headgate.steward.permits import Permit
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
