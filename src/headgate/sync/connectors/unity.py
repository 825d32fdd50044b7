"""Unity Catalog (open source) over its REST API: one metastore with its catalogs.

There are users, known by their e-mail address, and grants to them; no groups, roles or denials. Privileges reach from a catalog
to everything in it, the use of catalog and schema is asked for on the way, and changing a table asks for reading it as well.
Owners are told by the server, but cannot be set. Row filters and masks, which a hosted server has, are read as hiding everything.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final

import httpx
import msgspec

from headgate.model.errors import ConnectionFailed, HeadgateError, IllegalArgument
from headgate.model.objects import SCHEMA_SEPARATOR, ObjectType
from headgate.model.privileges import Condition
from headgate.sync.actions import of
from headgate.sync.capabilities import FULL_GATES, Capabilities, Semantics
from headgate.sync.connectors.pacing import Pacing
from headgate.sync.connectors.rest import Refused, Rest, path
from headgate.sync.connectors.unity_restrictions import Restrictions
from headgate.sync.contract import Connector
from headgate.sync.facts import Fact, Facts, Grant, Kind, Known, Owner, Present, Principal, Securable
from headgate.sync.results import Applied, Change, Outcome
from headgate.sync.run import Reading
from headgate.sync.snapshot import ChangeLog

_T = ObjectType

_CHANGES = of(_T.TABLE, "insert", "update", "delete", "alter")
_SCHEMA: Final = {
    "USE SCHEMA": of(_T.SCHEMA, "use"),
    "CREATE TABLE": of(_T.SCHEMA, "create_table", "create_view"),
    "CREATE FUNCTION": of(_T.SCHEMA, "register_function"),
    "CREATE VOLUME": of(_T.SCHEMA, "create_fileset"),
    "CREATE MODEL": of(_T.SCHEMA, "register_model"),
    "SELECT": of(_T.TABLE, "read") | of(_T.VIEW, "read"),
    "MODIFY": _CHANGES,
    "EXECUTE": of(_T.FUNCTION, "execute") | of(_T.MODEL, "use"),
    "READ VOLUME": of(_T.FILESET, "read"),
}

CAPABILITIES: Final = Capabilities(
    system="unity",
    semantics=Semantics(
        natives={
            _T.METALAKE: {"CREATE CATALOG": of(_T.METALAKE, "create_catalog")},
            _T.CATALOG: {
                **_SCHEMA,
                "USE CATALOG": of(_T.CATALOG, "use"),
                "CREATE SCHEMA": of(_T.CATALOG, "create_schema"),
            },
            _T.SCHEMA: _SCHEMA,
            _T.TABLE: {"SELECT": of(_T.TABLE, "read"), "MODIFY": _CHANGES},
            _T.VIEW: {"SELECT": of(_T.VIEW, "read")},
            _T.FUNCTION: {"EXECUTE": of(_T.FUNCTION, "execute")},
            _T.FILESET: {"READ VOLUME": of(_T.FILESET, "read")},
            _T.MODEL: {"EXECUTE": of(_T.MODEL, "use")},
        },
        inherits=frozenset({_T.CATALOG, _T.SCHEMA}),
        gates=FULL_GATES,
        owner_inherits=False,
        needs=dict.fromkeys(_CHANGES, of(_T.TABLE, "read")),
    ),
    direct=frozenset({Kind.USER}),
    creates=frozenset({Kind.USER}),
)

_UNITY: Final = "/api/2.1/unity-catalog"
_USERS: Final = "/api/1.0/unity-control/scim2/Users"
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
_DORMANT: Final = "MODIFY WITHOUT SELECT"


class UnityConnector(Connector):
    """One metastore, by an identity that owns it: anybody else is shown a part only."""

    def __init__(self, client: httpx.Client, name: str, pacing: Pacing | None = None) -> None:
        super().__init__(name)
        self.rest = Rest(client, pacing)

    @property
    def capabilities(self) -> Capabilities:
        return CAPABILITIES

    def read(self) -> Reading:
        return _Sight(self.rest).reading()

    def spelled_out(self, facts: Facts) -> Facts:
        """INVARIANT: what lets nobody do anything here must not elsewhere: MODIFY without SELECT, and what the disabled hold."""
        unknown = [grant for grant in facts.grants if grant.holder not in facts.known]
        facts = facts.changed(
            remove=[*unknown, *(owner for owner in facts.owners if owner.principal not in facts.known)]
        )
        reads = {(g.holder, g.object) for g in facts.grants if g.privilege == "SELECT"}
        asleep = [
            grant
            for grant in facts.grants
            if grant.privilege == "MODIFY"
            and not any((grant.holder, step) in reads for step in grant.object.chain())
        ]
        renamed = (msgspec.structs.replace(grant, privilege=_DORMANT) for grant in asleep)
        return facts.changed(add=renamed, remove=asleep)

    def apply(self, changes: Sequence[Change]) -> list[Applied]:
        hand = _Hand(self.rest)
        return [hand.make(change) for change in changes]


def users(rest: Rest) -> Iterator[dict[str, Any]]:
    """Every user. The total that a page tells is that of the page: the end is an empty one."""
    start = 1
    while True:
        query = {"startIndex": str(start), "count": "100"}
        found = rest("GET", _USERS, query=query).get("Resources") or []
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


class _Sight:
    """The facts of one metastore."""

    def __init__(self, rest: Rest) -> None:
        self.rest = rest
        self.facts: set[Fact] = set()
        self.notes: list[str] = []
        self.restrictions = Restrictions(rest, f"{_UNITY}/policies")
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
                self.facts.add(Owner(object, Principal(Kind.USER, entry["owner"])))
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
        answer = self.rest("GET", _permissions(object))
        for assignment in answer.get("privilege_assignments") or ():
            holder = Principal(Kind.USER, assignment["principal"])
            self.facts.update(Grant(holder, object, word) for word in assignment.get("privileges") or ())


def _permissions(object: Securable) -> str:
    if object.type not in _TYPES:
        raise IllegalArgument(f"there are no grants on a {object.type}", about="sync")
    # The name of the metastore is asked for and not looked at.
    name = ".".join(object.path) or "metastore"
    return f"{_UNITY}/permissions/{path(_TYPES[object.type], name)}"


class _Hand:
    """Makes changes, one request each: of several in one request those before a failure would stay."""

    def __init__(self, rest: Rest) -> None:
        self.rest = rest

    def make(self, change: Change) -> Applied:
        try:
            for fact, holds in ((change.before, False), (change.after, True)):
                if fact is not None and (why := self._one(fact, holds)):
                    return Applied(Outcome.UNSUPPORTED, why)
        except ConnectionFailed:
            raise
        except HeadgateError as error:
            return Applied(Outcome.FAILED, str(error))
        return Applied(Outcome.APPLIED)

    def _one(self, fact: Fact, holds: bool) -> str:
        """Empty, or why there is no such thing here."""
        match fact:
            case Grant(Principal(Kind.USER, who), object, word, Condition.ALLOW, False):
                self._grant(who, object, word, holds)
            case Known(Principal(Kind.USER, who)):
                self._user(who, holds)
            case Owner():
                return "an owner cannot be set"
            case _:
                return "there is no such thing"
        return ""

    def _grant(self, who: str, object: Securable, word: str, holds: bool) -> None:
        change: dict[str, Any] = {"principal": who, "add": [], "remove": []}
        change["add" if holds else "remove"] = [word]
        answer = self.rest("PATCH", _permissions(object), json={"changes": [change]}) or {}
        told = answer.get("privilege_assignments") or ()
        held = {p for entry in told if entry["principal"] == who for p in entry.get("privileges") or ()}
        if holds and word not in held:
            raise HeadgateError(
                "the server said yes and kept nothing", hint="turn its authorization on", about="sync"
            )

    def _user(self, who: str, exists: bool) -> None:
        found = next((user for user in users(self.rest) if address(user) == who), None)
        if exists and found is None:
            body = {"displayName": who, "emails": [{"value": who, "primary": True}]}
            self.rest("POST", _USERS, json=body)
        elif not exists and found is not None:
            try:
                self.rest("DELETE", f"{_USERS}/{path(found['id'])}")
            except Refused as refused:
                if refused.status != 404:
                    raise
