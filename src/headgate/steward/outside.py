"""Names that live in another system: a row is made for each when it is first seen, so that it can be governed."""

from collections.abc import Callable

from headgate.catalogs.interface import Catalog, Namespace
from headgate.catalogs.rest import RestIceberg
from headgate.decide import Authority, Node, Op
from headgate.decide.verdict import allowed
from headgate.model.errors import HeadgateError, NotFound
from headgate.model.objects import SCHEMA_SEPARATOR, ObjectRef, ObjectType, checked_name
from headgate.model.principals import Identity
from headgate.steward.kernel import Kernel
from headgate.store import Write, objects

_ACTOR = "headgate"


class Outside:
    """What catalogs behind this one hold. INVARIANT: a row made here has no owner and no grants of its own."""

    def __init__(self, kernel: Kernel, open: Callable[[Node], Catalog]) -> None:
        self.kernel = kernel
        self.open = open

    def sight(self, authority: Authority, identity: Identity, ref: ObjectRef) -> bool:
        """Look for an object that has no row yet; whether there is one now. Only for who may use the catalog."""
        if ref.type not in (ObjectType.SCHEMA, ObjectType.TABLE, ObjectType.VIEW):
            return False
        found = self._open(authority, ref)
        if found is None:
            return False
        node, adapter = found
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

    def refresh(self, authority: Authority, ref: ObjectRef) -> bool:
        """Make rows for all that a catalog or schema holds; whether any were new."""
        found = self._open(authority, ref)
        if found is None:
            return False
        node, adapter = found
        schema: Namespace = tuple(ref.path[1].split(SCHEMA_SEPARATOR)) if len(ref.path) > 1 else ()
        above = authority.find(ref)
        if above is None:
            return False
        new = False
        for name in _usable(adapter.schemas(schema)):
            if authority.child(above.id, ObjectType.SCHEMA, name) is None:
                new = self._add(node, (*schema, name), None, []) or new
        for type in (ObjectType.TABLE, ObjectType.VIEW) if schema else ():
            fresh = [
                name
                for name in _usable(adapter.entries(schema, type))
                if authority.child(above.id, type, name) is None
            ]
            if fresh:
                new = self._add(node, schema, type, fresh) or new
        return new

    def _open(self, authority: Authority, ref: ObjectRef) -> tuple[Node, RestIceberg] | None:
        node = authority.find(ObjectRef(ref.metalake, ObjectType.CATALOG, ref.path[:1]))
        if node is None or not node.in_use:
            return None
        try:
            adapter = self.open(node)
        except HeadgateError:
            return None
        return (node, adapter) if isinstance(adapter, RestIceberg) else None

    def _add(self, catalog: Node, schema: Namespace, type: ObjectType | None, names: list[str]) -> bool:
        with self.kernel.store.write(_ACTOR, "sight") as tx:
            above = catalog.id
            for level in schema:
                above = _row(tx, above, catalog.metalake, ObjectType.SCHEMA, level)
            if type is not None:
                for name in names:
                    _row(tx, above, catalog.metalake, type, name)
            return bool(tx.changes)


def _row(tx: Write, parent: int, metalake: int, type: ObjectType, name: str) -> int:
    known = objects.find(tx, parent, type, name)
    return known.id if known is not None else objects.create(tx, parent, metalake, type, name)


def _usable(names: list[str]) -> list[str]:
    """Names that can be governed here; others stay where they are, unseen."""
    good = []
    for name in names:
        try:
            if SCHEMA_SEPARATOR not in name:
                good.append(checked_name(name, "object"))
        except HeadgateError:
            continue
    return good
