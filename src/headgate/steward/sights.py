"""Sights: a restricted view of one table as it is now, in the terms of those who enforce it: planner, pipeline, ledger."""

import datetime as dt
import hashlib
from collections import OrderedDict
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import msgspec
import structlog

from headgate.catalogs.interface import Document, IcebergCatalog, holds_documents
from headgate.catalogs.locations import normal
from headgate.decide import Authority, Node
from headgate.language.errors import LoweringError
from headgate.language.masks.python import Secrets
from headgate.lenses.arrangement import arrangement_of
from headgate.lenses.copies import Arrangement, Source, copy_key
from headgate.lenses.outline import NAME_MAPPING, governed_specs
from headgate.model.errors import Forbidden, Unsupported
from headgate.model.objects import ObjectType
from headgate.model.principals import Identity
from headgate.pipelines.lens_sql import LensSql, lens_sql
from headgate.planning import Veil, Within
from headgate.steward.lenses import Seen, decide, veil_of
from headgate.steward.modes import COPY, LAZY, ORIGINALS, PARTITIONS, STATISTICS
from headgate.steward.shapes import Shapes, catalog_of, place
from headgate.store import Store, keys, mask_keys

Json = dict[str, Any]

_MOST: Final = 2_000
_FORM: Final = 2
"""Raised whenever governed manifests come out otherwise than before: those of an older form are written again."""

log = structlog.get_logger("headgate.lenses")


@dataclass(frozen=True)
class Sight:
    """What somebody sees of a table that they may not see all of."""

    object: int
    catalog: int
    seen: Seen
    veil: Veil
    sql: LensSql
    document: Document
    adapter: IcebergCatalog

    @property
    def view(self) -> str:
        """Names the view's copies: the same as long as every value comes out the same."""
        return self.sql.id

    @property
    def metadata(self) -> Json:
        return self.document.metadata

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
        """The view's own folder: all that its readers are given lies there, and nothing else does."""
        return f"{self._base}/{self.view[:40]}"

    @property
    def staging(self) -> str:
        """For what jobs leave while they run; no reader's."""
        return f"{self._base}/jobs"

    @cached_property
    def within(self) -> Within:
        return Within(self.adapter.own_folders(self.document))

    @cached_property
    def given(self) -> Within:
        """Where files lie that governed manifests name: in the view's own folder, or in the table's if they conform."""
        return Within((normal(self.folder), *self.adapter.own_folders(self.document)))

    @property
    def lazy(self) -> str:
        """By what a reader's filter chooses the copies that are made for it."""
        return self.adapter.properties.get(LAZY, PARTITIONS)

    @property
    def copies_originals(self) -> bool:
        """Whether files that conform as they are are copied too, so that the view's folder holds everything.

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
    def shape(self) -> str:
        """A digest over what governed manifests depend on besides files: the columns seen, the partitioning, how
        copies lie, and whether they may name files of the table itself."""
        specs = governed_specs(self.metadata, self.sql.outline)
        columns, arrangement = self.sql.outline.schema.to_json(), self.arrangement.value
        named = (self.copies_originals, self.veil.by_statistics)
        parts = (_FORM, columns, specs.listed, arrangement, named)
        text = msgspec.json.encode(parts, order="sorted")
        return hashlib.sha256(text).hexdigest()

    @cached_property
    def arrangement(self) -> Arrangement:
        """How the view's copies lie; columns that were dropped are hidden from everybody who sees a part."""
        return arrangement_of(self.metadata, self.sql.outline, lost=bool(self.seen.shape.lost))

    def key(self, source: Source, snapshot: int) -> str:
        """The name of a source's copy."""
        return copy_key(source, self.view, self.arrangement, snapshot if self.sql.counted else None)

    @cached_property
    def _base(self) -> str:
        return self.adapter.governed_folder(self.document, self.object)


def _veil(seen: Seen) -> Veil:
    """INVARIANT: no file conforms as it is if it may hold a column that was dropped, which nobody sees through a view."""
    veil = veil_of(seen)
    return msgspec.structs.replace(veil, exact=False) if seen.shape.lost else veil


