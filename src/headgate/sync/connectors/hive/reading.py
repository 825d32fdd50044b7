"""How the policies of a Hive Metastore are fetched as facts."""

from collections.abc import Sequence
from typing import Any, Final

from pymetastore.hive_metastore import ttypes as hive

from headgate.model.objects import SCHEMA_SEPARATOR, ObjectType
from headgate.sync.access.capabilities import Capabilities
from headgate.sync.pushing.run import Reading
from headgate.sync.snapshots.facts import (
    Fact,
    Facts,
    GrantFact,
    Kind,
    Known,
    MemberFact,
    OwnerFact,
    Present,
    Principal,
    Securable,
)
from headgate.sync.snapshots.snapshot import ChangeLog, instant

_T = ObjectType
HiveType = hive.HiveObjectType
EVERYONE: Final = Principal(Kind.GROUP, "public")
"""The role that every user has is a group of everyone."""
ADMIN: Final = "admin"
CATALOG: Final = "hive"
"""The only catalog that clients of every version name; the privileges of others are not read."""
KINDS: Final = {Kind.USER: 1, Kind.ROLE: 2, Kind.GROUP: 3}
_KIND_OF: Final = {number: kind for kind, number in KINDS.items()}
_VIEWS: Final = ("VIRTUAL_VIEW", "MATERIALIZED_VIEW")
_BATCH: Final = 200


