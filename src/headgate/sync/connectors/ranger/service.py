"""One service of a Ranger admin server: its REST API, and what it holds."""

from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import quote

import httpx

from headgate.model.errors import ConnectionFailed, HeadgateError, IllegalArgument, NotFound
from headgate.model.objects import ObjectType
from headgate.sync.connectors.ranger import policies as documents
from headgate.sync.connectors.ranger.policies import Policy
from headgate.sync.connectors.ranger.tags import EXPIRES

_T = ObjectType
_TYPE: Final = "hive"
_PAGE: Final = 200
_NO_DENY: Final = "enableDenyAndExceptionsInPolicies"


class RangerClient:
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
            message = (body or {}).get("msgDesc") or answer.reason_phrase
            kind = NotFound if answer.status_code == 404 else HeadgateError
            raise kind(f"{answer.status_code}: {message}", about="sync")
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


class RangerService:
    """The service, its definition, and its policies and roles at one moment."""

    def __init__(self, rest: RangerClient) -> None:
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
        """Policies outside of a zone do not count inside it, so nothing is certain about either."""
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
