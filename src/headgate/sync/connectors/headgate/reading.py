"""How the policies of a metalake are fetched as facts."""

from collections import defaultdict
from collections.abc import Sequence
from functools import lru_cache

from headgate.model import changes as c
from headgate.model.errors import NotFound
from headgate.model.objects import SCHEMA_SEPARATOR, ObjectType
from headgate.model.privileges import Condition, PrivilegeBits, current_bits
from headgate.sync.connectors.headgate.capabilities import WITH_POLICIES
from headgate.sync.snapshots.facts import (
    Fact,
    GrantFact,
    Kind,
    Known,
    MemberFact,
    OwnerFact,
    Present,
    Principal,
    Securable,
    Tag,
)

_T = ObjectType


class HeadgateReader:
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
                        self.facts.add(GrantFact(self.roles[role], on, privilege, condition))
            case c.OwnerSet(object, owner):
                on = self.paths.get(object)
                if owner in self.people and on is not None:
                    self.facts.add(OwnerFact(on, self.people[owner]))
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
        if type in WITH_POLICIES:
            self.facts.add(Present(Securable(type, path)))

    def _member(self, of: Principal | None, who: int) -> None:
        if of is not None and who in self.people:
            self.facts.add(MemberFact(of, self.people[who]))


@lru_cache(4096)
def _granted(allow: int, deny: int) -> tuple[tuple[str, Condition], ...]:
    """The privileges in two masks. Many grants are alike, and to take a mask apart is dear."""
    # Of a privilege that is both allowed and denied only the denial has an effect.
    allow, deny = current_bits(allow), current_bits(deny)
    grants = PrivilegeBits(allow & ~deny, deny).grants
    return tuple((grant.privilege.name, grant.condition) for grant in grants)
