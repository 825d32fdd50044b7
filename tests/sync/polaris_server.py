"""A stand-in for Apache Polaris made from its published API: the management service, and the lists of the Iceberg catalog.

It keeps to the server's answers where these differ from what one would expect: a grant is a PUT and a revocation a POST, the
latter of an absent grant is 400, a cascade is 501, a second creation 409, a stale entity version 409. Who may do what is
answered by its own table of which privilege stands in for which.
"""

from typing import Any

import httpx

from tests.sync.standin import Refusal, StandIn, on, page, required

M = "/api/management/v1"
C = "/api/catalog/v1"

_NAMESPACE = {
    f"NAMESPACE_{v}"
    for v in ("CREATE", "DROP", "LIST", "READ_PROPERTIES", "WRITE_PROPERTIES", "FULL_METADATA")
}
_TABLE = {
    f"TABLE_{v}"
    for v in (
        "DROP",
        "LIST",
        "READ_PROPERTIES",
        "WRITE_PROPERTIES",
        "READ_DATA",
        "WRITE_DATA",
        "FULL_METADATA",
    )
}
_VIEW = {f"VIEW_{v}" for v in ("DROP", "LIST", "READ_PROPERTIES", "WRITE_PROPERTIES", "FULL_METADATA")}
_POLICY = {f"POLICY_{v}" for v in ("READ", "WRITE", "DROP", "LIST", "FULL_METADATA", "ATTACH", "DETACH")}
_CREATE = {"TABLE_CREATE", "VIEW_CREATE", "POLICY_CREATE"}
_MANAGE = {"CATALOG_MANAGE_ACCESS", "CATALOG_MANAGE_CONTENT", "CATALOG_MANAGE_METADATA"}
FITS = {
    "catalog": _MANAGE | {"CATALOG_READ_PROPERTIES", "CATALOG_WRITE_PROPERTIES"} | _NAMESPACE | _TABLE | _VIEW | _CREATE | _POLICY,
    "namespace": _MANAGE | _NAMESPACE | _TABLE | _VIEW | _CREATE | _POLICY,
    "table": {"CATALOG_MANAGE_ACCESS"} | _TABLE,
    "view": {"CATALOG_MANAGE_ACCESS"} | _VIEW,
    "policy": {"CATALOG_MANAGE_ACCESS"} | _POLICY,
}  # fmt: skip

_CONTENT = {"CATALOG_MANAGE_CONTENT"}
_METADATA = _CONTENT | {"CATALOG_MANAGE_METADATA"}
ENOUGH = {
    "read": _CONTENT | {"TABLE_READ_DATA", "TABLE_WRITE_DATA"},
    "write": _CONTENT | {"TABLE_WRITE_DATA"},
    "alter": _METADATA | {"TABLE_WRITE_DATA", "TABLE_FULL_METADATA"},
    "view": _METADATA | {"VIEW_READ_PROPERTIES", "VIEW_WRITE_PROPERTIES", "VIEW_FULL_METADATA"},
    "create_table": _METADATA | {"TABLE_CREATE", "TABLE_FULL_METADATA"},
    "create_view": _METADATA | {"VIEW_CREATE", "VIEW_FULL_METADATA"},
}
"""The privileges of which any one is enough to do something."""


