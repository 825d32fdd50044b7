"""Polaris's management API in its own nouns: principals, principal roles, catalog roles and the grants of each."""

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from headgate.model.errors import IllegalArgument
from headgate.model.objects import SCHEMA_SEPARATOR, ObjectType
from headgate.sync.snapshots.facts import Securable
from headgate.sync.transport.rest import ServiceClient, ServiceRefused, path

_T = ObjectType

MANAGEMENT: Final = "/api/management/v1"
ICEBERG: Final = "/api/catalog/v1"
ADMIN: Final = "service_admin"
"""The principal role that may do everything; it and who holds it are never touched."""


class Given(msgspec.Struct, frozen=True):
    """One grant as an object and a privilege."""

    object: Securable
    privilege: str

    @classmethod
    def parse(cls, catalog: str, grant: dict[str, Any]) -> "Given | None":
        """A grant from the wire; None if it is on something that has no name here, such as a policy."""
        schema = SCHEMA_SEPARATOR.join(grant.get("namespace") or ())
        places = {
            "catalog": (_T.CATALOG, (catalog,)),
            "namespace": (_T.SCHEMA, (catalog, schema)),
            "table": (_T.TABLE, (catalog, schema, grant.get("tableName", ""))),
            "view": (_T.VIEW, (catalog, schema, grant.get("viewName", ""))),
        }
        place = places.get(grant["type"])
        return None if place is None else cls(Securable(*place), grant["privilege"])

    @property
    def wire(self) -> dict[str, Any]:
        kinds = {_T.CATALOG: "catalog", _T.SCHEMA: "namespace", _T.TABLE: "table", _T.VIEW: "view"}
        if self.object.type not in kinds:
            raise IllegalArgument(f"there are no grants on a {self.object.type}", about="sync")
        grant: dict[str, Any] = {"type": kinds[self.object.type], "privilege": self.privilege}
        if len(self.object.path) > 1:
            grant["namespace"] = self.object.path[1].split(SCHEMA_SEPARATOR)
        if len(self.object.path) > 2:
            grant[f"{kinds[self.object.type]}Name"] = self.object.path[2]
        return {"grant": grant}


class Realm:
    """Everything one can ask of a realm and do in it."""

    def __init__(self, rest: ServiceClient) -> None:
        self.rest = rest

    def _get(self, field: str, *parts: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.rest("GET", f"{MANAGEMENT}/{path(*parts)}").get(field) or []
        return found

    def principals(self) -> list[dict[str, Any]]:
        return self._get("principals", "principals")

    def principal_roles(self) -> list[dict[str, Any]]:
        return self._get("roles", "principal-roles")

    def holders(self, role: str) -> list[str]:
        return [p["name"] for p in self._get("principals", "principal-roles", role, "principals")]

    def catalogs(self) -> list[str]:
        return [catalog["name"] for catalog in self._get("catalogs", "catalogs")]

    def catalog_roles(self, catalog: str) -> list[str]:
        return [role["name"] for role in self._get("roles", "catalogs", catalog, "catalog-roles")]

    def catalog_roles_of(self, role: str, catalog: str) -> list[str]:
        return [r["name"] for r in self._get("roles", "principal-roles", role, "catalog-roles", catalog)]

    def assignees(self, catalog: str, role: str) -> list[str]:
        """The principal roles that hold a catalog role."""
        at = ("catalogs", catalog, "catalog-roles", role, "principal-roles")
        return [r["name"] for r in self._get("roles", *at)]

    def grants(self, catalog: str, role: str) -> list[dict[str, Any]]:
        return self._get("grants", "catalogs", catalog, "catalog-roles", role, "grants")

    # -- writing -------------------------------------------------------------------------------------------------

    def create(self, body: dict[str, Any], *parts: str) -> bool:
        """Whether it was made now; what is there already stays as it is."""
        try:
            self.rest("POST", f"{MANAGEMENT}/{path(*parts)}", json=body)
        except ServiceRefused as refused:
            if refused.status != 409:
                raise
            return False
        return True

    def put(self, body: dict[str, Any], *parts: str) -> None:
        self.rest("PUT", f"{MANAGEMENT}/{path(*parts)}", json=body)

    def delete(self, *parts: str) -> None:
        try:
            self.rest("DELETE", f"{MANAGEMENT}/{path(*parts)}")
        except ServiceRefused as refused:
            if refused.status != 404:
                raise

    def revoke(self, catalog: str, role: str, given: Given) -> None:
        """Take a grant away; one that is not there is none, whichever way the server says so."""
        at = path("catalogs", catalog, "catalog-roles", role, "grants")
        try:
            self.rest("POST", f"{MANAGEMENT}/{at}", json=given.wire)
        except ServiceRefused as refused:
            gone = refused.status in (400, 404) and given not in self.given(catalog, role)
            if not gone:
                raise

    def given(self, catalog: str, role: str) -> set[Given]:
        parsed = (Given.parse(catalog, grant) for grant in self.grants(catalog, role))
        return {given for given in parsed if given is not None}

    # -- what is there -------------------------------------------------------------------------------------------

    def objects(self, catalog: str, unnamed: list[str]) -> Iterator[Securable]:
        """Everything in a catalog; namespaces that cannot be named here are listed in `unnamed`."""
        yield Securable(_T.CATALOG, (catalog,))
        yield from self._namespaces(catalog, (), unnamed)

    def _namespaces(self, catalog: str, parent: tuple[str, ...], unnamed: list[str]) -> Iterator[Securable]:
        at = f"{ICEBERG}/{path(catalog)}/namespaces"
        query = {"parent": "\x1f".join(parent)} if parent else {}
        for namespace in self._paged(at, "namespaces", query):
            if any(SCHEMA_SEPARATOR in level for level in namespace):
                unnamed.append(
                    f"namespace {namespace} of '{catalog}' has a colon in its name and cannot be named here"
                )
                continue
            schema = (catalog, SCHEMA_SEPARATOR.join(namespace))
            yield Securable(_T.SCHEMA, schema)
            here = f"{at}/{path(chr(0x1F).join(namespace))}"
            for type, kind in ((_T.TABLE, "tables"), (_T.VIEW, "views")):
                for entry in self._paged(f"{here}/{kind}", "identifiers", {}):
                    yield Securable(type, (*schema, entry["name"]))
            yield from self._namespaces(catalog, tuple(namespace), unnamed)

    def _paged(self, at: str, field: str, query: dict[str, str]) -> list[Any]:
        return self.rest.listed(at, field, token=("pageToken", "next-page-token"), query=query)
