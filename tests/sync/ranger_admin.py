"""A stand-in for Ranger Admin that keeps policies and roles and refuses what the real one refuses.

Ranger Admin is not published as an artifact. The codes, the messages' sense and the wire format follow its documented REST
API; the definition of the service is Ranger's own. What plugins download is answered as Ranger Admin answers it.
"""

import base64
import itertools
import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

PAGE = 200
"""The most rows that one answer holds, whatever was asked for."""
_BROWSERS = ("mozilla", "opera", "chrome")
_LISTS = ("policyItems", "denyPolicyItems", "allowExceptions", "denyExceptions")
_BY_TYPE = {0: _LISTS, 1: ("dataMaskPolicyItems",), 2: ("rowFilterPolicyItems",)}
_KINDS = ("users", "groups", "roles")


class Refused(Exception):
    """An answer other than 200."""

    def __init__(self, status: int, text: str, code: int | None = None) -> None:
        told = f"(0) Validation failure: error code[{code}], reason[{text}]" if code else text
        super().__init__(told)
        self.status = status


class RangerAdmin:
    """One service of one type, with users and groups."""

    def __init__(self, service: str, service_def: dict[str, Any], users: dict[str, list[str]]) -> None:
        self.service = {
            "id": 1,
            "name": service,
            "type": service_def["name"],
            "isEnabled": True,
            "policyVersion": 1,
        }
        self.definition = service_def
        self.users = users
        """Users and the groups of each."""
        self.groups = {"public", *itertools.chain.from_iterable(users.values())}
        self.zones: list[dict[str, Any]] = []
        self.other_policies: dict[str, list[dict[str, Any]]] = {}
        self.tags: list[tuple[dict[str, list[str]], dict[str, Any]]] = []
        """The tag store: resources by their values, each with a tag."""
        self.refuse_after: int | None = None
        self.ids = itertools.count(1)
        self.version = 1
        self.role_version = 1
        self.clear()

    def clear(self) -> None:
        self.policies: dict[int, dict[str, Any]] = {}
        self.roles: dict[int, dict[str, Any]] = {}
        self.version += 1
        self.role_version += 1

    # -- what the real one checks --------------------------------------------------------------------------------

    def check_policy(self, policy: dict[str, Any], id: int | None) -> None:
        name, type = policy.get("name"), policy.get("policyType") or 0
        if policy.get("service") != self.service["name"]:
            raise Refused(400, f"no service found with name[{policy.get('service')}]", 3007)
        if not name:
            raise Refused(400, "Internal error: missing field[name]", 3002)
        if type not in _BY_TYPE:
            raise Refused(400, "no such type of policy", 3028)
        for other in self.policies.values():
            if other["id"] == id:
                if (other.get("policyType") or 0) != type:
                    raise Refused(400, "attempt to change type of policy", 3028)
                continue
            if other["name"] == name:
                raise Refused(400, f"Another policy already exists for this name: {other['id']}", 3006)
            if signature(other) == signature(policy):
                raise Refused(
                    400, f"Another policy already exists for matching resource: {other['name']}", 3010
                )
        self._check_resources(policy.get("resources") or {}, type)
        items = [item for part in _BY_TYPE[type] for item in policy.get(part) or ()]
        if not items and not policy.get("isAuditEnabled", True):
            raise Refused(400, "at least one policy item must be specified if audit isn't enabled", 3008)
        for item in items:
            self._check_item(item, type)

    def _check_resources(self, resources: dict[str, Any], type: int) -> None:
        known = {resource["name"]: resource for resource in self.definition["resources"]}
        unknown = set(resources) - set(known)
        if unknown or not resources:
            raise Refused(400, f"Invalid resources specified: {sorted(unknown)}", 3011)
        chains = []
        for name in resources:
            chain, parent = {name}, known[name].get("parent")
            while parent:
                chain.add(parent)
                parent = known[parent].get("parent")
            chains.append(chain)
        longest = max(chains, key=len)
        if longest != set(resources):
            raise Refused(400, f"Invalid resources specified: {sorted(resources)}", 3012)
        part = {1: "dataMaskDef", 2: "rowFilterDef"}.get(type)
        if part and set(resources) != {resource["name"] for resource in self.definition[part]["resources"]}:
            raise Refused(400, f"Invalid resources specified: {sorted(resources)}", 3024)
        if not part and len(longest) < 3 and longest != {"database", "udf"}:
            last = max(longest, key=lambda name: int(known[name]["level"]))
            if known[last].get("isValidLeaf") is False:
                raise Refused(400, f"Invalid resources specified: {sorted(resources)}", 3012)
        for name, resource in resources.items():
            values = resource.get("values") or []
            if not values or not all(value.strip() for value in values):
                raise Refused(400, f"Resource list was empty or contains null: {name}", 3026)
            if len(set(values)) < len(values):
                raise Refused(400, f"Values for the resource={name} contained a duplicate value", 3056)
            if resource.get("isRecursive") and not known[name].get("recursiveSupported"):
                raise Refused(400, f"Recursive option not supported: {name}", 3017)
            if resource.get("isExcludes") and not known[name].get("excludesSupported"):
                raise Refused(400, f"Excludes option not supported: {name}", 3015)

    def _check_item(self, item: dict[str, Any], type: int) -> None:
        part = {1: "dataMaskDef", 2: "rowFilterDef"}.get(type)
        defined = self.definition[part]["accessTypes"] if part else self.definition["accessTypes"]
        words = {access["name"] for access in defined}
        accesses = item.get("accesses") or []
        if not accesses and not item.get("delegateAdmin"):
            raise Refused(400, "Internal error: missing field[policy item accesses]", 3002)
        for access in accesses:
            if access.get("type") not in words:
                raise Refused(400, f"Invalid access type: access type=[{access.get('type')}]", 3022)
            if access.get("isAllowed") is False:
                raise Refused(400, "Currently deny access types are not supported.", 3023)
        if not any(item.get(kind) for kind in _KINDS):
            raise Refused(400, "All of users, user-groups and roles collections were empty", 3020)
        if type == 1:
            masks = {mask["name"] for mask in self.definition["dataMaskDef"]["maskTypes"]}
            if (item.get("dataMaskInfo") or {}).get("dataMaskType") not in masks:
                raise Refused(400, "policy items object was null", 3019)
        self._check_people(item, "policy")

    def _check_people(self, holder: dict[str, list[str]], where: str) -> None:
        there = {
            "users": {*self.users, "{USER}", "{OWNER}"},
            "groups": self.groups,
            "roles": {role["name"] for role in self.roles.values()},
        }
        for kind in _KINDS:
            for name in holder.get(kind) or ():
                if name not in there[kind]:
                    raise Refused(
                        400, f"Operation denied. {kind} name: {name} specified in {where} does not exist"
                    )

    def check_role(self, role: dict[str, Any], id: int | None) -> None:
        if not role.get("name"):
            raise Refused(400, "Internal error: missing role name", 4003)
        if any(other["name"] == role["name"] and other["id"] != id for other in self.roles.values()):
            raise Refused(400, f"Another role already exists for this name: {role['name']}", 4007)
        members = {kind: [member["name"] for member in role.get(kind) or ()] for kind in _KINDS}
        self._check_people(members, "role")

    def used(self, name: str) -> str | None:
        for policy in self.policies.values():
            for part in (*_LISTS, "dataMaskPolicyItems", "rowFilterPolicyItems"):
                if any(name in (item.get("roles") or ()) for item in policy.get(part) or ()):
                    return "policies"
        others = [member["name"] for role in self.roles.values() for member in role.get("roles") or ()]
        return "other roles" if name in others else None

    # -- routes --------------------------------------------------------------------------------------------------

    def route(self, method: str, path: str, query: dict[str, str], body: Any) -> Any:
        if self.refuse_after is not None and method != "GET":
            self.refuse_after -= 1
            if self.refuse_after < 0:
                raise Refused(500, "the database is gone")
        name = re.escape(str(self.service["name"]))
        for pattern, handler in (
            (r"/service/public/v2/api/servicedef/name/([^/]+)", self._definition),
            (r"/service/public/v2/api/service/name/([^/]+)", self._service),
            (r"/service/public/v2/api/service/([^/]+)/policy/?", self._policies),
            (r"/service/public/v2/api/zones/zone-headers/for-service/(\d+)", self._zones),
            (r"/service/public/v2/api/policy/?(\d*)", self._policy),
            (r"/service/public/v2/api/roles/?(\d*)", self._role),
            (r"/service/xusers/(users|groups)", self._people),
            (rf"/service/plugins/policies/download/({name})", self._download),
            (rf"/service/roles/download/({name})", self._download_roles),
            (r"/service/tags/secure/download/([^/]+)", self._download_tags),
        ):
            found = re.fullmatch(pattern, path)
            if found:
                return handler(method, unquote(found[1]), query, body)
        raise Refused(404, f"no such path {path}")

    def _definition(self, _method: str, name: str, _query: Any, _body: Any) -> Any:
        if name != self.definition["name"]:
            raise Refused(404, "no such service definition")
        return self.definition

    def _service(self, _method: str, name: str, _query: Any, _body: Any) -> Any:
        if name != self.service["name"]:
            raise Refused(404, "no such service")
        return {**self.service, "policyVersion": self.version}

    def _zones(self, *_: Any) -> Any:
        return self.zones

    def _policies(self, _method: str, name: str, query: dict[str, str], _body: Any) -> Any:
        if name != self.service["name"]:
            return self._page(self.other_policies.get(name, []), query)
        return self._page([self.policies[id] for id in sorted(self.policies)], query)

    def _page(self, rows: list[Any], query: dict[str, str]) -> list[Any]:
        start, size = int(query.get("startIndex", 0)), min(int(query.get("pageSize", PAGE)), PAGE)
        return rows[start : start + size]

    def _policy(self, method: str, id: str, _query: Any, body: Any) -> Any:
        key = int(id) if id else None
        if method != "POST" and key not in self.policies:
            raise Refused(404, f"No policy found for id[{id}]")
        if method == "GET":
            return self.policies[key or 0]
        self.version += 1
        if method == "DELETE":
            del self.policies[key or 0]
            return None
        if method == "PUT" and body.get("id") not in (None, key):
            raise Refused(400, "policyID mismatch")
        self.check_policy(body, key)
        made = next(self.ids) if key is None else key
        # What a client says of the version is not looked at.
        version = self.policies[made]["version"] + 1 if key else 1
        kept = {"isEnabled": True, "isAuditEnabled": True, "policyType": 0, "policyPriority": 0}
        kept |= {**body, "id": made, "guid": f"guid-{made}", "version": version}
        self.policies[made] = kept
        return kept

    def _role(self, method: str, id: str, query: dict[str, str], body: Any) -> Any:
        key = int(id) if id else None
        if method == "GET" and key is None:
            return self._page([self.roles[id] for id in sorted(self.roles)], query)
        if method != "POST" and key not in self.roles:
            raise Refused(400, "Data Not Found for given Id")
        if method == "GET":
            return self.roles[key or 0]
        self.role_version += 1
        if method == "DELETE":
            used = self.used(self.roles[key or 0]["name"])
            if used:
                raise Refused(400, f"Role can not be deleted as it is referenced in one or more {used}")
            del self.roles[key or 0]
            return None
        self.check_role(body, key)
        made = next(self.ids) if key is None else key
        self.roles[made] = {"users": [], "groups": [], "roles": [], **body, "id": made}
        return self.roles[made]

    def _people(self, _method: str, kind: str, query: dict[str, str], _body: Any) -> Any:
        if kind == "groups":
            rows = [{"id": n, "name": name} for n, name in enumerate(sorted(self.groups))]
        else:
            rows = [
                {"id": n, "name": u, "groupNameList": g}
                for n, (u, g) in enumerate(sorted(self.users.items()))
            ]
        page = self._page(rows, query)
        field = {"users": "vXUsers", "groups": "vXGroups"}[kind]
        start = int(query.get("startIndex", 0))
        return {"startIndex": start, "totalCount": len(rows), "resultSize": len(page), field: page}

    def _download(self, _method: str, _name: str, query: dict[str, str], _body: Any) -> Any:
        if int(query.get("lastKnownVersion", -1)) == self.version:
            raise Refused(304, "")
        policies = [self.policies[id] for id in sorted(self.policies) if self.policies[id]["isEnabled"]]
        head = {"serviceName": self.service["name"], "serviceId": 1, "policyVersion": self.version}
        return {**head, "policies": policies, "serviceDef": self.definition, "auditMode": "audit-none"}

    def _download_tags(self, _method: str, name: str, query: dict[str, str], _body: Any) -> Any:
        if name != self.service["name"]:
            raise Refused(404, f"Service:{name} not found")
        if int(query.get("lastKnownVersion", -1)) == len(self.tags):
            raise Refused(304, "")
        resources = [
            {
                "id": n,
                "serviceName": name,
                "resourceElements": {k: {"values": v} for k, v in elements.items()},
            }
            for n, (elements, _) in enumerate(self.tags, 100)
        ]
        head = {"op": "add_or_update", "serviceName": name, "tagVersion": len(self.tags)}
        tags = {str(n): {"id": n, "owner": 0, **tag} for n, (_, tag) in enumerate(self.tags)}
        found = {"tags": tags, "serviceResources": resources}
        return {**head, **found, "resourceToTagIds": {str(n + 100): [n] for n in range(len(self.tags))}}

    def _download_roles(self, _method: str, _name: str, query: dict[str, str], _body: Any) -> Any:
        if int(query.get("lastKnownRoleVersion", -1)) == self.role_version:
            raise Refused(304, "")
        roles = [self.roles[id] for id in sorted(self.roles)]
        return {"serviceName": self.service["name"], "roleVersion": self.role_version, "rangerRoles": roles}


