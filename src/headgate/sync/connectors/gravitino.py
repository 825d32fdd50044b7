"""Apache Gravitino over its REST API: one metalake.

Privileges are granted to roles only. Who is in a group is known to the identity provider alone, so a group of the source is
written as the group that the map of principals names, and its members are taken to be the same. The client must own the metalake:
to anybody else the server shows a part of its roles, tags and policies.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, Final

import httpx
import msgspec

from headgate.model.errors import ConnectionFailed, HeadgateError, NotFound
from headgate.model.objects import OWNABLE, ObjectRef, ObjectType
from headgate.model.privileges import FORMER, Condition, Privilege
from headgate.sync.capabilities import Capabilities
from headgate.sync.connectors.gravitino_policies import Policies
from headgate.sync.connectors.gravitino_rest import NoRoute, Rest
from headgate.sync.connectors.gravitino_tags import TagHand, tags_of
from headgate.sync.connectors.headgate import CAPABILITIES as HEADGATE
from headgate.sync.contract import Connector
from headgate.sync.facts import (
    Fact,
    Facts,
    Grant,
    Kind,
    Known,
    Member,
    Owner,
    Present,
    Principal,
    Property,
    Securable,
    Tag,
)
from headgate.sync.results import Applied, Change, Outcome
from headgate.sync.run import Reading
from headgate.sync.snapshot import ChangeLog

_T = ObjectType
_OWNED: Final = OWNABLE - {_T.ROLE, _T.TAG, _T.POLICY, _T.JOB, _T.JOB_TEMPLATE}

CAPABILITIES: Final = msgspec.structs.replace(
    HEADGATE,
    system="gravitino",
    memberships=False,
    rows=False,
    masks=False,
    rules_stay=False,
    dialect=None,
    owners=_OWNED,
    versions=False,
)

_LEAVES: Final = {
    "relational": (_T.TABLE, _T.VIEW, _T.FUNCTION),
    "fileset": (_T.FILESET,),
    "messaging": (_T.TOPIC,),
    "model": (_T.MODEL,),
}
_NEWER: Final = frozenset({_T.VIEW, _T.FUNCTION})
"""What older servers have no route for."""


class GravitinoConnector(Connector):
    """One metalake; the client carries the address and the credentials."""

    def __init__(self, client: httpx.Client, metalake: str, name: str | None = None) -> None:
        super().__init__(name or f"gravitino:{metalake}")
        self.rest = Rest(client, metalake)
        self.metalake = metalake

    @property
    def capabilities(self) -> Capabilities:
        return CAPABILITIES

    def close(self) -> None:
        self.rest.client.close()

    def read(self) -> Reading:
        return _Sight(self.rest, self.metalake).reading()

    def apply(self, changes: Sequence[Change]) -> list[Applied]:
        hand = _Hand(self.rest, self.metalake, changes)
        return [hand.make(change) for change in changes]


class _Sight:
    """The facts of one metalake."""

    def __init__(self, rest: Rest, metalake: str) -> None:
        self.rest = rest
        self.metalake = metalake
        self.facts: set[Fact] = set()
        self.logs: dict[Principal, ChangeLog] = {}
        self.notes: list[str] = []
        self.disabled: set[Principal] = set()

    def reading(self) -> Reading:
        for kind, field in ((Kind.USER, "users"), (Kind.GROUP, "groups")):
            for entry in self.rest.listed(field, field, details="true"):
                self._principal(Principal(kind, entry["name"]), entry)
        for name in self.rest.listed("names", "roles"):
            self._role(name)
        objects = list(self._objects())
        for object in objects:
            self.facts.add(Present(object))
            self._owner(object)
        self._owner(Securable(_T.METALAKE))
        for rule in Policies(self.rest).restrictions(self.metalake, objects):
            self.facts.add(rule)
            self.notes.append(f"{rule.object} is under the {rule.name}: read as showing nobody a row")
        tags, notes = tags_of(self.rest, self.metalake)
        self.facts |= tags
        self.notes += notes
        return Reading(Facts(self.facts), self.logs, tuple(sorted(self.notes)))

    def _principal(self, principal: Principal, entry: dict[str, Any]) -> None:
        if entry.get("enabled") is False:
            self.notes.append(f"{principal} is disabled and may do nothing")
            self.disabled.add(principal)
            return
        self.facts.add(Known(principal))
        self._log(principal, entry)
        self.facts.update(Member(Principal(Kind.ROLE, role), principal) for role in entry.get("roles") or [])

    def _role(self, name: str) -> None:
        role = Principal(Kind.ROLE, name)
        entry = self.rest("GET", "roles", name)["role"]
        self.facts.add(Known(role))
        self._log(role, entry)
        properties = entry.get("properties") or {}
        self.facts.update(Property(role, key, str(value)) for key, value in properties.items())
        for object in entry.get("securableObjects") or []:
            ref = ObjectRef.parse(self.metalake, ObjectType.parse(object["type"]), object["fullName"])
            for said in object["privileges"]:
                try:
                    word = Privilege.parse(said["name"]).current.name
                except HeadgateError:
                    # A newer server knows privileges that are not known here: kept, and never pushed on.
                    word = said["name"].upper()
                decision = Condition.parse(said["condition"])
                self.facts.add(Grant(role, Securable(ref.type, ref.path), word, decision))

    def _log(self, principal: Principal, entry: dict[str, Any]) -> None:
        log = _log(entry).known
        if log is not None:
            self.logs[principal] = log

    def _objects(self) -> Iterator[Securable]:
        for catalog in self.rest.listed("catalogs", "catalogs", details="true"):
            at = ("catalogs", catalog["name"], "schemas")
            yield Securable(_T.CATALOG, (catalog["name"],))
            for schema in self.rest.listed("identifiers", *at):
                path = (catalog["name"], schema["name"])
                yield Securable(_T.SCHEMA, path)
                for leaf in _LEAVES.get(str(catalog["type"]).lower(), ()):
                    yield from self._leaves(leaf, path, (*at, schema["name"]))

    def _leaves(self, type: ObjectType, path: tuple[str, ...], at: tuple[str, ...]) -> Iterator[Securable]:
        try:
            found = self.rest.listed("identifiers", *at, f"{type}s")
        except NoRoute:
            # INVARIANT: a list that cannot be read is unknown, not empty; only a kind that the server lacks is none.
            if type not in _NEWER:
                raise
            return
        for entry in found:
            yield Securable(type, (*path, entry["name"]))

    def _owner(self, object: Securable) -> None:
        name = ObjectRef(self.metalake, object.type, object.path).full_name
        owner = self.rest("GET", "owners", object.type.value, name).get("owner")
        principal = Principal(Kind(owner["type"].lower()), owner["name"]) if owner else None
        if principal is not None and principal not in self.disabled:
            self.facts.add(Owner(object, principal))


class _Hand:
    """Makes changes, one request each; a role is made with its properties, which nothing can change afterwards."""

    def __init__(self, rest: Rest, metalake: str, changes: Sequence[Change]) -> None:
        self.rest = rest
        self.metalake = metalake
        self.tags = TagHand(rest, metalake)
        self.described: dict[Principal, dict[str, str]] = defaultdict(dict)
        for change in changes:
            if isinstance(change.after, Property):
                self.described[change.after.principal][change.after.name] = change.after.value
        self.going = {c.before.principal for c in changes if isinstance(c.before, Known) and c.after is None}

    def make(self, change: Change) -> Applied:
        try:
            if isinstance(change.fact, Tag | Property):
                why = self._property(change) if isinstance(change.fact, Property) else self.tags.make(change)
                return Applied(Outcome.UNSUPPORTED, why) if why else Applied(Outcome.APPLIED)
            for fact, holds in ((change.before, False), (change.after, True)):
                if fact is not None and not (isinstance(fact, Owner) and not holds):
                    answer = self._one(fact, holds)
                    if answer is not None:
                        return answer
        except ConnectionFailed:
            raise
        except HeadgateError as error:
            return Applied(Outcome.FAILED, str(error))
        if isinstance(change.before, Owner) and change.after is None:
            return Applied(Outcome.UNSUPPORTED, "an object cannot be left without its owner")
        return Applied(Outcome.APPLIED)

    def _one(self, fact: Fact, holds: bool) -> Applied | None:
        word = "grant" if holds else "revoke"
        match fact:
            case Known(principal):
                self._principal(principal, holds)
            case Member(of, who) if of.kind is Kind.ROLE and who.kind is not Kind.ROLE:
                roles = {"roleNames": [of.name]}
                self.rest("PUT", "permissions", f"{who.kind}s", who.name, word, json=roles)
            case Grant(holder, object, privilege, decision):
                name = ObjectRef(self.metalake, object.type, object.path).full_name
                names = [privilege] if holds else _names(privilege)
                said = {"privileges": [{"name": n.lower(), "condition": decision.value} for n in names]}
                at = ("permissions", "roles", holder.name, object.type.value, name, word)
                self.rest("PUT", *at, json=said)
            case Owner(object, principal):
                name = ObjectRef(self.metalake, object.type, object.path).full_name
                owner = {"name": principal.name, "type": principal.kind.value}
                self.rest("PUT", "owners", object.type.value, name, json=owner)
            case _:
                return Applied(Outcome.UNSUPPORTED, "there is no such thing")
        return None

    def _principal(self, principal: Principal, exists: bool) -> None:
        kinds = f"{principal.kind}s"
        if not exists:
            self.rest("DELETE", kinds, principal.name)
            return
        try:
            self.rest("GET", kinds, principal.name)
        except NotFound:
            body: dict[str, Any] = {"name": principal.name}
            if principal.kind is Kind.ROLE:
                body |= {"properties": self.described[principal], "securableObjects": []}
            self.rest("POST", kinds, json=body)

    def _property(self, change: Change) -> str:
        """Empty if it is so, by how the role was made or because the role goes too; else why it cannot be."""
        fact = change.fact
        assert isinstance(fact, Property)
        if change.after is None and fact.principal in self.going:
            return ""
        now = (self.rest("GET", "roles", fact.principal.name)["role"].get("properties") or {}).get(fact.name)
        wanted = None if change.after is None else fact.value
        return "" if now == wanted else "the properties of a role are set when it is made, and not changed"


def _names(privilege: str) -> list[str]:
    """A privilege under every name that a role may have it by."""
    return [privilege, *(former.name for former, current in FORMER.items() if current.name == privilege)]


def _log(entry: dict[str, Any]) -> ChangeLog:
    audit = entry.get("audit") or {}
    return ChangeLog(
        audit.get("creator"),
        audit.get("createTime"),
        audit.get("lastModifier"),
        audit.get("lastModifiedTime"),
    )
