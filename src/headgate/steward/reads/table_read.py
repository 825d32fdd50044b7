"""One read of one table: made once for a permit, then handed to whoever loads, plans, vends, audits or copies."""

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import msgspec

from headgate.catalogs.interface import Document, IcebergCatalog
from headgate.catalogs.locations import normal
from headgate.decide.policies.lens import Lens
from headgate.decide.policies.shape import Shape
from headgate.lenses.arrangement import arrangement_of
from headgate.lenses.copies import Arrangement, CopySource, copy_key
from headgate.lenses.outline import NAME_MAPPING, governed_specs
from headgate.lenses.rendering import RenderedLens
from headgate.model.errors import Unsupported
from headgate.planning import Veil, Within
from headgate.planning.request import NO_VEIL
from headgate.steward.reads.modes import COPY, LAZY, ORIGINALS, PARTITIONS
from headgate.steward.reads.restrictions import Delegated

Json = dict[str, Any]

_FORM: Final = 2
"""Raised whenever governed manifests come out otherwise than before: those of an older form are written again."""


@dataclass(frozen=True)
class TableRead:
    """A table as one caller reads it: its document of this moment, and what of it they see. This one shows all of it."""

    table: int
    document: Document
    adapter: IcebergCatalog

    @property
    def copy_id(self) -> str | None:
        """Names the copies that the caller is given; None for a caller who is given the table itself."""
        return None

    @property
    def metadata(self) -> Json:
        return self.document.metadata

    @cached_property
    def folders(self) -> tuple[str, ...]:
        """Where the table's own files may lie."""
        return self.adapter.own_folders(self.document)

    @cached_property
    def within(self) -> Within:
        return Within(self.folders)

    @property
    def veil(self) -> Veil:
        """What the planner may use of the table's files and statistics."""
        return NO_VEIL

    @property
    def answered_under(self) -> Veil:
        """What a plan's answer is bound to: a plan made under another one is not the caller's any more."""
        return self.veil

    @property
    def through_copies(self) -> "GovernedRead | None":
        """This read, if its caller is given governed copies; None for a caller who is given the table's own files."""
        return None

    def audited(self) -> dict[str, object]:
        """Where the table's files lie, for the audit trail."""
        return {"folders": list(self.folders)}


@dataclass(frozen=True)
class GovernedRead(TableRead):
    """A read by somebody who sees only a part: through a lens, enforced by copies or by an engine that is trusted."""

    catalog: int
    lens: Lens
    shape: Shape
    lens_veil: Veil
    rendered: RenderedLens
    delegated: Delegated | None = None
    """What a trusted engine enforces by itself; None for everybody else: they are given copies."""

    @cached_property
    def copy_id(self) -> str:
        """The same as long as every value comes out the same.

        INVARIANT: of a table that another server made again no copy is the former's, nor lies in its folder, so what gave
        access to the one gives none to the other.
        """
        id, uuid = self.rendered.id, self.document.past.uuid
        return id if not uuid else hashlib.sha256(f"{id} {uuid}".encode()).hexdigest()

    @property
    def veil(self) -> Veil:
        return self.lens_veil

    @cached_property
    def answered_under(self) -> Veil:
        return self.veil if self.delegated is not None else Veil(copy_id=self.copy_id)

    @property
    def through_copies(self) -> "GovernedRead | None":
        return self if self.delegated is None else None

    def audited(self) -> dict[str, object]:
        return {**super().audited(), "given": [normal(self.folder)], "view": self.copy_id}

    @property
    def source(self) -> str:
        """Where the table's document lies."""
        if self.document.location is None:
            raise Unsupported(
                "the catalog does not say where the table's metadata lies", hint="use another catalog"
            )
        return self.document.location

    @cached_property
    def folder(self) -> str:
        """The lens's own folder: all that its readers are given lies there, and nothing else does."""
        return f"{self._base}/{self.copy_id[:40]}"

    @property
    def staging(self) -> str:
        """For what jobs leave while they run; no reader's."""
        return f"{self._base}/jobs"

    @cached_property
    def given(self) -> Within:
        """Where files lie that governed manifests name: in the lens's own folder, or in the table's if they conform."""
        return Within((normal(self.folder), *self.folders))

    @property
    def lazy(self) -> str:
        """By what a reader's filter chooses the copies that are made for it."""
        return self.adapter.properties.get(LAZY, PARTITIONS)

    @property
    def copies_originals(self) -> bool:
        """Whether files that already satisfy the lens are copied too, so that the lens's folder holds everything.

        INVARIANT: of the third format version all are. Files that were rewritten carry row ids, which number the rows of
        the whole table: the gaps tell how many are hidden. Of a table that reads files by name all are as well: such
        files were written elsewhere, and may hold columns that the table never knew.
        """
        return (
            self.adapter.properties.get(ORIGINALS) == COPY
            or int(self.metadata["format-version"]) > 2
            or NAME_MAPPING in (self.metadata.get("properties") or {})
        )

    @cached_property
    def manifests_id(self) -> str:
        """A digest over what governed manifests depend on besides files: the columns seen, the partitioning, how
        copies lie, and whether they may name files of the table itself."""
        specs = governed_specs(self.metadata, self.rendered.outline)
        columns, arrangement = self.rendered.outline.schema.to_json(), self.arrangement.value
        named = (self.copies_originals, self.veil.by_statistics)
        parts = (_FORM, columns, specs.listed, arrangement, named)
        text = msgspec.json.encode(parts, order="sorted")
        return hashlib.sha256(text).hexdigest()

    @cached_property
    def arrangement(self) -> Arrangement:
        """How the copies lie; columns that were dropped are hidden from everybody who sees a part."""
        return arrangement_of(self.metadata, self.rendered.outline, lost=bool(self.shape.lost))

    def key(self, source: CopySource, snapshot: int) -> str:
        """The name of a source's copy."""
        return copy_key(source, self.copy_id, self.arrangement, snapshot if self.rendered.counted else None)

    @cached_property
    def _base(self) -> str:
        return self.adapter.governed_folder(self.document, self.table)
