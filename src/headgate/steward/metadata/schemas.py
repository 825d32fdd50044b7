"""Schemas, nested ones included: ``A:B`` lies in ``A`` and inherits from it."""

import msgspec

from headgate.decide import Authority, Node, Op, visible
from headgate.model.changes import ObjectGone
from headgate.model.errors import AlreadyExists, Conflict, IllegalArgument, NotEmpty
from headgate.model.objects import MOST_LEVELS, SCHEMA_SEPARATOR, ObjectRef, ObjectType, checked_name, clip
from headgate.model.properties import check_read
from headgate.model.records import ObjectRecord
from headgate.steward.acts import act
from headgate.steward.kernel import Kernel
from headgate.steward.metadata.catalogs import Catalogs, catalog_type
from headgate.steward.ownership import created
from headgate.steward.permits import Permit
from headgate.steward.updates import Updates
from headgate.store import Read, objects


class Schemas:
    def __init__(self, kernel: Kernel, catalogs: Catalogs) -> None:
        self.kernel = kernel
        self.catalogs = catalogs

    @act(Op.LIST_SCHEMAS, also=(Op.LOAD_SCHEMA,))
    def list(self, permit: Permit, parent: Permit | None = None) -> list[ObjectRef]:
        """Those directly in the catalog, or in a schema the caller may load, that the caller may see, by name."""
        above = permit if parent is None else parent
        authority = self.catalogs.seen(above)
        nodes = authority.children_of(above.node.id, ObjectType.SCHEMA)
        seen: list[Node] = list(visible(authority, above.caller, Op.LIST_SCHEMAS, nodes))
        return sorted((authority.ref(node) for node in seen), key=lambda ref: ref.name)

    @act(Op.CREATE_SCHEMA)
    def create(
        self, permit: Permit, name: str, comment: str | None, properties: dict[str, str]
    ) -> ObjectRecord:
        """Make a schema in the object of the permit: the catalog, or the schema that holds it or will hold its parents.

        `name` is the whole name as clients say it. Schemas between the permit's object and the new one are made too;
        who makes them becomes the owner of each.
        """
        segments = _checked_segments(name)
        above = _segments(permit) if permit.ref.type is ObjectType.SCHEMA else ()
        assert segments[: len(above)] == above != segments, "the permit must be for what will hold the schema"
        depths = range(len(above) + 1, len(segments) + 1)
        if permit.authority.child(permit.node.id, ObjectType.SCHEMA, segments[len(above)]) is not None:
            taken = SCHEMA_SEPARATOR.join(segments[: depths[0]])
            raise AlreadyExists(
                f"schema '{clip(taken)}' already exists",
                about=ObjectType.SCHEMA,
                ref=ObjectRef(permit.ref.metalake, ObjectType.SCHEMA, (permit.ref.path[0], taken)),
            )
        check_read(self._kind(permit), properties)
        adapter = self.catalogs.adapter(permit)
        described: dict[int, tuple[str | None, dict[str, str]]] = {depth: (None, {}) for depth in depths} | {
            len(segments): (comment, properties)
        }
        for depth, (text, values) in described.items():
            adapter.create_schema(segments[:depth], text, values)
        with self.kernel.change(permit) as tx:
            parent = permit.node.id
            for depth, (text, values) in described.items():
                made = created(
                    tx,
                    permit,
                    ObjectType.SCHEMA,
                    segments[depth - 1],
                    parent=parent,
                    comment=text,
                    properties=values,
                )
                parent = made.id
        return msgspec.structs.replace(made, name=name)

    @act(Op.LOAD_SCHEMA, Op.ALTER_SCHEMA)
    def load(self, permit: Permit) -> ObjectRecord:
        """A schema under its whole name."""
        with self.kernel.store.read() as read:
            return _whole(permit, objects.present(read, permit.node.id))

    @act(Op.ALTER_SCHEMA)
    def alter(self, permit: Permit, updates: Updates) -> ObjectRecord:
        """Change the properties of a schema."""
        check_read(self._kind(permit), updates.put)
        with self.kernel.store.read() as read:
            before = objects.present(read, permit.node.id)
        after = updates.applied_to(before.properties)
        if after is not None:
            # INVARIANT: no other system is asked inside the change: a slow one would hold up everybody's.
            self.catalogs.adapter(permit).alter_schema(_segments(permit), after)
        with self.kernel.change(permit) as tx:
            if objects.present(tx, before.id).properties != before.properties:
                raise Conflict(
                    f"schema '{clip(permit.ref.full_name)}' was changed by somebody else",
                    hint="read it again and retry",
                )
            if after is not None:
                objects.alter(tx, before, properties=after)
            return _whole(permit, objects.present(tx, before.id))

    @act(Op.DROP_SCHEMA)
    def drop(self, permit: Permit, *, cascade: bool) -> None:
        """Remove a schema; without cascade only an empty one."""
        adapter = self.catalogs.adapter(permit)
        if cascade and self.catalogs.seen(permit, all=True) is not permit.authority:
            # What only another system knew is judged like the rest, before that system drops it.
            permit = self.kernel.permit(permit.identity, permit.op, permit.ref)
        if not cascade:
            with self.kernel.store.read() as read:
                self._check_empty(read, permit)
        # Asked before the system behind the catalog drops it, and again by the change itself.
        self.kernel.foresee(permit, *(ObjectGone(node.id) for node in _below(permit.authority, permit.node)))
        adapter.drop_schema(_segments(permit), cascade=cascade)
        with self.kernel.change(permit) as tx:
            record = objects.present(tx, permit.node.id)
            if not cascade:
                self._check_empty(tx, permit)
            objects.drop(tx, record.id)

    def _check_empty(self, read: Read, permit: Permit) -> None:
        if objects.has_children(read, permit.node.id):
            raise NotEmpty(
                f"schema '{clip(permit.ref.full_name)}' is not empty",
                hint="drop what it holds first, or use cascade",
                about=ObjectType.SCHEMA,
            )

    def _kind(self, permit: Permit) -> str:
        return f"{catalog_type(self.catalogs.of(permit))} schema"


def _below(authority: Authority, schema: Node) -> list[Node]:
    """A schema after all schemas and tables in it."""
    inner = [
        node
        for child in authority.children_of(schema.id, ObjectType.SCHEMA)
        for node in _below(authority, child)
    ]
    return [*inner, *authority.children_of(schema.id, ObjectType.TABLE), schema]


def parent_of(above: ObjectRef, name: str) -> ObjectRef:
    """What will hold a schema of this name: the schema that its first segments name, or else the catalog."""
    catalog = ObjectRef(above.metalake, ObjectType.CATALOG, above.path[:1])
    outer, separator, _ = name.rpartition(SCHEMA_SEPARATOR)
    return catalog.child(ObjectType.SCHEMA, outer) if separator else catalog


def _checked_segments(name: str) -> tuple[str, ...]:
    segments = tuple(name.split(SCHEMA_SEPARATOR))
    if len(segments) > MOST_LEVELS:
        raise IllegalArgument(
            f"the schema name '{clip(name)}' has {len(segments)} levels", hint=f"use at most {MOST_LEVELS}"
        )
    return tuple(checked_name(segment, "schema") for segment in segments)


def _segments(permit: Permit) -> tuple[str, ...]:
    return tuple(permit.ref.name.split(SCHEMA_SEPARATOR))


def _whole(permit: Permit, record: ObjectRecord) -> ObjectRecord:
    return msgspec.structs.replace(record, name=permit.ref.name)
