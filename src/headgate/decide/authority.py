"""The compiled state of one revision: who is who, what lies where, who holds, grants and owns what.

An `Authority` never changes. `applied` gives the next one, sharing everything that the changes do not touch, so a
reader keeps a consistent view for as long as it holds one and a grant costs the object it touches, not the million others.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, TypeVar

import msgspec

from headgate.decide.persistent import Map
from headgate.decide.requirements import CallerFact
from headgate.model import changes as c
from headgate.model.errors import Forbidden
from headgate.model.objects import SCHEMA_SEPARATOR, ObjectRef, ObjectType, clip
from headgate.model.principals import Attributes, Identity, PrincipalKind
from headgate.model.privileges import PrivilegeBits, current_bits

_OWNS: Final = {
    ObjectType.METALAKE: int(CallerFact.OWNS_METALAKE),
    ObjectType.CATALOG: int(CallerFact.OWNS_CATALOG),
    ObjectType.SCHEMA: int(CallerFact.OWNS_SCHEMA),
}


V = TypeVar("V")

Grants = dict[int, PrivilegeBits]
"""What roles allow and deny on one object, by role id. Never changed once it is in an authority."""

_NO_GRANTS: Final[Grants] = {}


class Node(msgspec.Struct, frozen=True):
    """An object in the tree, with its owner and what roles say of it.

    `chain` runs from the metalake to the object itself: each id and the fact of owning it. Grants are kept by object and
    not by role, because a check looks at few objects: those above the leaf are asked for all the time and stay near the
    processor, whereas the grants of a role lie scattered among a million others.
    """

    id: int
    type: ObjectType
    name: str
    parent: int
    chain: tuple[tuple[int, int], ...]
    in_use: bool = True
    owner: int | None = None
    grants: Grants = {}

    @property
    def metalake(self) -> int:
        return self.chain[0][0]

    def effects(self, roles: frozenset[int], inactive: frozenset[int]) -> tuple[int, int]:
        """What these roles allow and deny on this very object; of inactive ones only what they deny counts."""
        allow = deny = 0
        for role in roles:
            bits = self.grants.get(role)
            if bits is not None:
                deny |= bits.deny
                if role not in inactive:
                    allow |= bits.allow
        return allow, deny


class Member(msgspec.Struct, frozen=True):
    """A user or group of a metalake."""

    id: int
    metalake: int
    kind: PrincipalKind
    name: str
    enabled: bool = True
    attributes: Attributes = {}


class Label(msgspec.Struct, frozen=True):
    """A tag or policy on an object, or on the column of this field id; 0 is the object itself."""

    field: int
    label: int
    value: str | None = None


class Rule(msgspec.Struct, frozen=True):
    """A policy of Headgate's own: its document in JSON and whether it is enabled. A label says which object it is on."""

    id: int
    document: str
    enabled: bool
    authors: tuple[str, ...] = ()
    """Whoever wrote what it says now is the last."""
    groups: tuple[str, ...] | None = None
    """The groups that their token told then, if it told any."""
    since: int = 0
    """The revision at which they wrote it."""


class KeyPool(msgspec.Struct, frozen=True):
    """Tables that share the tokens of a mask's key, and the name of what they share."""

    name: str
    tables: frozenset[int]


class Caller(msgspec.Struct, frozen=True):
    """An identity seen from one metalake: its principals, the grants of its roles, and what holds of it everywhere."""

    identity: Identity
    metalake: int
    member: int | None
    principals: frozenset[int]
    roles: frozenset[int]
    """Every role held, active or not."""
    inactive: frozenset[int]
    """Roles that are held but not active: what they deny still counts."""
    facts: int
    """Includes owning the metalake."""
    allow: int = 0
    deny: int = 0
    """What the roles allow and deny on the metalake itself, which every object is under."""
    possible: frozenset[int] = frozenset()
    """Roles that are held only if the caller is in a group that their token does not tell of. They are among `roles`
    and `inactive`: what they deny counts, what they allow does not."""


