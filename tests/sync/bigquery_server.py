"""A stand-in for BigQuery made from its published API: datasets with their lists of access, IAM policies of tables, row policies.

It keeps to the service's ways: a write with a stale etag is 412 on a dataset and 409 on a table, one without is done blindly,
roles are written by their full names and read back by the old ones, members must exist, a row policy's grantees are told only by
its binding, and the last row policy goes only by force. Who may do what is answered from permissions, role by role.
"""

from typing import Any
from urllib.parse import quote

import httpx

from tests.sync.standin import Refusal, StandIn, on, page, required

B = "/bigquery/v2/projects/{}"

_VIEWER = {"tables.get", "tables.getData", "tables.export", "routines.get", "models.getData"}
_EDITOR = _VIEWER | {
    "tables.create",
    "tables.update",
    "tables.updateData",
    "tables.delete",
    "routines.create",
}
PREDEFINED = {
    "roles/bigquery.dataViewer": _VIEWER,
    "roles/bigquery.dataEditor": _EDITOR,
    "roles/bigquery.dataOwner": _EDITOR | {"tables.setIamPolicy", "datasets.update", "datasets.delete"},
    "roles/bigquery.metadataViewer": {"tables.get"},
}
_OLD = {
    "roles/bigquery.dataViewer": "READER",
    "roles/bigquery.dataEditor": "WRITER",
    "roles/bigquery.dataOwner": "OWNER",
}


def _denial(point: str, name: str) -> str:
    return f"policies/{quote(point, safe='')}/denypolicies/{name}"


_WHO = {"userByEmail", "groupByEmail", "domain", "specialGroup", "iamMember"}


