"""A stand-in for the open-source Unity Catalog made from its published API: SCIM users, lists of objects, permissions.

It keeps to the server's ways: a page of users tells its own size as the total, `add` is done before `remove`, a change of an
unknown principal fails after those before it were saved, privileges are not checked against the type of object, and with
authorization off it says yes and keeps nothing. Who may do what is answered by walking its own tree. It can be told to be a hosted
one, which knows policies by attribute; of the open-source one nobody can ask for them.
"""

from collections import defaultdict
from typing import Any

import httpx

from tests.sync.standin import Refusal, StandIn, on, page, required

U = "/api/2.1/unity-catalog"
S = "/api/1.0/unity-control/scim2"

TYPES = {
    "metastore", "catalog", "schema", "table", "function", "volume", "registered_model", "external_location", "credential",
}  # fmt: skip
PRIVILEGES = {
    "CREATE CATALOG", "USE CATALOG", "CREATE SCHEMA", "USE SCHEMA", "CREATE TABLE", "SELECT", "MODIFY", "CREATE FUNCTION",
    "EXECUTE", "CREATE VOLUME", "READ VOLUME", "CREATE MODEL", "CREATE EXTERNAL LOCATION", "READ FILES", "WRITE FILES",
    "CREATE EXTERNAL TABLE", "CREATE EXTERNAL VOLUME", "CREATE MANAGED STORAGE", "CREATE STORAGE CREDENTIAL",
}  # fmt: skip


