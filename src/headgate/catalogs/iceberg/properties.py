"""Which properties a table may be given: nothing may lead its files elsewhere or make a reader load foreign code."""

from typing import Final

from headgate.catalogs.iceberg.places import CODE, PLACES
from headgate.catalogs.locations import inside
from headgate.model.errors import IllegalArgument
from headgate.model.objects import clip

_VERSION: Final = "format-version"
_VERSIONS: Final = ("1", "2", "3")

_OWN: Final = frozenset(
    {"comment", "current-snapshot-id", "identifier-fields", "location", "provider", "sort-order", "uuid"}
)
"""What the format or the catalog says of a table; nobody sets it as a property."""


def checked_property(key: str, value: str, location: str) -> None:
    """Refuse a property that is not the client's to set.

    INVARIANT: no property leads files of a table out of the table's own folder.
    """
    if not key or len(key) > 255 or not key.isprintable():
        raise IllegalArgument(f"'{clip(key)}' cannot be a property", hint="use 1 to 255 printable characters")
    if key in _OWN or key == _VERSION:
        raise IllegalArgument(f"property '{key}' cannot be set", hint="the catalog itself tells it")
    if key.startswith(CODE):
        raise IllegalArgument(
            f"property '{clip(key)}' cannot be set", hint="it would make readers load code of their writer"
        )
    if key in PLACES and value and not inside(value, location):
        raise IllegalArgument(
            f"property '{key}' leads out of the table's folder", hint=f"stay inside {location}"
        )


def checked_table_properties(properties: dict[str, str], location: str) -> dict[str, str]:
    """The properties of a new table; the format's version is taken here and nowhere else."""
    version = properties.get(_VERSION, "2")
    if version not in _VERSIONS:
        raise IllegalArgument(
            f"Iceberg format version '{clip(version)}' cannot be written",
            hint=f"use {' or '.join(_VERSIONS)}",
        )
    kept = {key: value for key, value in properties.items() if key != _VERSION}
    for key, value in kept.items():
        checked_property(key, value, location)
    return {**kept, _VERSION: version}
