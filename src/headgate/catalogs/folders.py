"""Folders of filesets: where one goes, and the few things done with it on local storage.

INVARIANT: the server reads, makes and removes files only inside roots of catalogs that lie in places which the operator
opened. A location in a kind of storage that the server does not use is recorded and handed out, never touched.
"""

import os
import re
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

import msgspec

from headgate.catalogs.openings import Openings
from headgate.model.errors import IllegalArgument, NotFound, Unsupported
from headgate.model.objects import clip

UNKNOWN: Final = "unknown"
"""The name of a location that was given none."""

DEFAULT_NAME: Final = "default-location-name"

_PLACEHOLDER: Final = re.compile(r"\{\{(.*?)\}\}")
_PREFIX: Final = "placeholder-"
_LOCATION: Final = re.compile(r"[a-z][a-z0-9+.-]*:/[^\x00-\x1f\x7f*?\\\"'$%{}|<>^`]*")
MAX_LISTED: Final = 10_000


class FileInfo(msgspec.Struct, frozen=True):
    """A file or folder directly in a folder; `modified` counts milliseconds."""

    name: str
    is_dir: bool
    size: int
    modified: int


def named_locations(properties: Mapping[str, str]) -> dict[str, str]:
    """The locations that a catalog or schema declares: `location` and `location-<name>`."""
    found = {}
    for key, value in properties.items():
        if key == "location" or key.startswith("location-"):
            found[key.removeprefix("location").removeprefix("-") or UNKNOWN] = value
    return found


def catalog_roots(properties: Mapping[str, str]) -> tuple[str, ...]:
    """The folders in which a catalog declares that its filesets lie, of those kinds of storage that the server uses."""
    named = (checked_location(before_placeholder(place)) for place in named_locations(properties).values())
    return tuple(root for root in named if is_touched(root))


def filled(location: str, words: Mapping[str, str]) -> str:
    """A location with its ``{{placeholders}}`` replaced."""

    def word(match: re.Match[str]) -> str:
        if match[1] not in words:
            raise IllegalArgument(
                f"the location has the placeholder '{clip(match[1])}' without a value",
                hint=f"give the property '{_PREFIX}{clip(match[1])}'",
            )
        return words[match[1]]

    return _PLACEHOLDER.sub(word, location)


def placeholders(properties: Mapping[str, str]) -> dict[str, str]:
    """The values that properties give to placeholders."""
    return {k.removeprefix(_PREFIX): v for k, v in properties.items() if k.startswith(_PREFIX)}


def has_placeholder(location: str) -> bool:
    return _PLACEHOLDER.search(location) is not None


def checked_location(text: str) -> str:
    """A location with its scheme (``/x`` is ``file:/x``), or a refusal of what could mean another place."""
    uri = f"file:{text}" if text.startswith("/") else text
    if uri.startswith("file:/"):
        uri = "file:/" + uri.removeprefix("file:").lstrip("/")
    scheme, _, rest = uri.partition(":")
    uri = f"{scheme.lower()}:{rest}"
    tail = uri.removesuffix("/") if rest.strip("/") else uri
    if not _LOCATION.fullmatch(uri) or any(part in (".", "..") for part in rest.split("/")):
        raise IllegalArgument(
            f"'{clip(text)}' cannot be a storage location",
            hint="give an absolute path or a URI such as s3://bucket/folder, without '..' or wildcards",
        )
    return tail


def checked_sub_path(text: str) -> str:
    """A path inside a fileset: empty, or beginning with a slash."""
    path = text.strip()
    parts = path.strip("/").split("/")
    if any(part in (".", "..") for part in parts) or "\\" in path or any(ord(c) < 32 for c in path):
        raise IllegalArgument(f"'{clip(text)}' is not a path inside the fileset", hint="leave out '..'")
    return path if not path or path.startswith("/") else "/" + path


def local(location: str) -> Path | None:
    """The folder of a location on local storage."""
    return Path("/" + location.removeprefix("file:").lstrip("/")) if location.startswith("file:") else None


def is_touched(location: str) -> bool:
    """Whether a location is in a kind of storage that this server uses, so that the operator has to open it."""
    return location.startswith(("file:", "s3:", "s3a:", "s3n:"))


def before_placeholder(place: str) -> str:
    """The fixed beginning of a location, up to the last whole folder before a placeholder."""
    return place.split("{{", 1)[0].rsplit("/", 1)[0] if has_placeholder(place) else place


def real_paths(locations: Iterable[str]) -> list[Path]:
    """The local ones of some locations, with every link on the way followed."""
    places = (local(location) for location in locations)
    return [Path(os.path.realpath(place)) for place in places if place is not None]


class Folders:
    """Local folders under roots in opened places. Paths are compared after every link on the way is followed."""

    def __init__(self, roots: Iterable[str], openings: Openings) -> None:
        self.openings = openings
        self.roots = tuple(real_paths(root for root in roots if openings.holds(root)))

    def path(self, location: str) -> Path | None:
        """The real folder of a location, if it lies strictly inside a root."""
        for real in real_paths([location]):
            # Asked of the folder as well as of its root: a link inside of the root may lead out of all places.
            if self.openings.holds(location) and any(root in real.parents for root in self.roots):
                return real
        return None

    def make(self, location: str) -> bool:
        """Make the folder of a location inside the roots; tell whether it was not there before."""
        path = self.path(location)
        if path is None:
            return False
        if path.exists():
            if not path.is_dir():
                raise IllegalArgument(f"the location '{clip(location)}' is a file", hint="name a folder")
            return False
        path.mkdir(parents=True)
        return True

    def holds_files(self, location: str) -> bool:
        """Whether there is anything in the folder of a location."""
        path = self.path(location)
        return path is not None and path.is_dir() and next(path.iterdir(), None) is not None

    def remove(self, location: str) -> None:
        """Remove a folder and all that is in it. Links in it are removed, not followed."""
        path = self.path(location)
        if path is not None and path.is_dir():
            shutil.rmtree(path)

    def files(self, location: str, sub_path: str) -> list[FileInfo]:
        """What lies in a folder of a location, by name."""
        folder = self.path(location)
        if folder is None:
            raise Unsupported(
                f"files in '{clip(location)}' cannot be listed by this server",
                hint="only folders inside the location of the catalog or the server's warehouse can; "
                "read others with a client of that storage",
            )
        wanted = Path(os.path.realpath(folder / sub_path.strip("/")))
        if wanted != folder and folder not in wanted.parents:
            raise IllegalArgument(f"'{clip(sub_path)}' leads out of the fileset")
        if not wanted.is_dir():
            raise NotFound(f"there is no folder '{clip(sub_path)}' in the fileset", about="file")
        found: list[FileInfo] = []
        with os.scandir(wanted) as entries:
            for entry in entries:
                if len(found) == MAX_LISTED:
                    raise IllegalArgument(
                        f"the folder holds more than {MAX_LISTED} files", hint="list its folders one by one"
                    )
                stat = entry.stat(follow_symlinks=False)
                is_dir = entry.is_dir(follow_symlinks=False)
                found.append(
                    FileInfo(entry.name, is_dir, 0 if is_dir else stat.st_size, int(stat.st_mtime * 1000))
                )
        return sorted(found, key=lambda info: info.name)