class Authority:
    """All governance state of one revision, compiled for deciding."""

    __slots__ = (
        "_callers",
        "_kept",
        "children",
        "groups_of",
        "held",
        "key_pools",
        "labels",
        "member_ids",
        "members",
        "objects",
        "policies",
        "removed",
        "revision",
        "service_admins",
        "shared",
        "writers",
    )

    def __init__(self, revision: int = 0, service_admins: frozenset[str] = frozenset()) -> None:
        self.revision = revision
        self.service_admins = service_admins
        self.objects: Map[int, Node] = Map()
        self.children: Map[tuple[int, ObjectType], Map[str, Node]] = Map()
        self.members: Map[int, Member] = Map()
        self.member_ids: Map[tuple[int, PrincipalKind, str], int] = Map()
        self.held: Map[int, frozenset[int]] = Map()
        self.groups_of: Map[int, frozenset[int]] = Map()
        self.labels: Map[int, tuple[Label, ...]] = Map()
        self.policies: Map[int, Rule] = Map()
        self.removed: Map[tuple[int, str], int] = Map()
        """Users that a metalake had once, by name: the revision at which the last of that name was removed."""
        self.writers: Map[int, frozenset[str]] = Map()
        """By table the users, by name, who ever wrote it."""
        self.key_pools: Map[tuple[int, str], KeyPool] = Map()
        """By metalake and key the tables that share its tokens."""
        self._kept: dict[Any, Any] = {}
        self.shared: dict[Any, Any] = {}
        """What was worked out from parts of the state, by those very parts: also true of later revisions."""
        self._callers: dict[tuple[Identity, int], Caller] = {}

    # -- names ------------------------------------------------------------------------------------------------

    def metalake(self, name: str) -> Node | None:
        return self.child(0, ObjectType.METALAKE, name)

    def child(self, parent: int, type: ObjectType, name: str) -> Node | None:
        names = self.children.get((parent, type))
        return None if names is None else names.get(name)

    def children_of(self, parent: int, type: ObjectType) -> Iterator[Node]:
        names = self.children.get((parent, type))
        return iter(()) if names is None else names.values()

    def find(self, ref: ObjectRef) -> Node | None:
        """The object of that name; for a column, its table."""
        node = self.metalake(ref.metalake)
        for type, name in steps(ref):
            if node is None:
                return None
            node = self.child(node.id, type, name)
        return node

    def nearest(self, ref: ObjectRef) -> list[Node]:
        """The objects on the way to that name, from the metalake down, as far as they exist."""
        node = self.metalake(ref.metalake)
        way: list[Node] = []
        for type, name in steps(ref):
            if node is None:
                return way
            way.append(node)
            node = self.child(node.id, type, name)
        return way if node is None else [*way, node]

    def ref(self, node: Node) -> ObjectRef:
        """The name of an object as clients say it."""
        names: list[str] = []
        segments: list[str] = []
        for id, _ in node.chain[1:]:
            step = self.objects[id]
            if step.type is ObjectType.SCHEMA:
                segments.append(step.name)
                continue
            if segments:
                names.append(SCHEMA_SEPARATOR.join(segments))
                segments = []
            names.append(step.name)
        if segments:
            names.append(SCHEMA_SEPARATOR.join(segments))
        return ObjectRef(self.objects[node.metalake].name, node.type, tuple(names))

    def member(self, metalake: int, kind: PrincipalKind, name: str) -> Member | None:
        found = self.member_ids.get((metalake, kind, name))
        return None if found is None else self.members[found]

    # -- callers ----------------------------------------------------------------------------------------------

    def caller(self, identity: Identity, metalake: int) -> Caller:
        """The identity as this metalake knows it. Kept, because an authority never changes."""
        key = (identity, metalake)
        known = self._callers.get(key)
        if known is None:
            if len(self._callers) > 20_000:
                self._callers.clear()
            known = self._callers[key] = self._compile_caller(identity, metalake)
        return known

    def _compile_caller(self, identity: Identity, metalake: int) -> Caller:
        admin = int(CallerFact.SERVICE_ADMIN) if identity.user in self.service_admins else 0
        user = self.member(metalake, PrincipalKind.USER, identity.user)
        if user is None or not user.enabled or self._outlived(identity, metalake):
            return Caller(identity, metalake, None, frozenset(), frozenset(), frozenset(), admin)
        principals = self.principals_of(user, identity.groups)
        roles = frozenset().union(*(self.held.get(p) or frozenset() for p in principals))
        active = roles
        if not identity.active_roles.all:
            names = {
                name: self.child(metalake, ObjectType.ROLE, name) for name in identity.active_roles.names
            }
            missing = sorted(name for name, role in names.items() if role is None or role.id not in roles)
            if missing:
                raise Forbidden(
                    f"User '{clip(identity.user)}' does not hold role '{clip(missing[0])}'",
                    hint="name only roles you hold as active",
                )
            active = frozenset(role.id for role in names.values() if role is not None)
        possible = frozenset() if identity.groups_known else self.roles_of_groups(metalake) - roles
        roles |= possible
        top = self.objects[metalake]
        owns = int(CallerFact.OWNS_METALAKE) if top.owner in principals else 0
        return Caller(
            identity,
            metalake,
            user.id,
            principals,
            roles,
            roles - active,
            admin | int(CallerFact.MEMBER) | owns,
            *top.effects(roles, roles - active),
            possible,
        )

    def roles_of_groups(self, metalake: int) -> frozenset[int]:
        """The roles that any group of a metalake holds."""

        def collect() -> frozenset[int]:
            found: set[int] = set()
            for member in self.members.values():
                if member.metalake == metalake and member.kind is PrincipalKind.GROUP:
                    found |= self.held.get(member.id) or frozenset()
            return frozenset(found)

        return self.kept(("roles of groups", metalake), collect)

    def _outlived(self, identity: Identity, metalake: int) -> bool:
        """Whether a token was made for a user of that name who was removed since.

        INVARIANT: a token speaks for the user it was made for, or for one added later; never for a successor of the name.
        """
        removed = None if identity.made is None else self.removed.get((metalake, identity.user))
        return removed is not None and identity.made is not None and identity.made < removed

    def kept(self, key: Any, make: Callable[[], V]) -> V:
        """What `make` gives, worked out once: an authority never changes, so neither does what follows from it alone."""
        found: V | None = self._kept.get(key)
        if found is None:
            found = make()
            self.remember(key, found)
        return found

    def recall(self, key: Any) -> Any:
        """What was remembered under a key, or None."""
        return self._kept.get(key)

    def remember(self, key: Any, value: Any) -> None:
        """Keep something that follows from this authority, until there is too much of it."""
        if len(self._kept) > 200_000:
            self._kept.clear()
        self._kept[key] = value

    def principals_of(self, user: Member, claimed: Iterable[str]) -> frozenset[int]:
        """The user and every group they are in: claimed by their token, kept here, or holding such a group."""
        found = {user.id}
        waiting = [user.id]
        for name in claimed:
            group = self.member_ids.get((user.metalake, PrincipalKind.GROUP, name))
            if group is not None and group not in found:
                found.add(group)
                waiting.append(group)
        while waiting:
            for group in self.groups_of.get(waiting.pop()) or ():
                if group not in found:
                    found.add(group)
                    waiting.append(group)
        return frozenset(found)

    # -- the next revision ------------------------------------------------------------------------------------

    def applied(self, changes: Iterable[c.Change], revision: int) -> "Authority":
        """The authority after these changes, in order."""
        draft = _AuthorityDraft(self)
        for change in changes:
            draft.apply(change)
        return draft.finish(revision)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Authority) and all(
            getattr(self, part) == getattr(other, part) for part in _PARTS
        )

    __hash__ = None  # type: ignore[assignment]


