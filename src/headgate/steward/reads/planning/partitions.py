"""Partitions of a table, as its files make them."""

from collections.abc import Sequence
from typing import Any

from headgate.catalogs.interface import IcebergCatalog, holds_documents
from headgate.decide import Op
from headgate.model.errors import NotFound, Unsupported
from headgate.model.objects import clip
from headgate.model.tables import Partition
from headgate.planning import Within
from headgate.planning.manifests import partitions
from headgate.planning.manifests.reader import ManifestReader
from headgate.steward.acts import act
from headgate.steward.metadata.tables import Tables
from headgate.steward.permits import Permit
from headgate.steward.reads.copies.governed import Governed
from headgate.steward.reads.making import TableReads
from headgate.steward.reads.planning.faults import translated
from headgate.steward.reads.table_read import GovernedRead
from headgate.steward.reads.waiting import Waiting

Json = dict[str, Any]


class Partitions:
    def __init__(self, tables: Tables, reads: TableReads, governed: Governed, waiting: Waiting) -> None:
        self.tables = tables
        self.reads = reads
        self.governed = governed
        self.waiting = waiting

    @act(Op.READ_PARTITIONS)
    def list(self, permit: Permit) -> Sequence[Partition]:
        """The partitions that hold data which the caller may see, by name.

        INVARIANT: for restricted callers, as the governed manifests list them; the table's own are not looked at.
        """
        if not holds_documents(self.tables.adapter(permit)):
            raise Unsupported("the table is not partitioned", hint="there are no partitions to list")
        return self.waiting.in_request(permit, self._listed)

    def _listed(self, permit: Permit) -> Sequence[Partition]:
        read = self.reads.of(permit)
        if not isinstance(read, GovernedRead):
            return _read(read.metadata, read.adapter, read.within)
        governed = self.governed.document(read, permit.identity).metadata
        return _read(governed, read.adapter, read.given)

    @act(Op.READ_PARTITIONS)
    def get(self, permit: Permit, name: str) -> Partition:
        for found in self.list(permit):
            if found.name == name:
                return found
        raise NotFound(f"partition '{clip(name)}' does not exist", about="partition")

    @act(Op.WRITE_PARTITIONS)
    def change(self, permit: Permit) -> None:
        """Refuse to add or drop one: Iceberg knows no partition without rows, and rows go by the engine."""
        raise Unsupported(
            f"partitions of table '{clip(permit.ref.full_name)}' cannot be added or dropped by themselves",
            hint="write or delete the rows; partitions follow them",
        )


def _read(metadata: Json, adapter: IcebergCatalog, within: Within) -> Sequence[Partition]:
    with translated():
        return partitions.listed(metadata, ManifestReader(adapter.storage.io, within))
