"""How the policies of Unity Catalog are fetched as facts."""

from collections.abc import Iterator
from typing import Any, Final

from headgate.model.errors import IllegalArgument
from headgate.model.objects import SCHEMA_SEPARATOR, ObjectType
from headgate.sync.connectors.unity.restrictions import UnityRestrictions
from headgate.sync.pushing.run import Reading
from headgate.sync.snapshots.facts import (
    Fact,
    Facts,
    GrantFact,
    Kind,
    Known,
    OwnerFact,
    Present,
    Principal,
    Securable,
)
from headgate.sync.snapshots.snapshot import ChangeLog
from headgate.sync.transport.rest import ServiceClient, path

_T = ObjectType
_UNITY: Final = "/api/2.1/unity-catalog"
USERS: Final = "/api/1.0/unity-control/scim2/Users"
_TYPES: Final = {
    _T.METALAKE: "metastore",
    _T.CATALOG: "catalog",
    _T.SCHEMA: "schema",
    _T.TABLE: "table",
    _T.VIEW: "table",
    _T.FUNCTION: "function",
    _T.FILESET: "volume",
    _T.MODEL: "registered_model",
}


def users(rest: ServiceClient) -> Iterator[dict[str, Any]]:
    """Every user. The total that a page tells is that of the page: the end is an empty one."""
    start = 1
    while True:
        query = {"startIndex": str(start), "count": "100"}
        found = rest("GET", USERS, query=query).get("Resources") or []
        if not found:
            return
        yield from found
        start += len(found)


def address(user: dict[str, Any]) -> str | None:
    """The e-mail address that grants name a user by."""
    emails = user.get("emails") or []
    first = next((e for e in emails if e.get("primary")), emails[0] if emails else {})
    value: str | None = first.get("value")
    return value


class UnityReader:
    """The facts of one metastore."""

    def __init__(self, rest: ServiceClient) -> None:
        self.rest = rest
        self.facts: set[Fact] = set()
        self.notes: list[str] = []
        self.restrictions = UnityRestrictions(rest, f"{_UNITY}/policies")
        self.logs: dict[Principal, ChangeLog] = {}

    def reading(self) -> Reading:
        for user in users(self.rest):
            who = address(user)
            if who is None or user.get("active") is False:
                self.notes.append(f"user '{who or user.get('id')}' is disabled or has no address")
            else:
                self.facts.add(Known(Principal(Kind.USER, who)))
                meta = user.get("meta") or {}
                log = ChangeLog(created_at=meta.get("created"), last_modified_at=meta.get("lastModified"))
                if log.known:
                    self.logs[Principal(Kind.USER, who)] = log
        self._grants(Securable(_T.METALAKE))
        for object, entry in self._objects():
            self.facts.add(Present(object))
            if entry.get("owner"):
                self.facts.add(OwnerFact(object, Principal(Kind.USER, entry["owner"])))
            self._grants(object)
            for rule in self.restrictions.of(object, entry):
                self.facts.add(rule)
                self.notes.append(f"{rule.object} has a {rule.name}: read as showing nobody anything of it")
        return Reading(Facts(self.facts), self.logs, notes=tuple(sorted(self.notes)))

    def _list(self, kind: str, field: str, **query: str) -> list[dict[str, Any]]:
        return self.rest.listed(f"{_UNITY}/{kind}", field, query={"max_results": "100", **query})

    def _objects(self) -> Iterator[tuple[Securable, dict[str, Any]]]:
        for catalog in self._list("catalogs", "catalogs"):
            yield Securable(_T.CATALOG, (catalog["name"],)), catalog
            for schema in self._list("schemas", "schemas", catalog_name=catalog["name"]):
                at = (catalog["name"], schema["name"])
                if SCHEMA_SEPARATOR in schema["name"]:
                    self.notes.append(
                        f"schema '{'.'.join(at)}' has a colon in its name and cannot be named here"
                    )
                    continue
                yield Securable(_T.SCHEMA, at), schema
                yield from self._leaves(at)

    def _leaves(self, at: tuple[str, str]) -> Iterator[tuple[Securable, dict[str, Any]]]:
        for kind, field, type in (
            ("tables", "tables", _T.TABLE),
            ("functions", "functions", _T.FUNCTION),
            ("volumes", "volumes", _T.FILESET),
            ("models", "registered_models", _T.MODEL),
        ):
            for entry in self._list(kind, field, catalog_name=at[0], schema_name=at[1]):
                view = "VIEW" in str(entry.get("table_type", ""))
                yield Securable(_T.VIEW if view else type, (*at, entry["name"])), entry

    def _grants(self, object: Securable) -> None:
        answer = self.rest("GET", permissions(object))
        for assignment in answer.get("privilege_assignments") or ():
            holder = Principal(Kind.USER, assignment["principal"])
            self.facts.update(GrantFact(holder, object, word) for word in assignment.get("privileges") or ())


def permissions(object: Securable) -> str:
    if object.type not in _TYPES:
        raise IllegalArgument(f"there are no grants on a {object.type}", about="sync")
    # The name of the metastore is asked for and not looked at.
    name = ".".join(object.path) or "metastore"
    return f"{_UNITY}/permissions/{path(_TYPES[object.type], name)}"
