"""Apache Ranger over the REST API of its admin server: one service for Hive, presented as one catalog.

Ranger keeps policies, users, groups and roles, but no list of tables: what there is to protect is told by an inventory. There
are no gates; a policy about everything of a container covers what comes later; a denial beats whatever is allowed.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final
from urllib.parse import quote

import httpx
import msgspec

from headgate.model.errors import Conflict, ConnectionFailed, HeadgateError, IllegalArgument, NotFound
from headgate.model.objects import ObjectType
from headgate.model.privileges import Condition
from headgate.sync.actions import of
from headgate.sync.capabilities import NO_GATES, Capabilities, Semantics
from headgate.sync.connectors import ranger_policies as documents
from headgate.sync.connectors.ranger_policies import ACCESS, EVERYONE, ITEMS, MARK, MASKS, PARTS, ROWS, Policy
from headgate.sync.connectors.ranger_tags import EXPIRES, TagStore
from headgate.sync.contract import Connector
from headgate.sync.facts import (
    Fact,
    Facts,
    Grant,
    Kind,
    Known,
    Mask,
    Member,
    Present,
    Principal,
    RowFilter,
    Securable,
)
from headgate.sync.policy_text import NO_ROW
from headgate.sync.restrictions import Rule
from headgate.sync.results import Applied, Change, Outcome
from headgate.sync.run import Reading
from headgate.sync.snapshot import ChangeLog, instant

_T = ObjectType

_TABLE = {
    "select": of(_T.TABLE, "read"),
    "update": of(_T.TABLE, "insert", "update", "delete"),
    "alter": of(_T.TABLE, "alter"),
    "drop": of(_T.TABLE, "drop"),
    "index": of(_T.TABLE, "index"),
    "lock": of(_T.TABLE, "lock"),
}
_VIEW = {
    "select": of(_T.VIEW, "read"),
    "alter": of(_T.VIEW, "alter"),
    "drop": of(_T.VIEW, "drop"),
    "lock": of(_T.VIEW, "lock"),
}
_SCHEMA = {
    **{word: gives | _VIEW.get(word, frozenset()) for word, gives in _TABLE.items()},
    "alter": _TABLE["alter"] | _VIEW["alter"] | of(_T.SCHEMA, "alter"),
    "drop": _TABLE["drop"] | _VIEW["drop"] | of(_T.SCHEMA, "drop"),
    "create": of(_T.SCHEMA, "create_table", "create_view"),
}

CAPABILITIES: Final = Capabilities(
    system="ranger",
    semantics=Semantics(
        natives={
            _T.CATALOG: {**_SCHEMA, "create": _SCHEMA["create"] | of(_T.CATALOG, "create_schema")},
            _T.SCHEMA: _SCHEMA,
            _T.TABLE: _TABLE,
            _T.VIEW: _VIEW,
            _T.COLUMN: {"select": of(_T.COLUMN, "read")},
        },
        inherits=frozenset({_T.CATALOG, _T.SCHEMA}),
        gates=NO_GATES,
        owner_inherits=False,
    ),
    deny=True,
    groups=True,
    roles=True,
    role_holders=frozenset(Kind),
    direct=frozenset({Kind.USER, Kind.GROUP}),
    columns=True,
    rows=True,
    cells=True,
    masks=True,
    grant_option=True,
    creates=frozenset({Kind.ROLE}),
    dialect="hive",
)

_TYPE: Final = "hive"
_PAGE: Final = 200
_NO_DENY: Final = "enableDenyAndExceptionsInPolicies"


class RangerConnector(Connector):
    """One service; the client carries the address and the credentials of an administrator."""

    def __init__(
        self,
        client: httpx.Client,
        service: str,
        catalog: str,
        inventory: Callable[[], Iterable[Securable]],
        name: str | None = None,
    ) -> None:
        super().__init__(name or f"ranger:{service}")
        self.rest = _Rest(client, service)
        self.catalog = catalog
        self.inventory = inventory

    @property
    def capabilities(self) -> Capabilities:
        return CAPABILITIES

    def read(self) -> Reading:
        return _Sight(_Service(self.rest), self.catalog, self.inventory()).reading()

    def takes(self, rule: Rule) -> bool:
        try:
            documents.resources(rule.object, MASKS if isinstance(rule, Mask) else ROWS)
        except IllegalArgument:
            return False
        return True

    def apply(self, changes: Sequence[Change]) -> list[Applied]:
        hand = _Hand(_Service(self.rest), self.catalog, self.inventory())
        return [hand.make(change) for change in changes]


class _Rest:
    """Requests to one admin server; an error answer becomes an error with the server's own words."""

    def __init__(self, client: httpx.Client, service: str) -> None:
        self.client = client
        self.service = service

    def __call__(self, method: str, path: str, json: Any = None, **query: str | int) -> Any:
        try:
            answer = self.client.request(
                method, f"/service/{path}", json=json, params=query, headers={"Accept": "application/json"}
            )
        except httpx.HTTPError as error:
            raise ConnectionFailed("Ranger does not answer", hint=str(error), about="sync") from error
        if answer.status_code in (401, 403):
            raise ConnectionFailed(
                "Ranger refuses the credentials", hint="an administrator of Ranger is needed", about="sync"
            )
        try:
            body = answer.json() if answer.content else None
        except ValueError:
            body = {"msgDesc": "the answer is not JSON"}
            if not answer.is_error:
                raise ConnectionFailed("Ranger's answer is not JSON", about="sync") from None
        if answer.is_error:
            told = (body or {}).get("msgDesc") or answer.reason_phrase
            kind = NotFound if answer.status_code == 404 else HeadgateError
            raise kind(f"{answer.status_code}: {told}", about="sync")
        return body

    def pages(self, path: str, field: str | None = None) -> Iterator[Any]:
        """Everything of a list. INVARIANT: a page that is not full is no proof of the end; an empty one is."""
        start = 0
        while True:
            body = self("GET", path, startIndex=start, pageSize=_PAGE)
            rows = (body.get(field) or []) if field else body
            if not rows:
                return
            yield from rows
            start += len(rows)


