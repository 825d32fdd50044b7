"""Policies tried out on a lake that is only described: tables with their columns, tags and sample rows, and people.

No server and no warehouse: the same decision point over an authority made up for the occasion, and the reference
evaluator over the sample rows. `World.of` reads the description; `World.outcome` says what one would see.
"""

import datetime as dt
import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from headgate.decide.authority import Authority
from headgate.decide.policies.lens import LensVerdict, fresh
from headgate.decide.policies.rules import ready
from headgate.decide.policies.shape import Shape
from headgate.decide.policies.standing import known_groups
from headgate.decide.policies.view import seen
from headgate.language import values
from headgate.language.masks.python import Secrets
from headgate.language.policies.content import content_of
from headgate.language.policies.policy import Policy
from headgate.model import changes as c
from headgate.model.errors import IllegalArgument
from headgate.model.objects import ObjectType
from headgate.model.principals import Attributes, Identity, PrincipalKind
from headgate.model.schema import (
    DATE,
    DOUBLE,
    FLOAT,
    TIMESTAMP,
    TIMESTAMPTZ,
    DecimalType,
    Field,
    ListType,
    Schema,
    SchemaError,
    StructType,
    Type,
    parse_simple_type,
)

_LEVELS: Final = (ObjectType.METALAKE, ObjectType.CATALOG, ObjectType.SCHEMA, ObjectType.TABLE)
_SALT: Final = b"a salt for trials"
_OWNER: Final = "\0owner of the policies"


