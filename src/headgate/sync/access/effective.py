"""Effective access: principal × object × action, expanded from facts under one system's semantics.

This is the reference, in plain Python and for sizes that fit in memory. It joins four relations — who is reached from a user,
what lies on the way to an object, what is granted, what a privilege gives — and is written over them alone, so that the same
join can be made by a cluster for sizes that do not (`relations`, `at_scale`).
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeAlias

from headgate.model.errors import Unsupported
from headgate.model.objects import ObjectType
from headgate.model.privileges import Condition
from headgate.sync.access import actions
from headgate.sync.access.actions import type_of
from headgate.sync.access.capabilities import Semantics
from headgate.sync.snapshots.facts import Facts, Mask, Principal, RowFilter, Securable

Access: TypeAlias = tuple[Securable, str]
"""An action on an object."""
Effective: TypeAlias = dict[Principal, frozenset[Access]]
"""Everything each user may do. Users with the same groups, roles and grants share one set."""

MOST_IN_MEMORY: Final = 10_000_000
"""Accesses (user or users with the same grants, object, action) that are held at one time: about two gigabytes."""


def check_fits(held: int, what: str, hint: str) -> None:
    """Refuse what does not fit into memory, before it is tried."""
    if held > MOST_IN_MEMORY:
        raise Unsupported(
            f"{what} come to as many as {held:,} accesses, and {MOST_IN_MEMORY:,} are worked out in memory",
            hint=hint,
            about="sync",
        )


class Shared:
    """Sets that are worked out from others: made once for all users for whom they are the same, and no more than fit."""

    def __init__(self) -> None:
        self.made: dict[tuple[object, ...], frozenset[Access]] = {}
        self.held = 0

    def of(self, key: tuple[object, ...], make: Callable[[], frozenset[Access]]) -> frozenset[Access]:
        if key not in self.made:
            self.made[key] = make()
            self.held += len(self.made[key])
            check_fits(self.held, "the policies, with what is restricted for each user,", PUSH_LESS)
        return self.made[key]


PUSH_LESS: Final = (
    "users with the same groups, roles and restrictions count once: grant through groups and roles"
)


def effective(
    facts: Facts, semantics: Semantics, inventory: Facts | None = None, also: Iterable[Principal] = ()
) -> Effective:
    """What every user may do, and `also` these others. Objects are those of the facts, and of the inventory if there is one."""
    tree = _Tree((facts.objects | inventory.objects) if inventory else facts.objects, semantics)
    speaking = facts.grants_of.keys() | facts.owned_by.keys()
    profiles: dict[frozenset[Principal], frozenset[Access]] = {}
    result: Effective = {}
    for who in facts.users.union(also):
        # What everyone may do, a role may do for whoever acts as it.
        profile = (facts.closure(who) | facts.everyone) & speaking
        if profile not in profiles:
            profiles[profile] = _access(facts, profile, semantics, tree)
        result[who] = profiles[profile]
    return result


def most(facts: Facts, semantics: Semantics, inventory: Facts | None = None) -> int:
    """How many accesses `effective` has to hold at most, estimated without working them out."""
    tree = _Tree((facts.objects | inventory.objects) if inventory else facts.objects, semantics)
    speaking = facts.grants_of.keys() | facts.owned_by.keys()
    profiles = {facts.closure(user) & speaking for user in facts.users}
    held = {holder: _most_of(facts, holder, semantics, tree) for holder in speaking}
    return sum(held[holder] for profile in profiles for holder in profile)


def _most_of(facts: Facts, holder: Principal, semantics: Semantics, tree: "_Tree") -> int:
    total = 0
    for grant in facts.grants_of.get(holder, ()):
        if grant.decision is Condition.ALLOW:
            inherits = grant.object.type in semantics.inherits
            for action in semantics.given(grant.object.type, grant.privilege):
                total += 1 + (len(tree.below.get((grant.object, type_of(action)), ())) if inherits else 0)
    for owned in facts.owned_by.get(holder, ()):
        total += len(actions.ACTIONS[owned.type])
        if semantics.owner_inherits:
            total += sum(
                len(tree.below.get((owned, type), ())) * len(all) for type, all in actions.ACTIONS.items()
            )
    return total


class _Tree:
    """The objects, and by type what lies below each."""

    def __init__(self, objects: Iterable[Securable], semantics: Semantics) -> None:
        self.nested = semantics.nested_schemas
        self.below: dict[tuple[Securable, ObjectType], list[Securable]] = defaultdict(list)
        for object in objects:
            for above in object.chain(self.nested):
                if above is not object:
                    self.below[above, object.type].append(object)

    def reached(self, object: Securable, type: ObjectType, inherits: bool) -> Iterable[Securable]:
        if object.type is type:
            yield object
        if inherits:
            yield from self.below.get((object, type), ())


def _access(
    facts: Facts, profile: frozenset[Principal], semantics: Semantics, tree: _Tree
) -> frozenset[Access]:
    denied = {
        (grant.object, grant.privilege)
        for holder in profile
        for grant in facts.grants_of.get(holder, ())
        if grant.decision is Condition.DENY
    }
    raw: set[Access] = set()
    for holder in profile:
        for grant in facts.grants_of.get(holder, ()):
            if grant.decision is Condition.ALLOW:
                given = semantics.given(grant.object.type, grant.privilege)
                inherits = grant.object.type in semantics.inherits
                for action in given:
                    for object in tree.reached(grant.object, type_of(action), inherits):
                        if not denied or not _denied(denied, object, grant.privilege, semantics):
                            raw.add((object, action))
        # Ownership is not stopped by a denial.
        for owned in facts.owned_by.get(holder, ()):
            raw.update((owned, action) for action in actions.ACTIONS[owned.type])
            if semantics.owner_inherits:
                for type, all_actions in actions.ACTIONS.items():
                    for object in tree.below.get((owned, type), ()):
                        raw.update((object, action) for action in all_actions)
    return through_gates(raw, semantics)


def _denied(
    denied: set[tuple[Securable, str]], object: Securable, privilege: str, semantics: Semantics
) -> bool:
    """A denial on any level beats every grant of the same privilege."""
    inherits = semantics.inherits
    return any(
        (step, privilege) in denied and (step is object or step == object or step.type in inherits)
        for step in object.chain(semantics.nested_schemas)
    )


def through_gates(raw: set[Access], semantics: Semantics) -> frozenset[Access]:
    """Those of the actions whose way is open, and which are not held up by the lack of another."""
    if semantics.needs:
        raw = {
            (object, action)
            for object, action in raw
            if all((object, other) in raw for other in semantics.needs.get(action, ()))
        }
    if not semantics.gates:
        return frozenset(raw)
    open: set[Access] = set()
    rest: list[Access] = []
    for access in raw:
        if access[1] == actions.USE_CATALOG:
            open.add(access)
        else:
            rest.append(access)
    for wanted in (True, False):
        for object, action in rest:
            if (action == actions.USE_SCHEMA) is wanted and all(
                (_at(object, use), use) in open for use in semantics.gates_of(action)
            ):
                open.add((object, action))
    return frozenset(open)


def _at(object: Securable, use: str) -> Securable:
    """The catalog or schema whose use is asked for."""
    type = type_of(use)
    return Securable(type, object.path[: 1 if type is ObjectType.CATALOG else 2])


def covered(access: Access, by: frozenset[Access] | set[Access]) -> bool:
    """Whether the access is there, or, for a column, that to its whole table or view."""
    if access in by:
        return True
    object, action = access
    if object.type is ObjectType.COLUMN:
        verb = action.partition(".")[2]
        wholes = (ObjectType.TABLE, ObjectType.VIEW)
        return any((Securable(type, object.path[:3]), f"{type}.{verb}") in by for type in wholes)
    return False


def beyond(inner: Mapping[Principal, frozenset[Access]], outer: Effective) -> dict[Principal, set[Access]]:
    """What the one allows and the other does not, by user; empty if there is nothing."""
    found: dict[Principal, set[Access]] = {}
    # Users who share both sets share what is beyond, too.
    extras: dict[tuple[int, int], set[Access]] = {}
    for user, allowed in inner.items():
        other = outer.get(user, _NOTHING)
        if allowed is other:
            continue
        pair = id(allowed), id(other)
        if pair not in extras:
            extras[pair] = {a for a in allowed - other if not covered(a, other)}
        if extras[pair]:
            found[user] = extras[pair]
    return found


_NOTHING: frozenset[Access] = frozenset()


def reads(access: Iterable[Access], table: Securable) -> bool:
    """Whether a table or one of its columns can be read."""
    return any(object.path[:3] == table.path and action in _READS for object, action in access)


_READS = frozenset({"table.read", "column.read", "view.read"})


def restricted(facts: Facts) -> dict[Principal, set[RowFilter | Mask]]:
    """The row filters and masks that apply to each user."""
    found: dict[Principal, set[RowFilter | Mask]] = defaultdict(set)
    if facts.restrictions:
        for user in facts.users:
            reached = facts.closure(user)
            for rule in facts.restrictions:
                if (not rule.to or reached & set(rule.to)) and not reached & set(rule.exempt):
                    found[user].add(rule)
    return dict(found)
