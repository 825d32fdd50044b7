"""The canonical snapshot: all policies of one catalog at one time, as a document that is written and read byte for byte.

The names follow the field's proposal for a common model — privilege, securable object, change log, role, user, user group,
snapshot — with owners, the right to hand on, tags, row filters and masks beside them. A document of a newer format is refused.
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Final
from uuid import uuid4

import msgspec
import yaml

from headgate.model.errors import IllegalArgument, Unsupported
from headgate.model.objects import ObjectType, clip
from headgate.model.privileges import Condition
from headgate.sync.snapshots.facts import (
    Fact,
    Facts,
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
    encoded,
)

FORMAT: Final = 1


class SnapshotPrivilege(msgspec.Struct, frozen=True, order=True, omit_defaults=True, gc=False):
    """One privilege, allowed or denied: a canonical name, or ``system:WORD`` for one that only its system knows."""

    type: str
    decision: Condition = Condition.ALLOW
    grant_option: bool = False


class SecurableObject(msgspec.Struct, frozen=True, order=True, omit_defaults=True, gc=False):
    """An object and the privileges on it."""

    identifier: tuple[str, ...]
    type: ObjectType
    privileges: tuple[SnapshotPrivilege, ...] = ()


class ChangeLog(msgspec.Struct, frozen=True, omit_defaults=True):
    """Who made an entry and who changed it last, and when (ISO 8601). What a system cannot know is absent."""

    created_by: str | None = None
    created_at: str | None = None
    last_modified_by: str | None = None
    last_modified_at: str | None = None

    @property
    def known(self) -> "ChangeLog | None":
        """None if nothing is known."""
        return None if self == ChangeLog() else self


def instant(milliseconds: object) -> str | None:
    """A moment as a change log writes it, from milliseconds since 1970; None if it is not known."""
    if isinstance(milliseconds, bool) or not isinstance(milliseconds, int) or milliseconds <= 0:
        return None
    return written(datetime.fromtimestamp(milliseconds / 1000, UTC))


def written(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class SnapshotRole(msgspec.Struct, frozen=True, omit_defaults=True):
    """A role, what it grants, and the roles that it holds itself."""

    name: str
    securable_objects: tuple[SecurableObject, ...] = ()
    roles: tuple[str, ...] = ()
    change_log: ChangeLog | None = None
    properties: dict[str, str] = {}


class User(msgspec.Struct, frozen=True, omit_defaults=True):
    """A user, the roles they hold and what is granted to them directly."""

    name: str
    roles: tuple[str, ...] = ()
    securable_objects: tuple[SecurableObject, ...] = ()
    change_log: ChangeLog | None = None


class UserGroup(msgspec.Struct, frozen=True, omit_defaults=True):
    """A group of users and groups; one of `everyone` has every user."""

    name: str
    members: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    securable_objects: tuple[SecurableObject, ...] = ()
    everyone: bool = False
    change_log: ChangeLog | None = None


class ObjectEntry(msgspec.Struct, frozen=True, omit_defaults=True):
    """An object that is there, its owner and its tags."""

    identifier: tuple[str, ...]
    type: ObjectType
    owner: str | None = None
    tags: dict[str, str] = {}
    absent: bool = False
    """Spoken of, but not seen in the catalog."""


class Restriction(msgspec.Struct, frozen=True, omit_defaults=True):
    """A row filter or a mask: SQL, whose dialect that is, and the types of its columns where the dialect asks for them."""

    identifier: tuple[str, ...]
    type: ObjectType
    name: str
    sql: str
    to: tuple[str, ...] = ()
    exempt: tuple[str, ...] = ()
    dialect: str = ""
    columns: dict[str, str] = {}


class PolicySnapshot(msgspec.Struct, frozen=True):
    """All access-control policies of one system at one time."""

    format: int
    system: str
    version_id: str
    """Of this snapshot and no other."""
    timestamp: str
    users: dict[str, User] = {}
    groups: dict[str, UserGroup] = {}
    roles: dict[str, SnapshotRole] = {}
    objects: tuple[ObjectEntry, ...] = ()
    row_filters: tuple[Restriction, ...] = ()
    masks: tuple[Restriction, ...] = ()
    properties: dict[str, str] = {}
    content_hash: str = ""
    """The same for every snapshot of the system that says the same: by it one sees that nothing has changed."""

    # -- as facts ------------------------------------------------------------------------------------------------

    @classmethod
    def of(
        cls,
        facts: Facts,
        system: str,
        *,
        logs: Mapping[Principal, ChangeLog] = {},
        properties: Mapping[str, str] = {},
        at: datetime | None = None,
    ) -> "PolicySnapshot":
        """The document of canonical facts. The same facts of the same system have the same content hash."""
        granted = _granted(facts)
        held: dict[Principal, list[Principal]] = defaultdict(list)
        members: dict[Principal, list[str]] = defaultdict(list)
        for member in facts.members:
            if member.of.kind is Kind.ROLE:
                held[member.who].append(member.of)
            else:
                members[member.of].append(str(member.who))
        kept: dict[Principal, dict[str, str]] = defaultdict(dict)
        for fact in facts:
            if isinstance(fact, Property):
                kept[fact.principal][fact.name] = fact.value
        by_kind: dict[Kind, list[Principal]] = defaultdict(list)
        for principal in sorted(facts.principals):
            by_kind[principal.kind].append(principal)

        def roles(p: Principal) -> tuple[str, ...]:
            return tuple(sorted(role.name for role in held.get(p, ())))

        return cls(
            format=FORMAT,
            system=system,
            version_id=uuid4().hex,
            timestamp=written(at or datetime.now(UTC)),
            users={
                p.name: User(p.name, roles(p), granted.get(p, ()), logs.get(p)) for p in by_kind[Kind.USER]
            },
            groups={
                p.name: UserGroup(
                    p.name,
                    tuple(sorted(members.get(p, ()))),
                    roles(p),
                    granted.get(p, ()),
                    p in facts.everyone,
                    logs.get(p),
                )
                for p in by_kind[Kind.GROUP]
            },
            roles={
                p.name: SnapshotRole(
                    p.name, granted.get(p, ()), roles(p), logs.get(p), dict(sorted(kept.get(p, {}).items()))
                )
                for p in by_kind[Kind.ROLE]
            },
            objects=_entries(facts),
            row_filters=_restrictions(fact for fact in facts.restrictions if isinstance(fact, RowFilter)),
            masks=_restrictions(fact for fact in facts.restrictions if isinstance(fact, Mask)),
            properties=dict(sorted(properties.items())),
            content_hash=hash_of(facts, system),
        )

    @property
    def facts(self) -> Facts:
        """The same as canonical facts."""
        found: set[Fact] = set()
        for kind, holders in ((Kind.USER, self.users), (Kind.GROUP, self.groups), (Kind.ROLE, self.roles)):
            for name, holder in holders.items():
                principal = Principal(kind, name)
                found.add(Known(principal, isinstance(holder, UserGroup) and holder.everyone))
                found.update(MemberFact(Principal(Kind.ROLE, role), principal) for role in holder.roles)
                for object in holder.securable_objects:
                    securable = Securable(object.type, object.identifier)
                    found.update(
                        GrantFact(principal, securable, p.type, p.decision, p.grant_option)
                        for p in object.privileges
                    )
        for name, role in self.roles.items():
            described = Principal(Kind.ROLE, name)
            found.update(Property(described, key, value) for key, value in role.properties.items())
        for name, group in self.groups.items():
            found.update(
                MemberFact(Principal(Kind.GROUP, name), Principal.parse(who)) for who in group.members
            )
        for entry in self.objects:
            securable = Securable(entry.type, entry.identifier)
            if not entry.absent:
                found.add(Present(securable))
            if entry.owner is not None:
                found.add(OwnerFact(securable, Principal.parse(entry.owner)))
            found.update(Tag(securable, name, value) for name, value in entry.tags.items())
        found.update(_rule(RowFilter, rule) for rule in self.row_filters)
        found.update(_rule(Mask, rule) for rule in self.masks)
        return Facts(found)

    # -- as text -------------------------------------------------------------------------------------------------

    def to_json(self) -> bytes:
        """Stable bytes: the same snapshot is always the same text."""
        return msgspec.json.format(msgspec.json.encode(self, order="sorted"), indent=2) + b"\n"

    def to_yaml(self) -> bytes:
        plain = msgspec.to_builtins(self, order="sorted")
        text: bytes = yaml.dump(
            plain,
            Dumper=_Dumper,
            allow_unicode=True,
            sort_keys=True,
            default_flow_style=None,
            width=120,
            encoding="utf-8",
        )
        return text

    @classmethod
    def read(cls, text: bytes) -> "PolicySnapshot":
        """Read JSON or YAML; a document of a newer format is refused, whatever else is in it."""
        try:
            # JSON first: it is the faster way, and YAML reads the rest.
            plain = msgspec.json.decode(text) if text.lstrip()[:1] == b"{" else yaml.safe_load(text)
        except (msgspec.DecodeError, yaml.YAMLError, UnicodeDecodeError) as error:
            raise IllegalArgument("the snapshot cannot be read", hint=clip(str(error), 200)) from error
        if not isinstance(plain, dict) or not isinstance(plain.get("format"), int):
            raise IllegalArgument("this is no policy snapshot", hint="it has no format number")
        if plain["format"] > FORMAT:
            raise Unsupported(
                f"the snapshot has format {plain['format']}, this version reads up to {FORMAT}",
                hint="read it with a newer Headgate",
            )
        try:
            read = msgspec.convert(plain, cls)
            # INVARIANT: the hash is that of what stands here, whoever edited the document.
            return msgspec.structs.replace(read, content_hash=hash_of(read.facts, read.system))
        except msgspec.ValidationError as error:
            raise IllegalArgument("the snapshot is not well formed", hint=str(error)) from error


class _Dumper(yaml.SafeDumper):
    """Writes what is not plainly printable in quotes, where YAML escapes it and loses nothing."""

    def represent_text(self, text: str) -> yaml.ScalarNode:
        return self.represent_scalar("tag:yaml.org,2002:str", text, style=None if text.isprintable() else '"')


_Dumper.add_representer(str, _Dumper.represent_text)


def hash_of(facts: Facts, system: str) -> str:
    """The hash of what the facts say."""
    digest = hashlib.sha256(system.encode())
    for line in sorted(encoded(fact) for fact in facts):
        digest.update(b"\n" + line)
    return digest.hexdigest()[:32]


def _granted(facts: Facts) -> dict[Principal, tuple[SecurableObject, ...]]:
    found: dict[Principal, tuple[SecurableObject, ...]] = {}
    for holder, grants in facts.grants_of.items():
        by_object: dict[Securable, list[SnapshotPrivilege]] = defaultdict(list)
        for grant in grants:
            by_object[grant.object].append(SnapshotPrivilege(grant.privilege, grant.decision, grant.option))
        found[holder] = tuple(
            SecurableObject(object.path, object.type, tuple(sorted(by_object[object])))
            for object in sorted(by_object)
        )
    return found


def _entries(facts: Facts) -> tuple[ObjectEntry, ...]:
    owners = {owner.object: str(owner.principal) for owner in facts.owners}
    tags: dict[Securable, dict[str, str]] = defaultdict(dict)
    seen: set[Securable] = set()
    for fact in facts:
        if isinstance(fact, Tag):
            tags[fact.object][fact.name] = fact.value
        elif isinstance(fact, Present):
            seen.add(fact.object)
    return tuple(
        ObjectEntry(
            object.path,
            object.type,
            owners.get(object),
            dict(sorted(tags[object].items())),
            object not in seen,
        )
        for object in sorted(seen | owners.keys() | tags.keys())
    )


def _restrictions(rules: Iterable[RowFilter | Mask]) -> tuple[Restriction, ...]:
    return tuple(
        Restriction(
            rule.object.path,
            rule.object.type,
            rule.name,
            rule.sql,
            tuple(map(str, rule.to)),
            tuple(map(str, rule.exempt)),
            rule.dialect,
            dict(rule.columns),
        )
        for rule in sorted(rules, key=lambda rule: (rule.object, rule.name))
    )


def _rule(make: Any, rule: Restriction) -> Fact:
    made: Fact = make(
        Securable(rule.type, rule.identifier),
        rule.name,
        rule.sql,
        tuple(map(Principal.parse, rule.to)),
        tuple(map(Principal.parse, rule.exempt)),
        rule.dialect,
        tuple(rule.columns.items()),
    )
    return made
