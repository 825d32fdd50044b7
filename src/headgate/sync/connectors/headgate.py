"""Headgate itself: a metalake of a local store."""

import datetime as dt
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import lru_cache
from itertools import groupby
from typing import Final

from headgate.decide.authority import Authority
from headgate.decide.rules import parsed
from headgate.language.errors import LanguageError
from headgate.model import changes as c
from headgate.model.errors import HeadgateError, NotFound
from headgate.model.objects import OWNABLE, SCHEMA_SEPARATOR, ObjectType
from headgate.model.principals import Audit, PrincipalKind
from headgate.model.privileges import Condition, Masks, Privilege, bits_of_all_names, current_bits
from headgate.store import Store, access, labels, objects, policies
from headgate.store.database import Read, Write
from headgate.store.snapshot import everything
from headgate.sync import actions
from headgate.sync.capabilities import CANONICAL, Capabilities
from headgate.sync.connectors.headgate_policies import Lake, PolicyHand, pushed
from headgate.sync.connectors.headgate_rules import PolicyRules, Shapes
from headgate.sync.contract import Connector
from headgate.sync.dialects import OWN
from headgate.sync.facts import (
    Fact,
    Facts,
    Grant,
    Kind,
    Known,
    Mask,
    Member,
    Owner,
    Present,
    Principal,
    Property,
    RowFilter,
    Securable,
    Tag,
)
from headgate.sync.restrictions import Rule, table_of
from headgate.sync.results import Applied, Change, Outcome
from headgate.sync.run import Reading
from headgate.sync.snapshot import ChangeLog

_T = ObjectType
_SAID: Final = frozenset(ObjectType) - {_T.ROLE, _T.JOB, _T.COLUMN}
"""What policies speak of; a role is a principal here."""

CAPABILITIES: Final = Capabilities(
    system="headgate",
    semantics=CANONICAL.__class__(
        natives={type: table for type, table in actions.CANONICAL.items() if type is not _T.COLUMN},
        inherits=CANONICAL.inherits,
        gates=CANONICAL.gates,
        owner_inherits=True,
        nested_schemas=True,
    ),
    deny=True,
    groups=True,
    memberships=True,
    roles=True,
    role_holders=frozenset({Kind.USER, Kind.GROUP}),
    rows=True,
    masks=True,
    rules_stay=True,
    role_properties=True,
    dialect=OWN,
    tags=frozenset({_T.CATALOG, _T.SCHEMA, _T.TABLE, _T.VIEW}),
    owners=OWNABLE & _SAID,
    creates=frozenset({Kind.USER, Kind.GROUP, Kind.ROLE}),
    versions=True,
)


Writing = Callable[[], AbstractContextManager[Write]]


