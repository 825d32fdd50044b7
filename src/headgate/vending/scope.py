"""What somebody may touch of a catalog's storage."""

from typing import Protocol

import msgspec

from headgate.catalogs.locations import inside, normal


class LocationAccess(Protocol):
    """Whatever can tell of one location whether it may be read or written."""

    def reads(self, location: str) -> bool: ...

    def writes(self, location: str) -> bool: ...


class Scope(msgspec.Struct, frozen=True):
    """Folders and single files that may be read, and folders that may be written as well."""

    folders: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    listed: tuple[str, ...] = ()
    """Folders whose files may be listed. Writers of a folder may list it, too."""

    def __bool__(self) -> bool:
        return bool(self.folders or self.files or self.write)

    @property
    def places(self) -> tuple[str, ...]:
        """All that it names."""
        return (*self.folders, *self.files, *self.write, *self.listed)

    def reads(self, location: str) -> bool:
        at = normal(location)
        # Files may be many and are mostly spelled as asked for: that is seen at a glance.
        return (
            any(_below(at, folder) for folder in (*self.folders, *self.write))
            or at in self.files
            or any(at == normal(file) for file in self.files)
        )

    def writes(self, location: str) -> bool:
        return any(_below(normal(location), folder) for folder in self.write)


def _below(location: str, folder: str) -> bool:
    """Inside a folder, and not the folder itself: an object of that very name is somebody else's."""
    here = normal(folder).removesuffix("/")
    return location != here and inside(location, here)
