"""The stands of services that cannot be had as a server: each talks to a stand-in that keeps to the service's own rules."""

from typing import Any

from headgate.model.objects import ObjectType
from headgate.sync.connectors.bigquery.connector import BigQueryConnector
from headgate.sync.connectors.lakeformation.connector import LakeFormationConnector
from headgate.sync.connectors.polaris.connector import PolarisConnector
from headgate.sync.connectors.unity.connector import UnityConnector
from headgate.sync.snapshots.facts import Principal, Securable
from headgate.sync.snapshots.names import PrincipalMap
from headgate.sync.transport.aws import Aws
from headgate.sync.transport.pacing import Pacing
from tests.sync import lakeformation_server
from tests.sync.bigquery_server import BigQueryServer
from tests.sync.cells import Row, through_sql
from tests.sync.polaris_server import PolarisServer, entity
from tests.sync.stands import Stand
from tests.sync.unity_server import UnityServer
from tests.sync.worlds import GROUPS, OBJECTS, SCHEMAS, TABLES, USERS, VIEWS

_T = ObjectType


class Clock:
    """A clock that stands still but for the waits."""

    def __init__(self) -> None:
        self.at = 1_700_000_000.0
        self.waits: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.at += seconds

    def pacing(self) -> Pacing:
        return Pacing(self.sleep, lambda: self.at)


class LakeFormationStand(Stand):
    """A data catalog behind moto's server, asked what Lake Formation holds."""

    asked = (
        "table.read", "table.insert", "table.update", "table.delete", "table.alter", "view.read",
        "schema.create_table", "schema.create_view", "column.read",
    )  # fmt: skip

    def __init__(self) -> None:
        self.names = PrincipalMap({"user:*": f"arn:aws:iam::{lakeformation_server.ACCOUNT}:user/*"})
        self.server = lakeformation_server.serve()
        self.clock = Clock()
        session, address = lakeformation_server.session(self.server)
        self.aws = Aws.of(session, self.clock.pacing(), address)
        self.connector = LakeFormationConnector(self.aws, lakeformation_server.ACCOUNT, "lake")
        for user in USERS:
            self.aws("iam", "create_user", UserName=user.name)
        columns = [{"Name": "x", "Type": "int"}, {"Name": "y", "Type": "int"}]
        for schema in SCHEMAS:
            self.aws("glue", "create_database", DatabaseInput={"Name": schema.path[1]})
        for object in (*TABLES, *VIEWS):
            table: dict[str, Any] = {"Name": object.path[2], "StorageDescriptor": {"Columns": columns}}
            if object.type is _T.VIEW:
                table["TableType"] = "VIRTUAL_VIEW"
            self.aws("glue", "create_table", DatabaseName=object.path[1], TableInput=table)
        self.aws("lakeformation", "put_data_lake_settings", DataLakeSettings={})

    @property
    def lake(self) -> lakeformation_server.Lake:
        return lakeformation_server.Answers.lake

    def empty(self) -> None:
        lakeformation_server.Answers.lake = lakeformation_server.Lake()
        self.clock.waits.clear()

    def close(self) -> None:
        self.server.stop()

    def may(self, user: Principal, object: Securable, action: str) -> bool:
        verb = action.partition(".")[2]
        words = {
            "read": "SELECT",
            "insert": "INSERT",
            "update": "INSERT",
            "delete": "DELETE",
            "alter": "ALTER",
        }
        return self.lake.may(self.own(user).name, words.get(verb, "CREATE_TABLE"), *object.path[1:])

    def keep_back(self) -> list[str]:
        someone = {"DataLakePrincipalIdentifier": self.own(USERS[0]).name}
        orders = {"Table": {"DatabaseName": "sales", "Name": "orders"}}
        self.lake.attached = [{"PolicyName": "theirs", "Principal": someone, "Resource": orders}]
        return []

    def sees(self, user: Principal, table: Securable) -> set[str] | None:
        """The predicates of which a row must meet one to be seen; None for all rows."""
        return self.lake.sees(self.own(user).name, *table.path[1:])

    def cells(self, user: Principal, table: Securable) -> list[Row]:
        found = self.sees(user, table)
        if not found:
            return super().cells(user, table)
        # What one may read of it beside the filters shows all rows.
        assert not self.readable(user, table)
        return through_sql("xy", " OR ".join(f"({sql})" for sql in found), {})


class PolarisStand(Stand):
    """A realm of the stand-in, asked by its own table of privileges."""

    a_word = "TABLE_WRITE_DATA"
    asked = (
        "table.read", "table.insert", "table.update", "table.delete", "table.alter", "view.read",
        "schema.create_table", "schema.create_view",
    )  # fmt: skip

    def __init__(self) -> None:
        self.names = PrincipalMap.same_names()
        self.server = PolarisServer()
        self.clock = Clock()
        self.server.add_catalog("lake")
        tree = self.server.trees["lake"]
        for schema in SCHEMAS:
            tree[schema.path[1:]] = {"tables": [], "views": []}
        for kind, objects in (("tables", TABLES), ("views", VIEWS)):
            for object in objects:
                tree[object.path[1:2]][kind].append(object.path[2])
        for user in USERS:
            self.server.principals[user.name] = entity(user.name)
        self.connector = PolarisConnector(self.server.client(), "polaris:lake", self.clock.pacing())

    def empty(self) -> None:
        self.server.wipe()
        self.server.asked.clear()
        self.clock.waits.clear()

    def may(self, user: Principal, object: Securable, action: str) -> bool:
        type, _, verb = action.partition(".")
        ways = {"insert": "write", "update": "write", "delete": "write"}
        what = "view" if type == "view" else ways.get(verb, verb)
        return self.server.may(user.name, what, object.path[0], object.path[1:2], "".join(object.path[2:3]))