class _Service:
    """The service, its definition, and its policies and roles at one moment."""

    def __init__(self, rest: _Rest) -> None:
        self.rest = rest
        name = quote(rest.service, safe="")
        self.service = rest("GET", f"public/v2/api/service/name/{name}")
        if self.service["type"] != _TYPE:
            raise IllegalArgument(
                f"'{rest.service}' is a service of type '{self.service['type']}'",
                hint="services for Hive are synchronised",
            )
        definition = rest("GET", f"public/v2/api/servicedef/name/{_TYPE}")
        self.denies = str((definition.get("options") or {}).get(_NO_DENY, "true")).lower() != "false"
        self.implied = {
            access["name"]: frozenset(access["impliedGrants"])
            for access in definition["accessTypes"]
            if access.get("impliedGrants")
        }
        self.masks = documents.MaskTypes.of(definition)
        self._check_zones()
        self.expires = False
        """Whether what is tagged as expiring is denied once its day has come."""
        self._check_tags()
        self.policies: list[Policy] = list(rest.pages(f"public/v2/api/service/{name}/policy"))
        self.roles: dict[str, dict[str, Any]] = {r["name"]: r for r in rest.pages("public/v2/api/roles")}

    def _check_zones(self) -> None:
        """Policies outside of a zone do not count inside it, so nothing certain could be said of either."""
        if self.rest("GET", f"public/v2/api/zones/zone-headers/for-service/{self.service['id']}"):
            raise IllegalArgument(
                f"'{self.rest.service}' has security zones",
                hint="a service with zones cannot be synchronised",
            )

    def _check_tags(self) -> None:
        """A policy on a tag may take away what is allowed here, for whom and when only Ranger can judge."""
        tags = self.service.get("tagService")
        for policy in self.rest.pages(f"public/v2/api/service/{quote(tags, safe='')}/policy") if tags else ():
            about = (policy.get("resources") or {}).get("tag") or {}
            parts = ("denyPolicyItems", "dataMaskPolicyItems", "rowFilterPolicyItems", "isDenyAllElse")
            if not policy.get("isEnabled", True) or not any(policy.get(part) for part in parts):
                continue
            if about.get("values") != [EXPIRES] or about.get("isExcludes"):
                raise IllegalArgument(
                    f"policy '{policy['name']}' of '{tags}' restricts by tags",
                    hint="a service whose tags restrict cannot be synchronised",
                )
            self.expires = True

    def tags(self) -> dict[str, Any]:
        """What of the service bears which tags."""
        if not self.service.get("tagService"):
            return {}
        # By this path an administrator is asked for, and not a plugin.
        path = f"tags/secure/download/{quote(self.rest.service, safe='')}"
        return dict(self.rest("GET", path, lastKnownVersion=-1) or {})


