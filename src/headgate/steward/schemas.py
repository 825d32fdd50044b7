"""Schemas, nested ones included: ``A:B`` lies in ``A`` and inherits from it."""

from typing import Final

import msgspec

from headgate.decide import Node, Op, visible
from headgate.model.errors import AlreadyExists, IllegalArgument, NotEmpty
from headgate.model.objects import SCHEMA_SEPARATOR, ObjectRef, ObjectType, checked_name, clip
from headgate.model.properties import check_read
from headgate.steward.catalogs import Catalogs, catalog_type
from headgate.steward.kernel import Kernel
from headgate.steward.ownership import created
from headgate.steward.permits import Permit
from headgate.steward.updates import Updates
from headgate.store import objects
from headgate.store.records import ObjectRecord

MOST_LEVELS: Final = 16
"""How deep schemas lie in one another: a decision walks all of them."""


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
        said: dict[int, tuple[str | None, dict[str, str]]] = {depth: (None, {}) for depth in depths} | {
            len(segments): (comment, properties)
        }
        for depth, (text, values) in said.items():
            adapter.create_schema(segments[:depth], text, values)
        with self.kernel.change(permit) as tx:
            parent = permit.node.id
            for depth, (text, values) in said.items():
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

    def load(self, permit: Permit) -> ObjectRecord:
        """A schema under its whole name."""
        with self.kernel.store.read() as read:
            return _whole(permit, objects.present(read, permit.node.id))

    def alter(self, permit: Permit, updates: Updates) -> ObjectRecord:
        """Change the properties of a schema."""
        check_read(self._kind(permit), updates.put)
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

    def _kind(self, permit: Permit) -> str:
        return f"{catalog_type(self.catalogs.of(permit))} schema"


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
