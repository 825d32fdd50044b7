"""Deny policies of IAM: on the project, and on the folders and the organisation above it.

A denial beats every role. Whom it spares, who is in a group it names and when its condition holds is not known here. INVARIANT: a
role that gives something of what is denied to anybody is read as giving nothing that is known elsewhere.
"""

from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Final

from headgate.model.errors import ConnectionFailed
from headgate.model.objects import ObjectType
from headgate.model.privileges import Condition
from headgate.sync.connectors.bigquery.bindings import RESOURCES, Project
from headgate.sync.snapshots.facts import GrantFact, Kind, Principal, Securable
from headgate.sync.transport.rest import ServiceRefused, path

_POLICIES: Final = "https://iam.googleapis.com/v2"
_SERVICE: Final = "bigquery.googleapis.com/"
_PEOPLE: Final = {
    "principal://goog/subject/": Kind.USER,
    "principal://iam.googleapis.com/projects/-/serviceAccounts/": Kind.USER,
    "principalSet://goog/group/": Kind.GROUP,
}


def denials(project: Project) -> Iterator[GrantFact]:
    """What is denied of BigQuery, and to whom: permissions on the project, since denials reach everything below."""
    catalog = Securable(ObjectType.CATALOG, (project.name,))
    above = project.rest("POST", f"{RESOURCES}/projects/{path(project.name)}:getAncestry", json={})
    for ancestor in above["ancestor"]:
        place = ancestor["resourceId"]
        point = f"cloudresourcemanager.googleapis.com/{place['type']}s/{place['id']}"
        try:
            heads = project.listed(f"{_POLICIES}/policies/{path(point)}/denypolicies", "policies")
            # A list tells of the policies and not what they say.
            policies = [project.rest("GET", f"{_POLICIES}/{head['name']}") for head in heads]
        except ServiceRefused as refused:
            raise ConnectionFailed(
                f"the deny policies of {place['type']} '{place['id']}' cannot be read: {refused}",
                hint="without them nobody knows what is denied: grant the role iam.denyReviewer there",
                about="sync",
            ) from refused
        for policy in policies:
            for rule in policy.get("rules") or ():
                denied = rule.get("denyRule") or {}
                for permission in denied.get("deniedPermissions") or ():
                    if permission.startswith(_SERVICE):
                        word = permission.removeprefix(_SERVICE)
                        for who in denied.get("deniedPrincipals") or ():
                            yield GrantFact(_principal(who), catalog, word, Condition.DENY)


def _principal(identifier: str) -> Principal:
    for prefix, kind in _PEOPLE.items():
        if identifier.startswith(prefix):
            return Principal(kind, identifier.removeprefix(prefix))
    return Principal(Kind.GROUP, identifier)


def denied_actions(grants: Iterable[GrantFact], permissions: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """What cannot be counted on, because a denial is about it; one may name several permissions by a pattern."""
    words = {grant.privilege for grant in grants if grant.decision is Condition.DENY}
    met = (gives for name, gives in permissions.items() if any(fnmatchcase(name, word) for word in words))
    return frozenset().union(*met)
