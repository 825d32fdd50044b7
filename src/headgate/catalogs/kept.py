"""Catalogs whose schemas are kept in Headgate's own store: there is no other system to tell about them."""

from collections.abc import Mapping

from headgate.catalogs.folders import catalog_roots
from headgate.catalogs.interface import Namespace


class Kept:
    """A catalog without an outside system. Filesets, topics and models need no more; native tables build on it."""

    outside = False

    def own_places(self) -> tuple[str, ...]:
        return ()

    def own_sources(self) -> tuple[str, ...]:
        return ()

    def kept_folders(self) -> tuple[str, ...]:
        """None: whatever lies in such a catalog has a place of its own."""
        return ()

    def test(self) -> None:
        """The store answers, or the question would not have been decided."""

    def schemas(self, parent: Namespace) -> list[str]:
        return []

    def create_schema(self, name: Namespace, comment: str | None, properties: dict[str, str]) -> None:
        """The object row is all there is."""

    def alter_schema(self, name: Namespace, properties: dict[str, str]) -> None:
        """The object row is all there is."""

    def drop_schema(self, name: Namespace, *, cascade: bool) -> None:
        """The object row is all there is."""


class KeptFilesets(Kept):
    """Filesets, which lie where the catalog and its schemas say."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        self._roots = catalog_roots(properties)

    def kept_folders(self) -> tuple[str, ...]:
        return self._roots
