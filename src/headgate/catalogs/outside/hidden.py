"""What another system holds and a catalog does not show: nobody could judge it, so nothing from here drops it."""

from collections.abc import Iterable

from headgate.catalogs.interface import Namespace
from headgate.model.errors import NotEmpty
from headgate.model.objects import MOST_LEVELS, SCHEMA_SEPARATOR, ObjectType, clip, governable


def check_shown(schema: Namespace, names: Iterable[str], *, hides: bool = False) -> None:
    """Refuse to empty a schema of names that cannot be governed here, or that the catalog `hides`."""
    if hides or len(schema) > MOST_LEVELS or not all(map(governable, names)):
        raise NotEmpty(
            f"schema '{clip(SCHEMA_SEPARATOR.join(schema))}' is not empty: it holds what this catalog does not show",
            hint="drop that in the system behind the catalog first; nothing was dropped",
            about=ObjectType.SCHEMA,
        )
