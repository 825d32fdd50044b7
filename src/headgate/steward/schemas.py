"""Schemas, nested ones included: ``A:B`` lies in ``A`` and inherits from it."""

import msgspec

from headgate.decide import Node, Op, visible
from headgate.model.errors import AlreadyExists, NotEmpty
from headgate.model.objects import SCHEMA_SEPARATOR, ObjectRef, ObjectType, checked_name, clip
from headgate.steward.catalogs import Catalogs
from headgate.steward.kernel import Kernel
from headgate.steward.ownership import created
from headgate.steward.permits import Permit
from headgate.steward.updates import Updates
from headgate.store import objects
from headgate.store.records import ObjectRecord


class Schemas:
    def __init__(self, kernel: Kernel, catalogs: Catalogs) -> None:
        self.kernel = kernel
        self.catalogs = catalogs

    def list(self, permit: Permit, parent: Permit | None = None) -> list[ObjectRef]:
        """Those directly in the catalog, or in a schema the caller may load, that the caller may see, by name."""
        above = permit if parent is None else parent
        authority = self.catalogs.seen(above)
        nodes = authority.children_of(above.node.id, ObjectType.SCHEMA)
        seen: list[Node] = list(visible(authority, above.caller, Op.LIST_SCHEMAS, nodes))
        return sorted((authority.ref(node) for node in seen), key=lambda ref: ref.name)

    def create(
        self, permit: Permit, name: str, comment: str | None, properties: dict[str, str]
    ) -> ObjectRecord:
        """Make a schema in the object of the permit: the catalog, or the schema that will hold it.

        `name` is the whole name as clients say it; who makes it becomes its owner.
        """
        segments = tuple(name.split(SCHEMA_SEPARATOR))
        for segment in segments:
            checked_name(segment, "schema")
        assert permit.ref == parent_of(permit.ref, name), "the permit must be for what will hold the schema"
        if permit.authority.child(permit.node.id, ObjectType.SCHEMA, segments[-1]) is not None:
            taken = ObjectRef(permit.ref.metalake, ObjectType.SCHEMA, (permit.ref.path[0], name))
            raise AlreadyExists(f"schema '{clip(name)}' already exists", about=ObjectType.SCHEMA, ref=taken)
        self.catalogs.adapter(permit).create_schema(segments, comment, properties)
        with self.kernel.change(permit) as tx:
            made = created(
                tx, permit, ObjectType.SCHEMA, segments[-1], comment=comment, properties=properties
            )
        return msgspec.structs.replace(made, name=name)

    def load(self, permit: Permit) -> ObjectRecord:
        """A schema under its whole name."""
        with self.kernel.store.read() as read:
            return _whole(permit, objects.present(read, permit.node.id))

    def alter(self, permit: Permit, updates: Updates) -> ObjectRecord:
        """Change the properties of a schema."""
        adapter = self.catalogs.adapter(permit)
        with self.kernel.change(permit) as tx:
            before = objects.present(tx, permit.node.id)
            after = updates.applied_to(before.properties)
            if after is not None:
                adapter.alter_schema(_segments(permit), after)
                objects.alter(tx, before, properties=after)
            return _whole(permit, objects.present(tx, before.id))

    def drop(self, permit: Permit, *, cascade: bool) -> None:
        """Remove a schema; without cascade only an empty one."""
        adapter = self.catalogs.adapter(permit)
        if cascade:
            # What only another system knows yet is judged like the rest: new rows move the revision, so the permit is
            # asked again inside the change.
            self.catalogs.seen(permit)
        with self.kernel.change(permit) as tx:
            record = objects.present(tx, permit.node.id)
            if not cascade and objects.has_children(tx, record.id):
                raise NotEmpty(
                    f"schema '{clip(permit.ref.full_name)}' is not empty",
                    hint="drop what it holds first, or use cascade",
                    about=ObjectType.SCHEMA,
                )
            adapter.drop_schema(_segments(permit), cascade=cascade)
            objects.drop(tx, record.id)


def parent_of(above: ObjectRef, name: str) -> ObjectRef:
    """What will hold a schema of this name: the schema that its first segments name, or else the catalog."""
    catalog = ObjectRef(above.metalake, ObjectType.CATALOG, above.path[:1])
    outer, separator, _ = name.rpartition(SCHEMA_SEPARATOR)
    return catalog.child(ObjectType.SCHEMA, outer) if separator else catalog


def _segments(permit: Permit) -> tuple[str, ...]:
    return tuple(permit.ref.name.split(SCHEMA_SEPARATOR))


def _whole(permit: Permit, record: ObjectRecord) -> ObjectRecord:
    return msgspec.structs.replace(record, name=permit.ref.name)