class Someone(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A user of the described lake."""

    groups: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    attributes: Attributes = {}


class Sample(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"column_tags": "column tags"}):
    """A table of the described lake."""

    columns: dict[str, Any]
    """Name to type; a trailing ``!`` is required, a mapping is a struct, a list of one is a list."""
    tags: dict[str, str | None] = {}
    column_tags: dict[str, dict[str, str | None]] = {}
    rows: tuple[dict[str, Any], ...] = ()
    was: dict[str, str] = {}
    """Columns that once had another name: today's name to the former one."""
    lost: tuple[str, ...] = ()
    """Columns that the table no longer has."""


class DescribedLake(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A lake as it is written down."""

    tables: dict[str, Sample]
    users: dict[str, Someone] = {}
    tags: dict[str, dict[str, str | None]] = {}
    """Tags of metalakes, catalogs and schemas, by their name."""
    keys: dict[str, str] = {}
    """Keys for tokens."""


@dataclass(frozen=True)
class TrialOutcome:
    """What someone sees of a table: the verdict, and the sample rows through the lens."""

    verdict: LensVerdict
    rows: tuple[dict[str, Any], ...]
    hidden: tuple[str, ...]
    masked: tuple[str, ...]


@dataclass
class World:
    """A described lake with policies, as an authority of its own."""

    described: DescribedLake
    authority: Authority
    ids: dict[tuple[str, ...], int]
    shapes: dict[str, Shape]
    _fresh: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))

    @classmethod
    def of(cls, description: Any) -> "World":
        try:
            described = msgspec.convert(description, DescribedLake)
        except msgspec.ValidationError as error:
            raise IllegalArgument(f"the description of the lake cannot be read: {error}") from None
        world = cls(described, Authority(), {}, {})
        changes = list(world._changes())
        world.authority = world.authority.applied(changes, 1)
        return world

    def governed_by(self, policies: Iterable[Policy]) -> "World":
        """The lake with these policies on it."""
        changes: list[c.Change] = []
        fresh = itertools.count(1_000_000)
        lakes = {on[0]: id for on, id in self.ids.items() if len(on) == 1}
        owners = {lake: next(fresh) for lake in lakes}
        changes += [
            c.PrincipalPut(owners[lake], id, PrincipalKind.GROUP, _OWNER) for lake, id in lakes.items()
        ]
        nodes = self.authority.objects.values()
        tags = {(node.parent, node.name) for node in nodes if node.type is ObjectType.TAG}
        for policy in policies:
            on = self.ids.get(policy.on)
            if on is None:
                # What is described is a part of the lake; policies on other parts are no concern of these tests.
                continue
            id = next(fresh)
            document = msgspec.json.encode(content_of(policy)).decode()
            lake = self.ids[policy.on[:1]]
            for tag in sorted(ready(policy).tags):
                # A tag that nothing described bears is still one that the lake has: the server sees to that.
                if (lake, tag) not in tags:
                    tags.add((lake, tag))
                    changes.append(c.ObjectPut(next(fresh), lake, ObjectType.TAG, tag))
            for group in sorted(_groups(policy) - known_groups(self.authority, lake)):
                changes.append(c.PrincipalPut(next(fresh), lake, PrincipalKind.GROUP, group))
            changes += [
                c.ObjectPut(id, lake, ObjectType.POLICY, policy.name),
                c.PolicySet(id, document, policy.enabled),
                # One hand writes all policies of a trial, as one applies them together.
                c.OwnerSet(id, owners[policy.on[0]]),
                c.LabelSet(id, on, 0, None, True),
            ]
        return World(self.described, self.authority.applied(changes, 2), self.ids, self.shapes)

    def outcome(self, user: Identity, table: str, now: dt.datetime) -> TrialOutcome:
        """What a user of the lake sees of a table at a moment."""
        shape = self.shapes.get(table)
        node = self.authority.objects.get(self.ids.get(_split(table), 0))
        if shape is None or node is None:
            raise IllegalArgument(
                f"table '{table}' is not described", hint="describe one of its name under tables"
            )
        caller = self.authority.caller(user, node.metalake)
        if caller.member is None:
            raise IllegalArgument(f"user '{user.user}' is not described", hint="describe them under users")
        verdict = fresh(self.authority, caller, node, shape, now)
        lens = verdict.lens
        if lens is None:
            return TrialOutcome(verdict, (), (), ())
        rows = tuple(typed(shape.schema, row) for row in self.described.tables[table].rows)
        keys = {name: key.encode() for name, key in self.described.keys.items()}
        return TrialOutcome(
            verdict,
            tuple(seen(lens, shape.schema, rows, Secrets(keys, _SALT))),
            tuple(".".join(shape.path(id)) for id in sorted(lens.hidden)),
            tuple(".".join(shape.path(id)) for id in sorted(lens.masked)),
        )

    # -- made up --------------------------------------------------------------------------------------------------

    def _changes(self) -> Iterable[c.Change]:
        for name in (*self.described.tables, *self.described.tags):
            path = _split(name)
            for depth in range(1, len(path) + 1):
                if path[:depth] not in self.ids:
                    id = self.ids[path[:depth]] = next(self._fresh)
                    parent = self.ids.get(path[: depth - 1], 0)
                    yield c.ObjectPut(id, parent, _LEVELS[depth - 1], path[depth - 1])
        lakes = {path[0]: id for path, id in self.ids.items() if len(path) == 1}
        for lake in lakes.values():
            yield from self._people(lake)
        yield from self._tags(lakes)

    def _people(self, lake: int) -> Iterable[c.Change]:
        groups: dict[str, int] = {}
        roles: dict[str, int] = {}
        for name, someone in self.described.users.items():
            user = next(self._fresh)
            yield c.PrincipalPut(user, lake, PrincipalKind.USER, name, True, someone.attributes)
            for group in someone.groups:
                if group not in groups:
                    groups[group] = next(self._fresh)
                    yield c.PrincipalPut(groups[group], lake, PrincipalKind.GROUP, group)
                yield c.GroupMember(groups[group], user, True)
            for role in someone.roles:
                if role not in roles:
                    roles[role] = next(self._fresh)
                    yield c.ObjectPut(roles[role], lake, ObjectType.ROLE, role)
                yield c.RoleHeld(roles[role], user, True)

    def _tags(self, lakes: Mapping[str, int]) -> Iterable[c.Change]:
        known: dict[tuple[int, str], int] = {}

        def put(path: tuple[str, ...], at: int, tags: Mapping[str, str | None]) -> Iterable[c.Change]:
            for tag, value in tags.items():
                key = lakes[path[0]], tag
                if key not in known:
                    known[key] = next(self._fresh)
                    yield c.ObjectPut(known[key], key[0], ObjectType.TAG, tag)
                yield c.LabelSet(known[key], self.ids[path], at, value, True)

        for name, tags in self.described.tags.items():
            yield from put(_split(name), 0, tags)
        for name, sample in self.described.tables.items():
            shape = self.shapes[name] = _shape(sample)
            yield from put(_split(name), 0, sample.tags)
            for column, tags in sample.column_tags.items():
                found = shape.schema.named(column)
                if found is None:
                    raise IllegalArgument(f"table '{name}' has no column '{column}' to tag")
                yield from put(_split(name), found.field.id, tags)


def _groups(policy: Policy) -> frozenset[str]:
    """The groups that a policy names: the server takes only those that the lake keeps."""
    read = ready(policy)
    members = frozenset(fact.key for fact in read.facts if fact.kind == "member")
    return read.to.groups | read.except_.groups | members


def _split(name: str) -> tuple[str, ...]:
    parts = tuple(name.split("."))
    if not all(parts) or len(parts) > 4:
        raise IllegalArgument(f"'{name}' names no object", hint="write metalake.catalog.schema.table")
    return parts


def _shape(sample: Sample) -> Shape:
    ids = itertools.count(1)
    schema = Schema(_fields(sample.columns, ids))
    if not sample.was and not sample.lost:
        return Shape.of(schema)
    before = tuple(msgspec.structs.replace(f, name=sample.was.get(f.name, f.name)) for f in schema.fields)
    gone = tuple(Field(next(ids), name, parse_simple_type("string")) for name in sample.lost)
    return Shape.of(schema, [Schema((*before, *gone))])


def _fields(columns: Mapping[str, Any], ids: "itertools.count[int]") -> tuple[Field, ...]:
    numbered = [(next(ids), name, kind) for name, kind in columns.items()]
    return tuple(
        Field(id, name, _type(kind, ids), isinstance(kind, str) and kind.endswith("!"))
        for id, name, kind in numbered
    )


def _type(kind: Any, ids: "itertools.count[int]") -> Type:
    if isinstance(kind, str):
        try:
            return parse_simple_type(kind.rstrip("!"))
        except SchemaError as error:
            raise IllegalArgument(
                str(error), hint="write a type of Iceberg, e.g. long or decimal(9,2)"
            ) from None
    if isinstance(kind, Mapping):
        return StructType(_fields(kind, ids))
    if isinstance(kind, Sequence) and len(kind) == 1:
        return ListType(Field(next(ids), "element", _type(kind[0], ids)))
    raise IllegalArgument(
        f"{kind!r} is no type", hint="write a type, a mapping for a struct, [type] for a list"
    )


def typed(schema: Schema, row: Mapping[str, Any]) -> dict[str, Any]:
    """A row as people write it, with the values of its columns' types."""
    for name in row:
        if (name,) not in schema.by_path:
            raise IllegalArgument(f"the row has a column '{name}' that is not there")
    return {f.name: _typed(f.type, row.get(f.name)) for f in schema.fields if f.name in row}


def _typed(type: Type, value: Any) -> Any:
    if value is None:
        return None
    match type:
        case StructType(fields):
            return {f.name: _typed(f.type, value.get(f.name)) for f in fields}
        case ListType(element):
            return [_typed(element.type, v) for v in value]
        case DecimalType():
            return values.from_text(type, str(value))
    if type in (FLOAT, DOUBLE):
        return float(value)
    if isinstance(value, dt.datetime):
        return value.astimezone(dt.UTC) if type == TIMESTAMPTZ and value.tzinfo else value
    if type == TIMESTAMP and isinstance(value, dt.date):
        return dt.datetime.combine(value, dt.time())
    if type == DATE and isinstance(value, dt.date):
        return value
    return values.from_text(type, value) if isinstance(value, str) else value
