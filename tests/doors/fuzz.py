"""What the fuzz of the doors throws: requests from the OpenAPI document, and requests that were right before they were bent."""

import asyncio
import base64
import json
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import quote

from headgate.doors.authentication import Authentication, SimpleScheme
from headgate.doors.gravitino import GravitinoDoor
from headgate.doors.headgate import HeadgateDoor
from headgate.doors.iceberg import IcebergDoor
from headgate.doors.openapi import with_document
from headgate.doors.server import Server
from headgate.steward import Steward
from headgate.store import Store

CALLERS = (None, "meg", "ann", "admin")
"""Nobody, an ordinary member, a reader who sees a part, and the owner of everything."""

NAMES = {
    "metalake": ["lake"],
    "catalog": ["cat"],
    "schema": ["s"],
    "prefix": ["lake.cat", "lake", "cat", "."],
    "namespace": ["s"],
    "table": ["customers", "spare"],
    "view": ["v"],
    "tag": ["pii"],
    "policy": ["hide-ssn"],
    "role": ["reader-ann"],
    "user": ["ann", "meg", "admin"],
    "group": ["privacy"],
    "type": ["table", "catalog", "schema", "column", "metalake", "nothing"],
    "fullName": ["cat", "cat.s", "cat.s.customers", "cat.s.customers.email", "lake"],
    "version": ["0", "1", "99999999999999999999", "-1"],
}
DOOMED = ("lake", "cat", "s", "customers", "admin")
"""What the owner of everything is kept from dropping, so that there is something to knock at."""

WEIRD: list[Any] = [
    "",
    " ",
    ".",
    "..",
    "../../etc/passwd",
    "a/b",
    "a%2Fb",
    "a.b",
    "a:b",
    "*",
    "'; DROP TABLE objects; --",
    "\u0000",
    "a\u0001b",
    "\u2028",
    "\u202e",
    "é" * 300,
    "\U0001f600",
    "x" * 70_000,
    "${jndi:x}",
    "{{7*7}}",
    "NaN",
    "1e999",
    "null",
    None,
    True,
    False,
    0,
    -1,
    1,
    2**31,
    2**53 + 1,
    2**63 - 1,
    2**63,
    -(2**63) - 1,
    10**40,
    0.5,
    1e308,
    -0.0,
    [],
    {},
    [[]],
    [None],
    {"": None},
    {"type": "struct", "fields": []},
    [{"id": 1}],
    "2026-13-45T99:99:99Z",
    "0001-01-01T00:00:00Z",
    "file:///etc/passwd",
    "s3://elsewhere/x",
    "http://169.254.169.254/latest",
]


@dataclass
class Sent:
    """One request."""

    method: str
    path: str
    query: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""

    def __str__(self) -> str:
        query = f"?{self.query[:300]}" if self.query else ""
        return f"{self.method} {self.path[:300]}{query} {self.headers} {self.body[:1500]!r}"


