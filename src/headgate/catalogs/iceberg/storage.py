"""Files: the storage that a warehouse names, and reading, writing and deleting there."""

import gzip
import os
import threading
import zlib
from collections import OrderedDict
from datetime import datetime
from typing import Any, Final

import orjson
from pyarrow.fs import FileSelector, FileType
from pyiceberg.io.pyarrow import PyArrowFileIO

from headgate.model.errors import ConnectionFailed, IllegalArgument, NotFound

Json = dict[str, Any]
Settings = tuple[tuple[str, str], ...]

_SETTINGS: Final = {
    "s3-endpoint": "s3.endpoint",
    "s3-region": "s3.region",
    "s3-access-key-id": "s3.access-key-id",
    "s3-secret-access-key": "s3.secret-access-key",
    "s3-session-token": "s3.session-token",
    "s3-path-style-access": "s3.path-style-access",
}
"""What a catalog may say about its storage, as Gravitino names it, and as pyiceberg does.

INVARIANT: nothing else of a catalog's properties reaches pyiceberg, which would import any class they name.
"""


_JAVA: Final = {"s3.region": "client.region"}
"""What Java calls otherwise."""


class _Kept:
    """The documents read lately, up to a number of bytes.

    INVARIANT: by storage as well as by place: whoever declares a catalog names any endpoint and any credentials.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._size = 0
        self._documents: OrderedDict[tuple[Settings, str], bytes] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, place: tuple[Settings, str]) -> bytes | None:
        with self._lock:
            found = self._documents.get(place)
            if found is not None:
                self._documents.move_to_end(place)
            return found

    def put(self, place: tuple[Settings, str], data: bytes) -> None:
        with self._lock:
            if place not in self._documents:
                self._documents[place] = data
                self._size += len(data)
            while self._size > self._most:
                self._size -= len(self._documents.popitem(last=False)[1])


_kept: Final = _Kept(128 * 1024 * 1024)


class Storage:
    """The files of one catalog."""

    def __init__(self, properties: dict[str, str]) -> None:
        known = {
            ours: value
            for key, value in properties.items()
            if (ours := _SETTINGS.get(key) or (key if key in _SETTINGS.values() else None))
        }
        self.settings = {_JAVA.get(key, key): value for key, value in known.items()}
        """The same for Iceberg's Java readers; may hold secrets."""
        if known.pop("s3.path-style-access", "").lower() == "false":
            known["s3.force-virtual-addressing"] = "true"
        self._settings: Settings = tuple(sorted(known.items()))
        self.io = PyArrowFileIO(known)

    def read(self, location: str) -> Json:
        """A metadata document. One never changes once it is written, so it is read from storage once."""
        kept = _kept.get((self._settings, location)) if _still_there(location) else None
        try:
            found = orjson.loads(kept or self._fetch(location))
        except orjson.JSONDecodeError as error:
            raise IllegalArgument("the table's metadata file is not JSON", hint=str(error)[:200]) from None
        if not isinstance(found, dict):
            raise IllegalArgument("the table's metadata file is not a document")
        return found

    def _fetch(self, location: str) -> bytes:
        try:
            with self.io.new_input(location).open() as stream:
                data: bytes = stream.read()
        except FileNotFoundError as error:
            raise NotFound(
                f"Failed to open input stream for file: {location}",
                hint="the metadata file is missing from its storage: restore it from a backup",
                about="metadata-file",
            ) from error
        except OSError as error:
            raise _unreachable(error) from error
        if data[:2] == b"\x1f\x8b":
            try:
                data = gzip.decompress(data)
            except (OSError, EOFError, zlib.error) as error:
                raise IllegalArgument(
                    "the table's metadata file is not JSON", hint=f"it cannot be unpacked: {error}"[:200]
                ) from None
        _kept.put((self._settings, location), data)
        return data

    def write(self, location: str, document: Json) -> None:
        """Write a document that is new; nothing is ever overwritten."""
        data = orjson.dumps(document)
        self.write_bytes(location, data)
        _kept.put((self._settings, location), data)

    def write_bytes(self, location: str, data: bytes) -> None:
        """Write a file that is new."""
        try:
            with self.io.new_output(location).create(overwrite=False) as stream:
                stream.write(data)
        except OSError as error:
            raise _unreachable(error) from error

    def delete(self, location: str) -> None:
        try:
            self.io.delete(location)
        except OSError as error:
            raise _unreachable(error) from error

    def delete_folder(self, location: str) -> None:
        """Delete everything below a place."""
        scheme, netloc, path = PyArrowFileIO.parse_location(location)
        try:
            files = self.io.fs_by_scheme(scheme, netloc)
            if files.get_file_info(FileSelector(path, allow_not_found=True)):
                files.delete_dir(path)
        except OSError as error:
            raise _unreachable(error) from error

    def holds_files(self, folder: str) -> bool:
        """Whether there is anything in a folder."""
        scheme, netloc, path = PyArrowFileIO.parse_location(folder)
        try:
            selector = FileSelector(path, allow_not_found=True)
            return bool(self.io.fs_by_scheme(scheme, netloc).get_file_info(selector))
        except OSError as error:
            raise _unreachable(error) from error

    def files(self, folder: str) -> list[tuple[str, datetime | None]]:
        """Every file below a place, and when it was written."""
        scheme, netloc, path = PyArrowFileIO.parse_location(folder)
        try:
            found = self.io.fs_by_scheme(scheme, netloc).get_file_info(
                FileSelector(path, allow_not_found=True, recursive=True)
            )
        except OSError as error:
            raise _unreachable(error) from error
        start = f"{scheme}://" if folder.startswith(f"{scheme}://") else ""
        return [(f"{start}{info.path}", info.mtime) for info in found if info.type == FileType.File]

    def probe(self, location: str) -> None:
        """Make sure that files can be written here, by writing one."""
        try:
            output = self.io.new_output(location)
            with output.create(overwrite=True) as stream:
                stream.write(b"headgate")
            self.io.delete(location)
        except OSError as error:
            raise _unreachable(error) from error


def _still_there(location: str) -> bool:
    """Whether a local file is still there: nearly free to ask, and a lost one is told instead of hidden by memory.

    Remote files are believed to be there, as asking costs as much as reading them.
    """
    path = location.removeprefix("file://").removeprefix("file:")
    return not path.startswith("/") or os.path.exists(path)


def _unreachable(error: OSError) -> ConnectionFailed:
    reason = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
    return ConnectionFailed("the warehouse cannot be used", hint=reason)
