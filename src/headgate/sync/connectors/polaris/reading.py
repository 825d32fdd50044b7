"""A realm of Polaris as facts."""

from collections import defaultdict
from typing import Any

from headgate.sync.connectors.polaris.grants import ADMIN, Given, Realm
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
    Property,
)
from headgate.sync.snapshots.snapshot import ChangeLog, instant


class PolarisReader:
    """Reads everything: who there is, what there is, and what each catalog role gives to whom."""

    def __init__(self, realm: Realm) -> None:
        self.realm = realm
        self.facts: set[Fact] = set()
        self.logs: dict[Principal, ChangeLog] = {}
        self.notes: list[str] = []

    def reading(self) -> Reading:
        admins = self._people()
        for catalog in self.realm.catalogs():
            self.facts.update(Present(object) for object in self.realm.objects(catalog, self.notes))
            for role in self.realm.catalog_roles(catalog):
                self._catalog_role(catalog, role)
        self.notes += [f"user '{name}' holds {ADMIN} and may do everything" for name in admins]
        return Reading(Facts(self.facts), self.logs, tuple(sorted(self.notes)))

    def _people(self) -> list[str]:
        """Principals and principal roles; returned are those whom nothing restricts, who are left out."""
        holders: dict[str, list[str]] = defaultdict(list)
        roles = self.realm.principal_roles()
        for entry in roles:
            holders[entry["name"]] = self.realm.holders(entry["name"])
        admins = holders.get(ADMIN, [])
        for entry in self.realm.principals():
            if entry["name"] not in admins:
                self._known(Principal(Kind.USER, entry["name"]), entry)
        for entry in roles:
            if entry["name"] == ADMIN:
                continue
            role = Principal(Kind.ROLE, entry["name"])
            self._known(role, entry)
            if entry.get("federated"):
                self.notes.append(f"{role} is kept by an identity provider, which says who holds it")
            people = (Principal(Kind.USER, who) for who in holders[entry["name"]] if who not in admins)
            self.facts.update(MemberFact(role, who) for who in people)
        return admins

    def _known(self, principal: Principal, entry: dict[str, Any]) -> None:
        self.facts.add(Known(principal))
        log = ChangeLog(
            created_at=instant(entry.get("createTimestamp")),
            last_modified_at=instant(entry.get("lastUpdateTimestamp")),
        ).known
        if log is not None:
            self.logs[principal] = log
        if principal.kind is Kind.ROLE:
            properties = entry.get("properties") or {}
            self.facts.update(Property(principal, key, str(value)) for key, value in properties.items())

    def _catalog_role(self, catalog: str, role: str) -> None:
        grants = self.realm.grants(catalog, role)
        assignees = [name for name in self.realm.assignees(catalog, role) if name != ADMIN]
        if grants and not assignees:
            self.notes.append(f"catalog role '{role}' of '{catalog}' is held by no principal role")
        for grant in grants:
            given = Given.parse(catalog, grant)
            if given is None:
                self.notes.append(
                    f"catalog role '{role}' of '{catalog}' holds {grant['privilege']} on a {grant['type']}"
                )
                continue
            self.facts.update(
                GrantFact(Principal(Kind.ROLE, name), given.object, given.privilege) for name in assignees
            )
