"""The columns of a table: as they are now, and which columns ever had which name."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import msgspec

from headgate.model.schema import Field, ListType, MapType, Schema, StructType, Type

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

    @classmethod
    def of(cls, schema: Schema, earlier: Iterable[Schema] = (), last: int = 0) -> "Shape":
        former: dict[Path, set[int]] = {}
        children: dict[tuple[int, str], set[int]] = {}
        for known in (*earlier, schema):
            for located in known.walk():
                former.setdefault(located.path, set()).add(located.field.id)
                above = located.ids[-2] if len(located.ids) > 1 else 0
                children.setdefault((above, located.path[-1]), set()).add(located.field.id)
        return cls(
            schema,
            {path: frozenset(ids) for path, ids in former.items()},
            {place: frozenset(ids) for place, ids in children.items()},
            last,
        )

    @cached_property
    def key(self) -> str:
        """Equal for tables with the same columns and the same past."""
        past = sorted((list(path), sorted(ids)) for path, ids in self.former.items())
        within = sorted((*place, sorted(ids)) for place, ids in self.children.items())
        text = msgspec.json.encode((self.schema.to_json()["fields"], past, within, sorted(self.lost)))
        return hashlib.sha256(text).hexdigest()

    @cached_property
    def lost(self) -> frozenset[int]:
        """The columns that the table had once; files written then still hold them.

        INVARIANT: an id that was given and that no known schema explains was a column's too: schemas can be removed.
        """
        known = frozenset(id for ids in self.former.values() for id in ids)
        return (known | frozenset(range(1, self.last + 1))) - self.schema.by_id.keys()

    @cached_property
    def heirs(self) -> Mapping[int, frozenset[int]]:
        """By column, those that are gone and had its name in its place: what was said of them counts for it.

        INVARIANT: who drops a column and adds it again, or gives another its name, does not shed its tags.
        """
        present = self.schema.by_id
        found: dict[int, frozenset[int]] = {}
        for located in self.schema.walk():
            id, name = located.field.id, located.path[-1]
            above = located.ids[-2] if len(located.ids) > 1 else 0
            gone = set(self.former.get(located.path, ()))
            # Also where the struct around it was renamed, or dropped and added again, itself.
            for holder in (above, *found.get(above, ())):
                gone |= self.children.get((holder, name), frozenset())
            gone -= present.keys()
            if gone:
                found[id] = frozenset(gone)
        return found

    def ids(self, path: Path) -> tuple[int, ...] | None:
        """The columns that a name means: the one that has it now, and those that had it and go by another name.

        Empty for a name that the table never had; None for one whose columns are all gone.
        INVARIANT: a column that was renamed stays under whatever was said of its old name.
        """
        now = self.schema.by_path.get(path)
        past = self.former.get(path)
        if past is None:
            return ()
        found = [] if now is None else [now.field.id]
        found += [id for id in sorted(past) if id not in found and self.schema.find(id) is not None]
        return tuple(found) or None

    def path(self, id: int) -> Path:
        return self.schema.by_id[id].path


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
