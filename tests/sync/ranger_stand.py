"""Ranger Admin's stand-in, asked through Ranger's own policy engine."""

import httpx

from headgate.sync.connectors.ranger.connector import RangerConnector
from headgate.sync.snapshots.facts import Principal, Securable
from headgate.sync.snapshots.names import PrincipalMap
from tests.ranger.engine import Engine, service_def
from tests.sync.cells import Row, through_sql
from tests.sync.ranger_admin import RangerAdmin, Server
from tests.sync.stands import Stand
from tests.sync.worlds import COLUMNS, GROUPS, OBJECTS, USERS

SERVICE = "lake_hive"
_WORDS = {"read": "select", "insert": "update", "update": "update", "delete": "update", "alter": "alter"}


class RangerStand(Stand):
    """One service; every question goes to the engine, which downloads the policies first if they changed."""

    asked = (
        "table.read", "table.insert", "table.update", "table.delete", "table.alter", "view.read",
        "schema.create_table", "schema.create_view", "column.read",
    )  # fmt: skip

    def __init__(self) -> None:
        self.names = PrincipalMap({"group:PUBLIC": "public", "user:*": "*", "group:*": "*"})
        self.admin = RangerAdmin(SERVICE, service_def("hive"), {user.name: [] for user in USERS})
        self.admin.groups |= {group.name for group in GROUPS}
        self.server = Server(self.admin)
        self.engine = Engine(self.server.address, SERVICE)
        self.client = httpx.Client(base_url=self.server.address, auth=("admin", "secret"))
        self.connector = RangerConnector(
            self.client, SERVICE, "lake", lambda: (*OBJECTS, *COLUMNS), "ranger:lake"
        )
        self.members = {}
        self.seen = (0, 0)

    def close(self) -> None:
        self.client.close()
        self.engine.close()
        self.server.close()

    def empty(self) -> None:
        self.members = {}
        self.admin.clear()

    def keep_back(self) -> list[str]:
        whoever = {
            "users": ["{USER}"],
            "accesses": [{"type": "select"}],
            "rowFilterInfo": {"filterExpr": "x = 1"},
        }
        resources = {"database": {"values": ["sales"]}, "table": {"values": ["orders"]}}
        policy = {"service": SERVICE, "name": "theirs", "policyType": 2, "resources": resources}
        body = {**policy, "rowFilterPolicyItems": [whoever]}
        self.admin.route("POST", "/service/public/v2/api/policy", {}, body)
        return []

    def ask(self, what: str, user: Principal, access: str, *path: str) -> str:
        now = (self.admin.version, self.admin.role_version)
        if now != self.seen:
            assert self.engine.refresh() == self.admin.version
            self.seen = now
        groups = ",".join(sorted(self.members.get(user, ())))
        return self.engine.ask(what, user.name, groups, access, *path)

    def may(self, user: Principal, object: Securable, action: str) -> bool:
        kind, _, verb = action.partition(".")
        path = object.path[1:]
        if kind == "schema":
            return self.ask("may", user, "create", *path, "brand_new") == "true"
        columns: tuple[tuple[str, ...], ...] = ((),)
        if verb == "read" and kind != "column":
            # Who reads a table reads whatever columns it may yet have.
            columns = (("x",), ("y",), ("brand_new",)) if kind == "table" else (("x",), ("brand_new",))
        return all(self.ask("may", user, _WORDS[verb], *path, *c) == "true" for c in columns)

    def cells(self, user: Principal, table: Securable) -> list[Row]:
        """Filtered and masked by the expressions that the engine hands out."""
        columns = self.readable(user, table)
        predicate = self.ask("rows", user, "select", *table.path[1:])
        masks = {}
        for name in columns:
            kind, _, text = self.ask("mask", user, "select", *table.path[1:], name).partition(" ")
            if kind not in ("", "MASK_NONE"):
                assert kind in ("MASK_NULL", "CUSTOM"), kind
                masks[name] = "NULL" if kind == "MASK_NULL" else text
        return through_sql(columns, predicate, masks)
