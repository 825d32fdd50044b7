"""Tags and policies on objects: assigned, inherited downward, nearest wins."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import msgspec

from headgate.decide import Op, allowed, visible
from headgate.decide.operations import LOADS
from headgate.model.errors import AlreadyExists, Forbidden, IllegalArgument, NotFound, NotInUse
from headgate.model.objects import LEAVES, ObjectRef, ObjectType, clip
from headgate.model.records import ObjectRecord
from headgate.steward.acts import act
from headgate.steward.kernel import Kernel
from headgate.steward.metadata.kept.entries import Entries
from headgate.steward.permits import Permit
from headgate.store import labels, objects

Fields = tuple[int, ...]
"""The field id of a column, then those of former columns of its name that are gone: it takes over what stands on them."""

Columns = Callable[[Permit], Mapping[str, tuple[Fields, ...]]]
"""The columns of the table that a permit is for, by name, each with the fields on the way to it, its own last."""

_NO_FIELD: Final[Fields] = (0,)

_TREE: Final = LEAVES | {ObjectType.METALAKE, ObjectType.CATALOG, ObjectType.SCHEMA}

LABELLED: Final[dict[ObjectType, frozenset[ObjectType]]] = {
    ObjectType.TAG: _TREE | {ObjectType.COLUMN},
    ObjectType.POLICY: _TREE,
}
"""What each kind of label can stand on."""

MAX_VALUE: Final = 256


class Assigned(msgspec.Struct, frozen=True):
    """A label as it holds for an object: its value, and whether it comes from further up."""

    label: ObjectRecord
    value: str | None
    inherited: bool


class LabelPlace(msgspec.Struct, frozen=True):
    """Something a label stands on directly."""

    ref: ObjectRef
    value: str | None


class Assign(msgspec.Struct, frozen=True):
    """A label to put or take, with the permit to apply it and the value to give or to take."""

    permit: Permit
    value: str | None = None


class Labels(Entries):
    """Tags or policies. An assignment to a column rests on its field id, so a rename changes nothing."""

    def __init__(self, kernel: Kernel, type: ObjectType, lists: Op, columns: Columns) -> None:
        super().__init__(kernel, type, lists)
        self.columns = columns

    # -- what holds for an object -----------------------------------------------------------------------------

    @act(*LOADS.values())
    def of(self, permit: Permit) -> list[Assigned]:
        """The labels of an object, its own and inherited ones, as far as the caller may see them, by name."""
        holding = self._holding(permit)
        authority = permit.authority
        nodes = [authority.objects[id] for id in holding]
        mine = [n for n in nodes if n.type is self.type]
        seen = {node.id for node in visible(authority, permit.caller, self.lists, mine)}
        with self.kernel.store.read() as read:
            found = objects.many(read, sorted(seen))
        return sorted(
            (Assigned(record, *holding[record.id]) for record in found),
            key=lambda assigned: assigned.label.name,
        )

    @act(*LOADS.values(), also=(Op.APPLY_TAG, Op.APPLY_POLICY))
    def one_of(self, permit: Permit, label: Permit) -> Assigned:
        """One label of an object."""
        found = self._holding(permit).get(label.node.id)
        if found is None:
            raise NotFound(
                f"{self.type} '{clip(label.ref.name)}' is not on {permit.ref.type} "
                f"'{clip(permit.ref.full_name)}' or above it",
                about=self.type,
            )
        with self.kernel.store.read() as read:
            return Assigned(objects.present(read, label.node.id), *found)

    @act(Op.LOAD_TABLE)
    def of_columns(self, permit: Permit) -> dict[str, list[tuple[str, str | None]]]:
        """The labels that stand on the columns of a table, by the name of the column, as far as the caller may see both."""
        authority, found = permit.authority, dict[str, list[tuple[str, str | None]]]()
        for name, way in self.columns(permit).items():
            places = [(permit.node.id, fields) for fields in reversed(way)]
            holding = self._held(permit, places)
            own = [authority.objects[id] for id, (_, inherited) in holding.items() if not inherited]
            mine = [node for node in own if node.type is self.type]
            seen = visible(authority, permit.caller, self.lists, mine)
            if on_it := sorted((node.name, holding[node.id][0]) for node in seen):
                found[name] = on_it
        return found

    def _holding(self, permit: Permit) -> dict[int, tuple[str | None, bool]]:
        return self._held(permit, self._places(permit))

    def _held(self, permit: Permit, places: list[tuple[int, Fields]]) -> dict[int, tuple[str | None, bool]]:
        """Value and whether inherited by label id. INVARIANT: the nearest assignment of a label wins."""
        place = places[0]
        above = [(id, _NO_FIELD) for id, _ in reversed(permit.node.chain)]
        found: dict[int, tuple[str | None, bool]] = {}
        for object, fields in [*places, *(step for step in above if step != place)]:
            for field in fields:
                for assigned in permit.authority.labels.get(object) or ():
                    if assigned.field == field:
                        found.setdefault(assigned.label, (assigned.value, (object, fields) != place))
        return found

    def _places(self, permit: Permit) -> list[tuple[int, Fields]]:
        """Object and field that a permit's reference names, then the columns that it lies in, from the inside out."""
        ref = permit.ref
        if ref.type not in LABELLED[self.type]:
            raise IllegalArgument(
                f"a {self.type} cannot be on a {ref.type}",
                hint=f"it can on {', '.join(sorted(LABELLED[self.type]))}",
            )
        if ref.type is not ObjectType.COLUMN:
            return [(permit.node.id, _NO_FIELD)]
        way = self.columns(msgspec.structs.replace(permit, ref=ref.parent)).get(ref.name)
        if way is None:
            raise NotFound(f"column '{clip(ref.full_name)}' does not exist", about="metadata-object")
        return [(permit.node.id, fields) for fields in reversed(way)]

    # -- assign -----------------------------------------------------------------------------------------------

    @act(*LOADS.values(), also=(Op.APPLY_TAG, Op.APPLY_POLICY))
    def assign(self, on: Permit, add: Sequence[Assign], remove: Sequence[Assign]) -> list[Assigned]:
        """Put and take labels, all of them or none. What is both put and taken with one value stays as it is."""
        object, fields = self._places(on)[0]
        adding = {(item.permit.node.id, item.value): item for item in add}
        removing = {(item.permit.node.id, item.value): item for item in remove}
        both = adding.keys() & removing.keys()
        with self.kernel.change(*(item.permit for item in (*add, *remove)), on) as tx:
            standing = self._standing(object, fields)
            held = {label: value for label, (value, _) in standing.items()}
            for (label, value), _ in removing.items():
                if (label, value) not in both and label in held and value in (None, held[label]):
                    for field in standing[label][1]:
                        labels.take(tx, label, object, field)
                    del held[label]
            for (label, value), item in adding.items():
                if (label, value) in both:
                    continue
                if label in held:
                    raise AlreadyExists(
                        f"{self.type} '{clip(item.permit.ref.name)}' is already on {on.ref.type} "
                        f"'{clip(on.ref.full_name)}'",
                        hint="remove it first to give it another value",
                        about=f"{self.type}-association",
                    )
                self._check_value(objects.present(tx, label), value)
                labels.put(tx, label, object, fields[0], value)
                held[label] = value
            records = objects.many(tx, sorted(held))
        nodes = [on.authority.objects[id] for id in held if id in on.authority.objects]
        seen = {node.id for node in visible(on.authority, on.caller, self.lists, nodes)}
        return sorted(
            (
                Assigned(record, held[record.id], False)
                for record in records
                if record.type is self.type and record.id in seen
            ),
            key=lambda assigned: assigned.label.name,
        )

    def _standing(self, object: int, fields: Fields) -> dict[int, tuple[str | None, list[int]]]:
        """The value of each label that stands here, and the fields that it stands on."""
        every = self.kernel.authority().labels.get(object) or ()
        found: dict[int, tuple[str | None, list[int]]] = {}
        for field in fields:
            for assigned in every:
                if assigned.field == field:
                    found.setdefault(assigned.label, (assigned.value, []))[1].append(field)
        return found

    def _check_value(self, label: ObjectRecord, value: str | None) -> None:
        if value is None:
            return
        if not value.strip() or len(value) > MAX_VALUE:
            raise IllegalArgument(f"a tag value has 1 to {MAX_VALUE} characters")
        choices: list[str] | None = label.body.get("allowedValues")
        if choices is not None and value not in choices:
            raise IllegalArgument(
                f"tag '{clip(label.name)}' does not allow the value '{clip(value)}'",
                hint=f"use one of {', '.join(map(clip, choices))}" if choices else "give it no value",
            )

    # -- where a label is -------------------------------------------------------------------------------------

    @act("LOAD_{type}")
    def places(self, permit: Permit, value: str | None = None) -> list[LabelPlace]:
        """What a label stands on directly, as far as the caller can load it, by type and name."""
        authority = permit.authority
        found: dict[ObjectRef, LabelPlace] = {}
        with self.kernel.store.read() as read:
            rows = labels.places(read, permit.node.id)
        # The youngest field first: what stands on a column itself wins over what it took over from one that is gone.
        for object, field, given in sorted(rows, key=lambda row: -row[1]):
            node = authority.objects.get(object)
            if node is None:
                continue
            if not allowed(authority, permit.caller, LOADS[node.type], node):
                continue
            ref = authority.ref(node)
            if field:
                name = self._column(permit, ref, field)
                if name is None:
                    continue
                ref = ref.child(ObjectType.COLUMN, name)
            found.setdefault(ref, LabelPlace(ref, given))
        wanted = [place for place in found.values() if value in (None, place.value)]
        return sorted(wanted, key=lambda place: (place.ref.type, place.ref.full_name))

    def _column(self, permit: Permit, table: ObjectRef, field: int) -> str | None:
        """The name that a column has now; None if it is gone, hidden, or its table cannot be read."""
        try:
            loads = self.kernel.permit(permit.identity, Op.LOAD_TABLE, table)
            return next((name for name, way in self.columns(loads).items() if field in way[-1]), None)
        except (NotFound, NotInUse, Forbidden):
            return None
