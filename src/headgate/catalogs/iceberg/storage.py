"""Files: the storage that a warehouse names, and reading, writing and deleting there."""

from typing import Final

from pyarrow.fs import FileSelector
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.serializers import FromInputFile, ToOutputFile
from pyiceberg.table.metadata import TableMetadata

from headgate.model.errors import ConnectionFailed, HeadgateError

_SETTINGS: Final = {
    "s3-endpoint": "s3.endpoint",
    "s3-region": "s3.region",
    "s3-access-key-id": "s3.access-key-id",
    "s3-secret-access-key": "s3.secret-access-key",
    "s3-session-token": "s3.session-token",
    "s3-path-style-access": "s3.path-style-access",
    "s3-role-arn": "s3.role-arn",
}
"""What a catalog may say about its storage, as Gravitino names it, and as pyiceberg does.

INVARIANT: nothing else of a catalog's properties reaches pyiceberg, which would import any class they name.
"""


class Storage:
    """The files of one catalog."""

    def __init__(self, properties: dict[str, str]) -> None:
        known = {
            ours: value
            for key, value in properties.items()
            if (ours := _SETTINGS.get(key) or (key if key in _SETTINGS.values() else None))
        }
        if known.pop("s3.path-style-access", "").lower() == "false":
            known["s3.force-virtual-addressing"] = "true"
        self.io = PyArrowFileIO(known)

    def read(self, location: str) -> TableMetadata:
        try:
            return FromInputFile.table_metadata(self.io.new_input(location))
        except FileNotFoundError as error:
            raise HeadgateError(
                "the table's metadata file is missing from its storage", hint="restore it from a backup"
            ) from error
        except OSError as error:
            raise _unreachable(error) from error

    def write(self, location: str, metadata: TableMetadata) -> None:
        try:
            ToOutputFile.table_metadata(metadata, self.io.new_output(location))
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

    def probe(self, location: str) -> None:
        """Make sure that files can be written here, by writing one."""
        try:
            output = self.io.new_output(location)
            with output.create(overwrite=True) as stream:
                stream.write(b"headgate")
            self.io.delete(location)
        except OSError as error:
            raise _unreachable(error) from error


def _unreachable(error: OSError) -> ConnectionFailed:
    reason = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
    return ConnectionFailed("the warehouse cannot be used", hint=reason)
