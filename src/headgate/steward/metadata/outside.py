"""Names that live in another system: a row is made for each when it is first seen, so that it can be governed."""

from collections.abc import Callable
from typing import Final

from headgate.catalogs.interface import Catalog, Namespace, NamingCatalog, keeps_names, keeps_topics
from headgate.decide import Authority, Caller, Node, Op, visible
from headgate.decide.verdict import allowed
from headgate.model.errors import HeadgateError, NotFound
from headgate.model.objects import SCHEMA_SEPARATOR, ObjectRef, ObjectType, checked_name, governable
from headgate.model.principals import Identity
from headgate.steward.kernel import Kernel
from headgate.store import Write, objects

_ACTOR = "headgate"
_LISTS: Final = {
    ObjectType.SCHEMA: Op.LIST_SCHEMAS,
    ObjectType.TABLE: Op.LIST_TABLES,
    ObjectType.VIEW: Op.LIST_VIEWS,
}
_OF_TOPICS: Final = {ObjectType.SCHEMA: Op.LIST_SCHEMAS, ObjectType.TOPIC: Op.LIST_TOPICS}
"""The same for a catalog of topics."""


class Outside:
    """What catalogs behind this one hold. INVARIANT: a row made here has no owner and no grants of its own."""

    def __init__(self, kernel: Kernel, open: Callable[[Node], Catalog]) -> None:
        self.kernel = kernel
        self.open = open

    def look(self, authority: Authority, identity: Identity, ref: ObjectRef) -> bool:
        """Look for an object that has no row yet; whether there is one now. Only for callers who may use the catalog."""
        if ref.type not in {*_LISTS, *_OF_TOPICS}:
            return False
        found = self._open(authority, ref)
        if found is None:
            return False
        node, adapter = found
        if ref.type not in _held(adapter):
            return False
        if not allowed(authority, authority.caller(identity, node.metalake), Op.LOAD_CATALOG, node):
            return False
        schema = tuple(ref.path[1].split(SCHEMA_SEPARATOR))
        try:
            for part in (*schema, ref.name):
                checked_name(part, ref.type.value)
            if not adapter.schema_exists(schema):
                return False
            if ref.type is ObjectType.SCHEMA:
                return self._add(node, schema, None, [])
            if ref.name not in adapter.entries(schema, ref.type):
                return False
            return self._add(node, schema, ref.type, [ref.name])
        except NotFound:
            return False

    def refresh(self, authority: Authority, ref: ObjectRef, caller: Caller | None = None) -> bool:
        """Make rows for what a catalog or schema holds and the caller would be shown of it; whether any were new.

        INVARIANT: what somebody may not see moves no revision when they ask. Nothing is said yet of what is new, so it
        is shown to them exactly if anything new is.
        """
        found = self._open(authority, ref)
        if found is None:
            return False
        node, adapter = found
        schema: Namespace = tuple(ref.path[1].split(SCHEMA_SEPARATOR)) if len(ref.path) > 1 else ()
        above = authority.find(ref)
        if above is None:
            return False
        new = False
        shown = frozenset(
            type
            for type, op in _held(adapter).items()
            if caller is None
            or any(visible(authority, caller, op, [Node(0, type, "", above.id, above.chain)]))
        )
        for type in sorted(shown if schema else shown & {ObjectType.SCHEMA}):
            listed = adapter.schemas(schema) if type is ObjectType.SCHEMA else adapter.entries(schema, type)
            fresh = [
                name for name in filter(governable, listed) if authority.child(above.id, type, name) is None
            ]
            if fresh:
                new = self._add(node, schema, type, fresh) or new
        return new

    def _open(self, authority: Authority, ref: ObjectRef) -> tuple[Node, NamingCatalog] | None:
        node = authority.find(ObjectRef(ref.metalake, ObjectType.CATALOG, ref.path[:1]))
        if node is None or not node.in_use:
            return None
        try:
            adapter = self.open(node)
        except HeadgateError:
            return None
        return (node, adapter) if keeps_names(adapter) else None

    def _add(self, catalog: Node, schema: Namespace, type: ObjectType | None, names: list[str]) -> bool:
        with self.kernel.store.write(_ACTOR, "sight") as tx:
            above = catalog.id
            for level in schema:
                above = _row(tx, above, catalog.metalake, ObjectType.SCHEMA, level)
            if type is not None:
                objects.create_many(tx, above, catalog.metalake, type, names)
            return bool(tx.changes)


def _held(adapter: NamingCatalog) -> dict[ObjectType, Op]:
    """What a catalog may hold, and what lists it."""
    return _OF_TOPICS if keeps_topics(adapter) else _LISTS


def _row(tx: Write, parent: int, metalake: int, type: ObjectType, name: str) -> int:
    known = objects.find(tx, parent, type, name)
    return known.id if known is not None else objects.create(tx, parent, metalake, type, name)
