"""Partitions of a table, as its files make them."""

from headgate.catalogs.interface import holds_documents
from headgate.model.errors import NotFound, Unsupported
from headgate.model.objects import clip
from headgate.model.tables import Partition
from headgate.planning import Within, partitions
from headgate.planning.reader import ManifestReader
from headgate.steward import seen
from headgate.steward.permits import Permit
from headgate.steward.planned import told
from headgate.steward.tables import Tables, place_of


class Partitions:
    def __init__(self, tables: Tables) -> None:
        self.tables = tables

    def list(self, permit: Permit) -> list[Partition]:
        """The partitions that hold data which the caller may see, by name."""
        view = self.tables.lenses.of(permit)
        adapter = self.tables.adapter(permit)
        if not holds_documents(adapter):
            raise Unsupported("the table is not partitioned", hint="there are no partitions to list")
        document = adapter.document(place_of(permit))
        reader = ManifestReader(adapter.storage.io, Within(adapter.own_folders(document)))
        with told():
            found = partitions.listed(document.metadata, reader)
        if view.lens.whole:
            return found
        specs = document.metadata.get("partition-specs", [])
        sources: seen.Sources = {}
        for field in (field for spec in specs for field in spec["fields"]):
            sources.setdefault(field["name"], set()).add((field["source-id"], field["transform"]))
        return seen.partitions(view, found, sources)

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
