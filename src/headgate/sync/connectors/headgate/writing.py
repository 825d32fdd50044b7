"""How changes of facts are made in a metalake."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Final

from headgate.decide.policies.rules import parsed
from headgate.language.errors import LanguageError
from headgate.model.errors import HeadgateError, NotFound
from headgate.model.objects import SCHEMA_SEPARATOR, ObjectType
from headgate.model.principals import PrincipalKind
from headgate.model.privileges import Condition, Privilege, PrivilegeBits, bits_of_all_names
from headgate.store import access, labels, objects, policies
from headgate.store.database import Read, Write
from headgate.sync.connectors.headgate.policies import Lake, PolicyWriter
from headgate.sync.pushing.results import Applied, Change, Outcome
from headgate.sync.snapshots.facts import (
    Fact,
    GrantFact,
    Kind,
    Known,
    Mask,
    MemberFact,
    OwnerFact,
    Present,
    Principal,
    Property,
    RowFilter,
    Securable,
    Tag,
)
from headgate.sync.translating.restrictions import table_of

_T = ObjectType


class HeadgateWriter:
    """Makes changes in one transaction. Neighbours of one sort are made together, in a few statements."""

    def __init__(self, tx: Write, metalake: str, lake: Lake | None, changes: Sequence[Change]) -> None:
        self.tx = tx
        found = objects.find(tx, 0, ObjectType.METALAKE, metalake)
        if found is None:
            raise NotFound(f"metalake '{metalake}' does not exist", about=ObjectType.METALAKE)
        self.root = found.id
        self.lake = lake
        self.changes = changes
        facts = [change.fact for change in changes]
        asked = {f.object for f in facts if isinstance(f, GrantFact | OwnerFact | Tag)}
        asked |= {table_of(f) for f in facts if isinstance(f, RowFilter | Mask)}
        self.ids = _found_objects(tx, found.id, asked)
        self.who = _found_principals(tx, found.id, {who for fact in facts for who in _named(fact)})

    def make(self) -> list[Applied]:
        """What became of each change, in their order."""
        answers: list[Applied] = []
        for sort, run in groupby(self.changes, key=_sort):
            changes = list(run)
            match sort:
                case "grant":
                    answers += self._grants(changes)
                case "hold" | "let go":
                    answers += self._roles(changes, sort == "hold")
                case "new role":
                    answers += self._new_roles(changes)
                case "property":
                    answers += self._properties(changes)
                case _:
                    answers += [self._one(change) for change in changes]
        return answers

    # -- together ------------------------------------------------------------------------------------------------

    def _grants(self, changes: list[Change]) -> list[Applied]:
        answers: list[Applied] = []
        wanted: dict[tuple[int, int], PrivilegeBits] = {}
        places: list[tuple[int, int] | None] = []
        for change in changes:
            grant = change.fact
            assert isinstance(grant, GrantFact)
            try:
                place = self._id(grant.holder), self._on(grant.object)
                Privilege.parse(grant.privilege)
            except HeadgateError as error:
                places.append(None)
                answers.append(Applied(Outcome.FAILED, str(error)))
            else:
                places.append(place)
                answers.append(_DONE)
        now = access.grants_at(self.tx, {place for place in places if place is not None})
        for change, at in zip(changes, places, strict=True):
            if at is None:
                continue
            grant = change.fact
            assert isinstance(grant, GrantFact)
            bit = Privilege.parse(grant.privilege).bit
            before, names = wanted.get(at) or now.get(at) or PrivilegeBits(), bits_of_all_names(bit)
            allow, deny = before.allow & ~names, before.deny & ~names
            if change.after is not None:
                allow |= bit if grant.decision is Condition.ALLOW else 0
                deny |= bit if grant.decision is Condition.DENY else 0
            wanted[at] = PrivilegeBits(allow, deny)
        access.put_grants(self.tx, wanted)
        return answers

    def _roles(self, changes: list[Change], held: bool) -> list[Applied]:
        answers: list[Applied] = []
        pairs: list[tuple[int, int]] = []
        for change in changes:
            fact = change.fact
            assert isinstance(fact, MemberFact)
            try:
                pairs.append((self._id(fact.of), self._id(fact.who)))
                answers.append(_DONE)
            except HeadgateError as error:
                answers.append(Applied(Outcome.FAILED, str(error)))
        access.hold_roles(self.tx, pairs, held)
        return answers

    def _new_roles(self, changes: list[Change]) -> list[Applied]:
        roles = [change.fact.principal for change in changes if isinstance(change.fact, Known)]
        made = objects.create_many(
            self.tx, self.root, self.root, ObjectType.ROLE, [role.name for role in roles]
        )
        self.who |= {role: made[role.name] for role in roles}
        return [_DONE] * len(changes)

    def _properties(self, changes: list[Change]) -> list[Applied]:
        answers: list[Applied] = []
        wanted: dict[int, dict[str, str]] = {}
        asked = {self.who.get(who, 0) for change in changes for who in _named(change.fact)}
        records = {record.id: record for record in objects.many(self.tx, sorted(asked))}
        for change in changes:
            fact = change.fact
            assert isinstance(fact, Property)
            record = records.get(self.who.get(fact.principal, 0))
            if record is None:
                answers.append(Applied(Outcome.FAILED, f"{fact.principal} does not exist"))
            elif fact.name == "in-use":
                answers.append(Applied(Outcome.UNSUPPORTED, "'in-use' belongs to Headgate itself"))
            else:
                now = wanted.setdefault(record.id, dict(record.properties))
                now.pop(fact.name, None)
                if change.after is not None:
                    now[fact.name] = fact.value
                answers.append(_DONE)
        for id, properties in wanted.items():
            objects.alter(self.tx, records[id], properties=properties)
        return answers

    # -- one by one ----------------------------------------------------------------------------------------------

    def _one(self, change: Change) -> Applied:
        holds = change.after is not None
        try:
            match change.fact:
                case Known(principal):
                    self._principal(principal, holds)
                case MemberFact(of, who):
                    self._group(of, who, holds)
                case OwnerFact(object, principal) if holds:
                    access.set_owner(self.tx, self._on(object), self._id(principal))
                case OwnerFact():
                    return Applied(Outcome.UNSUPPORTED, "an object cannot be left without its owner")
                case Tag() as tag:
                    why = self._tag(tag, holds)
                    return Applied(Outcome.UNSUPPORTED, why) if why else _DONE
                case RowFilter() | Mask() as rule:
                    assert self.lake is not None, "rules are about a metalake that was read"
                    writer = PolicyWriter(self.tx, self.root, self.lake)
                    return writer.put(rule, self._on(table_of(rule))) if holds else writer.take(rule)
                case Present():
                    return Applied(Outcome.UNSUPPORTED, "objects are made and dropped by people")
                case GrantFact() | Property():
                    raise AssertionError("these are made together")
        except HeadgateError as error:
            return Applied(Outcome.FAILED, str(error))
        return _DONE

    def _tag(self, tag: Tag, holds: bool) -> str:
        """Put a tag on an object or take it off; or why not."""
        label = objects.find(self.tx, self.root, ObjectType.TAG, tag.name)
        if label is None:
            return f"there is no tag '{tag.name}'"
        # INVARIANT: a push never changes what policies see to; what they ask for is put and taken by people.
        if _asked_for(self.tx, tag.name):
            return f"a policy asks for the tag '{tag.name}'"
        allowed = label.body.get("allowedValues")
        if holds and tag.value and allowed is not None and tag.value not in allowed:
            return f"the tag '{tag.name}' does not allow the value '{tag.value}'"
        if holds:
            labels.put(self.tx, label.id, self._on(tag.object), 0, tag.value or None)
        else:
            labels.take(self.tx, label.id, self._on(tag.object), 0)
        return ""

    def _principal(self, principal: Principal, exists: bool) -> None:
        known = self.who.get(principal)
        if exists == (known is not None):
            return
        if principal.kind is Kind.ROLE:
            assert known is not None, "roles are made together"
            objects.drop(self.tx, known)
            del self.who[principal]
            return
        kind = PrincipalKind(principal.kind.value)
        if known is None:
            self.who[principal] = access.add_principal(self.tx, self.root, kind, principal.name)
            return
        record = access.find_principal(self.tx, self.root, kind, principal.name)
        assert record is not None
        access.remove_principal(self.tx, record)
        del self.who[principal]

    def _group(self, group: Principal, who: Principal, is_member: bool) -> None:
        record = access.find_principal(self.tx, self.root, PrincipalKind.GROUP, group.name)
        member = access.find_principal(self.tx, self.root, PrincipalKind(who.kind.value), who.name)
        if record is None or member is None:
            raise NotFound(f"{group if record is None else who} does not exist")
        now = {m.id: m for m in access.members(self.tx, record.id)}
        now.pop(member.id, None)
        access.set_members(self.tx, record, [*now.values(), *([member] if is_member else [])])

    def _id(self, principal: Principal) -> int:
        if principal not in self.who:
            raise NotFound(f"{principal} does not exist", about=principal.kind.value)
        return self.who[principal]

    def _on(self, object: Securable) -> int:
        if object not in self.ids:
            raise NotFound(f"{object} does not exist", about=object.type)
        return self.ids[object]


_DONE: Final = Applied(Outcome.APPLIED)


def _sort(change: Change) -> str:
    """Of which sort a change is, of those that are made together; empty for the others."""
    holds = change.after is not None
    match change.fact:
        case GrantFact():
            return "grant"
        case MemberFact(of) if of.kind is Kind.ROLE:
            return "hold" if holds else "let go"
        case Known(principal) if holds and principal.kind is Kind.ROLE:
            return "new role"
        case Property():
            return "property"
        case _:
            return ""


def _named(fact: Fact) -> tuple[Principal, ...]:
    match fact:
        case Known(principal) | OwnerFact(_, principal) | Property(principal):
            return (principal,)
        case MemberFact(of, who):
            return (of, who)
        case GrantFact(holder):
            return (holder,)
        case _:
            return ()


def _found_principals(read: Read, root: int, asked: Iterable[Principal]) -> dict[Principal, int]:
    names: dict[Kind, list[str]] = defaultdict(list)
    for principal in asked:
        names[principal.kind].append(principal.name)
    found: dict[Principal, int] = {}
    for kind, these in names.items():
        if kind is Kind.ROLE:
            ids = objects.ids(read, root, ObjectType.ROLE, these)
        else:
            ids = access.principal_ids(read, root, PrincipalKind(kind.value), these)
        found |= {Principal(kind, name): id for name, id in ids.items()}
    return found


def _asked_for(read: Read, tag: str) -> bool:
    """Whether a policy asks for a tag; one that cannot be read might."""
    try:
        return any(tag in parsed(rule.document).tags for rule in policies.all_set(read) if rule.document)
    except LanguageError:
        return True


_Step = tuple[ObjectType, str]


def _found_objects(read: Read, root: int, asked: set[Securable]) -> dict[Securable, int]:
    """The ids of those that exist, asked for level by level; a nested schema is a step for each of its segments."""
    ways = {object: _steps(object) for object in asked}
    known: dict[tuple[_Step, ...], int] = {(): root}
    for depth in range(max(map(len, ways.values()), default=0)):
        wanted: dict[tuple[tuple[_Step, ...], ObjectType], set[str]] = defaultdict(set)
        for way in ways.values():
            if len(way) > depth and way[:depth] in known:
                type, name = way[depth]
                wanted[way[:depth], type].add(name)
        for (above, type), names in wanted.items():
            for name, id in objects.ids(read, known[above], type, names).items():
                known[*above, (type, name)] = id
    return {object: known[way] for object, way in ways.items() if way in known}


def _steps(object: Securable) -> tuple[_Step, ...]:
    steps: list[_Step] = []
    for n, name in enumerate(object.path):
        last = n == len(object.path) - 1
        type = object.type if last else (ObjectType.CATALOG, ObjectType.SCHEMA)[n]
        parts = name.split(SCHEMA_SEPARATOR) if type is ObjectType.SCHEMA else [name]
        steps += [(type, part) for part in parts]
    return tuple(steps)
