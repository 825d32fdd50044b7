"""Partitions of a table, as its files make them."""

from collections.abc import Sequence

from headgate.catalogs.iceberg import descriptions, partitions
from headgate.catalogs.interface import IcebergCatalog, holds_documents
from headgate.model.errors import NotFound, Unsupported
from headgate.model.objects import clip
from headgate.model.tables import Partition
from headgate.steward.permits import Permit
from headgate.steward.reads import Reads
from headgate.steward.tables import Tables, place_of


class Partitions:
    def __init__(self, tables: Tables, reads: Reads) -> None:
        self.tables = tables
        self.reads = reads

    def list(self, permit: Permit) -> Sequence[Partition]:
        """The partitions that hold data which the caller may see, by name.

        INVARIANT: for restricted callers, as the governed manifests list them; the table's own are not looked at.
        """
        view = self.tables.lenses.of(permit)
        adapter = self.tables.adapter(permit)
        if view.lens.whole:
            return adapter.partitions(place_of(permit))
        assert holds_documents(adapter), "other tables are seen whole or not at all"
        return self.reads.waited_in_request(permit, lambda again: self._governed(again, adapter))

    def _governed(self, permit: Permit, adapter: IcebergCatalog) -> Sequence[Partition]:
        document = adapter.document(place_of(permit))
        sight = self.reads.sight(permit, document, adapter)
        if sight is None:
            return adapter.partitions(place_of(permit))
        self.reads.check_readable(permit)
        governed = self.reads.governed.document(sight, permit.identity).metadata
        return partitions.listed(descriptions.parsed(governed), adapter.storage.io)

    def get(self, permit: Permit, name: str) -> Partition:
        for found in self.list(permit):
            if found.name == name:
                return found
        raise NotFound(f"partition '{clip(name)}' does not exist", about="partition")

    def change(self, permit: Permit) -> None:
        """Refuse to add or drop one: Iceberg knows no partition without rows, and rows go by the engine."""
        raise Unsupported(
            f"partitions of table '{clip(permit.ref.full_name)}' cannot be added or dropped by themselves",
            hint="write or delete the rows; partitions follow them",
        )
