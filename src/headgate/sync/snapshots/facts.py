"""Policies as relations: small facts in a set, so that difference, merge and undo are set operations.

A fact is either native (its privilege is the system's own word) or canonical (a canonical name, or ``system:WORD`` where there
is none). A `Semantics` says what a set of facts means; the set alone holds only what is written down.
"""

import enum
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import TypeAlias

import msgspec

from headgate.model.errors import IllegalArgument
from headgate.model.objects import BESIDE, SCHEMA_SEPARATOR, ObjectType, clip
from headgate.model.privileges import Condition

# Facts come by the hundred thousand and cannot refer to themselves, so Python's collector is not made to go through them
# again and again: `gc=False`, here and wherever a fact is carried.


class Kind(enum.StrEnum):
    """Who can be granted something."""

    USER = "user"
    GROUP = "group"
    ROLE = "role"


class Principal(msgspec.Struct, frozen=True, order=True, cache_hash=True, gc=False):
    """A user, group or role under the name that one system knows."""

    kind: Kind
    name: str

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}"

    @classmethod
    def parse(cls, text: str) -> "Principal":
        kind, colon, name = text.partition(":")
        if not colon or not name or kind not in list(Kind):
            raise IllegalArgument(
                f"'{clip(text)}' does not name a principal", hint="write user:…, group:… or role:…"
            )
        return cls(Kind(kind), name)


class Securable(msgspec.Struct, frozen=True, order=True, cache_hash=True, gc=False):
    """An object by type and path below the metalake; the metalake itself has an empty path."""

    type: ObjectType
    path: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        return f"{self.type}:{'.'.join(self.path)}"

    def chain(self, nested: bool = False) -> "Iterator[Securable]":
        """The object and everything that holds it, nearest first."""
        here: Securable | None = self
        while here is not None:
            yield here
            here = here.parent(nested)

    def parent(self, nested: bool = False) -> "Securable | None":
        match self.type:
            case ObjectType.METALAKE:
                return None
            case ObjectType.CATALOG:
                return ROOT
            case ObjectType.SCHEMA:
                outer, colon, _ = self.path[1].rpartition(SCHEMA_SEPARATOR)
                if nested and colon:
                    return Securable(ObjectType.SCHEMA, (self.path[0], outer))
                return Securable(ObjectType.CATALOG, self.path[:1])
            case ObjectType.COLUMN:
                return Securable(ObjectType.TABLE, self.path[:3])
            case type if type in BESIDE:
                return ROOT
        return Securable(ObjectType.SCHEMA, self.path[:2])


ROOT = Securable(ObjectType.METALAKE)


class Known(msgspec.Struct, frozen=True, cache_hash=True, gc=False, tag="known"):
    """The system knows this principal. A group of `everyone` has every user as a member, present and future."""

    principal: Principal
    everyone: bool = False


class Present(msgspec.Struct, frozen=True, cache_hash=True, gc=False, tag="present"):
    """An object exists. Synchronisation never makes or drops objects."""

    object: Securable


class MemberFact(msgspec.Struct, frozen=True, cache_hash=True, gc=False, tag="member"):
    """A principal is in a group, or holds a role."""

    of: Principal
    who: Principal


class GrantFact(msgspec.Struct, frozen=True, cache_hash=True, gc=False, tag="grant"):
    """A privilege on an object, allowed or denied to a holder; with `option`, the holder may hand it on."""

    holder: Principal
    object: Securable
    privilege: str
    decision: Condition = Condition.ALLOW
    option: bool = False


class OwnerFact(msgspec.Struct, frozen=True, cache_hash=True, gc=False, tag="owner"):
    """Who owns an object."""

    object: Securable
    principal: Principal


Columns: TypeAlias = tuple[tuple[str, str], ...]
"""Names of columns, each with its type."""


class RowFilter(msgspec.Struct, frozen=True, cache_hash=True, gc=False, tag="row_filter"):
    """Rows of a table that the principals `to` see, all but the `exempt`; no `to` means everyone. `sql` is a predicate."""

    object: Securable
    name: str
    sql: str
    to: tuple[Principal, ...] = ()
    exempt: tuple[Principal, ...] = ()
    dialect: str = ""
    """Whose SQL it is. In a system's own facts it is that system's, and goes without saying."""
    columns: Columns = ()
    """The columns that the SQL speaks of, where its dialect needs to know their types."""


class Mask(msgspec.Struct, frozen=True, cache_hash=True, gc=False, tag="mask"):
    """What the principals `to` see instead of a column, all but the `exempt`. `sql` is an expression of the column."""

    object: Securable
    name: str
    sql: str
    to: tuple[Principal, ...] = ()
    exempt: tuple[Principal, ...] = ()
    dialect: str = ""
    columns: Columns = ()


class Tag(msgspec.Struct, frozen=True, cache_hash=True, gc=False, tag="tag"):
    """A tag on an object."""

    object: Securable
    name: str
    value: str = ""


class Property(msgspec.Struct, frozen=True, cache_hash=True, gc=False, tag="property"):
    """What people keep beside a role under a name: a description, a contact. It gives nobody anything."""

    principal: Principal
    name: str
    value: str = ""


Fact: TypeAlias = Known | Present | MemberFact | GrantFact | OwnerFact | RowFilter | Mask | Tag | Property


