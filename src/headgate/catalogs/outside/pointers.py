"""Pointers: what a system must be able to do so that its Iceberg tables can be governed here.

Iceberg tables whose metadata lies behind a pointer differ in nothing but how that pointer is kept and swapped: a row of a
database, a table of AWS Glue with its version, an entry of a Hive Metastore under its lock. A system gives these few
operations; everything else is `PointerCatalog`.
"""

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import msgspec

from headgate.catalogs.interface import Namespace, TablePlace
from headgate.model.objects import ObjectType

Json = dict[str, Any]


class Pointer(msgspec.Struct, frozen=True):
    """Where the metadata of a table or view lies now."""

    location: str
    version: str = ""
    """What the system tells its pointers apart by, besides the location."""


class Swap(msgspec.Struct, frozen=True):
    """A pointer that is to move from where it was read to a new document, which is written already."""

    at: TablePlace
    expected: Pointer
    location: str
    document: Json


class PointerSystem(Protocol):
    """A system that keeps names, and a pointer for each. Faults come as errors of the house, in its own words."""

    @property
    def types(self) -> frozenset[ObjectType]:
        """What it can hold: tables, or views as well."""

    def test(self) -> None:
        """Make sure that it answers."""

    def close(self) -> None:
        """Let go of its connections."""

    def namespaces(self, parent: Namespace) -> list[str]:
        """The names directly below."""

    def namespace(self, name: Namespace) -> dict[str, str]:
        """The properties of a namespace; NotFound if there is none."""

    def create_namespace(self, name: Namespace, properties: dict[str, str]) -> None:
        """Make a namespace; AlreadyExists."""

    def alter_namespace(self, name: Namespace, properties: dict[str, str]) -> None:
        """Give a namespace exactly these properties."""

    def drop_namespace(self, name: Namespace) -> None:
        """Remove an empty namespace; NotEmpty."""

    def hides(self, name: Namespace) -> bool:
        """Whether a namespace holds anything that neither `namespaces` nor `names` tells of."""

    def names(self, namespace: Namespace, type: ObjectType) -> list[str]:
        """The tables or views in a namespace."""

    def load(self, at: TablePlace) -> Pointer:
        """The pointer of a table or view; NotFound, or Unsupported for what is no Iceberg table."""

    def create(self, at: TablePlace, location: str, document: Json) -> None:
        """Make a pointer; AlreadyExists."""

    def swap(self, swap: Swap) -> None:
        """Move a pointer. INVARIANT: only from exactly what was read; Conflict about "commit" otherwise."""

    def drop(self, at: TablePlace) -> None:
        """Forget a pointer; NotFound."""

    def rename(self, at: TablePlace, to: TablePlace) -> None:
        """Give a pointer another name; NotFound, AlreadyExists."""


@runtime_checkable
class SwapsTogether(Protocol):
    """A system that can move several pointers, all or none."""

    def swap_together(self, swaps: Sequence[Swap]) -> None:
        """Move them all, or raise as `swap` and move none."""
