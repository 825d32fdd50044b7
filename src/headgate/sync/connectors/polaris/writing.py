"""Changes of facts made in a realm of Polaris.

A principal role is granted to through a catalog role that it alone holds. To take from it what comes through one that others
hold too, it gets the rest of that role as its own and lets go of the shared one: nobody else loses or gains anything.
"""

import hashlib
from typing import Any

from headgate.model.errors import ConnectionFailed, HeadgateError
from headgate.model.privileges import Condition
from headgate.sync.connectors.polaris.grants import ADMIN, Given, Realm
from headgate.sync.pushing.results import Applied, Change, Outcome
from headgate.sync.snapshots.facts import Fact, GrantFact, Kind, Known, MemberFact, Principal, Property


def own_role(role: str) -> str:
    """The catalog role that one principal role alone holds."""
    name = f"headgate-{role}"
    return name if len(name) <= 256 else f"{name[:239]}-{hashlib.sha256(role.encode()).hexdigest()[:16]}"


class PolarisWriter:
    """Makes changes one after the other."""

    def __init__(self, realm: Realm) -> None:
        self.realm = realm
        self.ready: set[tuple[str, str]] = set()
        """The principal roles and catalogs whose own catalog role is known to be there and theirs alone."""

    def make(self, change: Change) -> Applied:
        try:
            if isinstance(change.fact, Property):
                return self._property(change, change.fact)
            for fact, holds in ((change.before, False), (change.after, True)):
                if fact is not None and (answer := self._one(fact, holds)):
                    return Applied(Outcome.UNSUPPORTED, answer)
        except ConnectionFailed:
            raise
        except HeadgateError as error:
            return Applied(Outcome.FAILED, str(error))
        return Applied(Outcome.APPLIED)

    def _one(self, fact: Fact, holds: bool) -> str:
        """Empty, or why there is no such thing here."""
        match fact:
            case Known(Principal(_, name)) | GrantFact(Principal(_, name)) if name == ADMIN:
                return f"{ADMIN} is never touched"
            case Known(Principal(Kind.ROLE, name)):
                if holds:
                    self.realm.create({"principalRole": {"name": name}}, "principal-roles")
                else:
                    self._drop(name)
            case Known():
                return "a principal is made with a secret that only its owner may see"
            case MemberFact(Principal(Kind.ROLE, role), Principal(Kind.USER, who)) if role != ADMIN:
                if holds:
                    self.realm.put({"principalRole": {"name": role}}, "principals", who, "principal-roles")
                else:
                    self.realm.delete("principals", who, "principal-roles", role)
            case GrantFact(Principal(Kind.ROLE, role), object, word, Condition.ALLOW) if object.path:
                given = Given(object, word)
                if holds:
                    self._grant(role, object.path[0], given.wire)
                else:
                    self._revoke(role, given)
            case _:
                return "there is no such thing"
        return ""

    def _property(self, change: Change, fact: Property) -> Applied:
        """Change one property, provided that nobody changed the role meanwhile."""
        name = fact.principal.name
        found = next((role for role in self.realm.principal_roles() if role["name"] == name), None)
        if found is None or name == ADMIN:
            return Applied(Outcome.FAILED, f"{fact.principal} does not exist")
        properties = {k: v for k, v in (found.get("properties") or {}).items() if k != fact.name}
        if change.after is not None:
            properties[fact.name] = fact.value
        if properties != (found.get("properties") or {}):
            body = {"currentEntityVersion": found["entityVersion"], "properties": properties}
            self.realm.put(body, "principal-roles", name)
        return Applied(Outcome.APPLIED)

    def _drop(self, role: str) -> None:
        for catalog in self.realm.catalogs():
            if own_role(role) in self.realm.catalog_roles(catalog) and self._is_own(catalog, role):
                self.realm.delete("catalogs", catalog, "catalog-roles", own_role(role))
        self.realm.delete("principal-roles", role)

    def _is_own(self, catalog: str, role: str) -> bool:
        return set(self.realm.assignees(catalog, own_role(role))) <= {role}

    def _grant(self, role: str, catalog: str, grant: dict[str, Any]) -> None:
        own = own_role(role)
        if (role, catalog) not in self.ready:
            made = self.realm.create({"catalogRole": {"name": own}}, "catalogs", catalog, "catalog-roles")
            # INVARIANT: what is granted to one principal role must not reach another through a role that both hold.
            if not made and not self._is_own(catalog, role):
                raise HeadgateError(
                    f"catalog role '{own}' of '{catalog}' is held by others too",
                    hint="take it from them, or rename it",
                    about="sync",
                )
            body = {"catalogRole": {"name": own}}
            self.realm.put(body, "principal-roles", role, "catalog-roles", catalog)
            self.ready.add((role, catalog))
        self.realm.put(grant, "catalogs", catalog, "catalog-roles", own, "grants")

    def _revoke(self, role: str, given: Given) -> None:
        catalog = given.object.path[0]
        for name in self.realm.catalog_roles_of(role, catalog):
            held = self.realm.grants(catalog, name)
            rest = [grant for grant in held if Given.parse(catalog, grant) != given]
            if len(rest) == len(held):
                continue
            if set(self.realm.assignees(catalog, name)) <= {role}:
                self.realm.revoke(catalog, name, given)
                if name == own_role(role) and not rest:
                    self.realm.delete("catalogs", catalog, "catalog-roles", name)
                    self.ready.discard((role, catalog))
            else:
                for grant in rest:
                    self._grant(role, catalog, {"grant": grant})
                self.realm.delete("principal-roles", role, "catalog-roles", catalog, name)