class UnityServer(StandIn):
    """One metastore."""

    def __init__(self) -> None:
        super().__init__()
        self.page = 100
        self.authorizes = True
        self.attributes: dict[tuple[str, str], list[dict[str, Any]]] | None = None
        """The policies by attribute by type and full name; none, if this is no server that has them."""
        self.users: list[dict[str, Any]] = []
        self.objects: dict[tuple[str, str], dict[str, Any]] = {("metastore", ""): {"name": "metastore"}}
        """By type and full name."""
        self.held: dict[tuple[str, str], dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))

    def add(self, kind: str, name: str, **more: Any) -> None:
        self.objects[kind, name] = {"name": name.rpartition(".")[2], **more}

    def add_user(self, email: str, active: bool = True) -> dict[str, Any]:
        user = {"id": f"u{len(self.users)}", "active": active, "emails": [{"value": email, "primary": True}]}
        self.users.append(user)
        return user

    def refused(self, refusal: Refusal, headers: dict[str, str]) -> httpx.Response:
        body = {"error_code": refusal.kind, "message": refusal.message}
        return httpx.Response(refusal.status, json=body, headers=headers)

    # -- users ---------------------------------------------------------------------------------------------------

    @on("GET", f"{S}/Users")
    def list_users(self, query: dict[str, str], **_: Any) -> Any:
        start, count = int(query.get("startIndex", "1")), min(int(query.get("count", "50")), self.page)
        found = self.users[start - 1 : start - 1 + count]
        return {"Resources": found, "totalResults": len(found), "startIndex": start, "itemsPerPage": count}

    @on("POST", f"{S}/Users")
    def create_user(self, body: Any, **_: Any) -> Any:
        email = required(body, "emails")[0]["value"]
        if any(user["emails"][0]["value"] == email for user in self.users):
            raise Refusal(409, "ALREADY_EXISTS", f"User already exists: {email}")
        return 201, self.add_user(email)

    @on("DELETE", f"{S}/Users/{{}}")
    def delete_user(self, id: str, **_: Any) -> Any:
        user = next((user for user in self.users if user["id"] == id), None)
        if user is None:
            raise Refusal(404, "NOT_FOUND", f"User not found: {id}")
        self.users.remove(user)
        for held in self.held.values():
            held.pop(user["emails"][0]["value"], None)
        return None

    # -- objects -------------------------------------------------------------------------------------------------

    @on("GET", f"{U}/catalogs")
    def list_catalogs(self, query: dict[str, str], **_: Any) -> Any:
        return self._listed("catalog", "", "catalogs", query)

    @on("GET", f"{U}/schemas")
    def list_schemas(self, query: dict[str, str], **_: Any) -> Any:
        return self._listed("schema", required(query, "catalog_name"), "schemas", query)

    @on("GET", f"{U}/tables")
    def list_tables(self, query: dict[str, str], **_: Any) -> Any:
        return self._listed("table", _schema(query), "tables", query)

    @on("GET", f"{U}/functions")
    def list_functions(self, query: dict[str, str], **_: Any) -> Any:
        return self._listed("function", _schema(query), "functions", query)

    @on("GET", f"{U}/volumes")
    def list_volumes(self, query: dict[str, str], **_: Any) -> Any:
        return self._listed("volume", _schema(query), "volumes", query)

    @on("GET", f"{U}/models")
    def list_models(self, query: dict[str, str], **_: Any) -> Any:
        return self._listed("registered_model", _schema(query), "registered_models", query)

    def _listed(self, kind: str, parent: str, field: str, query: dict[str, str]) -> Any:
        if parent:
            self._known("schema" if "." in parent else "catalog", parent)
        found = [
            entry
            for (type, name), entry in sorted(self.objects.items())
            if type == kind and name.rpartition(".")[0] == parent
        ]
        part, more = page(
            found, min(int(query.get("max_results", "100")), self.page), query.get("page_token")
        )
        return {field: part, "next_page_token": more}

    # -- policies by attribute -----------------------------------------------------------------------------------

    @on("GET", f"{U}/policies/{{}}/{{}}")
    def list_policies(self, kind: str, name: str, query: dict[str, str], **_: Any) -> Any:
        if self.attributes is None:
            raise Refusal(404, "NOT_FOUND", "no such endpoint")
        self._known(kind.lower(), name)
        # A page may be empty and not be the last.
        if "page_token" not in query:
            return {"next_page_token": "1"}
        return {"policies": self.attributes.get((kind, name), [])}

    # -- permissions ---------------------------------------------------------------------------------------------

    @on("GET", f"{U}/permissions/{{}}/{{}}")
    def get_permissions(self, kind: str, name: str, **_: Any) -> Any:
        return self._told(self._known(kind, name))

    @on("PATCH", f"{U}/permissions/{{}}/{{}}")
    def update_permissions(self, kind: str, name: str, body: Any, **_: Any) -> Any:
        place = self._known(kind, name)
        if not self.authorizes:
            return {"privilege_assignments": []}
        named = []
        for change in required(body, "changes"):
            who = required(change, "principal")
            for part in ("add", "remove"):
                if not isinstance(change.get(part), list) or not set(change[part]) <= PRIVILEGES:
                    raise Refusal(400, "INVALID_ARGUMENT", f"{part} must be a list of privileges")
            if not any(user["emails"][0]["value"] == who for user in self.users):
                raise Refusal(404, "NOT_FOUND", f"User not found: {who}")
            self.held[place][who] = (self.held[place][who] | set(change["add"])) - set(change["remove"])
            named.append(who)
        return self._told(place, named)

    def _told(self, place: tuple[str, str], named: list[str] | None = None) -> Any:
        return {
            "privilege_assignments": [
                {"principal": who, "privileges": sorted(words)}
                for who, words in sorted(self.held[place].items())
                if words and (named is None or who in named)
            ]
        }

    def _known(self, kind: str, name: str) -> tuple[str, str]:
        if kind not in TYPES:
            raise Refusal(400, "INVALID_ARGUMENT", f"Invalid securable type: {kind}")
        place = (kind, "" if kind == "metastore" else name)
        if place not in self.objects:
            raise Refusal(404, "NOT_FOUND", f"{kind} not found: {name}")
        return place

    # -- who may do what -----------------------------------------------------------------------------------------

    def has(self, who: str, word: str, name: str) -> bool:
        """Whether a privilege is held on an object or on anything that holds it; the metastore holds nothing."""
        parts = name.split(".")
        above = {".".join(parts[: n + 1]) for n in range(len(parts))}
        return any(word in held.get(who, ()) for (_, at), held in self.held.items() if at in above)

    def may(self, who: str, name: str, *words: str) -> bool:
        """Whether all these privileges are held, and the use of what lies on the way."""
        parts = name.split(".")
        on_the_way = self.has(who, "USE CATALOG", parts[0]) and self.has(
            who, "USE SCHEMA", ".".join(parts[:2])
        )
        return on_the_way and all(self.has(who, word, name) for word in words)


def _schema(query: dict[str, str]) -> str:
    return f"{required(query, 'catalog_name')}.{required(query, 'schema_name')}"
