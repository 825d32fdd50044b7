"""A cache of the files of plans that requests are signed for: a thousand reads under a plan have it made again once."""

import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from typing import Final

from headgate.planning.file_set import FileSet

MOST_BYTES: Final = 32 << 20
_OVERHEAD: Final = 512
"""What a set takes besides its files, roughly."""


class PlannedFiles:
    """Sets of files of one process, the least used forgotten first. Who asks for one that is being made waits for it.

    INVARIANT: as for evaluations, the key holds all that the set depends on: caller, object, document, revision, view and
    token. So what was revoked or changed is never answered from here.
    """

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self.most_bytes = most_bytes
        self._kept: OrderedDict[bytes, FileSet] = OrderedDict()
        self._making: dict[bytes, Future[FileSet]] = {}
        self._bytes = 0
        self._lock = threading.Lock()

    @property
    def nbytes(self) -> int:
        """Memory held by sets."""
        return self._bytes

    def find(self, key: bytes | None, make: Callable[[], FileSet]) -> FileSet:
        """The set under the key, or what `make` makes now. Errors are not kept."""
        if key is None:
            return make()
        mine: Future[FileSet] = Future()
        with self._lock:
            found = self._kept.get(key)
            if found is not None:
                self._kept.move_to_end(key)
                return found
            begun = self._making.setdefault(key, mine)
        if begun is not mine:
            return begun.result()
        try:
            made = make()
        except BaseException as error:
            self._end(key, None)
            mine.set_exception(error)
            raise
        self._end(key, made)
        mine.set_result(made)
        return made

    def _end(self, key: bytes, made: FileSet | None) -> None:
        with self._lock:
            del self._making[key]
            if made is None or made.nbytes + _OVERHEAD > self.most_bytes:
                return
            self._kept[key] = made
            self._bytes += made.nbytes + _OVERHEAD
            while self._bytes > self.most_bytes:
                _, gone = self._kept.popitem(last=False)
                self._bytes -= gone.nbytes + _OVERHEAD
