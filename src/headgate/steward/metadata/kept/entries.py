"""Objects that Headgate keeps by itself: listed, created, loaded, altered and dropped alike, whatever their type."""

from collections.abc import Callable
from typing import Any

from headgate.decide import Node, Op, visible
from headgate.model.objects import ObjectType, checked_name
from headgate.model.properties import check_read
from headgate.model.records import ObjectRecord
from headgate.steward.acts import act
from headgate.steward.kernel import Kernel
from headgate.steward.ownership import created
from headgate.steward.permits import Permit
from headgate.steward.updates import Updates
from headgate.store import Write, objects

Body = dict[str, Any]


class Entries:
    """All objects of one type in a schema or in a metalake. What only that type knows goes into the body."""

    def __init__(self, kernel: Kernel, type: ObjectType, lists: Op) -> None:
        self.kernel = kernel
        self.type = type
        self.lists = lists

    @act("LIST_{types}")
    def nodes(self, permit: Permit) -> list[Node]:
        """Those that the caller may see, by name."""
        every = permit.authority.children_of(permit.node.id, self.type)
        seen = visible(permit.authority, permit.caller, self.lists, every)
        return sorted(seen, key=lambda node: node.name)

    @act("LIST_{types}")
    def list(self, permit: Permit) -> list[ObjectRecord]:
        """As `nodes`, whole."""
        with self.kernel.store.read() as read:
            return objects.many(read, [node.id for node in self.nodes(permit)])

    @act("CREATE_{type}", "REGISTER_{type}", also=(Op.CHOOSE_PLACE, Op.ALTER_METALAKE))
    def create(
        self,
        permit: Permit,
        name: str,
        comment: str | None,
        properties: dict[str, str],
        body: Body | Callable[[Write], Body] | None = None,
        *,
        more: tuple[Permit, ...] = (),
        settle: Callable[[Write, int], None] | None = None,
    ) -> ObjectRecord:
        """Add an object under the one the permit is for; who makes it owns it. A body may be worked out in the change.

        `more` are further permits that it takes, `settle` is done with the new object in the same change.
        """
        checked_name(name, _word(self.type))
        check_read(_word(self.type), properties)
        with self.kernel.change(permit, *more) as tx:
            kept = body(tx) if callable(body) else body
            made = created(tx, permit, self.type, name, comment=comment, properties=properties, body=kept)
            if settle is not None:
                settle(tx, made.id)
            return made

    @act("LOAD_{type}")
    def load(self, permit: Permit) -> ObjectRecord:
        return self.present(permit)

    def present(self, permit: Permit) -> ObjectRecord:
        """As `load`, for other acts under permits of their own."""
        with self.kernel.store.read() as read:
            return objects.present(read, permit.node.id)

    @act("ALTER_{type}", "SET_{type}", also=(Op.CHOOSE_PLACE, Op.ALTER_METALAKE))
    def alter(
        self,
        permit: Permit,
        updates: Updates,
        body: Callable[[Body], Body] | None = None,
        *,
        more: tuple[Permit, ...] = (),
    ) -> ObjectRecord:
        """Apply the updates, and `body` to what only this type knows. `more` are further permits that it takes."""
        if updates.name is not None:
            checked_name(updates.name, _word(self.type))
        check_read(_word(self.type), updates.put)
        with self.kernel.change(permit, *more) as tx:
            before = objects.present(tx, permit.node.id)
            objects.alter(
                tx,
                before,
                name=updates.name,
                comment=updates.comment,
                properties=updates.applied_to(before.properties),
                body=None if body is None else body(before.body),
            )
            return objects.present(tx, before.id)

    @act("DROP_{type}")
    def drop(self, permit: Permit) -> ObjectRecord:
        """Remove an object with all that is kept about it, and tell what it was."""
        with self.kernel.change(permit) as tx:
            before = objects.present(tx, permit.node.id)
            objects.drop(tx, before.id)
            return before


def _word(type: ObjectType) -> str:
    return type.value.replace("_", " ")