def signature(policy: dict[str, Any]) -> object:
    """What makes two policies be about the same; a policy that is switched off is about nothing else's."""
    resources = {
        name: (
            sorted(resource["values"]),
            bool(resource.get("isExcludes")),
            bool(resource.get("isRecursive")),
        )
        for name, resource in (policy.get("resources") or {}).items()
    }
    parts = [policy.get("policyType") or 0, resources, policy.get("policyPriority") or 0]
    parts += [
        policy.get("validitySchedules") or [],
        policy.get("conditions") or [],
        policy.get("zoneName") or "",
    ]
    if policy.get("isEnabled") is False:
        parts.append(policy.get("guid"))
    return json.dumps(parts, sort_keys=True)


class Server:
    """The stand-in on a port of loopback."""

    def __init__(self, admin: RangerAdmin, user: str = "admin", password: str = "secret") -> None:
        wanted = "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()
        lock = threading.Lock()

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            # An answer goes out in one piece, or each would wait for the client to confirm its head.
            wbufsize = -1
            disable_nagle_algorithm = True

            def log_message(self, *_: Any) -> None:
                pass

            def answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                url = urlsplit(self.path)
                query = {name: values[0] for name, values in parse_qs(url.query).items()}
                try:
                    if ("/download/" not in url.path or "/secure/" in url.path) and self.headers.get(
                        "Authorization"
                    ) != wanted:
                        raise Refused(401, "Authentication Failed")
                    agent = (self.headers.get("User-Agent") or "").lower()
                    if self.command != "GET" and agent.startswith(_BROWSERS):
                        raise Refused(
                            400, "Missing header or invalid Header value for CSRF Vulnerability Protection"
                        )
                    with lock:
                        said = json.loads(body) if body else None
                        found = admin.route(self.command, url.path, query, said)
                        status, text = (204, b"") if found is None else (200, json.dumps(found).encode())
                except Refused as refused:
                    status, text = refused.status, b""
                    if status != 304:
                        text = json.dumps({"statusCode": 1, "msgDesc": str(refused)}).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            do_GET = do_POST = do_PUT = do_DELETE = answer

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.address = f"http://127.0.0.1:{self.http.server_address[1]}"
        self.thread = threading.Thread(target=self.http.serve_forever, daemon=True)
        self.thread.start()

    def close(self) -> None:
        self.http.shutdown()
        self.http.server_close()
        self.thread.join(10)
