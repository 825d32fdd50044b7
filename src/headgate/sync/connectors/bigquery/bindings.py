"""The policies of datasets and tables: read with their etag, changed, and written back only if nobody else did meanwhile."""

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec

from headgate.model.objects import ObjectType
from headgate.sync.snapshots.facts import GrantFact, Kind, Principal, Securable
from headgate.sync.transport.pacing import Busy
from headgate.sync.transport.rest import ServiceClient, ServiceRefused, path

_T = ObjectType

BIGQUERY: Final = "https://bigquery.googleapis.com/bigquery/v2"
IAM: Final = "https://iam.googleapis.com/v1"
RESOURCES: Final = "https://cloudresourcemanager.googleapis.com/v1"

_LEGACY: Final = {
    "READER": "roles/bigquery.dataViewer",
    "WRITER": "roles/bigquery.dataEditor",
    "OWNER": "roles/bigquery.dataOwner",
}
_IF: Final = " IF "
_FIELDS: Final = ("userByEmail", "groupByEmail", "domain", "specialGroup", "iamMember")


class Project:
    """One project and the addresses of what is in it."""

    def __init__(self, rest: ServiceClient, name: str) -> None:
        self.rest = rest
        self.name = name

    def at(self, *parts: str) -> str:
        return f"{BIGQUERY}/projects/{path(self.name, *parts)}"

    def table(self, object: Securable) -> str:
        return self.at("datasets", object.path[1], "tables", object.path[2])

    def listed(self, address: str, field: str) -> list[Any]:
        return self.rest.listed(address, field, token=("pageToken", "nextPageToken"))

    def custom_roles(self) -> dict[str, frozenset[str]]:
        """The roles that the project has made, with their permissions."""
        found = self.rest.listed(
            f"{IAM}/projects/{path(self.name)}/roles",
            "roles",
            token=("pageToken", "nextPageToken"),
            query={"view": "FULL"},
        )
        return {
            role["name"]: frozenset(role.get("includedPermissions") or ())
            for role in found
            if not role.get("deleted")
        }

    def bindings(self) -> Iterator[tuple[Principal, str]]:
        """What is bound on the project itself."""
        address = f"{RESOURCES}/projects/{path(self.name)}:getIamPolicy"
        yield from _bound(self.rest("POST", address, json=_VERSION_3))


_VERSION_3: Final = {"options": {"requestedPolicyVersion": 3}}


