"""Files: the storage that a warehouse names, and reading, writing and deleting there.

INVARIANT: `GuardedIO` is the only way to files. It asks what the operator opened before every open, list, write and
delete, whatever named the path: a property, a document, a manifest or another catalog's answer.
"""

import gzip
import io
import os
import re
import shutil
import threading
import zlib
from collections import OrderedDict
from datetime import datetime
from functools import lru_cache
from typing import Any, Final

import orjson
from pyarrow.fs import FileSelector, FileSystem, FileType
from pyiceberg.io import InputFile, OutputFile
from pyiceberg.io.pyarrow import PyArrowFile, PyArrowFileIO
from pyiceberg.typedef import EMPTY_DICT, Properties

from headgate.catalogs.locations import normal
from headgate.catalogs.openings import RAISE_LARGEST, Openings
from headgate.catalogs.storage_settings import StorageSettings
from headgate.model.errors import ConnectionFailed, Forbidden, IllegalArgument, NotFound

Json = dict[str, Any]
Settings = tuple[tuple[str, str], ...]

_MOST_COPIED: Final = 5_000_000_000
"""Bytes that S3 copies in one request."""


class _RecentDocuments:
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


_kept: Final = _RecentDocuments(128 * 1024 * 1024)


class GuardedIO(PyArrowFileIO):
    """Files inside the places that the operator opened, and no others."""

    def __init__(self, properties: dict[str, str], openings: Openings) -> None:
        # The places are part of what tells storages apart: nothing that was read while more was open is remembered.
        super().__init__({**properties, "headgate.places": ",".join(openings.places)})
        self.openings = openings
        self._file_system = lru_cache(self._initialize_fs)
        # Nobody gets a file system without naming the path that it is for.
        self.fs_by_scheme = _no_file_system

    @staticmethod
    def parse_location(location: str, properties: Properties = EMPTY_DICT) -> tuple[str, str, str]:
        """Take a location literally. A parser of URIs would cut it off at '?', '#' or ';' after it was checked."""
        scheme, separator, rest = normal(location).partition("://")
        if not separator or scheme not in ("file", "s3") or (scheme == "file" and not rest.startswith("/")):
            raise Forbidden(
                "a file lies in storage that this server does not use", hint="use file:/// or s3://"
            )
        return scheme, "" if scheme == "file" else rest.partition("/")[0], rest

    def opened(self, location: str) -> tuple[Any, str]:
        """The file system that a file or folder lies in, and its path there, if the operator opened it."""
        self.openings.check(location)
        scheme, bucket, path = self.parse_location(location)
        return self._file_system(scheme, bucket), path

    def new_input(self, location: str) -> PyArrowFile:
        files, path = self.opened(location)
        return PyArrowFile(location, path, files)

    def new_output(self, location: str) -> PyArrowFile:
        return self.new_input(location)

    def delete(self, location: str | InputFile | OutputFile) -> None:
        files, path = self.opened(location if isinstance(location, str) else location.location)
        files.delete_file(path)


def _no_file_system(scheme: str, netloc: str | None = None) -> FileSystem:
    raise AssertionError("files are reached by GuardedIO.opened")


class MissingDocument(NotFound):
    """A table's metadata file is gone. Only callers who see all of the table are told where it lay."""

    def __init__(self, location: str, *, named: bool = False) -> None:
        super().__init__(
            f"Failed to open input stream for file: {location if named else 'a metadata file'}",
            hint="it is missing from its storage: restore it from a backup",
            about="metadata-file",
        )
        self.location = location


