"""Partitions of a table, as its files make them."""

from collections.abc import Sequence
from typing import Any

from headgate.catalogs.interface import IcebergCatalog, holds_documents
from headgate.model.errors import NotFound, Unsupported
from headgate.model.objects import clip
from headgate.model.tables import Partition
from headgate.planning import Within, partitions
from headgate.planning.reader import ManifestReader
from headgate.steward.permits import Permit
from headgate.steward.planned import told
from headgate.steward.reads import Reads
from headgate.steward.tables import Tables, place_of

Json = dict[str, Any]


class Partitions:
    def __init__(self, tables: Tables, reads: Reads) -> None:
        self.tables = tables
        self.reads = reads

    def list(self, permit: Permit) -> Sequence[Partition]:
        """The partitions that hold data which the caller may see, by name.

        INVARIANT: for restricted callers, as the governed manifests list them; the table's own are not looked at.
        """
        adapter = self.tables.adapter(permit)
        if not holds_documents(adapter):
            raise Unsupported("the table is not partitioned", hint="there are no partitions to list")
        return self.reads.waited_in_request(permit, lambda again: self._listed(again, adapter))

    def _listed(self, permit: Permit, adapter: IcebergCatalog) -> Sequence[Partition]:
        document = adapter.document(place_of(permit))
        sight = self.reads.sight(permit, document, adapter)
        if sight is None:
            return _read(document.metadata, adapter, Within(adapter.own_folders(document)))
        self.reads.check_readable(permit)
        governed = self.reads.governed.document(sight, permit.identity).metadata
        return _read(governed, adapter, sight.given)

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


def _read(metadata: Json, adapter: IcebergCatalog, within: Within) -> Sequence[Partition]:
    with told():
        return partitions.listed(metadata, ManifestReader(adapter.storage.io, within))
