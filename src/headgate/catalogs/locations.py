"""Places in storage: what a warehouse may be, where a table goes, and whether one place lies inside another."""

import re
import uuid
from typing import Final

from headgate.model.errors import IllegalArgument
from headgate.model.objects import clip
from headgate.model.places import normal

__all__ = ["GOVERNED", "checked_warehouse", "inside", "metadata_file", "more_places", "normal", "segment"]

GOVERNED: Final = "_headgate"
"""The folder of a warehouse that holds what views leave of tables; no table lies in one."""

_SCHEMES: Final = frozenset({"file", "s3"})
_PLAIN: Final = re.compile(r"[\w.=@+\- ]+", re.ASCII)
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9_-]+")


def checked_warehouse(text: str) -> str:
    """A warehouse as a URI without a trailing slash, or a refusal of what could mean another place."""
    uri = f"file://{text}" if text.startswith("/") else text
    if uri.startswith("file:/") and not uri.startswith("file://"):
        uri = "file://" + uri.removeprefix("file:")
    scheme, separator, rest = uri.partition("://")
    path = rest.removeprefix("/") if scheme == "file" else rest
    parts = path.rstrip("/").split("/")
    if (
        not separator
        or scheme not in _SCHEMES
        or (scheme == "file" and not rest.startswith("/"))
        or any(part in (".", "..") or not _PLAIN.fullmatch(part) for part in parts)
    ):
        raise IllegalArgument(
            f"'{clip(text)}' cannot be a warehouse",
            hint="give an absolute folder (/…, file:///…) or s3://bucket/…, in plain characters and without '..'",
        )
    return f"{scheme}://{'/' if scheme == 'file' else ''}{'/'.join(parts)}"


def inside(place: str, folder: str) -> bool:
    """Whether a place is the folder or lies in it, compared segment by segment.

    INVARIANT: ``…/t1`` does not hold ``…/t10``, and nothing with ``..``, ``.`` or an empty segment is inside anything.
    """
    scheme, _, rest = place.partition("://")
    folder_scheme, _, folder_rest = folder.partition("://")
    if scheme != folder_scheme:
        return False
    parts = rest.removeprefix("/").split("/")
    wanted = folder_rest.removeprefix("/").rstrip("/").split("/")
    return parts[: len(wanted)] == wanted and not any(part in ("", ".", "..") for part in parts)


def segment(name: str) -> str:
    """A name as one plain path segment for people to recognise; what makes a folder unique is the id beside it."""
    return _UNSAFE.sub("_", name)[:64]


def metadata_file(folder: str, version: int) -> str:
    """A new name for a table's document, as Iceberg's specification wants it; some readers take no other."""
    return f"{folder.rstrip('/')}/{version:05d}-{uuid.uuid4()}.metadata.json"


def more_places(properties: dict[str, str]) -> list[str]:
    """The property `allowed-locations`: folders besides a catalog's own in which its tables may lie."""
    listed = [text.strip() for text in properties.get("allowed-locations", "").split(",")]
    return [checked_warehouse(text) for text in listed if text]