class HeadgateConnector(Connector):
    """One metalake of a store, read and changed in place; every batch is one revision."""

    batch = 2_000

    def __init__(
        self,
        store: Store,
        metalake: str,
        name: str | None = None,
        writing: Writing | None = None,
        shapes: Shapes = lambda _authority, _table: None,
    ) -> None:
        super().__init__(name or f"headgate:{metalake}")
        self.store = store
        self.metalake = metalake
        self.writing = writing or (lambda: store.write("sync", "sync"))
        """How the store is changed: a steward gives a change under a permit here."""
        self.shapes = shapes
        self.lake: Lake | None = None

    @property
    def capabilities(self) -> Capabilities:
        return CAPABILITIES

    def read(self) -> Reading:
        revision, changes = everything(self.store)
        sight = _Sight(self.metalake, changes)
        tables = {at: id for id, at in sight.tables}
        lake = Lake(lambda: Authority().applied(changes, revision), self.metalake, tables, self.shapes)
        facts, notes = Facts(sight.facts).changed(self._column_tags(lake, sight)), set(sight.notes)
        if sight.policies:
            lake.own = self._pushed(lake, sight)
            now, besides = dt.datetime.now(dt.UTC), lake.own.keys()
            rules = PolicyRules(lake.authority, self.metalake, facts, lake.shape_of, now, besides)
            # The policy of a push is not an object beside its rule: it comes and goes with it.
            made = {Present(at) for id in lake.own if (at := sight.paths[id]) is not None}
            facts = facts.changed(lake.own.values(), made).changed(
                rule for at, id in tables.items() for rule in rules.on(lake.authority.objects[id], at)
            )
            notes |= rules.notes
        described, logs = self._described(sight)
        facts = facts.changed(described)
        lake.facts = facts
        self.lake = lake
        return Reading(facts, logs, notes=tuple(sorted(notes)))

    def _described(self, sight: "_Sight") -> tuple[list[Property], dict[Principal, ChangeLog]]:
        """The properties of roles, and who made and changed whom."""
        found: list[Property] = []
        logs: dict[Principal, ChangeLog] = {}
        with self.store.read() as read:
            for record in objects.in_parent(read, sight.root, _T.ROLE):
                role = sight.roles.get(record.id)
                if role is not None:
                    logs[role] = _log(record.audit)
                    found += (Property(role, name, value) for name, value in record.properties.items())
            for kind in (PrincipalKind.USER, PrincipalKind.GROUP):
                for person in access.principals(read, sight.root, kind):
                    if person.id in sight.people:
                        logs[sight.people[person.id]] = _log(person.audit)
        return found, logs

    def _column_tags(self, lake: Lake, sight: "_Sight") -> Iterator[Tag]:
        """The tags of columns that are there by a name."""
        for table, field, name, value in sight.columns:
            at = sight.paths[table]
            shape = None if at is None else lake.shape(at)
            located = None if shape is None else shape.schema.by_id.get(field)
            if at is not None and located is not None and len(located.path) == 1:
                yield Tag(Securable(_T.COLUMN, (*at.path, *located.path)), name, value)

    def _pushed(self, lake: Lake, sight: "_Sight") -> dict[int, Rule]:
        """The rules of pushes, of the policies that say just them today."""
        with self.store.read() as read:
            records = objects.many(read, sorted(sight.policies))
        found: dict[int, Rule] = {}
        for record in records:
            said, places = sight.policies[record.id], sight.placed.get(record.id, [])
            on = sight.paths.get(places[0][0]) if len(places) == 1 and not places[0][1] else None
            rule = pushed(record, on)
            same = said.enabled and said.document == policies.document_of(record.body)
            if rule is not None and same and lake.meant(rule) == rule:
                found[record.id] = rule
        return found

    def says(self, rule: Rule) -> Rule | None:
        return self._lake().says(rule)

    def takes(self, rule: Rule) -> bool:
        return self._lake().takes(rule)

    def apply(self, changes: Sequence[Change]) -> list[Applied]:
        ruled = any(isinstance(change.fact, RowFilter | Mask) for change in changes)
        lake = self._lake().again() if ruled else None
        with self.writing() as tx:
            return _Hand(tx, self.metalake, lake, changes).make()

    def _lake(self) -> Lake:
        """The metalake as it was read last."""
        if self.lake is None:
            self.read()
        assert self.lake is not None
        return self.lake


class _Sight:
    """The facts of one metalake, from the whole state as changes."""

    def __init__(self, metalake: str, changes: Sequence[c.Change]) -> None:
        self.paths: dict[int, Securable | None] = {}
        # Roles are objects and people are not: their ids are numbered apart.
        self.roles: dict[int, Principal] = {}
        self.people: dict[int, Principal] = {}
        self.facts: set[Fact] = set()
        self.notes: list[str] = []
        self.columns: list[tuple[int, int, str, str]] = []
        """Tags of columns: table, field, tag and value."""
        self.policies: dict[int, c.PolicySet] = {}
        self.placed: dict[int, list[tuple[int, int]]] = defaultdict(list)
        """Where policies are: objects and fields."""
        self.root = 0
        for change in changes:
            self._see(change, metalake)
        if not self.root:
            raise NotFound(f"metalake '{metalake}' does not exist", about=ObjectType.METALAKE)

    @property
    def tables(self) -> list[tuple[int, Securable]]:
        return [(id, at) for id, at in self.paths.items() if at is not None and at.type is _T.TABLE]

    def _see(self, change: c.Change, metalake: str) -> None:
        match change:
            case c.ObjectPut(id, parent, type, name):
                self._object(id, parent, type, name, metalake)
            case c.PrincipalPut(id, home, kind, name, enabled) if home == self.root:
                if enabled:
                    self.people[id] = Principal(Kind(kind.value), name)
                    self.facts.add(Known(self.people[id]))
                else:
                    self.notes.append(f"{kind}:{name} is disabled and may do nothing")
            case c.GroupMember(group, member):
                self._member(self.people.get(group), member)
            case c.RoleHeld(role, principal):
                self._member(self.roles.get(role), principal)
            case c.RoleGrants(role, object, allow, deny):
                on = self.paths.get(object)
                if role in self.roles and on is not None:
                    for privilege, condition in _granted(allow, deny):
                        self.facts.add(Grant(self.roles[role], on, privilege, condition))
            case c.OwnerSet(object, owner):
                on = self.paths.get(object)
                if owner in self.people and on is not None:
                    self.facts.add(Owner(on, self.people[owner]))
            case c.LabelSet(label, object, field, value):
                self._labelled(label, object, field, value or "")
            case c.PolicySet(id):
                if self.paths.get(id) is not None:
                    self.policies[id] = change

    def _labelled(self, id: int, object: int, field: int, value: str) -> None:
        label, on = self.paths.get(id), self.paths.get(object)
        if label is None or on is None:
            return
        if label.type is _T.POLICY:
            self.placed[id].append((object, field))
        elif label.type is _T.TAG and field:
            self.columns.append((object, field, label.path[0], value))
        elif label.type is _T.TAG:
            self.facts.add(Tag(on, label.path[0], value))

    def _object(self, id: int, parent: int, type: ObjectType, name: str, metalake: str) -> None:
        if type is ObjectType.METALAKE:
            if name == metalake:
                self.root = id
                self.paths[id] = Securable(type)
            return
        above = self.paths.get(parent)
        if above is None:
            return
        if type is ObjectType.ROLE:
            self.roles[id] = Principal(Kind.ROLE, name)
            self.facts.add(Known(self.roles[id]))
            return
        path = (*above.path, name)
        if type is ObjectType.SCHEMA and above.type is ObjectType.SCHEMA:
            path = (above.path[0], f"{above.path[1]}{SCHEMA_SEPARATOR}{name}")
        self.paths[id] = Securable(type, path)
        if type in _SAID:
            self.facts.add(Present(Securable(type, path)))

    def _member(self, of: Principal | None, who: int) -> None:
        if of is not None and who in self.people:
            self.facts.add(Member(of, self.people[who]))


