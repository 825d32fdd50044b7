"""Headgate itself: a metalake of a local store."""

from collections.abc import Sequence
from typing import Final

from headgate.model import changes as c
from headgate.model.errors import HeadgateError, NotFound
from headgate.model.objects import OWNABLE, SCHEMA_SEPARATOR, ObjectType
from headgate.model.principals import PrincipalKind
from headgate.model.privileges import Condition, Masks, Privilege
from headgate.store import Store, access, objects
from headgate.store.database import Read, Write
from headgate.store.snapshot import everything
from headgate.sync import actions
from headgate.sync.capabilities import CANONICAL, Capabilities
from headgate.sync.contract import Connector
from headgate.sync.facts import Fact, Facts, Grant, Kind, Known, Member, Owner, Present, Principal, Securable
from headgate.sync.results import Applied, Change, Outcome
from headgate.sync.run import Reading

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
    owners=OWNABLE & _SAID,
    creates=frozenset({Kind.USER, Kind.GROUP, Kind.ROLE}),
    versions=True,
)


class HeadgateConnector(Connector):
    """One metalake of a store, read and changed in place; every batch is one revision."""

    def __init__(self, store: Store, metalake: str, name: str | None = None) -> None:
        super().__init__(name or f"headgate:{metalake}")
        self.store = store
        self.metalake = metalake

    @property
    def capabilities(self) -> Capabilities:
        return CAPABILITIES

    def read(self) -> Reading:
        _, changes = everything(self.store)
        return _Sight(self.metalake, changes).reading()

    def apply(self, changes: Sequence[Change]) -> list[Applied]:
        with self.store.write("sync", "sync") as tx:
            hand = _Hand(tx, self.metalake)
            return [hand.make(change) for change in changes]


class _Sight:
    """The facts of one metalake, from the whole state as changes."""

    def __init__(self, metalake: str, changes: Sequence[c.Change]) -> None:
        self.paths: dict[int, Securable | None] = {}
        # Roles are objects and people are not: their ids are numbered apart.
        self.roles: dict[int, Principal] = {}
        self.people: dict[int, Principal] = {}
        self.facts: set[Fact] = set()
        self.notes: list[str] = []
        self.root = 0
        for change in changes:
            self._see(change, metalake)
        if not self.root:
            raise NotFound(f"metalake '{metalake}' does not exist", about=ObjectType.METALAKE)

    def reading(self) -> Reading:
        return Reading(Facts(self.facts), notes=tuple(sorted(self.notes)))

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
                    # Of a privilege that is both allowed and denied only the denial has an effect.
                    for grant in Masks(allow & ~deny, deny).grants:
                        self.facts.add(Grant(self.roles[role], on, grant.privilege.name, grant.condition))
            case c.OwnerSet(object, owner):
                on = self.paths.get(object)
                if owner in self.people and on is not None:
                    self.facts.add(Owner(on, self.people[owner]))

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


class _Hand:
    """Makes changes in one transaction."""

    def __init__(self, tx: Write, metalake: str) -> None:
        self.tx = tx
        found = objects.find(tx, 0, ObjectType.METALAKE, metalake)
        if found is None:
            raise NotFound(f"metalake '{metalake}' does not exist", about=ObjectType.METALAKE)
        self.root = found.id
        self.ids: dict[Securable, int] = {Securable(ObjectType.METALAKE): found.id}
        self.who: dict[Principal, int] = {}

    def make(self, change: Change) -> Applied:
        try:
            return self._make(change)
        except HeadgateError as error:
            return Applied(Outcome.FAILED, str(error))

    def _make(self, change: Change) -> Applied:
        holds = change.after is not None
        match change.fact:
            case Known(principal):
                self._principal(principal, holds)
            case Member(of, who) if of.kind is Kind.ROLE:
                access.hold_role(self.tx, self._id(of), self._id(who), holds)
            case Member(of, who):
                self._group(of, who, holds)
            case Grant():
                self._grant(change)
            case Owner(object, principal):
                if not holds:
                    return Applied(Outcome.UNSUPPORTED, "an object cannot be left without its owner")
                access.set_owner(self.tx, self._on(object), self._id(principal))
            case _:
                return Applied(Outcome.UNSUPPORTED, "row filters, masks and tags are not synchronised here")
        return Applied(Outcome.APPLIED)

    def _grant(self, change: Change) -> None:
        grant = change.fact
        assert isinstance(grant, Grant)
        role, on = self._id(grant.holder), self._on(grant.object)
        bit = Privilege.parse(grant.privilege).bit
        now = access.grants_on(self.tx, role, on)
        allow, deny = now.allow & ~bit, now.deny & ~bit
        if change.after is not None:
            if grant.decision is Condition.ALLOW:
                allow |= bit
            else:
                deny |= bit
        access.set_grants(self.tx, role, on, Masks(allow, deny))

    def _principal(self, principal: Principal, exists: bool) -> None:
        known = self._find(principal)
        if exists == (known is not None):
            return
        if principal.kind is Kind.ROLE:
            if known is None:
                objects.create(self.tx, self.root, self.root, ObjectType.ROLE, principal.name)
            else:
                objects.drop(self.tx, known)
        elif known is None:
            access.add_principal(self.tx, self.root, PrincipalKind(principal.kind.value), principal.name)
        else:
            record = access.find_principal(
                self.tx, self.root, PrincipalKind(principal.kind.value), principal.name
            )
            assert record is not None
            access.remove_principal(self.tx, record)
        self.who.pop(principal, None)

    def _group(self, group: Principal, who: Principal, is_member: bool) -> None:
        record = access.find_principal(self.tx, self.root, PrincipalKind.GROUP, group.name)
        member = access.find_principal(self.tx, self.root, PrincipalKind(who.kind.value), who.name)
        if record is None or member is None:
            raise NotFound(f"{group if record is None else who} does not exist")
        now = {m.id: m for m in access.members(self.tx, record.id)}
        now.pop(member.id, None)
        access.set_members(self.tx, record, [*now.values(), *([member] if is_member else [])])

    def _find(self, principal: Principal) -> int | None:
        if principal.kind is Kind.ROLE:
            role = objects.find(self.tx, self.root, ObjectType.ROLE, principal.name)
            return None if role is None else role.id
        found = access.find_principal(self.tx, self.root, PrincipalKind(principal.kind.value), principal.name)
        return None if found is None else found.id

    def _id(self, principal: Principal) -> int:
        if principal not in self.who:
            found = self._find(principal)
            if found is None:
                raise NotFound(f"{principal} does not exist", about=principal.kind.value)
            self.who[principal] = found
        return self.who[principal]

    def _on(self, object: Securable) -> int:
        if object not in self.ids:
            self.ids[object] = _resolve(self.tx, self.root, object)
        return self.ids[object]


def _resolve(read: Read, root: int, object: Securable) -> int:
    """The id of an object by its path; a nested schema is a step for each of its segments."""
    id = root
    for n, name in enumerate(object.path):
        last = n == len(object.path) - 1
        type = object.type if last else (ObjectType.CATALOG, ObjectType.SCHEMA)[n]
        for part in name.split(SCHEMA_SEPARATOR) if type is ObjectType.SCHEMA else [name]:
            found = objects.find(read, id, type, part)
            if found is None:
                raise NotFound(f"{object} does not exist", about=object.type)
            id = found.id
    return id
