"""How the policies of a Gravitino server are fetched as facts."""

from collections.abc import Iterator
from typing import Any, Final

from headgate.model.errors import HeadgateError
from headgate.model.objects import ObjectRef, ObjectType
from headgate.model.privileges import Condition, Privilege
from headgate.sync.connectors.gravitino.policies import GravitinoPolicies
from headgate.sync.connectors.gravitino.rest import GravitinoClient, NoRoute
from headgate.sync.connectors.gravitino.tags import tags_of
from headgate.sync.pushing.run import Reading
from headgate.sync.snapshots.facts import (
    Fact,
    Facts,
    GrantFact,
    Kind,
    Known,
    MemberFact,
    OwnerFact,
    Present,
    Principal,
    Property,
    Securable,
)
from headgate.sync.snapshots.snapshot import ChangeLog

_T = ObjectType
_LEAVES: Final = {
    "relational": (_T.TABLE, _T.VIEW, _T.FUNCTION),
    "fileset": (_T.FILESET,),
    "messaging": (_T.TOPIC,),
    "model": (_T.MODEL,),
}
_NEWER: Final = frozenset({_T.VIEW, _T.FUNCTION})
"""What older servers have no route for."""


class GravitinoReader:
    """The facts of one metalake."""

    def __init__(self, rest: GravitinoClient, metalake: str) -> None:
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
        for rule in GravitinoPolicies(self.rest).restrictions(self.metalake, objects):
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
        self.facts.update(
            MemberFact(Principal(Kind.ROLE, role), principal) for role in entry.get("roles") or []
        )

    def _role(self, name: str) -> None:
        role = Principal(Kind.ROLE, name)
        entry = self.rest("GET", "roles", name)["role"]
        self.facts.add(Known(role))
        self._log(role, entry)
        properties = entry.get("properties") or {}
        self.facts.update(Property(role, key, str(value)) for key, value in properties.items())
        for object in entry.get("securableObjects") or []:
            ref = ObjectRef.parse(self.metalake, ObjectType.parse(object["type"]), object["fullName"])
            for privilege in object["privileges"]:
                try:
                    word = Privilege.parse(privilege["name"]).current.name
                except HeadgateError:
                    # A newer server knows privileges that are not known here: kept, and never pushed on.
                    word = privilege["name"].upper()
                decision = Condition.parse(privilege["condition"])
                self.facts.add(GrantFact(role, Securable(ref.type, ref.path), word, decision))

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
            self.facts.add(OwnerFact(object, principal))


def _log(entry: dict[str, Any]) -> ChangeLog:
    audit = entry.get("audit") or {}
    return ChangeLog(
        audit.get("creator"),
        audit.get("createTime"),
        audit.get("lastModifier"),
        audit.get("lastModifiedTime"),
    )