class HiveReader:
    """The facts of one metastore."""

    def __init__(
        self, client: Any, catalog: str, capabilities: Capabilities, people: frozenset[Principal]
    ) -> None:
        self.client = client
        self.catalog = Securable(_T.CATALOG, (catalog,))
        self.able = capabilities
        self.facts: set[Fact] = {Present(self.catalog), Known(EVERYONE, everyone=True), *map(Known, people)}
        self.logs: dict[Principal, ChangeLog] = {}
        self.notes: set[str] = set()
        self.schemas: dict[str, Securable] = {}
        self.leaves: dict[tuple[str, str], Securable] = {}

    def reading(self) -> Reading:
        others = sorted(set(self.client.get_catalogs().names) - {CATALOG})
        self.notes.update(f"catalog '{name}' of the metastore is not read" for name in others)
        self._roles()
        for name in self.client.get_all_databases():
            if SCHEMA_SEPARATOR in name:
                self.notes.add(f"database '{name}' has a colon in its name and cannot be named here")
            else:
                self._database(name)
        self._functions()
        # Without a type the call gives every row there is; without an object the server breaks.
        for row in self.client.list_privileges(None, None, hive.HiveObjectRef(objectType=None)):
            self._row(row)
        return Reading(Facts(self.facts), self.logs, notes=tuple(sorted(self.notes)))

    def _who(self, type: int | None, name: str | None) -> Principal | None:
        """Whom a principal of the metastore stands for; nobody, if what it holds has no effect."""
        kind = _KIND_OF.get(type or 0)
        if kind is None or not name:
            return None
        if kind is Kind.ROLE and name == EVERYONE.name:
            return EVERYONE
        if kind is Kind.ROLE and name == ADMIN:
            self.notes.add("whoever holds the role 'admin' may take it on and bypass what is granted")
            return None
        if kind is Kind.ROLE and name != name.lower():
            self.notes.add(f"role '{name}' is not in lower case and no engine finds it")
            return None
        if kind is Kind.GROUP and (not self.able.groups or name == EVERYONE.name):
            self.notes.add(f"what group '{name}' holds has no effect here")
            return None
        principal = Principal(kind, name)
        self.facts.add(Known(principal))
        return principal

    def _roles(self) -> None:
        for name in self.client.get_role_names():
            role = self._who(KINDS[Kind.ROLE], name)
            if role is None or role == EVERYONE:
                continue
            request = hive.GetPrincipalsInRoleRequest(name)
            entries = self.client.get_principals_in_role(request).principalGrants
            self._log(role, entries)
            for entry in entries:
                who = self._who(entry.principalType, entry.principalName)
                if who is not None and (who == EVERYONE or who.kind in self.able.role_holders):
                    self.facts.add(MemberFact(role, who))
                if entry.grantOption:
                    self.notes.add(f"{entry.principalName} may hand on the role '{name}'")

    def _log(self, role: Principal, entries: Sequence[Any]) -> None:
        """The metastore describes a role only among those that somebody holds; of one without holders nothing is known."""
        for entry in entries[:1]:
            for described in self.client.list_roles(entry.principalName, entry.principalType):
                log = ChangeLog(described.ownerName or None, instant((described.createTime or 0) * 1000))
                if described.roleName == role.name and log.known:
                    self.logs[role] = log

    def _database(self, name: str) -> None:
        schema = Securable(_T.SCHEMA, (*self.catalog.path, name))
        self.schemas[name] = schema
        self.facts.add(Present(schema))
        found = self.client.get_database(name)
        self._owner(schema, found.ownerType, found.ownerName)
        names = self.client.get_all_tables(name)
        for start in range(0, len(names), _BATCH):
            request = hive.GetTablesRequest(dbName=name, tblNames=names[start : start + _BATCH])
            for table in self.client.get_table_objects_by_name_req(request).tables:
                self._table(schema, table)

    def _table(self, schema: Securable, table: Any) -> None:
        type = _T.VIEW if table.tableType in _VIEWS else _T.TABLE
        leaf = Securable(type, (*schema.path, table.tableName))
        self.leaves[schema.path[1], table.tableName] = leaf
        self.facts.add(Present(leaf))
        self._owner(leaf, table.ownerType, table.owner)
        if type is _T.TABLE:
            columns = [*table.sd.cols, *(table.partitionKeys or ())]
            self.facts.update(Present(Securable(_T.COLUMN, (*leaf.path, column.name))) for column in columns)

    def _functions(self) -> None:
        for function in self.client.get_all_functions().functions or ():
            if function.dbName in self.schemas:
                object = Securable(_T.FUNCTION, (*self.schemas[function.dbName].path, function.functionName))
                self.facts.add(Present(object))
                self._owner(object, function.ownerType, function.ownerName)

    def _owner(self, object: Securable, type: int | None, name: str | None) -> None:
        principal = self._who(type, name)
        if principal is not None:
            self.facts.add(OwnerFact(object, principal))

    def _row(self, row: Any) -> None:
        holder = self._who(row.principalType, row.principalName)
        if holder is None:
            return
        object = self._object(row.hiveObject)
        if object is None:
            self.notes.add(f"{holder} holds something on {_place(row.hiveObject)}, which is not read")
            return
        word, option = row.grantInfo.privilege.upper(), bool(row.grantInfo.grantOption)
        # Rows of several grantors are one grant; one that may be handed on says more.
        if option:
            self.facts.discard(GrantFact(holder, object, word))
        elif GrantFact(holder, object, word, option=True) in self.facts:
            return
        self.facts.add(GrantFact(holder, object, word, option=option))

    def _object(self, ref: Any) -> Securable | None:
        if ref.objectType == HiveType.GLOBAL:
            return self.catalog
        if (ref.catName or CATALOG) != CATALOG:
            return None
        if ref.objectType == HiveType.DATABASE:
            return self.schemas.get(ref.dbName)
        leaf = self.leaves.get((ref.dbName, ref.objectName))
        if ref.objectType == HiveType.TABLE:
            return leaf
        if (
            ref.objectType == HiveType.COLUMN
            and not ref.partValues
            and leaf is not None
            and leaf.type is _T.TABLE
        ):
            return Securable(_T.COLUMN, (*leaf.path, ref.columnName))
        return None


def _place(ref: Any) -> str:
    parts = (ref.catName, ref.dbName, ref.objectName, *(ref.partValues or ()), ref.columnName)
    return ".".join(part for part in parts if part)
