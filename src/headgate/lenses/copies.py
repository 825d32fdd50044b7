"""Governed copies: what a copy is a copy of, what it is called, and what is known about it."""

import hashlib
from typing import Final

import msgspec

from headgate.model.schema import Schema

SEPARATOR: Final = b"\0"


class SourceFile(msgspec.Struct, frozen=True):
    """A data file of a table together with the delete files that apply to it."""

    path: str
    deletes: tuple[str, ...] = ()


class Metrics(msgspec.Struct, frozen=True):
    """Statistics of one data file by field id, as manifests keep them."""

    column_sizes: dict[int, int] = {}
    value_counts: dict[int, int] = {}
    null_value_counts: dict[int, int] = {}
    nan_value_counts: dict[int, int] = {}
    lower_bounds: dict[int, bytes] = {}
    upper_bounds: dict[int, bytes] = {}


class GovernedCopy(msgspec.Struct, frozen=True):
    """A source file as seen through a lens. Without a location it has no row to show, and there is no file.

    INVARIANT: whoever keeps copies keeps one per key and names no other in governed metadata. A location belongs to one
    attempt, so an attempt that was killed or came second leaves files that nothing names, never a half-made copy.
    """

    key: str
    source: SourceFile
    location: str | None
    size: int = 0
    records: int = 0
    split_offsets: tuple[int, ...] = ()
    metrics: Metrics = Metrics()
    field_ids: frozenset[int] = frozenset()
    last_column_id: int = 0

    def fits(self, schema: Schema) -> bool:
        """Whether the copy can be read as this schema: what it lacks was added to the table later.

        A schema that was set back shows columns again which the copy was made without.
        """
        return all(id in self.field_ids or id > self.last_column_id for id in schema.by_id)


def copy_key(source: SourceFile, lens_id: str, population: int | None = None) -> str:
    """The name of a copy: equal for the same file, deletes and lens, in whatever snapshot they occur.

    `population` is the snapshot whose rows were counted, for lenses with a mask that depends on other rows.
    """
    parts = (lens_id, "" if population is None else str(population), source.path, *sorted(source.deletes))
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode()
        digest.update(str(len(data)).encode() + SEPARATOR + data)
    return digest.hexdigest()