_PARTS: Final = (
    "objects",
    "children",
    "members",
    "member_ids",
    "held",
    "groups_of",
    "labels",
    "policies",
    "removed",
    "writers",
    "key_pools",
)
"""What an authority is made of, and what two of the same state have in common."""


def steps(ref: ObjectRef) -> list[tuple[ObjectType, str]]:
    """The way from the metalake to an object; a nested schema is a step for each of its segments."""
    if ref.type is ObjectType.METALAKE:
        return []
    if ref.type is ObjectType.COLUMN:
        return steps(ref.parent)
    path = ref.path
    if len(path) == 1:
        return [(ref.type, path[0])]
    way = [(ObjectType.CATALOG, path[0])]
    way += [(ObjectType.SCHEMA, name) for name in path[1].split(SCHEMA_SEPARATOR)]
    if len(path) > 2:
        way.append((ref.type, path[2]))
    return way


def depth(ref: ObjectRef) -> int:
    """How many objects stand on the way to this name, the metalake and the object included."""
    return len(steps(ref)) + 1


_Edits = dict[Any, Any]
"""Pending puts of one map; `_GONE` marks what goes."""

_GONE: Final = object()


class _AuthorityDraft:
    """Collects changes, so that each map is copied once for a whole list of them."""

    def __init__(self, base: Authority) -> None:
        self.base = base
        self.edits: dict[str, _Edits] = defaultdict(dict)
        self.names: dict[tuple[int, ObjectType], _Edits] = defaultdict(dict)
        self.grants: dict[int, Grants] = {}
        self.owners: dict[int, int | None] = {}

    def _get(self, part: str, key: object) -> object | None:
        pending = self.edits[part].get(key)
        if pending is not None:
            return None if pending is _GONE else pending
        found: object | None = getattr(self.base, part).get(key)
        return found

    def apply(self, change: c.Change) -> None:
        match change:
            case c.ObjectPut():
                self._put_object(change)
            case c.ObjectGone(id):
                self._drop_object(id)
            case c.PrincipalPut(id, metalake, kind, name, enabled, attributes):
                self.edits["members"][id] = Member(id, metalake, kind, name, enabled, attributes)
                self.edits["member_ids"][metalake, kind, name] = id
            case c.PrincipalGone(id):
                gone = self._get("members", id)
                if isinstance(gone, Member):
                    self.edits["members"][id] = _GONE
                    self.edits["member_ids"][gone.metalake, gone.kind, gone.name] = _GONE
            case c.UserRemoved(metalake, name, revision):
                self.edits["removed"][metalake, name] = revision
            case c.RoleGrants(role, object, allow, deny):
                grants = self.grants.get(object)
                if grants is None:
                    before = self.base.objects.get(object)
                    grants = self.grants[object] = {} if before is None else dict(before.grants)
                if allow or deny:
                    grants[role] = _shared(allow, deny)
                else:
                    grants.pop(role, None)
            case c.RoleHeld(role, principal, held):
                self._member_set("held", principal, role, held)
            case c.GroupMember(group, member, is_member):
                self._member_set("groups_of", member, group, is_member)
            case c.OwnerSet(object, principal):
                self.owners[object] = principal
            case c.LabelSet():
                self._set_label(change)
            case c.PolicySet(id, document, enabled, authors, groups, since):
                self.edits["policies"][id] = (
                    _GONE if document is None else Rule(id, document, enabled, authors, groups, since)
                )
            case c.TableWritten(table, user):
                wrote = self._get("writers", table)
                self.edits["writers"][table] = (wrote if isinstance(wrote, frozenset) else frozenset()) | {
                    user
                }
            case c.KeyTable(metalake, key, table, pool):
                self._share(metalake, key, table, pool)

    def _share(self, metalake: int, key: str, table: int, pool: str | None) -> None:
        before = self._get("key_pools", (metalake, key))
        tables = before.tables if isinstance(before, KeyPool) else frozenset()
        tables = tables - {table} if pool is None else tables | {table}
        name = pool if pool is not None or not isinstance(before, KeyPool) else before.name
        self.edits["key_pools"][metalake, key] = (
            KeyPool(name, tables) if tables and name is not None else _GONE
        )

    def _member_set(self, part: str, key: int, value: int, present: bool) -> None:
        now = self._get(part, key)
        current = now if isinstance(now, frozenset) else frozenset()
        after = current | {value} if present else current - {value}
        self.edits[part][key] = after or _GONE

    def _set_label(self, change: c.LabelSet) -> None:
        now = self._get("labels", change.object)
        place = (change.field, change.label)
        kept = [x for x in (now if isinstance(now, tuple) else ()) if (x.field, x.label) != place]
        if change.present:
            kept.append(Label(change.field, change.label, change.value))
        self.edits["labels"][change.object] = tuple(sorted(kept, key=lambda x: (x.field, x.label))) or _GONE

    def _put_object(self, put: c.ObjectPut) -> None:
        before = self._get("objects", put.id)
        if isinstance(before, Node):
            # INVARIANT: an object never moves to another chain while it holds others; only leaves change their parent.
            self.names[before.parent, before.type][before.name] = _GONE
        own = _OWNS.get(put.type, int(CallerFact.OWNS_OBJECT))
        above: tuple[tuple[int, int], ...] = ()
        if put.parent:
            parent = self._get("objects", put.parent)
            assert isinstance(parent, Node), f"object {put.id} under unknown parent {put.parent}"
            above = parent.chain
        owner, grants = (before.owner, before.grants) if isinstance(before, Node) else (None, _NO_GRANTS)
        self._keep(
            Node(put.id, put.type, put.name, put.parent, (*above, (put.id, own)), put.in_use, owner, grants)
        )

    def _keep(self, node: Node) -> None:
        self.edits["objects"][node.id] = self.names[node.parent, node.type][node.name] = node

    def _drop_object(self, id: int) -> None:
        gone = self._get("objects", id)
        if isinstance(gone, Node):
            self.edits["objects"][id] = self.edits["writers"][id] = _GONE
            self.names[gone.parent, gone.type][gone.name] = _GONE

    def finish(self, revision: int) -> Authority:
        result = Authority(revision, self.base.service_admins)
        result.shared = self.base.shared
        for object in self.grants.keys() | self.owners.keys():
            node = self._get("objects", object)
            if isinstance(node, Node):
                owner = self.owners.get(object, node.owner)
                grants = self.grants.get(object, node.grants) or _NO_GRANTS
                self._keep(msgspec.structs.replace(node, owner=owner, grants=grants))
        for key, names in self.names.items():
            below = _merge(self.base.children.get(key) or Map(), names)
            self.edits["children"][key] = below if len(below) else _GONE
        for part in _PARTS:
            setattr(result, part, _merge(getattr(self.base, part), self.edits.get(part) or {}))
        return result


def _merge(base: Map[Any, Any], edits: _Edits) -> Map[Any, Any]:
    return base.changed(
        {key: value for key, value in edits.items() if value is not _GONE},
        [key for key, value in edits.items() if value is _GONE],
    )


_masks: dict[tuple[int, int], PrivilegeBits] = {}


def _shared(allow: int, deny: int) -> PrivilegeBits:
    """One value for equal bits: a million grants hold only a handful of different ones."""
    key = (allow, deny)
    found = _masks.get(key)
    if found is None:
        if len(_masks) > 100_000:
            _masks.clear()
        # INVARIANT: no decision depends on the name that a privilege was given under.
        found = _masks[key] = PrivilegeBits(current_bits(allow), current_bits(deny))
    return found