class _Sight:
    """The facts of one service."""

    def __init__(self, service: _Service, catalog: str, inventory: Iterable[Securable]) -> None:
        self.service = service
        self.catalog = catalog
        there = [object for object in inventory if object.path[:1] == (catalog,)]
        self.leaves = {
            (object.path[1], object.path[2]): object for object in there if object.type in (_T.TABLE, _T.VIEW)
        }
        self.facts: set[Fact] = {Present(Securable(_T.CATALOG, (catalog,))), *map(Present, there)}
        self.logs: dict[Principal, ChangeLog] = {}
        self.notes: set[str] = set()

    def reading(self) -> Reading:
        self._people()
        enabled = [policy for policy in self.service.policies if policy.get("isEnabled", True)]
        for policy in enabled:
            self._policy(policy)
        for policy in enabled:
            if (policy.get("policyType") or ACCESS) == ACCESS:
                self._denied(policy)
        self._tags()
        return Reading(Facts(self.facts), self.logs, notes=tuple(sorted(self.notes)))

    def _tags(self) -> None:
        store = TagStore(self.service.tags(), self.leaves, self.catalog)
        self.facts.update(store.facts())
        self.notes.update(store.notes)
        for rule in store.expiring() if self.service.expires else ():
            self.facts.add(rule)
            self.notes.add(f"{rule.object} is tagged as expiring: read as hidden from everyone")

    def _people(self) -> None:
        for group in self.service.rest.pages("xusers/groups", "vXGroups"):
            principal = Principal(Kind.GROUP, group["name"])
            self.facts.add(Known(principal, everyone=principal == EVERYONE))
            self._log(principal, group)
        self.facts.add(Known(EVERYONE, everyone=True))
        for user in self.service.rest.pages("xusers/users", "vXUsers"):
            principal = Principal(Kind.USER, user["name"])
            self.facts.add(Known(principal))
            self._log(principal, user)
            groups = set(user.get("groupNameList") or ()) - {EVERYONE.name}
            self.facts.update(Member(Principal(Kind.GROUP, name), principal) for name in groups)
        for name, role in self.service.roles.items():
            of_ = Principal(Kind.ROLE, name)
            self.facts.add(Known(of_))
            self._log(of_, role)
            for kind, part in PARTS.items():
                for member in role.get(part) or ():
                    self.facts.add(Member(of_, Principal(kind, member["name"])))
                    if member.get("isAdmin"):
                        self.notes.add(f"{kind}:{member['name']} may hand on the role '{name}'")

    def _log(self, principal: Principal, entry: dict[str, Any]) -> None:
        """Roles are stamped in milliseconds; users and groups in text, and under other words."""
        log = ChangeLog(
            entry.get("createdBy") or entry.get("owner"),
            instant(entry.get("createTime")) or entry.get("createDate"),
            entry.get("updatedBy"),
            instant(entry.get("updateTime")) or entry.get("updateDate"),
        )
        if log.known:
            self.logs[principal] = log

    def _policy(self, policy: Policy) -> None:
        type = policy.get("policyType") or ACCESS
        about = documents.objects(policy, self.leaves, self.catalog)
        if type in (MASKS, ROWS):
            if not documents.restricts(type, about):
                self._hidden(policy)
                return
            for object in about:
                self.facts.update(documents.rules(policy, object, self.service.masks))
        elif type == ACCESS:
            self._allowed(policy, about)

    def _hidden(self, policy: Policy) -> None:
        """A restriction that cannot be told exactly hides the whole table or view from everyone."""
        for object in documents.around(policy, self.leaves, self.catalog):
            if object.type not in (_T.TABLE, _T.VIEW):
                raise IllegalArgument(
                    f"policy '{policy['name']}' restricts by a pattern", hint="name its tables one by one"
                )
            self._unread(policy, "restricts what cannot be named here; read as hiding all of it")
            self.facts.add(RowFilter(object, str(policy["name"]), NO_ROW))

    def _allowed(self, policy: Policy, about: list[Securable]) -> None:
        items = policy.get(ITEMS[Condition.ALLOW]) or ()
        if items and (not about or not documents.is_plain(policy)):
            self._unread(policy, "is about a pattern, or holds only sometimes")
            return
        excepted = {
            word
            for item in policy.get("allowExceptions") or ()
            for word in documents.words(item, self.service.implied)
        }
        for item in items:
            said = documents.words(item, self.service.implied)
            if item.get("conditions") or said & excepted or not said:
                self._unread(policy, "has an item with conditions or exceptions")
            for holder in documents.holders(item):
                if documents.is_macro(holder):
                    self._unread(policy, f"allows {holder.name}")
                elif not item.get("conditions"):
                    self._granted(holder, about, said - excepted, bool(item.get("delegateAdmin")))

    def _granted(self, holder: Principal, about: list[Securable], said: frozenset[str], option: bool) -> None:
        for object in about:
            for word in said:
                # Of two items the one that may be handed on says more.
                if option:
                    self.facts.discard(Grant(holder, object, word))
                if option or Grant(holder, object, word, option=True) not in self.facts:
                    self.facts.add(Grant(holder, object, word, option=option))

    def _denied(self, policy: Policy) -> None:
        items = list(policy.get(ITEMS[Condition.DENY]) or ())
        if policy.get("isDenyAllElse"):
            every = frozenset(_SCHEMA) | frozenset().union(*self.service.implied.values())
            items.append({"groups": [EVERYONE.name], "accesses": [{"type": word} for word in every]})
            self._unread(policy, "denies to everyone else; read as to everyone")
        if items and not self.service.denies:
            self._unread(policy, "has denials, which the definition of the service switches off")
            return
        if policy.get("denyExceptions"):
            self._unread(policy, "has exceptions from its denials, which are not read")
        places = documents.around(policy, self.leaves, self.catalog)
        for item in items:
            for holder in documents.holders(item):
                whom = EVERYONE if documents.is_macro(holder) else holder
                for word in documents.words(item, self.service.implied):
                    for place in places:
                        # A denial beats the grant of the same word, so only the denial counts.
                        self.facts.discard(Grant(whom, place, word))
                        self.facts.discard(Grant(whom, place, word, option=True))
                        self.facts.add(Grant(whom, place, word, Condition.DENY))

    def _unread(self, policy: Policy, why: str) -> None:
        self.notes.add(f"policy '{policy['name']}' {why}")


