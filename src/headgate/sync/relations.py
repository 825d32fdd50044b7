"""Effective access as relations: the tables from which an engine of any size can make the join that `effective` makes.

Each table is a list of plain tuples. A user may do an action on an object if some `reach` row leads to a holder with an allowing
`grants` row on an object `above` it, `gives` says that this privilege gives the action from that level, no `grants` row denies
the same privilege on the way, what it `needs` is allowed too, and every use that `gates` asks for is itself allowed. Owners may do every action of `all_actions`.
"""

from typing import NamedTuple

import msgspec

from headgate.model.privileges import Condition
from headgate.sync import actions
from headgate.sync.capabilities import Semantics
from headgate.sync.facts import Facts, Securable


class Relations(NamedTuple):
    """The tables; principals and objects are text."""

    reach: list[tuple[str, str]]
    """user, principal it reaches (itself included)"""
    above: list[tuple[str, str, str, str, bool]]
    """object, its type, object above it (itself included), that one's type, whether grants reach down from there"""
    grants: list[tuple[str, str, str, bool]]
    """holder, object, privilege, denied"""
    gives: list[tuple[str, str, str, str]]
    """type bound to, privilege, action, type acted on"""
    owners: list[tuple[str, str]]
    """principal, object"""
    all_actions: list[tuple[str, str]]
    """type, action"""
    gates: list[tuple[str, str]]
    """action, use it needs"""
    ways: list[tuple[str, str, str]]
    """object, use, catalog or schema whose use that is"""
    needs: list[tuple[str, str]]
    """action, other action without which it counts for nothing"""


def object_key(object: Securable) -> str:
    """One text per object: a dot in a name is no dot between names."""
    return f"{object.type}:{msgspec.json.encode(object.path).decode()}"


def relations(facts: Facts, semantics: Semantics, inventory: Facts | None = None) -> Relations:
    """The tables of one system."""
    objects = facts.objects | inventory.objects if inventory else facts.objects
    above = []
    ways = []
    for object in objects:
        key = object_key(object)
        for step in object.chain(semantics.nested_schemas):
            reaches = step == object or step.type in semantics.inherits
            above.append((key, str(object.type), object_key(step), str(step.type), reaches))
        for use in actions.GATES:
            depth = 1 if use == actions.USE_CATALOG else 2
            if len(object.path) >= depth:
                gate = Securable(actions.type_of(use), object.path[:depth])
                ways.append((key, use, object_key(gate)))
    known = [action for all_of_type in actions.ACTIONS.values() for action in all_of_type]
    return Relations(
        reach=[(str(user), str(p)) for user in facts.users for p in facts.closure(user)],
        above=above,
        grants=[
            (str(g.holder), object_key(g.object), g.privilege, g.decision is Condition.DENY)
            for g in facts.grants
        ],
        gives=[
            (str(type), word, action, str(actions.type_of(action)))
            for type, table in semantics.natives.items()
            for word, given in table.items()
            for action in given
        ],
        owners=[(str(owner.principal), object_key(owner.object)) for owner in facts.owners],
        all_actions=[(str(actions.type_of(action)), action) for action in known],
        gates=[(action, use) for action in known for use in semantics.gates_of(action)],
        ways=ways,
        needs=[(action, other) for action, others in semantics.needs.items() for other in others],
    )
