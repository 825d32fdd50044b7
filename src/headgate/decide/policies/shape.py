"""The columns of a table: as they are now, and which columns ever had which name."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import msgspec

from headgate.model.past import NOTHING_BEFORE, Past
from headgate.model.schema import Field, ListType, MapType, Schema, StructType, Type, folded

Path = tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Shape:
    """A table's schema with its past. Ids outlive a rename, so a name that a column once had still leads to it."""

    schema: Schema
    former: Mapping[Path, frozenset[int]]
    """The field ids that each path ever meant, those of today included."""
    children: Mapping[tuple[int, str], frozenset[int]]
    """The field ids that each name ever meant in the field of an id; 0 is the table itself."""
    last: int = 0
    """The highest field id that the table ever gave to a column."""
    replaced: frozenset[int] = frozenset()
    """Columns of another table that had the name before this one: ids below zero, which no column of a table has."""

    @classmethod
    def of(
        cls, schema: Schema, earlier: Iterable[Schema] = (), last: int = 0, past: Past = NOTHING_BEFORE
    ) -> "Shape":
        former: dict[Path, set[int]] = {}
        children: dict[tuple[int, str], set[int]] = {}
        for one in (*earlier, schema):
            for located in one.walk():
                former.setdefault(located.path, set()).add(located.field.id)
                above = located.ids[-2] if len(located.ids) > 1 else 0
                children.setdefault((above, located.path[-1]), set()).add(located.field.id)
        for known in past.columns:
            former.setdefault(known.path, set()).add(known.id)
            children.setdefault((known.above, known.path[-1]), set()).add(known.id)
        for gone in past.replaced:
            former.setdefault(gone.path, set()).add(gone.id)
        return cls(
            schema,
            {path: frozenset(ids) for path, ids in former.items()},
            {place: frozenset(ids) for place, ids in children.items()},
            max(last, past.last),
            frozenset(gone.id for gone in past.replaced if gone.present),
        )

    @cached_property
    def key(self) -> str:
        """Equal for tables with the same columns and the same past."""
        past = sorted((list(path), sorted(ids)) for path, ids in self.former.items())
        within = sorted((*place, sorted(ids)) for place, ids in self.children.items())
        text = msgspec.json.encode(
            (self.schema.to_json()["fields"], past, within, sorted(self.lost), sorted(self.replaced))
        )
        return hashlib.sha256(text).hexdigest()

    @cached_property
    def lost(self) -> frozenset[int]:
        """The columns that the table had once; files written then still hold them.

        INVARIANT: an id that was given and that no known schema explains was a column's too: schemas can be removed.
        """
        known = frozenset(id for ids in self.former.values() for id in ids if id > 0)
        return (known | frozenset(range(1, self.last + 1))) - self.schema.by_id.keys()

    @cached_property
    def namesakes(self) -> Mapping[int, frozenset[int]]:
        """By column, the others that ever had a name of its own in its place, whether they are gone or renamed now.

        INVARIANT: what was said of a name counts for whatever column gets it, and stays with it under the next name. A
        name in other letters is the same name: most engines read it so.
        """
        found: dict[int, frozenset[int]] = {}
        for located in self.schema.walk():
            others: set[int] = set()
            waiting = [located.field.id]
            # Who takes over from a column that is gone takes over from those that it took over from.
            while waiting:
                near = self._namesakes_of(waiting.pop(), found, direct=not others)
                waiting += (id for id in near - others if id not in self.schema.by_id)
                others |= near
            others.discard(located.field.id)
            if others:
                found[located.field.id] = frozenset(others)
        return found

    def _namesakes_of(self, id: int, outer: Mapping[int, frozenset[int]], *, direct: bool) -> set[int]:
        """The columns that ever had a name which this one ever had; those that are there only if they are `direct`.

        `outer` are the namesakes of the structs around it: one may have been renamed, or dropped and added again, itself.
        """
        others: set[int] = set()
        paths, places = self._names.get(id, ((), ()))
        for path in paths:
            others |= self._folded[_fold(path)]
        for above, name in places:
            for holder in (above, *outer.get(above, ())):
                others |= self._folded_children.get((holder, folded(name)), set())
        return others if direct else others - self.schema.by_id.keys()

    @cached_property
    def heirs(self) -> Mapping[int, frozenset[int]]:
        """By column, those of its namesakes that are gone: their tags are listed as its own, and taken off with it.

        INVARIANT: dropping a column and adding it again, or giving another its name, sheds none of its tags.
        """
        present = self.schema.by_id
        gone = {
            id: frozenset(other for other in others if other not in present)
            for id, others in self.namesakes.items()
        }
        return {id: others for id, others in gone.items() if others}

    @cached_property
    def unplaced(self) -> frozenset[int]:
        """Columns of the table that had the name before which no column of this one has the name of.

        INVARIANT: a field inside a list or map is nobody's heir, as it goes by no tag.
        """
        placed = (gone for id, gone in self.heirs.items() if not self.schema.by_id[id].inside)
        return self.replaced.difference(*placed)

    @property
    def unplaced_names(self) -> tuple[tuple[Path, int], ...]:
        """What those columns were called."""
        return tuple((path, id) for path, ids in self.former.items() for id in sorted(ids & self.unplaced))

    @cached_property
    def _names(self) -> Mapping[int, tuple[set[Path], set[tuple[int, str]]]]:
        """By column, every path and every place that it ever had."""
        found: dict[int, tuple[set[Path], set[tuple[int, str]]]] = {}
        for path, ids in self.former.items():
            for id in ids:
                found.setdefault(id, (set(), set()))[0].add(path)
        for place, ids in self.children.items():
            for id in ids:
                found.setdefault(id, (set(), set()))[1].add(place)
        return found

    @cached_property
    def _folded(self) -> Mapping[Path, set[int]]:
        found: dict[Path, set[int]] = {}
        for path, ids in self.former.items():
            found.setdefault(_fold(path), set()).update(ids)
        return found

    @cached_property
    def _folded_children(self) -> Mapping[tuple[int, str], set[int]]:
        found: dict[tuple[int, str], set[int]] = {}
        for (above, name), ids in self.children.items():
            found.setdefault((above, folded(name)), set()).update(ids)
        return found

    def ids(self, path: Path) -> tuple[int, ...] | None:
        """The columns that a name means: the one that has it now, and those that had it and go by another name.

        Empty for a name that the table never had; None for one whose columns are all gone.
        INVARIANT: a column that was renamed stays under whatever was said of its old name, and a name in other letters is
        the same name.
        """
        past = self._folded.get(_fold(path))
        if past is None:
            return ()
        now = self.schema.by_path.get(path)
        found = [] if now is None else [now.field.id]
        found += sorted((past & self.schema.by_id.keys()).difference(found))
        return tuple(found) or None

    def path(self, id: int) -> Path:
        return self.schema.by_id[id].path


def _fold(path: Path) -> Path:
    return tuple(folded(part) for part in path)


def without(schema: Schema, hidden: frozenset[int]) -> Schema:
    """The schema without these fields; a struct, list or map that nothing is left of goes with them."""
    kept = (_without(field, hidden) for field in schema.fields)
    return Schema(tuple(f for f in kept if f is not None), schema.schema_id)


def _without(field: Field, hidden: frozenset[int]) -> Field | None:
    if field.id in hidden:
        return None
    type = _type_without(field.type, hidden)
    if type is None:
        return None
    return field if type is field.type else msgspec.structs.replace(field, type=type)


def _type_without(type: Type, hidden: frozenset[int]) -> Type | None:
    match type:
        case StructType(fields):
            kept = tuple(f for f in (_without(field, hidden) for field in fields) if f is not None)
            if not kept:
                return None
            return type if kept == fields else StructType(kept)
        case ListType(element):
            left = _without(element, hidden)
            return None if left is None else type if left is element else ListType(left)
        case MapType(key, value):
            pair = _without(key, hidden), _without(value, hidden)
            if pair[0] is None or pair[1] is None:
                return None
            return type if pair == (key, value) else MapType(pair[0], pair[1])
        case _:
            return type