def _log(audit: Audit) -> ChangeLog:
    return ChangeLog(audit.creator, audit.create_time, audit.last_modifier, audit.last_modified_time)


@lru_cache(4096)
def _granted(allow: int, deny: int) -> tuple[tuple[str, Condition], ...]:
    """The privileges in two masks. Many grants are alike, and to take a mask apart is dear."""
    # Of a privilege that is both allowed and denied only the denial has an effect.
    allow, deny = current_bits(allow), current_bits(deny)
    grants = Masks(allow & ~deny, deny).grants
    return tuple((grant.privilege.name, grant.condition) for grant in grants)


class _Hand:
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
        asked = {f.object for f in facts if isinstance(f, Grant | Owner | Tag)}
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
        wanted: dict[tuple[int, int], Masks] = {}
        places: list[tuple[int, int] | None] = []
        for change in changes:
            grant = change.fact
            assert isinstance(grant, Grant)
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
            assert isinstance(grant, Grant)
            bit = Privilege.parse(grant.privilege).bit
            before, names = wanted.get(at) or now.get(at) or Masks(), bits_of_all_names(bit)
            allow, deny = before.allow & ~names, before.deny & ~names
            if change.after is not None:
                allow |= bit if grant.decision is Condition.ALLOW else 0
                deny |= bit if grant.decision is Condition.DENY else 0
            wanted[at] = Masks(allow, deny)
        access.put_grants(self.tx, wanted)
        return answers

    def _roles(self, changes: list[Change], held: bool) -> list[Applied]:
        answers: list[Applied] = []
        pairs: list[tuple[int, int]] = []
        for change in changes:
            fact = change.fact
            assert isinstance(fact, Member)
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
                case Member(of, who):
                    self._group(of, who, holds)
                case Owner(object, principal) if holds:
                    access.set_owner(self.tx, self._on(object), self._id(principal))
                case Owner():
                    return Applied(Outcome.UNSUPPORTED, "an object cannot be left without its owner")
                case Tag() as tag:
                    why = self._tag(tag, holds)
                    return Applied(Outcome.UNSUPPORTED, why) if why else _DONE
                case RowFilter() | Mask() as rule:
                    assert self.lake is not None, "rules are about a metalake that was read"
                    hand = PolicyHand(self.tx, self.root, self.lake)
                    return hand.put(rule, self._on(table_of(rule))) if holds else hand.take(rule)
                case Present():
                    return Applied(Outcome.UNSUPPORTED, "objects are made and dropped by people")
                case Grant() | Property():
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
        case Grant():
            return "grant"
        case Member(of) if of.kind is Kind.ROLE:
            return "hold" if holds else "let go"
        case Known(principal) if holds and principal.kind is Kind.ROLE:
            return "new role"
        case Property():
            return "property"
        case _:
            return ""


def _named(fact: Fact) -> tuple[Principal, ...]:
    match fact:
        case Known(principal) | Owner(_, principal) | Property(principal):
            return (principal,)
        case Member(of, who):
            return (of, who)
        case Grant(holder):
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