class PolarisServer(StandIn):
    """One realm."""

    def __init__(self) -> None:
        super().__init__()
        self.page = 1000
        self.principals: dict[str, dict[str, Any]] = {}
        self.trees: dict[str, dict[tuple[str, ...], dict[str, list[str]]]] = {}
        """By catalog and namespace the names of tables and views."""
        self.wipe()

    def wipe(self) -> None:
        """As after bootstrap: the root principal, service_admin, and catalog_admin in every catalog."""
        self.principal_roles: dict[str, dict[str, Any]] = {"service_admin": entity("service_admin")}
        self.held: set[tuple[str, str]] = {("root", "service_admin")}
        self.catalog_roles: dict[tuple[str, str], dict[str, Any]] = {}
        self.assigned: set[tuple[str, str, str]] = set()
        self.given: dict[tuple[str, str], list[dict[str, Any]]] = {}
        self.principals.setdefault("root", entity("root"))
        for catalog in self.trees:
            self._bootstrap(catalog)

    def add_catalog(self, name: str) -> None:
        self.trees[name] = {}
        self._bootstrap(name)

    def _bootstrap(self, catalog: str) -> None:
        self.catalog_roles[catalog, "catalog_admin"] = entity("catalog_admin")
        self.given[catalog, "catalog_admin"] = [
            {"type": "catalog", "privilege": "CATALOG_MANAGE_ACCESS"},
            {"type": "catalog", "privilege": "CATALOG_MANAGE_CONTENT"},
        ]
        self.assigned.add((catalog, "catalog_admin", "service_admin"))

    def refused(self, refusal: Refusal, headers: dict[str, str]) -> httpx.Response:
        error = {"message": refusal.message, "type": refusal.kind, "code": refusal.status}
        return httpx.Response(refusal.status, json={"error": error}, headers=headers)

    # -- principals and principal roles --------------------------------------------------------------------------

    @on("GET", f"{M}/principals")
    def list_principals(self, **_: Any) -> Any:
        return {"principals": list(self.principals.values())}

    @on("GET", f"{M}/principal-roles")
    def list_principal_roles(self, **_: Any) -> Any:
        return {"roles": list(self.principal_roles.values())}

    @on("POST", f"{M}/principal-roles")
    def create_principal_role(self, body: Any, **_: Any) -> Any:
        name = _named(required(body, "principalRole", "name"))
        if name in self.principal_roles:
            raise Refusal(409, "AlreadyExistsException", f"Principal role {name} already exists")
        self.principal_roles[name] = {
            **entity(name),
            "federated": bool(body["principalRole"].get("federated")),
        }
        return 201, self.principal_roles[name]

    @on("GET", f"{M}/principal-roles/{{}}")
    def get_principal_role(self, name: str, **_: Any) -> Any:
        return self._role(name)

    @on("PUT", f"{M}/principal-roles/{{}}")
    def update_principal_role(self, name: str, body: Any, **_: Any) -> Any:
        role = self._role(name)
        if required(body, "currentEntityVersion") != role["entityVersion"]:
            raise Refusal(409, "CommitConflictException", "the entity version does not match")
        role |= {"properties": body.get("properties", {}), "entityVersion": role["entityVersion"] + 1}
        return role

    @on("DELETE", f"{M}/principal-roles/{{}}")
    def delete_principal_role(self, name: str, **_: Any) -> Any:
        self._role(name)
        del self.principal_roles[name]
        self.held = {edge for edge in self.held if edge[1] != name}
        self.assigned = {edge for edge in self.assigned if edge[2] != name}
        return 204, None

    @on("GET", f"{M}/principal-roles/{{}}/principals")
    def list_assignees(self, role: str, **_: Any) -> Any:
        self._role(role)
        return {"principals": [self.principals[p] for p, r in sorted(self.held) if r == role]}

    @on("GET", f"{M}/principals/{{}}/principal-roles")
    def list_assigned(self, name: str, **_: Any) -> Any:
        self._principal(name)
        return {"roles": [self.principal_roles[r] for p, r in sorted(self.held) if p == name]}

    @on("PUT", f"{M}/principals/{{}}/principal-roles")
    def assign(self, name: str, body: Any, **_: Any) -> Any:
        self._principal(name)
        role = self._role(required(body, "principalRole", "name"))
        self._not_federated(role)
        self.held.add((name, role["name"]))
        return 201, None

    @on("DELETE", f"{M}/principals/{{}}/principal-roles/{{}}")
    def unassign(self, name: str, role: str, **_: Any) -> Any:
        self._principal(name)
        self._not_federated(self._role(role))
        if (name, role) not in self.held:
            raise Refusal(404, "NotFoundException", f"{name} does not hold {role}")
        self.held.discard((name, role))
        return 204, None

    # -- catalog roles -------------------------------------------------------------------------------------------

    @on("GET", f"{M}/catalogs")
    def list_catalogs(self, **_: Any) -> Any:
        return {"catalogs": [{"type": "INTERNAL", **entity(name)} for name in self.trees]}

    @on("GET", f"{M}/catalogs/{{}}/catalog-roles")
    def list_catalog_roles(self, catalog: str, **_: Any) -> Any:
        self._catalog(catalog)
        return {"roles": [role for (c, _r), role in self.catalog_roles.items() if c == catalog]}

    @on("POST", f"{M}/catalogs/{{}}/catalog-roles")
    def create_catalog_role(self, catalog: str, body: Any, **_: Any) -> Any:
        self._catalog(catalog)
        name = _named(required(body, "catalogRole", "name"))
        if (catalog, name) in self.catalog_roles:
            raise Refusal(409, "AlreadyExistsException", f"Catalog role {name} already exists")
        self.catalog_roles[catalog, name] = entity(name)
        self.given[catalog, name] = []
        return 201, self.catalog_roles[catalog, name]

    @on("GET", f"{M}/catalogs/{{}}/catalog-roles/{{}}")
    def get_catalog_role(self, catalog: str, role: str, **_: Any) -> Any:
        return self._catalog_role(catalog, role)

    @on("DELETE", f"{M}/catalogs/{{}}/catalog-roles/{{}}")
    def delete_catalog_role(self, catalog: str, role: str, **_: Any) -> Any:
        self._catalog_role(catalog, role)
        if role == "catalog_admin":
            raise Refusal(400, "BadRequestException", "catalog_admin cannot be dropped")
        del self.catalog_roles[catalog, role]
        del self.given[catalog, role]
        self.assigned = {edge for edge in self.assigned if edge[:2] != (catalog, role)}
        return 204, None

    @on("GET", f"{M}/catalogs/{{}}/catalog-roles/{{}}/principal-roles")
    def list_holders(self, catalog: str, role: str, **_: Any) -> Any:
        self._catalog_role(catalog, role)
        return {
            "roles": [
                self.principal_roles[p] for c, r, p in sorted(self.assigned) if (c, r) == (catalog, role)
            ]
        }

    @on("GET", f"{M}/principal-roles/{{}}/catalog-roles/{{}}")
    def list_catalog_roles_of(self, role: str, catalog: str, **_: Any) -> Any:
        self._role(role)
        self._catalog(catalog)
        held = sorted(r for c, r, p in self.assigned if (c, p) == (catalog, role))
        return {"roles": [self.catalog_roles[catalog, r] for r in held]}

    @on("PUT", f"{M}/principal-roles/{{}}/catalog-roles/{{}}")
    def assign_catalog_role(self, role: str, catalog: str, body: Any, **_: Any) -> Any:
        self._role(role)
        found = self._catalog_role(catalog, required(body, "catalogRole", "name"))
        self.assigned.add((catalog, found["name"], role))
        return 201, None

    @on("DELETE", f"{M}/principal-roles/{{}}/catalog-roles/{{}}/{{}}")
    def unassign_catalog_role(self, role: str, catalog: str, name: str, **_: Any) -> Any:
        self._role(role)
        self._catalog_role(catalog, name)
        if (catalog, name, role) not in self.assigned:
            raise Refusal(404, "NotFoundException", f"{role} does not hold {name}")
        self.assigned.discard((catalog, name, role))
        return 204, None

    # -- grants --------------------------------------------------------------------------------------------------

    @on("GET", f"{M}/catalogs/{{}}/catalog-roles/{{}}/grants")
    def list_grants(self, catalog: str, role: str, **_: Any) -> Any:
        self._catalog_role(catalog, role)
        return {"grants": self.given[catalog, role]}

    @on("PUT", f"{M}/catalogs/{{}}/catalog-roles/{{}}/grants")
    def add_grant(self, catalog: str, role: str, body: Any, **_: Any) -> Any:
        self._catalog_role(catalog, role)
        grant = self._checked(catalog, required(body, "grant"))
        if grant not in self.given[catalog, role]:
            self.given[catalog, role].append(grant)
        return 201, None

    @on("POST", f"{M}/catalogs/{{}}/catalog-roles/{{}}/grants")
    def revoke_grant(self, catalog: str, role: str, body: Any, query: dict[str, str]) -> Any:
        if query.get("cascade") == "true":
            raise Refusal(501, "UnsupportedOperationException", "cascade is not implemented")
        self._catalog_role(catalog, role)
        grant = self._checked(catalog, required(body, "grant"))
        if grant not in self.given[catalog, role]:
            raise Refusal(400, "BadRequestException", "GRANT_NOT_FOUND")
        self.given[catalog, role].remove(grant)
        return 201, None

    def _checked(self, catalog: str, grant: Any) -> dict[str, Any]:
        kind = required(grant, "type")
        privilege = required(grant, "privilege")
        if privilege not in FITS.get(kind, ()):
            raise Refusal(400, "BadRequestException", f"{privilege} is no privilege on a {kind}")
        fields = {"type", "privilege"}
        if kind != "catalog":
            namespace = tuple(required(grant, "namespace"))
            fields.add("namespace")
            if namespace not in self.trees[catalog]:
                raise Refusal(404, "NotFoundException", f"Namespace {namespace} does not exist")
            if kind in ("table", "view"):
                fields.add(f"{kind}Name")
                if required(grant, f"{kind}Name") not in self.trees[catalog][namespace][f"{kind}s"]:
                    raise Refusal(404, "NotFoundException", f"{kind} does not exist")
        if grant.keys() - fields - {"policyName"}:
            raise Refusal(400, "BadRequestException", "unrecognized field")
        return dict(grant)

    # -- the Iceberg catalog's lists -----------------------------------------------------------------------------

    @on("GET", f"{C}/{{}}/namespaces")
    def list_namespaces(self, catalog: str, query: dict[str, str], **_: Any) -> Any:
        self._catalog(catalog)
        parent = tuple(query["parent"].split("\x1f")) if query.get("parent") else ()
        found = [list(n) for n in sorted(self.trees[catalog]) if n[:-1] == parent]
        return self._page("namespaces", found, query)

    @on("GET", f"{C}/{{}}/namespaces/{{}}/{{}}")
    def list_leaves(self, catalog: str, namespace: str, kind: str, query: dict[str, str], **_: Any) -> Any:
        self._catalog(catalog)
        levels = namespace.split("\x1f")
        leaves = self.trees[catalog].get(tuple(levels))
        if leaves is None:
            raise Refusal(404, "NoSuchNamespaceException", "Namespace does not exist")
        found = [{"namespace": levels, "name": name} for name in leaves[kind]]
        return self._page("identifiers", found, query)

    def _page(self, field: str, found: list[Any], query: dict[str, str]) -> Any:
        part, more = page(found, self.page, query.get("pageToken"))
        return {field: part, "next-page-token": more}

    # -- what there is -------------------------------------------------------------------------------------------

    def _principal(self, name: str) -> dict[str, Any]:
        return _found(self.principals, name, "Principal")

    def _role(self, name: str) -> dict[str, Any]:
        return _found(self.principal_roles, name, "Principal role")

    def _catalog(self, name: str) -> None:
        _found(self.trees, name, "Catalog")

    def _catalog_role(self, catalog: str, role: str) -> dict[str, Any]:
        self._catalog(catalog)
        return _found(self.catalog_roles, (catalog, role), "Catalog role")

    def _not_federated(self, role: dict[str, Any]) -> None:
        if role.get("federated"):
            raise Refusal(400, "ValidationException", "a federated role is assigned by its identity provider")

    def may(
        self, principal: str, what: str, catalog: str, namespace: tuple[str, ...], leaf: str = ""
    ) -> bool:
        """Whether a principal may do something to what lies there, by any of its roles and anything above."""
        roles = {r for p, r in self.held if p == principal}
        for c, name, role in self.assigned:
            if c == catalog and role in roles:
                for grant in self.given[c, name]:
                    at = tuple(grant.get("namespace") or ())
                    named = grant.get("tableName") or grant.get("viewName") or ""
                    here = named == leaf and at == namespace if named else at == namespace[: len(at)]
                    if here and grant["privilege"] in ENOUGH[what]:
                        return True
        return False


def entity(name: str) -> dict[str, Any]:
    stamps = {"createTimestamp": 1_700_000_000_000, "lastUpdateTimestamp": 1_700_000_000_000}
    return {"name": name, "properties": {}, "entityVersion": 1, **stamps}


def _named(name: str) -> str:
    if not 1 <= len(name) <= 256 or name.lower().startswith("system$"):
        raise Refusal(
            400, "ValidationException", "the name must have 1 to 256 characters, not beginning with system$"
        )
    return name


def _found(where: dict[Any, Any], key: Any, what: str) -> Any:
    if key not in where:
        raise Refusal(404, "NotFoundException", f"{what} {key} does not exist")
    return where[key]