class _Hand:
    """Makes changes, one request each, on the policies as they were when the batch began."""

    def __init__(self, service: _Service, catalog: str, inventory: Iterable[Securable]) -> None:
        self.service = service
        self.rest = service.rest
        self.sight = _Sight(service, catalog, inventory)
        self.by_place: dict[tuple[int, Securable], Policy] = {}
        self.others: list[tuple[int, set[Securable], Policy]] = []
        """Policies that say something of these objects, and that a push does not change."""
        for policy in service.policies:
            if not policy.get("isEnabled", True):
                continue
            type = policy.get("policyType") or ACCESS
            about = documents.objects(policy, self.sight.leaves, catalog)
            exact = type == ACCESS or documents.restricts(type, about)
            simple = exact and documents.is_plain(policy) and not policy.get("policyPriority")
            if simple and len(about) == 1 and not policy.get("isDenyAllElse"):
                self.by_place[type, about[0]] = policy
            else:
                around = documents.around(policy, self.sight.leaves, catalog)
                near = set(about) if exact and type != ACCESS else {*about, *around}
                self.others.append((type, near, policy))

    def make(self, change: Change) -> Applied:
        try:
            for fact, holds in ((change.before, False), (change.after, True)):
                if fact is not None:
                    answer = self._one(fact, holds)
                    if answer is not None:
                        return answer
        except ConnectionFailed:
            raise
        except HeadgateError as error:
            return Applied(Outcome.FAILED, str(error))
        return Applied(Outcome.APPLIED)

    def _one(self, fact: Fact, holds: bool) -> Applied | None:
        match fact:
            case Known(principal) if principal.kind is Kind.ROLE:
                self._role(principal.name, holds)
            case Member(of_, who) if of_.kind is Kind.ROLE:
                self._member(of_.name, who, holds)
            case Grant():
                return self._grant(fact, holds)
            case RowFilter(name=name) | Mask(name=name) if name == EXPIRES:
                return Applied(Outcome.UNSUPPORTED, "it goes with the tag, which is not put or taken here")
            case RowFilter() | Mask():
                self._rule(fact, holds)
            case _:
                return Applied(Outcome.UNSUPPORTED, "there is no such thing")
        return None

    # -- roles ---------------------------------------------------------------------------------------------------

    def _role(self, name: str, exists: bool) -> None:
        found = self.service.roles.get(name)
        if exists and found is None:
            empty: dict[str, Any] = {part: [] for part in PARTS.values()}
            made = self.rest("POST", "public/v2/api/roles", json={"name": name, "description": MARK, **empty})
            self.service.roles[name] = made
        elif found is not None and not exists:
            self.rest("DELETE", f"public/v2/api/roles/{found['id']}")
            del self.service.roles[name]

    def _member(self, role: str, who: Principal, holds: bool) -> None:
        found = self.service.roles.get(role)
        if found is None:
            raise NotFound(f"there is no role '{role}'", about="sync")
        part = PARTS[who.kind]
        members = [member for member in found.get(part) or () if member["name"] != who.name]
        if holds is (len(members) < len(found.get(part) or ())):
            return
        if holds:
            members.append({"name": who.name, "isAdmin": False})
        said = {**found, part: members}
        self.service.roles[role] = self.rest("PUT", f"public/v2/api/roles/{found['id']}", json=said)

    # -- policies ------------------------------------------------------------------------------------------------

    def _grant(self, grant: Grant, holds: bool) -> Applied | None:
        if grant.decision is Condition.DENY and not self.service.denies:
            return Applied(Outcome.UNSUPPORTED, "the definition of the service switches denials off")
        if grant.decision is Condition.DENY and grant.object.type is _T.COLUMN:
            return Applied(Outcome.UNSUPPORTED, "a denial on a column is read as one on its table")
        for type, near, policy in self.others:
            if not holds and type == ACCESS and grant.object in near and self._says(policy, grant):
                return Applied(Outcome.UNSUPPORTED, f"policy '{policy['name']}' says it in a way of its own")
        place = (ACCESS, grant.object)
        now = self.by_place.get(place)
        if now is None and not holds:
            return None
        said = now or self._new(*place)
        if grant.decision is Condition.DENY:
            # What was allowed behind a denial must not come to light when the denial goes.
            hidden = msgspec.structs.replace(grant, decision=Condition.ALLOW)
            said = documents.with_grant(said, hidden, self.service.implied, False)
        said = documents.with_grant(said, grant, self.service.implied, holds)
        self._put(
            place, said, keep=not documents.is_empty(said) or MARK not in (said.get("policyLabels") or ())
        )
        return None

    def _says(self, policy: Policy, grant: Grant) -> bool:
        return bool(policy.get("isDenyAllElse")) or any(
            grant.holder in documents.holders(item)
            and grant.privilege in documents.words(item, self.service.implied)
            for item in policy.get(ITEMS[grant.decision]) or ()
        )

    def _rule(self, rule: RowFilter | Mask, holds: bool) -> None:
        object = rule.object
        if (object.type is _T.COLUMN) is not isinstance(rule, Mask):
            raise IllegalArgument(f"a {object.type} cannot have such a rule")
        place = (MASKS if isinstance(rule, Mask) else ROWS, object)
        for type, near, policy in self.others:
            # Which of two policies about one object counts is not for a push to decide.
            if type == place[0] and not near.isdisjoint(object.chain()):
                raise IllegalArgument(
                    f"policy '{policy['name']}' already restricts {object} in a way of its own"
                )
        now = self.by_place.get(place)
        rules = documents.rules(now, object, self.service.masks) if now else []
        rules = [other for other in rules if other.name != rule.name]
        if holds:
            rules.append(rule)
        said = documents.rule_items(documents.lines(rules), object, self.service.masks)
        options = {"options": {**((now or {}).get("options") or {}), MARK: documents.kept(rules)}}
        self._put(place, {**(now or self._new(*place)), **said, **options}, keep=bool(rules))

    def _put(self, place: tuple[int, Securable], policy: Policy, keep: bool) -> None:
        path, id = "public/v2/api/policy", policy.get("id")
        if id and self.rest("GET", f"{path}/{id}").get("version") != policy.get("version"):
            # The server itself never compares: the last one to write would win.
            raise Conflict(f"policy '{policy['name']}' was changed meanwhile", hint="push again")
        if keep:
            at = f"{path}/{id}" if id else path
            self.by_place[place] = self.rest("PUT" if id else "POST", at, json=policy)
        elif id:
            self.rest("DELETE", f"{path}/{id}")
            del self.by_place[place]

    def _new(self, type: int, object: Securable) -> Policy:
        what = {ACCESS: "", MASKS: " mask", ROWS: " rows"}[type]
        name = f"{MARK}{what} {object}"
        if len(name) > 200:
            name = f"{name[:180]} {hashlib.sha256(name.encode()).hexdigest()[:12]}"
        return {
            "service": self.rest.service,
            "name": name,
            "policyType": type,
            "isEnabled": True,
            "isAuditEnabled": True,
            "policyLabels": [MARK],
            "resources": documents.resources(object, type),
        }
