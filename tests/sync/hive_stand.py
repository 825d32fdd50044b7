"""A real Hive Metastore under one authorizer: the metastore says what reaches a user, the authorizer's rule is applied to it."""

import secrets
from typing import Any

from pymetastore.hive_metastore import ThriftHiveMetastore
from pymetastore.hive_metastore import ttypes as hive
from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.transport import TSocket, TTransport

from headgate.sync.connectors.hive.authorizers import Authorizer
from headgate.sync.connectors.hive.connector import HiveConnector
from headgate.sync.snapshots.facts import Principal, Securable
from headgate.sync.snapshots.names import PrincipalMap
from tests.sync.stands import Stand
from tests.sync.worlds import GROUPS, SCHEMAS, TABLES, USERS, VIEWS

_DATA = {"read": "SELECT", "insert": "INSERT", "update": "UPDATE", "delete": "DELETE", "alter": "ALTER"}
_ACL = {"read": "SELECT", "insert": "MODIFY", "update": "MODIFY", "delete": "MODIFY"}
_CREATE = {"create_table": "CREATE", "create_view": "CREATE", "register_function": "CREATE_NAMED_FUNCTION"}
_ROLE = hive.PrincipalType.ROLE
_TABLE = ("table.read", "table.insert", "table.update", "table.delete", "view.read")
_ASKED = {
    Authorizer.SQL_STANDARD: _TABLE,
    Authorizer.LEGACY: (*_TABLE, "table.alter", "schema.create_table", "schema.create_view", "column.read"),
    Authorizer.TABLE_ACL: (*_TABLE, *(f"schema.{verb}" for verb in _CREATE)),
}


class HiveStand(Stand):
    """The little catalog in a metastore, asked by `get_privilege_set`, which resolves roles by itself."""

    def __init__(self, port: int, authorizer: Authorizer) -> None:
        self.authorizer = authorizer
        self.asked = _ASKED[authorizer]
        self.members = {}
        everyone = {"group:PUBLIC": "public"}
        same = {"user:*": "*", "group:*": "*"} if authorizer.capabilities.groups else {"user:*": "*"}
        self.names = PrincipalMap({**everyone, **same})
        self.transport = TTransport.TBufferedTransport(TSocket.TSocket("127.0.0.1", port))
        self.transport.open()
        self.client: Any = ThriftHiveMetastore.Client(TBinaryProtocol(self.transport))
        self._build()
        people = (*USERS, *GROUPS) if authorizer.capabilities.groups else USERS
        name = f"{authorizer.capabilities.system}:{secrets.token_hex(3)}"
        self.connector = HiveConnector("127.0.0.1", port, "lake", name, authorizer=authorizer, people=people)

    def _build(self) -> None:
        there = self.client.get_all_databases()
        for schema in SCHEMAS:
            if schema.path[1] in there:
                return
            self.client.create_database(hive.Database(name=schema.path[1]))
        for object in (*TABLES, *VIEWS):
            self._create(object, object in VIEWS)

    def _create(self, object: Securable, view: bool) -> None:
        columns = [hive.FieldSchema(name, "int") for name in ("x", "y")]
        table = hive.Table(dbName=object.path[1], tableName=object.path[2], parameters={}, partitionKeys=[])
        table.sd = hive.StorageDescriptor(cols=columns, serdeInfo=hive.SerDeInfo())
        if view:
            table.tableType = "VIRTUAL_VIEW"
            table.viewOriginalText = table.viewExpandedText = "SELECT x FROM sales.orders"
        self.client.create_table(table)

    def close(self) -> None:
        self.transport.close()

    def empty(self) -> None:
        self.members = {}
        for role in set(self.client.get_role_names()) - {"admin", "public"}:
            self.client.drop_role(role)
        rows = self.client.list_privileges(None, None, hive.HiveObjectRef(objectType=None))
        rows = [row for row in rows if row.principalName != "admin"]
        if rows:
            bag = hive.PrivilegeBag(privileges=rows)
            self.client.grant_revoke_privileges(hive.GrantRevokePrivilegeRequest(2, bag))
        for object in (*TABLES, *VIEWS):
            request = hive.GetTableRequest(dbName=object.path[1], tblName=object.path[2])
            table = self.client.get_table_req(request).table
            if table.owner is not None:
                table.owner = None
                self.client.alter_table(*object.path[1:], table)

    def may(self, user: Principal, object: Securable, action: str) -> bool:
        kind, _, verb = action.partition(".")
        words = _CREATE if kind == "schema" else _ACL if self.authorizer is Authorizer.TABLE_ACL else _DATA
        places = [hive.HiveObjectRef(hive.HiveObjectType.GLOBAL)]
        places.append(hive.HiveObjectRef(hive.HiveObjectType.DATABASE, object.path[1]))
        if kind != "schema":
            places.append(hive.HiveObjectRef(hive.HiveObjectType.TABLE, *object.path[1:3]))
        if kind == "column":
            place = hive.HiveObjectRef(hive.HiveObjectType.COLUMN, *object.path[1:3])
            place.columnName = object.path[3]
            places.append(place)
        if self.authorizer is Authorizer.SQL_STANDARD:
            places = places[2:]
        if self.authorizer is Authorizer.TABLE_ACL and not self._held(user, places[:2], "USAGE"):
            return False
        return self._held(user, places, words[verb])

    def _held(self, user: Principal, places: list[Any], word: str) -> bool:
        groups = sorted(self.members.get(user, ()))
        for place in places:
            found = self.client.get_privilege_set(place, user.name, groups)
            held = (found.userPrivileges, found.groupPrivileges, found.rolePrivileges)
            rows = [row for by_name in held for rows in (by_name or {}).values() for row in rows]
            if self.authorizer is Authorizer.TABLE_ACL and place.objectType == hive.HiveObjectType.GLOBAL:
                rows += self._of_roles(user, groups, place)
            if any(row.privilege.upper() in (word, "ALL", "ALL PRIVILEGES") for row in rows):
                return True
        return False

    def _of_roles(self, user: Principal, groups: list[str], place: Any) -> list[Any]:
        """The metastore leaves the roles out where the whole of it is asked about; it names them elsewhere."""
        schema = hive.HiveObjectRef(hive.HiveObjectType.DATABASE, SCHEMAS[0].path[1])
        roles = self.client.get_privilege_set(schema, user.name, groups).rolePrivileges
        return [row.grantInfo for role in roles for row in self.client.list_privileges(role, _ROLE, place)]
