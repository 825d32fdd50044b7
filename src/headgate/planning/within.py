"""Whose files a plan may name: manifests are written by clients, and one might list another table's files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headgate.catalogs.locations import inside, normal
from headgate.planning.errors import ForeignFileError
from headgate.planning.indexing.columns import Array, Mask
from headgate.planning.indexing.segment import Segment, task_head

if TYPE_CHECKING:
    from headgate.planning.indexing.index import ManifestIndex

_ODD = r"//|/\.{1,2}(/|$)"
"""What could lead out of a folder again."""
_PLAIN = r'/([^/."\\][^/"\\]*/)*[^/."\\][^/"\\]*"'
"""The rest of a path as almost every writer spells it: no empty name, none that begins with a dot, nothing escaped."""


class Within(msgspec.Struct, frozen=True):
    """The folders that are the table's own.

    INVARIANT: a manifest or file outside of them is neither read nor planned, however its path is spelled.
    """

    folders: tuple[str, ...]

    @classmethod
    def of(cls, document: dict[str, Any]) -> Within:
        """The one folder that a table's document names as its own."""
        return cls((normal(str(document["location"])).rstrip("/"),))

    def check(self, path: str) -> None:
        """Refuse a manifest or manifest list that lies elsewhere."""
        if not any(inside(normal(path), folder) for folder in self.folders):
            raise ForeignFileError(path)

    def check_files(self, index: ManifestIndex, segment: Segment, rows: Array | Sequence[int]) -> None:
        """Refuse chosen files that lie elsewhere. A manifest's files are looked at once."""
        key = f"within|{segment.path}|{segment.count}|{'|'.join(self.folders)}"
        own: Mask = index.keep(key, lambda: self._own(segment), lambda mask: int(mask.nbytes) + 64)
        if len(own) == 1:
            if own[0]:
                return
            raise ForeignFileError(segment.path_at(int(rows[0])))
        chosen = np.asarray(rows)
        foreign = np.flatnonzero(~own[chosen])
        if len(foreign):
            raise ForeignFileError(segment.path_at(int(chosen[foreign[0]])))

    def _own(self, segment: Segment) -> Mask:
        """Which files lie inside; one value stands for all where they are alike."""
        if self._plainly_own(segment):
            return np.ones(1, bool)
        paths: Any = segment.paths(np.arange(segment.count)).cast(pa.large_string())
        known = pc.match_substring_regex(paths, self._pattern())
        # The scheme's own slashes are no empty segment.
        bare = pc.replace_substring_regex(paths, r"^[a-z0-9]+:(//)?", "")
        odd = pc.match_substring_regex(bare, _ODD)
        own: Mask = np.asarray(pc.and_(known, pc.invert(odd)))
        return own[:1] if len(own) and bool((own == own[0]).all()) else own

    def _plainly_own(self, segment: Segment) -> bool:
        """Whether all files lie inside, seen from their tasks as they are: taking the paths out costs several times more."""
        if segment.count == 0 or "path.at" in segment.arrays:
            return False
        pattern = "^" + re.escape(task_head(segment.spec_id).decode()) + self._pattern()[1:-1] + _PLAIN
        return bool(pc.all(pc.match_substring_regex(segment.tasks, pattern)).as_py())

    def _pattern(self) -> str:
        return "^(" + "|".join(_spellings(folder) for folder in self.folders) + ")/"


def _spellings(folder: str) -> str:
    """A pattern for all ways in which clients write the same folder; `normal` knows the same ones."""
    scheme, _, rest = folder.rstrip("/").partition("://")
    if scheme == "file":
        return "(file:(//)?)?" + re.escape(rest)
    if scheme == "s3":
        return "s3[an]?://" + re.escape(rest)
    return re.escape(folder.rstrip("/"))
