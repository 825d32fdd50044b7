"""Files in memory: for governed manifests that answer one request and are then forgotten."""

import io

from pyiceberg.io import FileIO, InputFile, InputStream, OutputFile


class _HeldFile(InputFile):
    def __init__(self, location: str, data: bytes) -> None:
        super().__init__(location)
        self._data = data

    def __len__(self) -> int:
        return len(self._data)

    def exists(self) -> bool:
        return True

    def open(self, seekable: bool = True) -> InputStream:
        return io.BytesIO(self._data)


class MemoryFiles(FileIO):
    """A storage that knows what was written to it and nothing else."""

    def __init__(self) -> None:
        super().__init__()
        self._held: dict[str, bytes] = {}

    def write_bytes(self, location: str, data: bytes) -> None:
        self._held[location] = data

    def new_input(self, location: str) -> InputFile:
        if location not in self._held:
            raise FileNotFoundError(location)
        return _HeldFile(location, self._held[location])

    def new_output(self, location: str) -> OutputFile:
        raise NotImplementedError("written by write_bytes only")

    def delete(self, location: str | InputFile | OutputFile) -> None:
        raise NotImplementedError("forgotten as a whole only")
