"""What lives in a schema and is kept by Headgate itself: only in a catalog of the type that holds it."""

from collections.abc import Callable

from headgate.decide import Op
from headgate.model.errors import Unsupported
from headgate.model.objects import LEAVES_OF, ObjectType, clip
from headgate.model.records import ObjectRecord
from headgate.steward.acts import act
from headgate.steward.metadata.catalogs import Catalogs, catalog_type
from headgate.steward.metadata.kept.entries import Body, Entries
from headgate.steward.permits import Permit
from headgate.store import Write


class Leaves(Entries):
    """Topics, models, views, functions or filesets."""

    def __init__(self, catalogs: Catalogs, type: ObjectType, lists: Op) -> None:
        super().__init__(catalogs.kernel, type, lists)
        self.catalogs = catalogs

    @act("CREATE_{type}", "REGISTER_{type}", also=(Op.CHOOSE_PLACE, Op.ALTER_METALAKE))
    def create(
        self,
        permit: Permit,
        name: str,
        comment: str | None,
        properties: dict[str, str],
        body: Body | Callable[[Write], Body] | None = None,
        *,
        more: tuple[Permit, ...] = (),
        settle: Callable[[Write, int], None] | None = None,
    ) -> ObjectRecord:
        self._fits(self.catalogs.of(permit))
        return super().create(permit, name, comment, properties, body, more=more, settle=settle)

    def _fits(self, catalog: ObjectRecord) -> None:
        type = catalog_type(catalog)
        if self.type not in LEAVES_OF[type]:
            raise Unsupported(
                f"catalog '{clip(catalog.name)}' of type {type} holds no {self.type}s",
                hint=f"it holds {', '.join(sorted(f'{leaf}s' for leaf in LEAVES_OF[type]))}",
            )
