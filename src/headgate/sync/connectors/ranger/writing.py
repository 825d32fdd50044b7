"""How changes of facts are made in a Ranger service."""

import hashlib
from collections.abc import Iterable
from typing import Any

import msgspec

from headgate.model.errors import Conflict, ConnectionFailed, HeadgateError, IllegalArgument, NotFound
from headgate.model.objects import ObjectType
from headgate.model.privileges import Condition
from headgate.sync.connectors.ranger import policies as documents
from headgate.sync.connectors.ranger.policies import ACCESS, ITEMS, MARK, MASKS, PARTS, ROWS, Policy
from headgate.sync.connectors.ranger.reading import RangerReader
from headgate.sync.connectors.ranger.service import RangerService
from headgate.sync.connectors.ranger.tags import EXPIRES
from headgate.sync.pushing.results import Applied, Change, Outcome
from headgate.sync.snapshots.facts import (
    Fact,
    GrantFact,
    Kind,
    Known,
    Mask,
    MemberFact,
    Principal,
    RowFilter,
    Securable,
)

_T = ObjectType


class RangerWriter:
    """Makes changes, one request each, on the policies as they were when the batch began."""

    def __init__(self, service: RangerService, catalog: str, inventory: Iterable[Securable]) -> None:
        self.service = service
        self.rest = service.rest
        self.reader = RangerReader(service, catalog, inventory)
        self.by_place: dict[tuple[int, Securable], Policy] = {}
        self.others: list[tuple[int, set[Securable], Policy]] = []
        """Policies that say something of these objects, and that a push does not change."""
        for policy in service.policies:
            if not policy.get("isEnabled", True):
                continue
            type = policy.get("policyType") or ACCESS
            about = documents.objects(policy, self.reader.leaves, catalog)
            exact = type == ACCESS or documents.restricts(type, about)
            simple = exact and documents.is_plain(policy) and not policy.get("policyPriority")
            if simple and len(about) == 1 and not policy.get("isDenyAllElse"):
                self.by_place[type, about[0]] = policy
            else:
                around = documents.around(policy, self.reader.leaves, catalog)
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
            case MemberFact(of_, who) if of_.kind is Kind.ROLE:
                self._member(of_.name, who, holds)
            case GrantFact():
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
        body = {**found, part: members}
        self.service.roles[role] = self.rest("PUT", f"public/v2/api/roles/{found['id']}", json=body)

    # -- policies ------------------------------------------------------------------------------------------------

    def _grant(self, grant: GrantFact, holds: bool) -> Applied | None:
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
        document = now or self._new(*place)
        if grant.decision is Condition.DENY:
            # What was allowed behind a denial must not come to light when the denial goes.
            hidden = msgspec.structs.replace(grant, decision=Condition.ALLOW)
            document = documents.with_grant(document, hidden, self.service.implied, False)
        document = documents.with_grant(document, grant, self.service.implied, holds)
        self._put(
            place,
            document,
            keep=not documents.is_empty(document) or MARK not in (document.get("policyLabels") or ()),
        )
        return None

    def _says(self, policy: Policy, grant: GrantFact) -> bool:
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
        items = documents.rule_items(documents.lines(rules), object, self.service.masks)
        options = {"options": {**((now or {}).get("options") or {}), MARK: documents.kept(rules)}}
        self._put(place, {**(now or self._new(*place)), **items, **options}, keep=bool(rules))

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
