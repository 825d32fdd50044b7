"""How the policies of a Ranger service are fetched as facts."""

from collections.abc import Iterable
from typing import Any

from headgate.model.errors import IllegalArgument
from headgate.model.objects import ObjectType
from headgate.model.privileges import Condition
from headgate.sync.connectors.ranger import policies as documents
from headgate.sync.connectors.ranger.capabilities import ACCESSES
from headgate.sync.connectors.ranger.policies import ACCESS, EVERYONE, ITEMS, MASKS, PARTS, ROWS, Policy
from headgate.sync.connectors.ranger.service import RangerService
from headgate.sync.connectors.ranger.tags import TagStore
from headgate.sync.pushing.run import Reading
from headgate.sync.snapshots.facts import (
    Fact,
    Facts,
    GrantFact,
    Kind,
    Known,
    MemberFact,
    Present,
    Principal,
    RowFilter,
    Securable,
)
from headgate.sync.snapshots.snapshot import ChangeLog, instant
from headgate.sync.translating.policy_text import NO_ROW

_T = ObjectType


class RangerReader:
    """The facts of one service."""

    def __init__(self, service: RangerService, catalog: str, inventory: Iterable[Securable]) -> None:
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
            self.facts.update(MemberFact(Principal(Kind.GROUP, name), principal) for name in groups)
        for name, role in self.service.roles.items():
            of_ = Principal(Kind.ROLE, name)
            self.facts.add(Known(of_))
            self._log(of_, role)
            for kind, part in PARTS.items():
                for member in role.get(part) or ():
                    self.facts.add(MemberFact(of_, Principal(kind, member["name"])))
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
        """A restriction that no fact expresses exactly hides the whole table or view from everyone."""
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
            accesses = documents.words(item, self.service.implied)
            if item.get("conditions") or accesses & excepted or not accesses:
                self._unread(policy, "has an item with conditions or exceptions")
            for holder in documents.holders(item):
                if documents.is_macro(holder):
                    self._unread(policy, f"allows {holder.name}")
                elif not item.get("conditions"):
                    self._granted(holder, about, accesses - excepted, bool(item.get("delegateAdmin")))

    def _granted(
        self, holder: Principal, about: list[Securable], accesses: frozenset[str], option: bool
    ) -> None:
        for object in about:
            for word in accesses:
                # Of two items the one that may be handed on says more.
                if option:
                    self.facts.discard(GrantFact(holder, object, word))
                if option or GrantFact(holder, object, word, option=True) not in self.facts:
                    self.facts.add(GrantFact(holder, object, word, option=option))

    def _denied(self, policy: Policy) -> None:
        items = list(policy.get(ITEMS[Condition.DENY]) or ())
        if policy.get("isDenyAllElse"):
            every = ACCESSES | frozenset().union(*self.service.implied.values())
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
                        self.facts.discard(GrantFact(whom, place, word))
                        self.facts.discard(GrantFact(whom, place, word, option=True))
                        self.facts.add(GrantFact(whom, place, word, Condition.DENY))

    def _unread(self, policy: Policy, why: str) -> None:
        self.notes.add(f"policy '{policy['name']}' {why}")
