"""Partitions of a table, as its files make them."""

from headgate.catalogs.interface import holds_documents
from headgate.model.errors import NotFound, Unsupported
from headgate.model.objects import clip
from headgate.model.tables import Partition
from headgate.steward import seen
from headgate.steward.permits import Permit
from headgate.steward.tables import Tables, place_of


class Partitions:
    def __init__(self, tables: Tables) -> None:
        self.tables = tables

    def list(self, permit: Permit) -> list[Partition]:
        """The partitions that hold data which the caller may see, by name."""
        view = self.tables.lenses.of(permit)
        adapter = self.tables.adapter(permit)
        found = adapter.partitions(place_of(permit))
        if view.lens.whole:
            return found
        assert holds_documents(adapter), "other tables are seen whole or not at all"
        specs = adapter.document(place_of(permit)).metadata.get("partition-specs", [])
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