def key(fact: Fact) -> tuple[object, ...]:
    """What makes two facts speak of the same item; of facts with one key a system holds one."""
    match fact:
        case GrantFact(holder, object, privilege):
            return ("grant", holder, object, privilege)
        case OwnerFact(object):
            return ("owner", object)
        case RowFilter(object, name) | Mask(object, name):
            return (type(fact).__name__, object, name)
        case Tag(object, name):
            return ("tag", object, name)
        case Property(principal, name):
            return ("property", principal, name)
        case Known(principal):
            return ("known", principal)
        case MemberFact(of, who):
            return ("member", of, who)
        case Present(object):
            return ("present", object)


_encode = msgspec.json.Encoder(order="sorted")
_decode: msgspec.json.Decoder[Fact] = msgspec.json.Decoder(Fact)


def encoded(fact: Fact) -> bytes:
    """One stable text per fact."""
    return _encode.encode(fact)


def decoded(text: bytes) -> Fact:
    return _decode.decode(text)


class Facts:
    """A set of facts with the indexes that questions about it need. Never changed."""

    def __init__(self, facts: Iterable[Fact] = ()) -> None:
        self.all = frozenset(facts)

    def __contains__(self, fact: Fact) -> bool:
        return fact in self.all

    def __iter__(self) -> Iterator[Fact]:
        return iter(self.all)

    def __len__(self) -> int:
        return len(self.all)

    def __repr__(self) -> str:
        return f"Facts({sorted(self.all, key=str)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Facts) and self.all == other.all

    def __hash__(self) -> int:
        return hash(self.all)

    def changed(self, add: Iterable[Fact] = (), remove: Iterable[Fact] = ()) -> "Facts":
        return Facts(self.all.difference(remove).union(add))

    @cached_property
    def principals(self) -> frozenset[Principal]:
        """Everyone who is known or spoken of."""
        found = {fact.principal for fact in self.all if isinstance(fact, Known | OwnerFact)}
        found.update(fact.holder for fact in self.grants)
        for fact in self.members:
            found.update((fact.of, fact.who))
        return frozenset(found)

    @cached_property
    def known(self) -> frozenset[Principal]:
        return frozenset(fact.principal for fact in self.all if isinstance(fact, Known))

    @cached_property
    def users(self) -> frozenset[Principal]:
        return frozenset(p for p in self.principals if p.kind is Kind.USER)

    @cached_property
    def everyone(self) -> frozenset[Principal]:
        """The groups that every user is in."""
        return frozenset(f.principal for f in self.all if isinstance(f, Known) and f.everyone)

    @cached_property
    def members(self) -> tuple[MemberFact, ...]:
        return tuple(fact for fact in self.all if isinstance(fact, MemberFact))

    @cached_property
    def grants(self) -> tuple[GrantFact, ...]:
        return tuple(fact for fact in self.all if isinstance(fact, GrantFact))

    @cached_property
    def owners(self) -> tuple[OwnerFact, ...]:
        return tuple(fact for fact in self.all if isinstance(fact, OwnerFact))

    @cached_property
    def restrictions(self) -> tuple[RowFilter | Mask, ...]:
        return tuple(fact for fact in self.all if isinstance(fact, RowFilter | Mask))

    @cached_property
    def grants_of(self) -> dict[Principal, list[GrantFact]]:
        found: dict[Principal, list[GrantFact]] = defaultdict(list)
        for grant in self.grants:
            found[grant.holder].append(grant)
        return dict(found)

    @cached_property
    def owned_by(self) -> dict[Principal, list[Securable]]:
        found: dict[Principal, list[Securable]] = defaultdict(list)
        for owner in self.owners:
            found[owner.principal].append(owner.object)
        return dict(found)

    @cached_property
    def above(self) -> dict[Principal, list[Principal]]:
        """The groups and roles that each principal is directly in or holds."""
        found: dict[Principal, list[Principal]] = defaultdict(list)
        for member in self.members:
            found[member.who].append(member.of)
        for group in self.everyone:
            for user in self.users:
                found[user].append(group)
        return dict(found)

    def closure(self, principal: Principal) -> frozenset[Principal]:
        """The principal with every group and role it reaches; a cycle is walked once."""
        seen, waiting = {principal}, [principal]
        while waiting:
            for up in self.above.get(waiting.pop(), ()):
                if up not in seen:
                    seen.add(up)
                    waiting.append(up)
        return frozenset(seen)

    @cached_property
    def objects(self) -> frozenset[Securable]:
        """What exists or is spoken of, with everything that holds it."""
        named = {
            fact.object
            for fact in self.all
            if isinstance(fact, Present | GrantFact | OwnerFact | RowFilter | Mask | Tag)
        }
        return frozenset(step for object in named for step in object.chain()) | {ROOT}

    @cached_property
    def present(self) -> frozenset[Securable]:
        return frozenset(f.object for f in self.all if isinstance(f, Present)) | {ROOT}

    @cached_property
    def children(self) -> dict[Securable, list[Securable]]:
        """What lies directly in each present object, sorted; columns lie in tables."""
        found: dict[Securable, list[Securable]] = defaultdict(list)
        for object in sorted(self.present):
            parent = object.parent()
            if parent is not None:
                found[parent].append(object)
        return dict(found)