class UnityStand(Stand):
    """A metastore of the stand-in, asked by walking its tree."""

    a_word = "SELECT"
    asked = (
        "table.read", "table.insert", "table.update", "table.delete", "table.alter", "view.read",
        "schema.create_table", "schema.create_view", "schema.register_function",
    )  # fmt: skip

    def __init__(self) -> None:
        self.names = PrincipalMap({"user:*": "*@example.org"})
        self.server = UnityServer()
        self.clock = Clock()
        for object in OBJECTS:
            kind = "table" if object.type is _T.VIEW else object.type.value
            more = {"table_type": "MATERIALIZED_VIEW"} if object.type is _T.VIEW else {}
            self.server.add(kind, ".".join(object.path), **more)
        for user in USERS:
            self.server.add_user(self.own(user).name)
        self.connector = UnityConnector(self.server.client(), "unity:main", self.clock.pacing())

    def keep_back(self) -> list[str]:
        masked = {"name": "x", "mask": {"function_name": "lake.sales.theirs"}}
        self.server.objects["table", "lake.sales.orders"]["columns"] = [masked, {"name": "y"}]
        return ["y"]

    def empty(self) -> None:
        self.server.objects["table", "lake.sales.orders"].pop("columns", None)
        self.server.held.clear()
        self.server.asked.clear()
        self.clock.waits.clear()

    def may(self, user: Principal, object: Securable, action: str) -> bool:
        words = {
            "read": ("SELECT",),
            "create_table": ("CREATE TABLE",),
            "create_view": ("CREATE TABLE",),
            "register_function": ("CREATE FUNCTION",),
        }.get(action.partition(".")[2], ("SELECT", "MODIFY"))
        return self.server.may(self.own(user).name, ".".join(object.path), *words)


class BigQueryStand(Stand):
    """A project of the stand-in with two roles of its own, asked by permissions; the directory says who is in which group."""

    READER = "projects/lake/roles/reader"
    WRITER = "projects/lake/roles/writer"
    a_word = "roles/bigquery.dataEditor"
    asked = (
        "table.read", "table.insert", "table.update", "table.delete", "table.alter", "view.read",
        "schema.create_table", "schema.create_view", "schema.register_function",
    )  # fmt: skip

    def __init__(self) -> None:
        self.names = PrincipalMap({"user:*": "*@example.org", "group:*": "*@groups.example.org"})
        self.server = BigQueryServer("lake")
        self.clock = Clock()
        reads = {"tables.get", "tables.getData"}
        self.server.custom = {self.READER: reads, self.WRITER: reads | {"tables.updateData", "tables.update"}}
        for object in (*TABLES, *VIEWS):
            type = "VIEW" if object.type is _T.VIEW else "TABLE"
            self.server.tables.setdefault(object.path[1], {})[object.path[2]] = type
        people = [self.own(person) for person in (*USERS, *GROUPS)]
        self.server.people = {person.name for person in people}
        self.server.wipe()
        pacing = self.clock.pacing()
        self.connector = BigQueryConnector(self.server.client(), "lake", people, "bigquery:lake", pacing)

    def empty(self) -> None:
        self.members = {}
        self.server.wipe()
        self.server.asked.clear()
        self.clock.waits.clear()

    def keep_back(self) -> list[str]:
        tags = {"names": ["projects/1/locations/eu/taxonomies/2/policyTags/3"]}
        secured = {"name": "x", "type": "INTEGER", "policyTags": tags}
        self.server.fields["sales", "orders"] = [secured, {"name": "y", "type": "INTEGER"}]
        return ["y"]

    def groups(self, user: Principal) -> set[str]:
        return {f"{name}@groups.example.org" for name in self.members.get(user, ())}

    def may(self, user: Principal, object: Securable, action: str) -> bool:
        permission = {
            "read": "tables.getData",
            "alter": "tables.update",
            "create_table": "tables.create",
            "create_view": "tables.create",
            "register_function": "routines.create",
        }.get(action.partition(".")[2], "tables.updateData")
        return self.server.may(self.own(user).name, self.groups(user), permission, *object.path[1:])

    def sees(self, user: Principal, table: Securable) -> set[str] | None:
        """The predicates of which a row must meet one to be seen; None for all rows."""
        if not self.may(user, table, "table.read"):
            return set()
        return self.server.sees(self.own(user).name, self.groups(user), *table.path[1:])

    def cells(self, user: Principal, table: Securable) -> list[Row]:
        found = self.sees(user, table)
        if found is None:
            return super().cells(user, table)
        return through_sql("xy", " OR ".join(f"({sql})" for sql in found) or "FALSE", {})