class Sights:
    """Makes sights and keeps those made lately: lowering a lens takes longer than all else about a read."""

    def __init__(self, store: Store, shapes: Shapes) -> None:
        self.store = store
        self.shapes = shapes
        self._kept: OrderedDict[tuple[Any, ...], tuple[Veil, LensSql]] = OrderedDict()

    def of(self, table: Node, seen: Seen, document: Document, adapter: IcebergCatalog) -> Sight:
        """The sight of a restricted lens over a document, or a refusal if it cannot be enforced."""
        pools = self._pools(table, seen)
        key = (table.id, seen.lens.id, seen.shape.key, *pools.items())
        kept = self._kept.get(key)
        if kept is None:
            kept = (_veil(seen), self._lowered(table, seen, pools))
            self._kept[key] = kept
            while len(self._kept) > _MOST:
                self._kept.popitem(last=False)
        by_statistics = adapter.properties.get(ORIGINALS) == STATISTICS
        veil = msgspec.structs.replace(kept[0], by_statistics=by_statistics)
        return Sight(table.id, table.chain[1][0], seen, veil, kept[1], document, adapter)

    def as_seen_by(
        self, authority: Authority, table: Node, identity: Identity, location: str | None = None
    ) -> Sight | None:
        """What somebody sees of a table now, if that is a part of it; None if it is all or nothing.

        `location` is where the table's document lies, if it is not the current one that is meant. Takes no permit: what
        is told goes into work, never to a client.
        """
        adapter = self.shapes.catalogs.opened(catalog_of(authority, table))
        if not holds_documents(adapter):
            return None
        if location is None:
            document = adapter.document(place(authority, table))
        else:
            document = Document(location, adapter.storage.read(location))
        shape = self.shapes.read(document.metadata)
        caller = authority.caller(identity, table.metalake)
        verdict = decide(authority, caller, table, shape, dt.datetime.now(dt.UTC))
        if shape is None or verdict.lens is None or verdict.lens.whole:
            return None
        return self.of(table, Seen(verdict.lens, shape), document, adapter)

    def _lowered(self, table: Node, seen: Seen, pools: dict[str, str]) -> LensSql:
        lens, schema = seen.lens, seen.shape.schema
        try:
            return lens_sql(
                lens.id, schema, lens.shown(schema), lens.masks, lens.rows, self._secrets(table, seen, pools)
            )
        except LoweringError as error:
            # Not for the caller: it may name a column that they must not know of.
            log.warning("lens cannot be enforced", table=table.id, reason=str(error))
            raise Forbidden(
                "what you may see of this table cannot be made for you",
                hint="ask who writes its policies; the server's log says what is in the way",
                about=ObjectType.TABLE,
            ) from None

    def _pools(self, table: Node, seen: Seen) -> dict[str, str]:
        """Whose tables give the same tokens as this one, for each key of the lens: its owner's, or those of all who joined."""
        named = {str(mask.args[0]) for mask in seen.lens.masks if mask.name == "token"}
        if not named:
            return {}
        with self.store.read() as read:
            return mask_keys.pools(read, table.metalake, table.id, table.owner, named)

    def _secrets(self, table: Node, seen: Seen, pools: dict[str, str]) -> Secrets:
        """The secrets of a lens: made by the server, kept in its store, never told."""
        used = {mask.name for mask in seen.lens.masks}

        def key(use: keys.Use, *of: int | str) -> bytes:
            return keys.key(self.store, use, *of)

        return Secrets(
            {name: key(keys.Use.PSEUDONYMS, table.metalake, pool, name) for name, pool in pools.items()},
            salt=key(keys.Use.QUERY_LOCAL, table.id, seen.lens.id) if "sha256_query_local" in used else b"",
            noise=key(keys.Use.NOISE, table.id) if "noisy" in used else b"",
            order=key(keys.Use.ORDER, table.id),
            names=key(keys.Use.VIEWS, table.id),
        )
