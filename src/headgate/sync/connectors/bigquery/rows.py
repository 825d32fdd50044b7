"""Row access policies as row filters.

A policy lets its members see some rows; several add up, and whoever none names sees none. A row filter takes rows away and says
nothing of others. So a filter is one policy for those it is for, beside it one of all rows for those it exempts, and where there
are policies at all a filter that nobody passes stands for everybody else.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec
import sqlglot
from sqlglot import exp

from headgate.model.errors import IllegalArgument
from headgate.sync.connectors.bigquery.bindings import Project, member, principal
from headgate.sync.snapshots.facts import Kind, Principal, RowFilter, Securable
from headgate.sync.translating.restrictions import EXCLUSIVE
from headgate.sync.transport.rest import ServiceRefused, path

NO_POLICY: Final = "no row access policy"
"""Stands for the rows that whoever is in no policy does not see."""
EVERYONE: Final = "allAuthenticatedUsers"
_ALL_ROWS: Final = "__all_rows"
NO_ROW: Final = "FALSE"
_MOST_MEMBERS: Final = 1_500
"""As many as a policy of IAM holds, which is what the members of a row access policy are kept in."""


class RowAccessPolicy(msgspec.Struct, frozen=True):
    """One row access policy of a table."""

    name: str
    predicate: str
    members: frozenset[Principal]


class Rows:
    """The row access policies of tables."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.rest = project.rest

    def policies(self, table: Securable) -> list[RowAccessPolicy]:
        address = f"{self.project.table(table)}/rowAccessPolicies"
        found = []
        for entry in self.project.listed(address, "rowAccessPolicies"):
            name = entry["rowAccessPolicyReference"]["policyId"]
            # Who a policy is for is not in the policy, but in the binding that comes with it.
            policy = self.rest("POST", f"{address}/{path(name)}:getIamPolicy", json={})
            members = frozenset(principal(m) for b in policy.get("bindings") or () for m in b["members"])
            found.append(RowAccessPolicy(name, entry["filterPredicate"], members))
        return found

    def read(self, table: Securable) -> Iterator[RowFilter]:
        policies = self.policies(table)
        if not policies:
            return
        by_name = {policy.name: policy for policy in policies}
        named: set[Principal] = set()
        for policy in policies:
            named |= policy.members
            base = policy.name.removesuffix(_ALL_ROWS)
            if base != policy.name and base in by_name and policy.predicate == "TRUE":
                continue
            beside = by_name.get(f"{policy.name}{_ALL_ROWS}")
            exempt = beside.members if beside is not None and beside.predicate == "TRUE" else frozenset()
            everyone = Principal(Kind.GROUP, EVERYONE) in policy.members
            to = () if everyone else tuple(sorted(policy.members))
            yield RowFilter(table, policy.name, policy.predicate, to, tuple(sorted(exempt)))
        if Principal(Kind.GROUP, EVERYONE) not in named:
            yield RowFilter(table, NO_POLICY, NO_ROW, (), tuple(sorted(named)))

    def put(self, rule: RowFilter, together: Iterable[RowFilter] = ()) -> str:
        """Write a filter, or in place of one of the same name; otherwise why it cannot be, beside those written together."""
        if rule.name == NO_POLICY:
            return "it comes by itself with the row access policies"
        to = set(rule.to) or {Principal(Kind.GROUP, EVERYONE)}
        beside = f"{rule.name}{_ALL_ROWS}"
        others = [
            policy
            for policy in self.policies(rule.object)
            if policy.name not in (rule.name, beside) and policy.predicate != NO_ROW
        ]
        coming = [other for other in together if other.object == rule.object and other.name != rule.name]
        # INVARIANT: policies add up, so who is in two of them would see what either shows.
        if rule.exempt and (others or coming):
            return "of several filters of a table none can exempt anybody here"
        clashing = [policy for policy in others if _overlap(policy.members, to)]
        if foreign := next((policy for policy in clashing if not _leaves(rule, policy)), None):
            return f"the table has the row access policy '{foreign.name}' for the same people"
        checked(rule)
        for policy in clashing:
            # Who comes into one of these policies leaves the others first.
            left = policy.members - to
            self._insert(
                rule.object, policy.name, policy.predicate if left else NO_ROW, set(left or policy.members)
            )
        self._delete(rule.object, beside)
        self._insert(rule.object, rule.name, rule.sql, to)
        if rule.exempt:
            self._insert(rule.object, beside, "TRUE", set(rule.exempt))
        return ""

    def drop(self, rule: RowFilter) -> str:
        if rule.name == NO_POLICY:
            return "it goes by itself with the row access policies"
        # Whoever is exempt sees all rows without any policy too, so theirs goes last.
        self._delete(rule.object, rule.name)
        if rule.exempt:
            self._delete(rule.object, f"{rule.name}{_ALL_ROWS}")
        return ""

    def _insert(self, table: Securable, name: str, predicate: str, members: set[Principal]) -> None:
        place = {"projectId": self.project.name, "datasetId": table.path[1], "tableId": table.path[2]}
        body: dict[str, Any] = {
            "rowAccessPolicyReference": {**place, "policyId": name},
            "filterPredicate": predicate,
            "grantees": sorted(map(member, members)),
        }
        address = f"{self.project.table(table)}/rowAccessPolicies"
        try:
            self.rest("POST", address, json=body)
        except ServiceRefused as refused:
            if refused.status != 409:
                raise
            self.rest("PUT", f"{address}/{path(name)}", json=body)

    def _delete(self, table: Securable, name: str) -> None:
        address = f"{self.project.table(table)}/rowAccessPolicies/{path(name)}"
        try:
            self.rest("DELETE", address, query={"force": "true"})
        except ServiceRefused as refused:
            if refused.status != 404:
                raise


def _overlap(some: frozenset[Principal], others: set[Principal]) -> bool:
    """Whether somebody may be in both; who is in a group is not known here."""
    if not some or not others:
        return False
    groups = any(p.kind is Kind.GROUP for p in (*some, *others))
    return groups or bool(some & others)


def _leaves(rule: RowFilter, policy: RowAccessPolicy) -> bool:
    """Whether both are parts of one filter, each person in one of them."""
    people = all(who.kind is Kind.USER for who in (*rule.to, *policy.members))
    return people and rule.name.startswith(EXCLUSIVE) and policy.name.startswith(EXCLUSIVE)


def checked(rule: RowFilter) -> None:
    """INVARIANT: what is sent as a predicate is one expression over the columns of the table."""
    if max(len(rule.to), len(rule.exempt)) > _MOST_MEMBERS:
        raise IllegalArgument(
            f"a row access policy has {_MOST_MEMBERS} members at most", hint="let a group stand for them"
        )
    try:
        parsed = [tree for tree in sqlglot.parse(rule.sql, dialect="bigquery") if tree is not None]
    except sqlglot.errors.SqlglotError as error:
        raise IllegalArgument("a row filter cannot be read", hint=str(error)[:200]) from error
    forbidden = (exp.Query, exp.Command, exp.DDL, exp.DML)
    alone = len(parsed) == 1 and isinstance(parsed[0], exp.Condition)
    if not alone or any(parsed[0].find(kind) for kind in forbidden):
        raise IllegalArgument("a row filter must be one expression without queries")
