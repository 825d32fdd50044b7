"""Making reads: from a permit, or from somebody whom work is done for, to the one value that everything else is handed."""

import datetime as dt
from collections import OrderedDict
from dataclasses import replace
from typing import Any, Final

import msgspec
import structlog

from headgate.catalogs.iceberg.storage import MissingDocument
from headgate.catalogs.interface import Document, IcebergCatalog, holds_documents
from headgate.decide import Authority, Node
from headgate.decide.policies import mask_keys
from headgate.decide.policies.clauses import any_on_the_way
from headgate.language.errors import LoweringError
from headgate.language.masks.python import Secrets
from headgate.lenses.rendering import RenderedLens, render_lens
from headgate.model.errors import Forbidden
from headgate.model.objects import ObjectType
from headgate.model.principals import Identity
from headgate.planning import Veil
from headgate.steward.metadata.shapes import Shapes, catalog_of, place
from headgate.steward.metadata.tables import Tables, place_of
from headgate.steward.permits import Permit
from headgate.steward.reads.enforcement import Enforcement
from headgate.steward.reads.lenses import Lenses, ShapedLens, decide, veil_of
from headgate.steward.reads.modes import ORIGINALS, STATISTICS
from headgate.steward.reads.restrictions import restrict
from headgate.steward.reads.table_read import GovernedRead, TableRead
from headgate.store import Store, keys

_MOST: Final = 2_000

log = structlog.get_logger("headgate.lenses")


class TableReads:
    """The one place that says what a caller reads of a table. Loading, planning, vending and partitions all come here.

    Rendered lenses are kept for a while: rendering one takes longer than all else about a read.
    """

    def __init__(
        self, store: Store, tables: Tables, lenses: Lenses, shapes: Shapes, enforcement: Enforcement
    ) -> None:
        self.store = store
        self.tables = tables
        self.lenses = lenses
        self.shapes = shapes
        self.enforcement = enforcement
        self._rendered: OrderedDict[tuple[Any, ...], tuple[Veil, RenderedLens]] = OrderedDict()

    def of(self, permit: Permit) -> TableRead:
        """What the caller of a permit reads of its table or view, as it is now. Refuses one not to be read at all."""
        adapter = self.tables.documents_of(permit)
        document = _document(permit, adapter)
        if permit.ref.type is not ObjectType.TABLE:
            return TableRead(permit.node.id, document, adapter)
        shaped = self.lenses.over(permit, document)
        if shaped.lens.whole:
            return TableRead(permit.node.id, document, adapter)
        read = self._governed(permit.authority, permit.node, shaped, document, adapter)
        how = self.enforcement.checked(permit)
        if not how.trusted:
            return read
        return replace(read, delegated=restrict(shaped, document.metadata))

    def as_seen_by(
        self, authority: Authority, table: Node, identity: Identity, location: str | None = None
    ) -> GovernedRead | None:
        """What somebody sees of a table now, if that is a part of it; None if it is all or nothing.

        `location` is where the table's document lies, if it is not the current one that is meant. Takes no permit: what
        comes out goes into work, never to a client.
        """
        adapter = self.shapes.catalogs.opened(catalog_of(authority, table))
        if not holds_documents(adapter):
            return None
        if location is None:
            document = adapter.document(place(authority, table))
        else:
            document = adapter.document_at(place(authority, table), location)
        shape = self.shapes.read(document)
        caller = authority.caller(identity, table.metalake)
        verdict = decide(authority, caller, table, shape, dt.datetime.now(dt.UTC))
        if shape is None or verdict.lens is None or verdict.lens.whole:
            return None
        return self._governed(authority, table, ShapedLens(verdict.lens, shape), document, adapter)

    # -- inside -------------------------------------------------------------------------------------------------

    def _governed(
        self,
        authority: Authority,
        table: Node,
        shaped: ShapedLens,
        document: Document,
        adapter: IcebergCatalog,
    ) -> GovernedRead:
        """The read of a restricted lens over a document, or a refusal if it cannot be enforced.

        INVARIANT: which tables share tokens is asked of the authority that the lens was decided by. One that was joined
        since may have been written by the reader.
        """
        named = {mask.key for mask in shaped.lens.masks if mask.key is not None}
        pools = mask_keys.pools(authority, table, named)
        key = (table.id, shaped.lens.id, shaped.shape.key, *pools.items())
        kept = self._rendered.get(key)
        if kept is None:
            kept = (_veil(shaped), self._render(table, shaped, pools))
            self._rendered[key] = kept
            while len(self._rendered) > _MOST:
                self._rendered.popitem(last=False)
        by_statistics = adapter.properties.get(ORIGINALS) == STATISTICS
        veil = msgspec.structs.replace(kept[0], by_statistics=by_statistics)
        catalog = table.chain[1][0]
        return GovernedRead(table.id, document, adapter, catalog, shaped.lens, shaped.shape, veil, kept[1])

    def _render(self, table: Node, shaped: ShapedLens, pools: dict[str, str]) -> RenderedLens:
        lens, schema = shaped.lens, shaped.shape.schema
        try:
            return render_lens(
                lens.id,
                schema,
                lens.shown(schema),
                lens.masks,
                lens.rows,
                self._secrets(table, shaped, pools),
            )
        except LoweringError as error:
            # Not for the caller: it may name a column that they must not know of.
            log.warning("lens cannot be enforced", table=table.id, reason=str(error))
            raise Forbidden(
                "what you may see of this table cannot be made for you",
                hint="ask who writes its policies; the server's log says what is in the way",
                about=ObjectType.TABLE,
            ) from None

    def _secrets(self, table: Node, shaped: ShapedLens, pools: dict[str, str]) -> Secrets:
        """The secrets of a lens: made by the server, kept in its store, never told."""
        used = {mask.kind.keyed_by for mask in shaped.lens.masks}

        def key(use: keys.Use, *of: int | str) -> bytes:
            return keys.key(self.store, use, *of)

        return Secrets(
            {name: key(keys.Use.PSEUDONYMS, table.metalake, pool, name) for name, pool in pools.items()},
            salt=key(keys.Use.QUERY_LOCAL, table.id, shaped.lens.id) if "salt" in used else b"",
            noise=key(keys.Use.NOISE, table.id) if "noise" in used else b"",
            order=key(keys.Use.ORDER, table.id),
            names=key(keys.Use.VIEWS, table.id),
        )


def _document(permit: Permit, adapter: IcebergCatalog) -> Document:
    try:
        return adapter.document(place_of(permit))
    except MissingDocument as missing:
        # Without the document nobody knows what a policy would leave of the table, such as its folder.
        raise MissingDocument(
            missing.location, named=not any_on_the_way(permit.authority, permit.node)
        ) from None


def _veil(shaped: ShapedLens) -> Veil:
    """INVARIANT: no file is handed out unchanged if it may hold a column that was dropped, which no lens shows."""
    veil = veil_of(shaped)
    return msgspec.structs.replace(veil, exact=False) if shaped.shape.lost else veil
