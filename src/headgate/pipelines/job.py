"""A job as a value: which files of a table are copied through which lens, and to where."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from headgate.lenses.copies import Arrangement, CopySource, copy_key
from headgate.lenses.rendering import RenderedLens

Json = dict[str, Any]


@dataclass(frozen=True)
class MaterialiseJob:
    """Files of one snapshot to be copied through one lens.

    `output` is the lens's folder, which its readers may read; `staging` a folder that no reader may.
    """

    document: Json
    snapshot_id: int
    sources: tuple[CopySource, ...]
    lens: RenderedLens
    output: str
    staging: str
    arrangement: Arrangement = Arrangement.AS_WRITTEN
    storage: Mapping[str, str] = field(default_factory=dict, repr=False)
    """How Spark reaches the files; may hold secrets."""

    @property
    def population(self) -> int | None:
        """The snapshot whose rows count, if the lens has a mask that counts rows."""
        return self.snapshot_id if self.lens.counted else None

    def key(self, source: CopySource) -> str:
        return copy_key(source, self.lens.id, self.arrangement, self.population)