class BigQueryServer(StandIn):
    """One project."""

    def __init__(self, project: str) -> None:
        super().__init__()
        self.project = project
        self.page = 1000
        self.people: set[str] = set()
        """Addresses that the directory knows."""
        self.custom: dict[str, set[str]] = {}
        self.tables: dict[str, dict[str, str]] = {}
        """By dataset the tables, each with its type."""
        self.wipe()

    def wipe(self) -> None:
        self.access: dict[str, list[dict[str, Any]]] = {dataset: [] for dataset in self.tables}
        self.bound: dict[tuple[str, str], list[dict[str, Any]]] = {}
        self.rows: dict[tuple[str, str], dict[str, dict[str, Any]]] = {}
        self.on_project: list[dict[str, Any]] = []
        self.above = [("project", self.project), ("folder", "12"), ("organization", "34")]
        self.denied: dict[str, dict[str, list[dict[str, Any]]]] = {}
        """By what they are attached to the deny policies, by name their rules."""
        self.closed: set[str] = set()
        """Those whose deny policies the caller may not see."""
        self.fields: dict[tuple[str, str], list[dict[str, Any]]] = {}
        """The columns of tables that have others than x and y."""
        self.privacy: dict[tuple[str, str], dict[str, Any]] = {}
        """The privacy policies of views."""
        self.version: dict[Any, int] = {}
        self.meddles = 0
        """How often somebody else changes a policy between its reading and its writing."""

    def refused(self, refusal: Refusal, headers: dict[str, str]) -> httpx.Response:
        error = {"code": refusal.status, "message": refusal.message, "status": refusal.kind}
        return httpx.Response(refusal.status, json={"error": error}, headers=headers)

    def _etag(self, what: Any) -> str:
        return f"v{self.version.get(what, 0)}"

    def _changed(self, what: Any) -> None:
        self.version[what] = self.version.get(what, 0) + 1

    def _matches(self, what: Any, etag: str | None, status: int) -> None:
        if self.meddles:
            self.meddles -= 1
            self._changed(what)
        # Without an etag the service writes whatever was there.
        if etag is not None and etag != self._etag(what):
            raise Refusal(
                status, "ABORTED" if status == 409 else "conditionNotMet", "the etag does not match"
            )

    # -- datasets ------------------------------------------------------------------------------------------------

    @on("GET", f"{B}/datasets")
    def list_datasets(self, project: str, query: dict[str, str], **_: Any) -> Any:
        found = [{"datasetReference": {"projectId": project, "datasetId": name}} for name in self.tables]
        return self._page("datasets", found, query)

    @on("GET", f"{B}/datasets/{{}}")
    def get_dataset(self, project: str, name: str, query: dict[str, str], **_: Any) -> Any:
        self._dataset(name)
        told = [
            {**entry, "role": _OLD.get(entry["role"], entry["role"])} if "role" in entry else entry
            for entry in self.access[name]
        ]
        if query.get("accessPolicyVersion") != "3":
            told = [{k: v for k, v in entry.items() if k != "condition"} for entry in told]
        return {"etag": self._etag(name), "access": told}

    @on("PATCH", f"{B}/datasets/{{}}")
    def patch_dataset(self, project: str, name: str, body: Any, query: dict[str, str]) -> Any:
        self._dataset(name)
        self._matches(name, self.request.headers.get("If-Match"), 412)
        new = {role: full for full, role in _OLD.items()}
        made = []
        for entry in required(body, "access"):
            if "role" in entry:
                entry = {**entry, "role": new.get(entry["role"], entry["role"])}
                self._role(entry["role"])
                who = entry.keys() & _WHO
                if len(who) != 1:
                    raise Refusal(400, "invalid", "exactly one of the kinds of grantee must be set")
                if who & {"userByEmail", "groupByEmail"}:
                    self._exists(entry[who.pop()])
            if entry.get("condition") and query.get("accessPolicyVersion") != "3":
                raise Refusal(400, "invalid", "conditions need accessPolicyVersion 3")
            made.append(entry)
        if len(made) > 1500:
            raise Refusal(400, "invalid", "too many entries")
        self.access[name] = made
        self._changed(name)
        return {"etag": self._etag(name), "access": made}

    # -- tables --------------------------------------------------------------------------------------------------

    @on("GET", f"{B}/datasets/{{}}/tables")
    def list_tables(self, project: str, dataset: str, query: dict[str, str], **_: Any) -> Any:
        self._dataset(dataset)
        found = [
            {"tableReference": {"datasetId": dataset, "tableId": name}, "type": type}
            for name, type in self.tables[dataset].items()
        ]
        return self._page("tables", found, query)

    @on("GET", f"{B}/datasets/{{}}/tables/([^/:]+)")
    def get_table(self, project: str, dataset: str, table: str, **_: Any) -> Any:
        key = self._table(dataset, table)
        plain = [{"name": name, "type": "INTEGER"} for name in ("x", "y")]
        told: dict[str, Any] = {"type": self.tables[dataset][table], "etag": self._etag(key)}
        told["schema"] = {"fields": self.fields.get(key, plain)}
        if key in self.privacy:
            told["view"] = {"query": "SELECT 1", "privacyPolicy": self.privacy[key]}
        return told

    @on("POST", f"{B}/datasets/{{}}/tables/([^/:]+):getIamPolicy")
    def get_policy(self, project: str, dataset: str, table: str, body: Any, **_: Any) -> Any:
        key = self._table(dataset, table)
        version = ((body or {}).get("options") or {}).get("requestedPolicyVersion", 1)
        found = self.bound.get(key, [])
        if version != 3:
            found = [binding for binding in found if not binding.get("condition")]
        return {"version": version, "etag": self._etag(key), "bindings": found}

    @on("POST", f"{B}/datasets/{{}}/tables/([^/:]+):setIamPolicy")
    def set_policy(self, project: str, dataset: str, table: str, body: Any, **_: Any) -> Any:
        key = self._table(dataset, table)
        policy = required(body, "policy")
        self._matches(key, policy.get("etag"), 409)
        for binding in policy.get("bindings") or []:
            self._role(required(binding, "role"))
            if binding["role"] == "roles/bigquery.filteredDataViewer":
                raise Refusal(400, "INVALID_ARGUMENT", "the role is managed by the system")
            if binding.get("condition") and policy.get("version") != 3:
                raise Refusal(400, "INVALID_ARGUMENT", "conditions need version 3")
            self._members(required(binding, "members"))
        self.bound[key] = policy.get("bindings") or []
        self._changed(key)
        return {"etag": self._etag(key), "bindings": self.bound[key]}

    def _members(self, members: list[str]) -> None:
        for member in members:
            kind, _, name = member.partition(":")
            if kind in ("user", "group", "serviceAccount"):
                self._exists(name)
            elif member not in ("allUsers", "allAuthenticatedUsers") and kind not in ("domain", "deleted"):
                raise Refusal(400, "INVALID_ARGUMENT", f"Invalid member {member}")

    # -- rows ----------------------------------------------------------------------------------------------------

    @on("GET", f"{B}/datasets/{{}}/tables/{{}}/rowAccessPolicies")
    def list_rows(self, project: str, dataset: str, table: str, query: dict[str, str], **_: Any) -> Any:
        key = self._table(dataset, table)
        found = [{k: v for k, v in p.items() if k != "grantees"} for p in self.rows.get(key, {}).values()]
        return self._page("rowAccessPolicies", found, query)

    @on("POST", f"{B}/datasets/{{}}/tables/{{}}/rowAccessPolicies")
    def insert_rows(self, project: str, dataset: str, table: str, body: Any, **_: Any) -> Any:
        key = self._table(dataset, table)
        name = required(body, "rowAccessPolicyReference", "policyId")
        if name in self.rows.get(key, {}):
            raise Refusal(409, "duplicate", f"Already Exists: row access policy {name}")
        return self._put_rows(key, name, body)

    @on("PUT", f"{B}/datasets/{{}}/tables/{{}}/rowAccessPolicies/([^/:]+)")
    def update_rows(self, project: str, dataset: str, table: str, name: str, body: Any, **_: Any) -> Any:
        key = self._table(dataset, table)
        self._row_policy(key, name)
        return self._put_rows(key, name, body)

    @on("DELETE", f"{B}/datasets/{{}}/tables/{{}}/rowAccessPolicies/([^/:]+)")
    def delete_rows(
        self, project: str, dataset: str, table: str, name: str, query: dict[str, str], **_: Any
    ) -> Any:
        key = self._table(dataset, table)
        self._row_policy(key, name)
        if len(self.rows[key]) == 1 and query.get("force") != "true":
            raise Refusal(400, "invalid", "the last row access policy goes only by force")
        del self.rows[key][name]
        return None

    @on("POST", f"{B}/datasets/{{}}/tables/{{}}/rowAccessPolicies/([^/:]+):getIamPolicy")
    def row_members(self, project: str, dataset: str, table: str, name: str, **_: Any) -> Any:
        policy = self._row_policy(self._table(dataset, table), name)
        return {"bindings": [{"role": "roles/bigquery.filteredDataViewer", "members": policy["grantees"]}]}

    def _put_rows(self, key: tuple[str, str], name: str, body: Any) -> Any:
        required(body, "filterPredicate")
        self._members(required(body, "grantees"))
        if self.tables[key[0]][key[1]] != "TABLE":
            raise Refusal(400, "invalid", "row access policies are for tables")
        if not name.replace("_", "").isalnum() or len(name) > 256:
            raise Refusal(400, "invalid", f"Invalid policy id {name}")
        self.rows.setdefault(key, {})[name] = body
        return {k: v for k, v in body.items() if k != "grantees"}

    def _row_policy(self, key: tuple[str, str], name: str) -> Any:
        if name not in self.rows.get(key, {}):
            raise Refusal(404, "notFound", f"Not found: row access policy {name}")
        return self.rows[key][name]

    # -- the project ---------------------------------------------------------------------------------------------

    @on("GET", "/v1/projects/{}/roles")
    def list_roles(self, project: str, query: dict[str, str], **_: Any) -> Any:
        full = query.get("view") == "FULL"
        found = [
            {"name": name}
            | ({"includedPermissions": [f"bigquery.{p}" for p in sorted(held)]} if full else {})
            for name, held in self.custom.items()
        ]
        return self._page("roles", found, query)

    @on("POST", "/v1/projects/([^/:]+):getAncestry")
    def ancestry(self, project: str, **_: Any) -> Any:
        return {"ancestor": [{"resourceId": {"type": kind, "id": id}} for kind, id in self.above]}

    @on("GET", "/v2/policies/{}/denypolicies")
    def list_denials(self, point: str, query: dict[str, str], **_: Any) -> Any:
        self._attached(point)
        # The rules are left out.
        found = [{"name": _denial(point, name), "etag": "d"} for name in self.denied.get(point, {})]
        return self._page("policies", found, query)

    @on("GET", "/v2/policies/{}/denypolicies/{}")
    def get_denial(self, point: str, name: str, **_: Any) -> Any:
        self._attached(point)
        rules = self.denied.get(point, {}).get(name)
        if rules is None:
            raise Refusal(404, "NOT_FOUND", f"no policy {name}")
        return {"name": _denial(point, name), "rules": [{"denyRule": rule} for rule in rules]}

    def _attached(self, point: str) -> None:
        points = {f"cloudresourcemanager.googleapis.com/{kind}s/{id}" for kind, id in self.above}
        if point in self.closed or point not in points:
            raise Refusal(403, "PERMISSION_DENIED", f"iam.denypolicies.list on {point} is needed")

    @on("POST", "/v1/projects/([^/:]+):getIamPolicy")
    def project_policy(self, project: str, **_: Any) -> Any:
        return {"etag": "p0", "bindings": self.on_project}

    def _page(self, field: str, found: list[Any], query: dict[str, str]) -> Any:
        part, more = page(found, self.page, query.get("pageToken"))
        return {field: part} | ({"nextPageToken": more} if more else {})

    def _dataset(self, name: str) -> None:
        if name not in self.tables:
            raise Refusal(404, "notFound", f"Not found: Dataset {name}")

    def _table(self, dataset: str, table: str) -> tuple[str, str]:
        self._dataset(dataset)
        if table not in self.tables[dataset]:
            raise Refusal(404, "notFound", f"Not found: Table {table}")
        return dataset, table

    def _role(self, role: str) -> None:
        if role not in PREDEFINED and role not in self.custom and role != "roles/bigquery.filteredDataViewer":
            raise Refusal(400, "INVALID_ARGUMENT", f"Role {role} is not supported for this resource")

    def _exists(self, address: str) -> None:
        if address not in self.people:
            raise Refusal(400, "INVALID_ARGUMENT", f"{address} does not exist")

    # -- who may do what -----------------------------------------------------------------------------------------

    def may(self, user: str, groups: set[str], permission: str, dataset: str, table: str = "") -> bool:
        held: set[str] = set()
        for entry in self.access[dataset]:
            if entry.get("userByEmail") == user or entry.get("groupByEmail") in groups:
                held |= self._permissions(entry["role"])
        for binding in self.bound.get((dataset, table), []):
            if {f"user:{user}", *(f"group:{group}" for group in groups)} & set(binding["members"]):
                held |= self._permissions(binding["role"])
        return permission in held

    def sees(self, user: str, groups: set[str], dataset: str, table: str) -> set[str] | None:
        """The predicates of which a row must meet one to be seen; None for all rows."""
        policies = self.rows.get((dataset, table), {})
        if not policies:
            return None
        me = {f"user:{user}", "allAuthenticatedUsers", *(f"group:{group}" for group in groups)}
        return {p["filterPredicate"] for p in policies.values() if me & set(p["grantees"])}

    def _permissions(self, role: str) -> set[str]:
        return self.custom.get(role) or PREDEFINED.get(role, set())
