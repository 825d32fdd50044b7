"""Effective access as tables: what an engine of any size can make the join from that `effective` makes in memory."""

from collections.abc import Hashable, Iterable
from typing import TypeVar

import msgspec

from headgate.model.objects import BESIDE, ObjectType
from headgate.model.privileges import Condition
from headgate.pipelines.access_tables import (
    AboveRow,
    AccessSystem,
    AccessTables,
    GivenRow,
    GrantRow,
    ObjectRow,
)
from headgate.sync.access import actions
from headgate.sync.access.capabilities import Semantics
from headgate.sync.snapshots.facts import Facts, Securable

T = TypeVar("T", bound=Hashable)


class Relations:
    """The tables of one system, or of two that are compared, and who and what their texts mean."""

    def __init__(self, *systems: tuple[Facts, Semantics], inventory: Iterable[Securable] = ()) -> None:
        exists = frozenset(inventory).union(*(facts.objects for facts, _ in systems))
        self.objects = _numbered(step for object in sorted(exists) for step in object.chain(nested=True))
        self.users = _numbered(sorted(frozenset().union(*(facts.users for facts, _ in systems))))
        self.principals = _numbered(p for facts, _ in systems for p in sorted(facts.principals))
        self.privileges = _numbered(sorted({g.privilege for facts, _ in systems for g in facts.grants}))
        self.tables = AccessTables(
            objects=[self._object(object, object in exists) for object in self.objects],
            above=[row for object in self.objects for row in self._above(object)],
            users=[str(user) for user in self.users],
            actions={str(type): tuple(sorted(all)) for type, all in actions.ACTIONS.items()},
            systems=tuple(self._system(facts, semantics) for facts, semantics in systems),
        )
        self.user_of = {str(user): user for user in self.users}
        self.object_of = {object_key(object): object for object in exists}

    def _object(self, object: Securable, exists: bool) -> ObjectRow:
        parent = object.parent(nested=True)
        tree = object.type is not ObjectType.METALAKE and object.type not in BESIDE
        depth = len(object.path) if tree else 0

        def place(type: ObjectType, length: int) -> int | None:
            return self.objects[Securable(type, object.path[:length])] if depth >= length else None

        return ObjectRow(
            self.objects[object],
            object_key(object),
            str(object.type),
            exists,
            None if parent is None else self.objects[parent],
            place(ObjectType.CATALOG, 1),
            place(ObjectType.SCHEMA, 2),
            place(ObjectType.TABLE, 3) if object.type in (ObjectType.TABLE, ObjectType.COLUMN) else None,
        )

    def _above(self, object: Securable) -> Iterable[AboveRow]:
        number, via = self.objects[object], None
        plain = set(object.chain())
        for step in object.chain(nested=True):
            at = self.objects[step]
            yield AboveRow(number, at, via, step not in plain)
            via = at

    def _system(self, facts: Facts, semantics: Semantics) -> AccessSystem:
        known = [action for all_of_type in actions.ACTIONS.values() for action in all_of_type]
        return AccessSystem(
            reach=[
                (self.users[user], self.principals[p]) for user in facts.users for p in facts.closure(user)
            ],
            grants=[
                GrantRow(
                    self.principals[g.holder],
                    self.objects[g.object],
                    self.privileges[g.privilege],
                    g.decision is Condition.DENY,
                )
                for g in facts.grants
            ],
            owners=[(self.principals[o.principal], self.objects[o.object]) for o in facts.owners],
            gives=[
                GivenRow(str(type), self.privileges[word], action)
                for type, table in semantics.natives.items()
                for word, given in table.items()
                if word in self.privileges
                for action in given
            ],
            inherits=frozenset(map(str, semantics.inherits)),
            owner_inherits=semantics.owner_inherits,
            nested_schemas=semantics.nested_schemas,
            gates={action: gates for action in known if (gates := semantics.gates_of(action))},
            needs=semantics.needs,
        )


def object_key(object: Securable) -> str:
    """One text per object: a dot in a name is no dot between names."""
    return f"{object.type}:{msgspec.json.encode(object.path).decode()}"


def _numbered(things: Iterable[T]) -> dict[T, int]:
    found: dict[T, int] = {}
    for thing in things:
        found.setdefault(thing, len(found))
    return found
