"""Partitions of a table, as its files make them."""

from headgate.model.errors import NotFound, Unsupported
from headgate.model.objects import clip
from headgate.model.tables import Partition
from headgate.steward.permits import Permit
from headgate.steward.tables import Tables, place_of


class Partitions:
    def __init__(self, tables: Tables) -> None:
        self.tables = tables

    def list(self, permit: Permit) -> list[Partition]:
        """The partitions that hold data, by name."""
        return self.tables.adapter(permit).partitions(place_of(permit))

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
