"""Placing: who may choose where a table or fileset lies, and how a dropped one comes back to its place."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from headgate.catalogs.iceberg.places import PLACES
from headgate.catalogs.interface import IcebergCatalog, TablePlace
from headgate.catalogs.locations import GOVERNED, inside, normal
from headgate.decide import Op
from headgate.decide.policies.clauses import any_on_the_way
from headgate.decide.verdict import allowed
from headgate.model import tables as t
from headgate.model.errors import IllegalArgument
from headgate.model.objects import ObjectRef, ObjectType, clip
from headgate.model.places import overlap, within
from headgate.steward.kernel import Kernel
from headgate.steward.metadata.catalogs import catalog_node
from headgate.steward.permits import Permit
from headgate.store import Read, Write, dropped, objects, places

Json = dict[str, Any]


class Placing:
    def __init__(self, kernel: Kernel, warehouse: str | None) -> None:
        self.kernel = kernel
        self.warehouse = None if warehouse is None else places.canonical(warehouse)
        """The server's own: divided among catalogs by the server, so nobody places anything else in it."""

    def named(
        self, permit: Permit, adapter: IcebergCatalog, at: TablePlace, chosen: Iterable[str]
    ) -> tuple[Permit, ...]:
        """The further permits that choosing these places for a table takes; none where anybody may.

        Refuses early what nobody may choose; the claim in the change itself makes sure.
        """
        catalog, user = catalog_node(permit).id, permit.identity.user
        more: tuple[Permit, ...] = ()
        for place in chosen:
            with self.kernel.store.read() as read:
                if at.object and places.holds(read, at.object, place):
                    continue
                if places.staged_by(read, catalog, user, place):
                    continue
            # Asked first: whether a place is anybody's is nothing for others to find out.
            more = more if self._in_schema(adapter, at, place) else (self.owner(permit),)
            self.check_reserved(place, own=adapter.schema_folder(()))
            with self.kernel.store.read() as read:
                if self._left(read, permit, at.type, place) is not None:
                    more = (*more, self._of_metalake(permit))
                    continue
                places.check(read, at.object, catalog, place, user=user, source=adapter.source)
        return more

    def owner(self, permit: Permit) -> Permit:
        """The permit to choose any place for what lies in a catalog: its owner's."""
        catalog = ObjectRef(permit.ref.metalake, ObjectType.CATALOG, permit.ref.path[:1])
        return self.kernel.permit(permit.identity, Op.CHOOSE_PLACE, catalog, at=permit.authority)

    def check_reserved(self, place: str, own: str | None) -> None:
        """Refuse a place in, or above, what the server divides by itself."""
        wanted = places.canonical(place)
        mine = own is not None and within(wanted, places.canonical(own))
        taken = self.warehouse is not None and overlap(wanted, self.warehouse) and not mine
        if taken or GOVERNED in wanted.split("/"):
            raise IllegalArgument(
                f"the location '{clip(place, 200)}' cannot be chosen",
                hint="it lies in the server's own warehouse, or around it: leave it out",
            )

    def bring_back(
        self,
        tx: Write,
        permit: Permit,
        object: int,
        at: Sequence[str],
        uuid: str | None = None,
        document: str | None = None,
    ) -> bool:
        """Let a new object be what was dropped at these very places, if that is the permit's owner's to decide.

        INVARIANT: it comes back as it was, and under all that it was under: in the schema that it lay in, whose policies
        it inherits, and with the document that it had last, whose columns policies name. Only an owner of the metalake,
        who may change every policy, decides otherwise.
        """
        for place in at:
            row = places.dropped_at(tx, place)
            former = None if row is None else dropped.get(tx, row.object)
            if row is None or former is None or row.uuid not in (None, uuid):
                continue
            if self._may_return(permit, former, objects.present(tx, object).type, document):
                dropped.bring_back(tx, former, object)
                return True
        return False

    def check_file(self, permit: Permit, type: ObjectType, file: str) -> None:
        """Refuse a file in somebody else's place, unless what was dropped there may come back with it.

        INVARIANT: asked before the file is opened: the answer is the same whether or not there is one.
        """
        catalog, user = catalog_node(permit).id, permit.identity.user
        with self.kernel.store.read() as read:
            for row in places.around(read, file):
                former = dropped.get(read, row.object) if row.state == places.DROPPED else None
                back = former is not None and self._may_return(permit, former, type, file)
                if not back and not places.staged_by(read, catalog, user, row.place):
                    raise places.taken(file)

    def _may_return(
        self, permit: Permit, former: dropped.Dropped, type: ObjectType, document: str | None
    ) -> bool:
        """Whether a dropped object may come back in the permit's schema with this document."""
        if former.metalake != permit.node.metalake or former.type is not type:
            return False
        here = former.parent == permit.node.id and (
            former.document is None or normal(former.document) == normal(document or "")
        )
        return here or self._decides_all(permit)

    def take_over(self, tx: Write, permit: Permit, object: int, at: Iterable[str]) -> None:
        """Put an object where another of its kind was dropped, as an owner of the metalake may decide.

        Denials and tags come with the place.
        INVARIANT: only where no policy stood over the former object and none stands over this one. The former files still
        lie there, and who sees all of the new object is given the folder: what a policy hid in them by the names of
        columns, or by the schema they lay in, nothing would hide any more.
        """
        for place in at:
            former = self._left(tx, permit, objects.present(tx, object).type, place)
            if former is not None:
                dropped.hand_on(tx, former, object)

    def _left(self, read: Read, permit: Permit, type: ObjectType, place: str) -> dropped.Dropped | None:
        """What was dropped at this very place, if the caller may put something else there."""
        if not self._decides_all(permit) or any_on_the_way(self.kernel.authority(), permit.node):
            return None
        row = places.dropped_at(read, place)
        former = None if row is None else dropped.get(read, row.object)
        if former is None or former.metalake != permit.node.metalake or former.type is not type:
            return None
        return None if former.under_policies else former

    def _decides_all(self, permit: Permit) -> bool:
        """Whether the caller owns the metalake, and so may change every policy in it."""
        lake = permit.authority.objects[permit.node.metalake]
        return allowed(permit.authority, permit.caller, Op.ALTER_METALAKE, lake)

    def _of_metalake(self, permit: Permit) -> Permit:
        lake = ObjectRef(permit.ref.metalake, ObjectType.METALAKE)
        return self.kernel.permit(permit.identity, Op.ALTER_METALAKE, lake, at=permit.authority)

    def _in_schema(self, adapter: IcebergCatalog, at: TablePlace, place: str) -> bool:
        """Whether a place lies in the schema's own folder, where whoever makes tables may choose what is nobody's.

        One that holds files already is somebody's, whether or not it is known whose.
        """
        folder = adapter.schema_folder(at.schema)
        if folder is None or not inside(normal(place), folder) or normal(place) == folder:
            return False
        return not adapter.storage.holds_files(place)


def in_definition(definition: Json) -> list[str]:
    """The places that a create request names."""
    properties = definition.get("properties") or {}
    named = [definition.get("location"), *(properties.get(key) for key in PLACES)]
    return [place.rstrip("/") for place in named if isinstance(place, str) and place]


def in_updates(updates: Iterable[Json]) -> Iterator[str]:
    """The places that a commit names."""
    for update in updates:
        if update.get("action") == "set-location" and isinstance(update.get("location"), str):
            yield update["location"].rstrip("/")
        if update.get("action") == "set-properties" and isinstance(update.get("updates"), dict):
            yield from in_definition({"properties": update["updates"]})


def in_changes(changes: Iterable[t.TableChange]) -> list[str]:
    """The places that changes of a table name."""
    set_ = {change.property: change.value for change in changes if isinstance(change, t.SetTableProperty)}
    return in_definition({"properties": set_})
