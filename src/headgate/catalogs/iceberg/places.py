"""Which places and settings a table's document may name: nothing outside its catalog, nothing that loads foreign code."""

from collections.abc import Iterator
from typing import Any, Final

from headgate.catalogs.locations import GOVERNED, inside, normal
from headgate.model.errors import IllegalArgument

Json = dict[str, Any]

PLACES: Final = (
    "write.data.path",
    "write.metadata.path",
    "write.folder-storage.path",
    "write.object-storage.path",
)
CODE: Final = ("write.py-location-provider", "write.location-provider", "py-io-impl", "io-impl")


def check_document(document: Json, allowed: tuple[str, ...]) -> None:
    """Refuse a document that names a place outside the catalog's own, or code for readers to load.

    INVARIANT: asked for every document before it is written or pointed to, so nothing in it can make the server, or a
    credential it gives, reach anywhere else.
    """
    for key in document.get("properties", {}):
        if key.startswith(CODE):
            raise IllegalArgument(
                f"property '{next(code for code in CODE if key.startswith(code))}' cannot be set",
                hint="it would make readers load code of their writer",
            )
    place = document.get("location")
    if not isinstance(place, str) or not any(inside(normal(place), folder) for folder in allowed):
        raise IllegalArgument(
            "the table's location is not inside this catalog",
            hint=f"use a place under {' or '.join(allowed)}, or leave the location out",
        )
    own = normal(place)
    if GOVERNED in own.split("/"):
        raise IllegalArgument(
            f"no table can lie in a folder called '{GOVERNED}'", hint="leave the location out"
        )
    for key in PLACES:
        path = document.get("properties", {}).get(key)
        if path is not None and not inside(normal(path), own):
            raise IllegalArgument(
                f"property '{key}' leads out of the table's folder", hint="stay inside the table's location"
            )
    for what, place in _files(document):
        if not inside(normal(place), own):
            raise IllegalArgument(f"{what} names a file that is not inside the table")


def _files(document: Json) -> Iterator[tuple[str, str]]:
    """Every file that a document names, and what names it."""
    for snapshot in document.get("snapshots", []):
        for place in (snapshot.get("manifest-list"), *snapshot.get("manifests", [])):
            if place is not None:
                yield "a snapshot", str(place)
    for kind in ("statistics", "partition-statistics"):
        for entry in document.get(kind, []):
            yield kind, str(entry.get("statistics-path"))