class World:
    """A lake with something of everything in it, behind the real server, in process."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        self.store = Store(f"sqlite:///{folder}/store.db")
        self.store.prepare()
        self.steward = Steward(
            self.store, service_admins=frozenset({"admin"}), warehouse=str(folder / "warehouse")
        )
        doors = with_document([GravitinoDoor(), IcebergDoor(), HeadgateDoor()])
        self.server = Server(self.steward, Authentication([SimpleScheme()]), doors, threads=4)
        self._rows = sqlite3.connect(f"{folder}/store.db")
        self._loop = asyncio.new_event_loop()
        try:
            self._fill()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        self._loop.close()
        self._rows.close()
        self.steward.close()
        self.store.close()

    def send(self, user: str | None, sent: Sent) -> tuple[int, bytes]:
        """Status and body of the answer."""
        messages: list[dict[str, Any]] = []
        headers = dict(sent.headers)
        if user is not None:
            headers["Authorization"] = "Basic " + base64.b64encode(f"{user}:".encode()).decode()

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": sent.body, "more_body": False}

        async def send(message: dict[str, Any]) -> None:
            messages.append(message)

        scope = {
            "type": "http",
            "method": sent.method,
            "raw_path": sent.path.encode("latin-1", "replace"),
            "path": sent.path,
            "query_string": sent.query.encode("latin-1", "replace"),
            "headers": [
                (k.lower().encode("latin-1", "replace"), v.encode("latin-1", "replace"))
                for k, v in headers.items()
            ],
            "client": ("127.0.0.1", 1),
        }
        self._loop.run_until_complete(self.server(scope, receive, send))
        return messages[0]["status"], messages[1]["body"]

    def state(self) -> Any:
        """The revision and what it stands for."""
        rows = self._rows.execute("SELECT * FROM objects ORDER BY id").fetchall()
        return self._rows.execute("SELECT max(revision) FROM journal").fetchone(), rows

    def sound(self) -> bool:
        """Whether there is still something to knock at."""
        for path in (
            "/api/metalakes/lake/catalogs/cat/schemas/s/tables/customers",
            "/api/metalakes/lake/users/ann",
        ):
            if self.send("admin", Sent("GET", path))[0] != 200:
                return False
        return True

    def must(self, method: str, path: str, body: Any = None) -> Any:
        where, _, query = path.partition("?")
        raw = json.dumps(body).encode() if body else b""
        status, answer = self.send("admin", Sent(method, where, query, body=raw))
        assert status in (200, 204), (method, path, answer)
        return json.loads(answer or b"{}")

    def _fill(self) -> None:
        lake = "/api/metalakes/lake"
        self.must("POST", "/api/metalakes", {"name": "lake"})
        for user in ("ann", "meg"):
            self.must("POST", f"{lake}/users", {"name": user})
        catalog = {"name": "cat", "type": "relational", "provider": "lakehouse-iceberg"}
        self.must("POST", f"{lake}/catalogs", catalog)
        self.must("POST", f"{lake}/catalogs/cat/schemas", {"name": "s"})
        for name in ("customers", "spare"):
            self.must("POST", f"{lake}/catalogs/cat/schemas/s/tables", {**TABLE, "name": name})
        self.must("POST", "/iceberg/v1/lake.cat/namespaces/s/views", VIEW)
        self.must("POST", f"{lake}/groups", {"name": "privacy"})
        self.must("POST", f"{lake}/tags", {"name": "pii"})
        read = [
            {"name": name, "condition": "allow"} for name in ("use_catalog", "use_schema", "select_table")
        ]
        role = {
            "name": "reader-ann",
            "securableObjects": [{"fullName": "cat", "type": "catalog", "privileges": read}],
        }
        self.must("POST", f"{lake}/roles", role)
        self.must("PUT", f"{lake}/permissions/users/ann/grant", {"roleNames": ["reader-ann"]})
        files = [{"file": "1.yaml", "text": POLICY}]
        self.must("POST", "/api/headgate/policies/apply?metalake=lake", {"files": files, "whole": False})


TABLE = {
    "columns": [
        {"name": "id", "type": "long", "nullable": False},
        {"name": "region", "type": "string"},
        {"name": "email", "type": "string"},
        {"name": "ssn", "type": "string"},
        {"name": "d", "type": "decimal(9,2)"},
        {"name": "at", "type": "timestamp"},
    ],
    "partitioning": [{"strategy": "identity", "fieldName": ["region"]}],
}
SCHEMA = {
    "type": "struct",
    "schema-id": 0,
    "fields": [
        {"id": 1, "name": "id", "type": "long", "required": True},
        {"id": 2, "name": "tags", "required": False, "type": {"type": "list", "element-id": 3, "element": "string", "element-required": False}},
    ],
}  # fmt: skip
VIEW = {
    "name": "v",
    "schema": SCHEMA,
    "view-version": {
        "version-id": 1,
        "timestamp-ms": 1,
        "schema-id": 0,
        "summary": {"engine-name": "x"},
        "representations": [{"type": "sql", "sql": "SELECT 1", "dialect": "spark"}],
        "default-namespace": ["s"],
    },
    "properties": {},
}
POLICY = "policy: hide-ssn\non: lake.cat\nto: [user:ann]\nhide: [ssn]\n"
EXPRESSION = {
    "type": "and",
    "left": {"type": "not", "child": {"type": "eq", "term": "id", "value": 5}},
    "right": {
        "type": "or",
        "left": {"type": "in", "term": "region", "values": ["a", "b"]},
        "right": {
            "type": "lt-eq",
            "term": {"type": "transform", "transform": "bucket[4]", "term": "region"},
            "value": 2,
        },
    },
}
SNAPSHOT = {
    "snapshot-id": 11,
    "sequence-number": 1,
    "timestamp-ms": 1_700_000_000_000,
    "manifest-list": "file:///x/snap.avro",
    "summary": {"operation": "append"},
    "schema-id": 0,
}
UPDATES: list[dict[str, Any]] = [
    {"action": "assign-uuid", "uuid": "6f8f1a52-6f58-4c6d-8d3a-9d1f6d6c9b11"},
    {"action": "upgrade-format-version", "format-version": 2},
    {"action": "add-schema", "schema": SCHEMA, "last-column-id": 3},
    {"action": "set-current-schema", "schema-id": -1},
    {"action": "add-spec", "spec": {"spec-id": 1, "fields": [{"source-id": 1, "field-id": 1000, "transform": "bucket[4]", "name": "b"}]}},
    {"action": "set-default-spec", "spec-id": -1},
    {"action": "add-sort-order", "sort-order": {"order-id": 1, "fields": [{"source-id": 1, "transform": "identity", "direction": "asc", "null-order": "nulls-first"}]}},
    {"action": "set-default-sort-order", "sort-order-id": -1},
    {"action": "add-snapshot", "snapshot": SNAPSHOT},
    {"action": "set-snapshot-ref", "ref-name": "main", "type": "branch", "snapshot-id": 11, "max-ref-age-ms": 5},
    {"action": "remove-snapshots", "snapshot-ids": [11]},
    {"action": "remove-snapshot-ref", "ref-name": "main"},
    {"action": "set-location", "location": "file:///x"},
    {"action": "set-properties", "updates": {"a": "b"}},
    {"action": "remove-properties", "removals": ["a"]},
    {"action": "set-statistics", "snapshot-id": 11, "statistics": {"snapshot-id": 11, "statistics-path": "file:///x", "file-size-in-bytes": 1, "file-footer-size-in-bytes": 1, "blob-metadata": []}},
    {"action": "remove-statistics", "snapshot-id": 11},
    {"action": "remove-partition-specs", "spec-ids": [0]},
    {"action": "remove-schemas", "schema-ids": [0]},
    {"action": "add-encryption-key", "encryption-key": {"key-id": "k", "encrypted-key-metadata": "aa"}},
    {"action": "add-view-version", "view-version": VIEW["view-version"]},
    {"action": "set-current-view-version", "view-version-id": -1},
]  # fmt: skip
REQUIREMENTS: list[dict[str, Any]] = [
    {"type": "assert-create"},
    {"type": "assert-table-uuid", "uuid": "6f8f1a52-6f58-4c6d-8d3a-9d1f6d6c9b11"},
    {"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": None},
    {"type": "assert-last-assigned-field-id", "last-assigned-field-id": 6},
    {"type": "assert-current-schema-id", "current-schema-id": 0},
    {"type": "assert-last-assigned-partition-id", "last-assigned-partition-id": 1000},
    {"type": "assert-default-spec-id", "default-spec-id": 0},
    {"type": "assert-default-sort-order-id", "default-sort-order-id": 0},
]
POLICIES = (
    POLICY,
    "policy: p\non: lake.cat.s.customers\nto: [everyone]\nrows: region = principal.region AND id > 5\n",
    "policy: p\non: lake\nto: [group:privacy]\nexcept: [user:ann]\nmask: {email: show_last_4(email)}\npriority: 3\n",
    "policy: p\non: lake\nto: [everyone]\ncolumns: {a: has_tag('pii')}\nmask: {a: sha256(a)}\nwhen: context.hour < 3\n",
)
TEXTS = (
    "'", "(", ")", "\\", "\x00", "\ud800", "\"\\ud800\"", "!!python/object:os.system", "&a [*a]", "*a", "{", "- ", "? ",
    "NOT " * 3000, "(" * 3000, "1e400", "99999999999999999999999999", "CAST(id AS", "U&'\\+110000'", "DATE '99999-99-99'",
    "id / 0", "id % 0", "'a' LIKE 'b' ESCAPE ''", "in_network(context.address, 'x')", "x" * 100_000, "\u2028", "%", "$1", ";",
    "/*", "--", "token(email, 'k')", "noisy(id, -1)", "buckets(id, 0)", "is_member('')", "principal.", "has_tag('')", "null", "~",
)  # fmt: skip

Bent = Callable[[Random], Sent]


def bend(r: Random, value: Any, times: int) -> Any:
    """The value with something in it replaced, left out, doubled or put elsewhere."""
    whole = json.loads(json.dumps(value))
    for _ in range(times):
        places = list(_places(whole))
        if not places:
            return r.choice(WEIRD)
        holder, key = r.choice(places)
        match r.randrange(7):
            case 0 | 1 | 2:
                holder[key] = r.choice(WEIRD)
            case 3:
                if isinstance(holder, dict):
                    del holder[key]
                else:
                    holder.append(holder[key])
            case 4:
                other, place = r.choice(places)
                holder[key] = json.loads(json.dumps(other.get(place) if isinstance(other, dict) else value))
            case 5:
                if isinstance(holder, dict):
                    holder[str(r.choice(WEIRD))[:80]] = holder[key]
            case _:
                if isinstance(holder[key], str):
                    at = r.randrange(len(holder[key]) + 1)
                    holder[key] = holder[key][:at] + r.choice(TEXTS)[:2000] + holder[key][at:]
                elif isinstance(holder[key], int):
                    holder[key] = r.choice(
                        (-holder[key], holder[key] + 1, str(holder[key]), float(holder[key]))
                    )
    return whole


def _places(value: Any) -> Any:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in list(items):
        yield value, key
        yield from _places(inner)


def nested(r: Random) -> Any:
    deep: Any = r.choice(WEIRD)
    for _ in range(r.choice((20, 150, 400))):
        deep = r.choice(({"type": "not", "child": deep}, {"type": "and", "left": deep, "right": deep if r.random() < 0.02 else EXPRESSION}, [deep]))  # fmt: skip
    return deep


ICE = "/iceberg/v1/lake.cat"


def bent(r: Random) -> Sent:
    """A request that was right, or nearly."""
    table = r.choice(("customers", "spare"))
    times = r.choice((0, 1, 1, 1, 2, 4))
    match r.randrange(10):
        case 0 | 1 | 2:
            body = {
                "requirements": r.sample(REQUIREMENTS, r.choice((0, 1, 2))),
                "updates": r.sample(UPDATES, r.choice((1, 1, 2, 4))),
            }
            where = r.choice(
                (f"/namespaces/s/tables/{table}", f"/namespaces/s/tables/{table}", "/namespaces/s/views/v")
            )
            return _post(ICE + where, bend(r, body, times))
        case 3:
            one = {
                "identifier": {"namespace": ["s"], "name": table},
                "requirements": r.sample(REQUIREMENTS, 1),
                "updates": r.sample(UPDATES, 2),
            }
            return _post(f"{ICE}/transactions/commit", bend(r, {"table-changes": [one]}, times))
        case 4 | 5:
            plan = {
                "snapshot-id": 1,
                "select": ["id", "email"],
                "filter": EXPRESSION if r.random() < 0.9 else nested(r),
                "case-sensitive": True,
                "use-snapshot-schema": False,
                "start-snapshot-id": 1,
                "end-snapshot-id": 2,
                "stats-fields": ["id"],
                "min-rows-requested": 5,
            }
            for name in r.sample(sorted(plan), r.randrange(len(plan))):
                del plan[name]
            return _post(f"{ICE}/namespaces/s/tables/{table}/plan", bend(r, plan, times))
        case 6 | 7:
            text = r.choice(POLICIES)
            for _ in range(times):
                at = r.randrange(len(text) + 1)
                text = text[:at] + r.choice(TEXTS) + text[at + r.choice((0, 0, 1, 5)) :]
            documents = {"files": [{"file": "a", "text": text}], "whole": r.random() < 0.2}
            if r.random() < 0.3:
                asked = {"metalake": "lake", "table": "cat.s.customers", "user": "ann", "policies": documents}
                return _post("/api/headgate/lens", bend(r, asked, r.choice((0, 1))))
            what = r.choice(("plan", "apply", "lint"))
            return _post(
                f"/api/headgate/policies/{what}?metalake=lake", bend(r, documents, r.choice((0, 0, 1)))
            )
        case 8:
            create = {"name": f"t{r.randrange(10**6)}", "schema": SCHEMA, "stage-create": r.random() < 0.5, "partition-spec": UPDATES[4]["spec"], "write-order": UPDATES[6]["sort-order"], "properties": {"format-version": "2"}}  # fmt: skip
            what, body = r.choice((("tables", create), ("views", {**VIEW, "name": f"v{r.randrange(10**6)}"})))
            return _post(f"{ICE}/namespaces/s/{what}", bend(r, body, times))
        case _:
            name = r.choice([w for w in WEIRD if isinstance(w, str)])
            where = r.choice(
                (
                    "namespaces/{}",
                    "namespaces/s/tables/{}",
                    "namespaces/{}/views",
                    "namespaces/s/tables/{}/plan",
                )
            )
            return Sent(
                r.choice(("GET", "HEAD", "DELETE", "POST")),
                f"{ICE}/{where.format(quote(name[:2000], safe=''))}",
            )


def _post(path: str, body: Any) -> Sent:
    where, _, query = path.partition("?")
    return Sent("POST", where, query, {"Content-Type": "application/json"}, json.dumps(body).encode())