class Bindings:
    """Who holds which role on a dataset, table or view."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.rest = project.rest

    def read(self, object: Securable) -> Iterator[tuple[Principal, str]]:
        if object.type is _T.SCHEMA:
            yield from (held for entry in self._dataset(object)[1] if (held := _held(entry)))
        else:
            address = f"{self.project.table(object)}:getIamPolicy"
            yield from _bound(self.rest("POST", address, json=_VERSION_3))

    def write(self, object: Securable, grants: Sequence[GrantFact], holds: bool) -> None:
        """Make these grants hold or not. INVARIANT: everything else in the policy is written back as it was read."""

        def ask() -> None:
            try:
                if object.type is _T.SCHEMA:
                    self._write_dataset(object, grants, holds)
                else:
                    self._write_table(object, grants, holds)
            except ServiceRefused as refused:
                if refused.status in (409, 412):
                    raise Busy(f"somebody else changed {object} meanwhile: {refused}") from refused
                raise

        self.rest.pacing(ask)

    def _dataset(self, object: Securable) -> tuple[str, list[dict[str, Any]]]:
        query = {"accessPolicyVersion": "3", "datasetView": "FULL"}
        answer = self.rest("GET", self.project.at("datasets", object.path[1]), query=query)
        return answer["etag"], answer.get("access") or []

    def _write_dataset(self, object: Securable, grants: Sequence[GrantFact], holds: bool) -> None:
        etag, access = self._dataset(object)
        wanted = {(grant.holder, grant.privilege) for grant in grants}
        if holds:
            there = {_held(entry) for entry in access}
            made = [_entry(who, word) for who, word in sorted(wanted) if (who, word) not in there]
            after = [*access, *made]
        else:
            after = [entry for entry in access if _held(entry) not in wanted]
        if after != access:
            self.rest(
                "PATCH",
                self.project.at("datasets", object.path[1]),
                query={"accessPolicyVersion": "3", "updateMode": "UPDATE_ACL"},
                headers={"If-Match": etag},
                json={"access": after},
            )

    def _write_table(self, object: Securable, grants: Sequence[GrantFact], holds: bool) -> None:
        address = self.project.table(object)
        policy = self.rest("POST", f"{address}:getIamPolicy", json=_VERSION_3)
        bindings = [_Binding.parse(binding) for binding in policy.get("bindings") or ()]
        before = list(bindings)
        for grant in grants:
            bindings = list(_rebound(bindings, member(grant.holder), grant.privilege, holds))
        if bindings != before:
            # The answer to a policy without an etag is to write it whatever it was: never without.
            after = {**policy, "version": 3, "etag": policy["etag"], "bindings": [b.wire for b in bindings]}
            self.rest("POST", f"{address}:setIamPolicy", json={"policy": after})


class _Binding(msgspec.Struct, frozen=True):
    """One role, under one condition, and its members."""

    role: str
    members: tuple[str, ...]
    condition: str = ""

    @classmethod
    def parse(cls, binding: dict[str, Any]) -> "_Binding":
        return cls(binding["role"], tuple(binding.get("members") or ()), _text(binding.get("condition")))

    @property
    def word(self) -> str:
        return f"{self.role}{_IF}{self.condition}" if self.condition else self.role

    @property
    def wire(self) -> dict[str, Any]:
        made: dict[str, Any] = {"role": self.role, "members": list(self.members)}
        if self.condition:
            made["condition"] = json.loads(self.condition)
        return made


def _rebound(bindings: list[_Binding], who: str, word: str, holds: bool) -> Iterator[_Binding]:
    found = False
    for binding in bindings:
        if binding.word == word:
            found = True
            rest = tuple(m for m in binding.members if m != who)
            members = binding.members if holds and who in binding.members else (*rest, who) if holds else rest
            if members:
                yield msgspec.structs.replace(binding, members=members)
        else:
            yield binding
    if holds and not found:
        role, _, condition = word.partition(_IF)
        yield _Binding(role, (who,), condition)


def _bound(policy: dict[str, Any]) -> Iterator[tuple[Principal, str]]:
    for binding in policy.get("bindings") or ():
        parsed = _Binding.parse(binding)
        yield from ((principal(who), parsed.word) for who in parsed.members)


def _text(condition: dict[str, Any] | None) -> str:
    return json.dumps(condition, sort_keys=True, separators=(",", ":")) if condition else ""


# -- who is who --------------------------------------------------------------------------------------------------


def principal(member: str) -> Principal:
    """A member of a binding: a person or service account by address, everything else a group by what it is called."""
    kind, _, name = member.partition(":")
    if kind in ("user", "serviceAccount"):
        return Principal(Kind.USER, name)
    return Principal(Kind.GROUP, name if kind == "group" else member)


def member(principal: Principal) -> str:
    """The other way round. A service account is known by the address it has."""
    if principal.kind is Kind.USER:
        robot = principal.name.endswith(".gserviceaccount.com")
        return f"{'serviceAccount' if robot else 'user'}:{principal.name}"
    return principal.name if ":" in principal.name or "@" not in principal.name else f"group:{principal.name}"


def _held(entry: dict[str, Any]) -> tuple[Principal, str] | None:
    """Who holds which role by an entry of a dataset's list; None for a view, routine or dataset that is authorised."""
    role = entry.get("role")
    field = next((field for field in _FIELDS if entry.get(field)), None)
    if role is None or field is None:
        return None
    condition = _text(entry.get("condition"))
    word = _LEGACY.get(role, role) + (f"{_IF}{condition}" if condition else "")
    value = str(entry[field])
    match field:
        case "userByEmail":
            return Principal(Kind.USER, value), word
        case "groupByEmail":
            return Principal(Kind.GROUP, value), word
        case "iamMember":
            return principal(value), word
        case _:
            return Principal(Kind.GROUP, f"{field}:{value}"), word


def _entry(who: Principal, word: str) -> dict[str, Any]:
    role, _, condition = word.partition(_IF)
    made: dict[str, Any] = {"role": role}
    field, colon, value = who.name.partition(":")
    if colon and field in _FIELDS:
        made[field] = value
    elif who.kind is Kind.USER:
        made["userByEmail"] = who.name
    elif "@" in who.name and not colon:
        made["groupByEmail"] = who.name
    else:
        made["iamMember"] = who.name
    if condition:
        made["condition"] = json.loads(condition)
    return made
