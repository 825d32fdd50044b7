"""Documents of tables and views alike: made, checked, changed, and the names of their files. What keeps the pointer differs."""

from collections.abc import Sequence
from typing import Any, Final

from headgate.catalogs import locations
from headgate.catalogs.iceberg import faults, table_metadata, view_metadata
from headgate.catalogs.iceberg.places import check_document
from headgate.catalogs.iceberg.storage import Storage
from headgate.model.errors import Damaged, HeadgateError, IllegalArgument
from headgate.model.objects import ObjectType, clip

Json = dict[str, Any]

FORMATS: Final = {ObjectType.TABLE: table_metadata, ObjectType.VIEW: view_metadata}
"""How documents of each type are made, checked and changed."""

_VERSIONS: Final = {ObjectType.TABLE: (1, 2, 3), ObjectType.VIEW: (1,)}
"""The format versions that can be served."""


def read(storage: Storage, location: str, type: ObjectType, name: str) -> Json:
    """The document of a table or view."""
    found = storage.read(location)
    if found.get("format-version") not in _VERSIONS[type] or not isinstance(found.get("location"), str):
        raise Damaged(
            f"the metadata file of {type} '{clip(name)}' is damaged",
            hint="restore it from a backup",
        )
    return found


def first(updates: Sequence[Json]) -> Json:
    """The first document of a table that a commit makes."""
    return table_metadata.applied(table_metadata.empty(_first_version(updates)), updates)


def following(type: ObjectType, now: Json, location: str, updates: Sequence[Json]) -> Json:
    """The document after a commit to one that lies at a location."""
    after = FORMATS[type].applied(now, updates)
    return table_metadata.logged(after, now, location) if type is ObjectType.TABLE else after


def checked_registered(storage: Storage, type: ObjectType, location: str, allowed: tuple[str, ...]) -> Json:
    """The document that a file holds, or a refusal of one that is none of its kind or names what is not in the catalog.

    INVARIANT: the file may be any that its place holds, so nothing is said that was read in it.
    """
    try:
        document = storage.read(location)
    except HeadgateError as error:
        raise _not_registered(location, error.message) from None
    try:
        FORMATS[type].checked(document)
    except Exception:
        # Whatever a parser stumbles over is the document's fault.
        reason = faults.of_table(document) if type is ObjectType.TABLE else "it is not the metadata of a view"
        raise _not_registered(location, reason) from None
    try:
        check_document(document, allowed)
    except HeadgateError:
        raise
    except Exception:
        raise _not_registered(location, "a part of it has the wrong type") from None
    return document


def metadata_file(document: Json, version: int) -> str:
    """The name of a new file for a document."""
    folder = document["properties"].get("write.metadata.path") or f"{document['location']}/metadata"
    return locations.metadata_file(folder, version)


def version_of(location: str) -> int:
    """The number of a metadata file; one that another writer named otherwise starts anew."""
    number = location.rpartition("/")[2].partition("-")[0]
    return int(number) if number.isascii() and number.isdigit() and len(number) < 10 else 0


def _first_version(updates: Sequence[Json]) -> int:
    """The format version that a new table asks for, known before its first snapshot is read by its rules."""
    asked = [u.get("format-version") for u in updates if u.get("action") == "upgrade-format-version"]
    return asked[0] if asked and isinstance(asked[0], int) else table_metadata.DEFAULT_FORMAT_VERSION


def _not_registered(location: str, reason: str) -> IllegalArgument:
    return IllegalArgument(f"'{clip(location, 200)}' cannot be registered", hint=reason)
