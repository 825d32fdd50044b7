"""The native catalog: real Iceberg tables in a warehouse folder or bucket, their pointers in Headgate's own store."""

from headgate.catalogs.kept import Kept
from headgate.catalogs.locations import checked_warehouse
from headgate.model.errors import IllegalArgument
from headgate.store import Store


class Native(Kept):
    """Iceberg tables that are kept here."""

    def __init__(
        self, store: Store, warehouse: str | None, metalake: str, catalog: str, properties: dict[str, str]
    ) -> None:
        chosen = properties.get("warehouse") or warehouse
        if not chosen:
            raise IllegalArgument(
                "the catalog has no warehouse",
                hint="set the property 'warehouse' to a folder or an s3:// bucket, or start the server with one",
            )
        self.store = store
        self.warehouse = checked_warehouse(chosen)
        self.properties = properties
