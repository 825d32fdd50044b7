"""What every catalog can do, whether its tables are kept here or in somebody else's system."""

from typing import Protocol

Namespace = tuple[str, ...]
"""The segments of a schema's name, the outermost first."""


class Catalog(Protocol):
    """One catalog, opened. Names and properties go in; nothing here asks who is calling."""

    outside: bool
    """Whether names live in another system, so that one may exist there before it has an object row here."""

    def test(self) -> None:
        """Make sure that the system behind the catalog answers, or raise ConnectionFailed."""

    def schemas(self, parent: Namespace) -> list[str]:
        """The names directly below this schema (or the catalog, for the empty namespace), if they are kept outside."""

    def create_schema(self, name: Namespace, comment: str | None, properties: dict[str, str]) -> None:
        """Make a schema in the system behind the catalog."""

    def alter_schema(self, name: Namespace, properties: dict[str, str]) -> None:
        """Give a schema exactly these properties."""

    def drop_schema(self, name: Namespace, *, cascade: bool) -> None:
        """Remove a schema, with all it holds if `cascade` says so."""