class Storage:
    """The files of one catalog."""

    def __init__(self, properties: dict[str, str], openings: Openings) -> None:
        # INVARIANT: asked here, so that no catalog of any type sends this server to a host which is not open.
        try:
            openings.check_addresses(properties)
        except IllegalArgument as error:
            raise Forbidden(error.message, hint=error.hint) from None
        # INVARIANT: nothing else of a catalog's properties reaches pyiceberg, which would import any class they name.
        self.settings = StorageSettings.of(properties).access()
        """How Iceberg's readers in Java and in Python reach the files; may hold secrets."""
        self.openings = openings
        self._largest = openings.largest_document
        self.io = GuardedIO(self.settings, openings)
        self._settings: Settings = tuple(sorted(self.io.properties.items()))

    def read(self, location: str) -> Json:
        """A metadata document. One never changes once it is written, so it is read from storage once."""
        kept = _kept.get((self._settings, location)) if _still_there(location) else None
        try:
            found = orjson.loads(kept or self._fetch(location))
        except orjson.JSONDecodeError:
            raise IllegalArgument("the table's metadata file is not JSON") from None
        if not isinstance(found, dict):
            raise IllegalArgument("the table's metadata file is not a document")
        return found

    def _fetch(self, location: str) -> bytes:
        try:
            with self.io.new_input(location).open() as stream:
                data: bytes = stream.read(self._largest + 1)
        except FileNotFoundError as error:
            raise MissingDocument(location) from error
        except OSError as error:
            raise _unreachable(error) from error
        if data[:2] == b"\x1f\x8b":
            try:
                # INVARIANT: never unpacked further than may be kept: a few bytes can stand for any number.
                with gzip.GzipFile(fileobj=io.BytesIO(data)) as packed:
                    data = packed.read(self._largest + 1)
            except (OSError, EOFError, zlib.error):
                raise IllegalArgument(
                    "the table's metadata file is not JSON", hint="it cannot be unpacked"
                ) from None
        if len(data) > self._largest:
            raise IllegalArgument(
                f"the table's metadata is larger than {self._largest // (1024 * 1024)} MiB",
                hint=f"expire snapshots of the table, or {RAISE_LARGEST}",
            )
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

    def delete_if_there(self, location: str) -> None:
        """Delete a file that may not exist."""
        try:
            self.io.delete(location)
        except FileNotFoundError:
            return
        except OSError as error:
            raise _unreachable(error) from error

    def move(self, source: str, target: str) -> None:
        """Give a file another place in the same storage: renamed where files are local, copied by the server where not."""
        if self.io.parse_location(source)[:2] != self.io.parse_location(target)[:2]:
            raise IllegalArgument("a file cannot be moved to another storage", hint="keep both in one bucket")
        (files, path), (_, goal) = self.io.opened(source), self.io.opened(target)
        try:
            if not normal(source).startswith("s3://"):
                files.create_dir(goal.rpartition("/")[0], recursive=True)
            elif files.get_file_info(path).size > _MOST_COPIED:
                # The server copies no more than this at once.
                with files.open_input_stream(path) as read, files.open_output_stream(goal) as write:
                    shutil.copyfileobj(read, write, 1 << 24)
                files.delete_file(path)
                return
            files.move(path, goal)
        except OSError as error:
            raise _unreachable(error) from error

    def delete_folder(self, location: str) -> None:
        """Delete everything below a place."""
        files, path = self.io.opened(location)
        try:
            if files.get_file_info(FileSelector(path, allow_not_found=True)):
                files.delete_dir(path)
        except OSError as error:
            raise _unreachable(error) from error

    def holds_files(self, folder: str) -> bool:
        """Whether there is any file below a place; empty folders that a discarded file left behind do not count."""
        files, path = self.io.opened(folder)
        try:
            for recursive in (False, True):
                selector = FileSelector(path, allow_not_found=True, recursive=recursive)
                found = files.get_file_info(selector)
                if not found or any(info.type == FileType.File for info in found):
                    return bool(found)
            return False
        except OSError as error:
            raise _unreachable(error) from error

    def files(self, folder: str) -> list[tuple[str, datetime | None]]:
        """Every file below a place, and when it was written."""
        files, path = self.io.opened(folder)
        try:
            found = files.get_file_info(FileSelector(path, allow_not_found=True, recursive=True))
        except OSError as error:
            raise _unreachable(error) from error
        scheme = folder.partition("://")[0]
        start = f"{scheme}://" if folder.startswith(f"{scheme}://") else ""
        return [(f"{start}{info.path}", info.mtime) for info in found if info.type == FileType.File]

    def probe(self, location: str) -> None:
        """Make sure that files can be written here, by writing one.

        Whoever asks has named the storage or may use it for tables. So S3 is quoted in full: its words name the bucket and this
        file, and a kind of error alone does not say which of the properties is wrong.
        """
        try:
            output = self.io.new_output(location)
            with output.create(overwrite=True) as stream:
                stream.write(b"headgate")
            self.io.delete(location)
        except OSError as error:
            if location.startswith("s3://"):
                raise ConnectionFailed("the warehouse cannot be used", hint=str(error)) from error
            raise _unreachable(error) from error


def _still_there(location: str) -> bool:
    """Whether a local file is still there: nearly free to ask, and a lost one is told instead of hidden by memory.

    Remote files are believed to be there, as asking costs as much as reading them.
    """
    path = location.removeprefix("file://").removeprefix("file:")
    return not path.startswith("/") or os.path.exists(path)


_CODE: Final = re.compile(r"AWS Error ([A-Z_]{2,60})")


def _unreachable(error: OSError) -> ConnectionFailed:
    """Say why storage did not answer: by the kind of fault, for the words of others quote paths and documents."""
    found = _CODE.search(str(error))
    known = os.strerror(error.errno) if error.errno else type(error).__name__
    return ConnectionFailed("the warehouse cannot be used", hint=f"S3 answers {found[1]}" if found else known)
