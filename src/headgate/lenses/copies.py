"""Governed copies: what a copy is a copy of, what it is called, and what is known about it."""

import hashlib
from collections.abc import Iterable
from enum import Enum
from typing import Final

import msgspec

from headgate.model.schema import Schema

SEPARATOR: Final = b"\0"
_FORM: Final = "2"
"""Raised whenever copies come out otherwise than before: those of an older form are made again."""


class Arrangement(Enum):
    """How the rows of a copy lie. What a lens hides must not show in the order of rows or in the bounds of files."""

    AS_WRITTEN = "as-written"
    """One file per source file, its rows in their own order: for lenses that only filter rows."""
    SHUFFLED = "shuffled"
    """One file per source file, its rows in an order that depends on nothing but what is shown."""
    MERGED = "merged"
    """The files that one commit added become one copy, cut by the number of visible rows only."""


class SourceFile(msgspec.Struct, frozen=True):
    """A data file of a table together with the delete files that apply to it."""

    path: str
    deletes: tuple[str, ...] = ()


class CopySource(msgspec.Struct, frozen=True):
    """What one copy is made of: one data file or, where copies are merged, all files that one commit added."""

    files: tuple[SourceFile, ...]

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(file.path for file in self.files)


class FileMetrics(msgspec.Struct, frozen=True):
    """Statistics of one data file by field id, as manifests keep them."""

    column_sizes: dict[int, int] = {}
    value_counts: dict[int, int] = {}
    null_value_counts: dict[int, int] = {}
    nan_value_counts: dict[int, int] = {}
    lower_bounds: dict[int, bytes] = {}
    upper_bounds: dict[int, bytes] = {}


class CopyFile(msgspec.Struct, frozen=True):
    """One data file of a copy."""

    location: str
    size: int = 0
    records: int = 0
    split_offsets: tuple[int, ...] = ()
    metrics: FileMetrics = FileMetrics()


class GovernedCopy(msgspec.Struct, frozen=True):
    """A source as seen through a lens. A copy without files has no row to show.

    INVARIANT: whoever keeps copies keeps one per key and names no other in governed metadata. A location belongs to one
    attempt, so an attempt that was killed or came second leaves files that nothing names, never a half-made copy.
    """

    key: str
    source: CopySource
    files: tuple[CopyFile, ...] = ()
    field_ids: frozenset[int] = frozenset()
    last_column_id: int = 0

    def fits(self, schema: Schema) -> bool:
        """Whether the copy can be read as this schema: what it lacks was added to the table later.

        A schema that was set back shows columns again which the copy was made without.
        """
        return not self.files or all(id in self.field_ids or id > self.last_column_id for id in schema.by_id)


def copy_key(
    source: CopySource,
    lens_id: str,
    arrangement: Arrangement = Arrangement.AS_WRITTEN,
    population: int | None = None,
) -> str:
    """The name of a copy: equal for the same files, deletes, lens and arrangement, in whatever snapshot they occur.

    `population` is the snapshot whose rows were counted, for lenses with a mask that depends on other rows.
    """
    parts = [_FORM, lens_id, arrangement.value, "" if population is None else str(population)]
    for file in sorted(source.files, key=lambda file: file.path):
        parts += [file.path, str(len(file.deletes)), *sorted(file.deletes)]
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode()
        digest.update(str(len(data)).encode() + SEPARATOR + data)
    return digest.hexdigest()


def by_source(copies: Iterable[GovernedCopy]) -> dict[str, GovernedCopy]:
    """Copies by the paths of their source files; a merged copy stands under each of them."""
    return {path: copy for copy in copies for path in copy.source.paths}
