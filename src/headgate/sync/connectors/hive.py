"""Hive Metastore over Thrift: its default catalog under one name.

The metastore stores grants as free words and enforces none of them, so what a grant means is said by the authorizer of the
engines that read it. Users and groups are plain names that no call lists: who exists is told, beside those who hold something.
"""

import enum
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from pymetastore.hive_metastore import ThriftHiveMetastore
from pymetastore.hive_metastore import ttypes as hive
from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.Thrift import TException
from thrift.transport import TSocket, TTransport

from headgate.model.errors import ConnectionFailed, IllegalArgument
from headgate.model.objects import SCHEMA_SEPARATOR, ObjectType
from headgate.model.privileges import Condition
from headgate.sync.capabilities import Capabilities
from headgate.sync.connectors.hive_authorizers import LEGACY, SQL_STANDARD, TABLE_ACL
from headgate.sync.contract import Connector
from headgate.sync.facts import Fact, Facts, Grant, Kind, Known, Member, Owner, Present, Principal, Securable
from headgate.sync.results import Applied, Change, Outcome
from headgate.sync.run import Reading
from headgate.sync.snapshot import ChangeLog, instant

_T = ObjectType
_Type = hive.HiveObjectType

EVERYONE: Final = Principal(Kind.GROUP, "public")
"""The role that every user has is a group of everyone."""
_ADMIN: Final = "admin"
_GRANTOR: Final = "headgate"
_CATALOG: Final = "hive"
"""The only catalog that clients of every version name; the privileges of others are not read."""
_KINDS: Final = {Kind.USER: 1, Kind.ROLE: 2, Kind.GROUP: 3}
_KIND_OF: Final = {number: kind for kind, number in _KINDS.items()}
_VIEWS: Final = ("VIRTUAL_VIEW", "MATERIALIZED_VIEW")
_BATCH: Final = 200


class Authorizer(enum.Enum):
    """Who reads the grants, and so what they mean."""

    SQL_STANDARD = "sql-standard"
    LEGACY = "legacy"
    TABLE_ACL = "table-acl"

    @property
    def capabilities(self) -> Capabilities:
        return {self.SQL_STANDARD: SQL_STANDARD, self.LEGACY: LEGACY, self.TABLE_ACL: TABLE_ACL}[self]


class HiveConnector(Connector):
    """One metastore over one connection per call."""

    def __init__(
        self,
        host: str,
        port: int,
        catalog: str,
        name: str | None = None,
        *,
        authorizer: Authorizer = Authorizer.SQL_STANDARD,
        people: Collection[Principal] = (),
    ) -> None:
        super().__init__(name or f"hive:{catalog}")
        self.address = (host, port)
        self.catalog = catalog
        self.authorizer = authorizer
        self.people = frozenset(people)

    @property
    def capabilities(self) -> Capabilities:
        return self.authorizer.capabilities

    def read(self) -> Reading:
        with self._connected() as client:
            return _Sight(client, self.catalog, self.capabilities, self.people).reading()

    def apply(self, changes: Sequence[Change]) -> list[Applied]:
        with self._connected() as client:
            hand = _Hand(client)
            return [hand.make(change) for change in changes]

    @contextmanager
    def _connected(self) -> Iterator[Any]:
        socket = TSocket.TSocket(*self.address)
        socket.setTimeout(60_000)
        transport = TTransport.TBufferedTransport(socket)
        try:
            transport.open()
            yield ThriftHiveMetastore.Client(TBinaryProtocol(transport))
        except TTransport.TTransportException as error:
            raise ConnectionFailed(
                f"'{self.name}' does not answer", hint=str(error.message), about="sync"
            ) from error
        except TException as error:
            # INVARIANT: what cannot be read in full is not read at all.
            raise ConnectionFailed(f"'{self.name}' refuses", hint=_told(error), about="sync") from error
        finally:
            transport.close()


class _Sight:
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
        others = sorted(set(self.client.get_catalogs().names) - {_CATALOG})
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
        if kind is Kind.ROLE and name == _ADMIN:
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
            role = self._who(_KINDS[Kind.ROLE], name)
            if role is None or role == EVERYONE:
                continue
            request = hive.GetPrincipalsInRoleRequest(name)
            entries = self.client.get_principals_in_role(request).principalGrants
            self._log(role, entries)
            for entry in entries:
                who = self._who(entry.principalType, entry.principalName)
                if who is not None and (who == EVERYONE or who.kind in self.able.role_holders):
                    self.facts.add(Member(role, who))
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
            self.facts.add(Owner(object, principal))

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
            self.facts.discard(Grant(holder, object, word))
        elif Grant(holder, object, word, option=True) in self.facts:
            return
        self.facts.add(Grant(holder, object, word, option=option))

    def _object(self, ref: Any) -> Securable | None:
        if ref.objectType == _Type.GLOBAL:
            return self.catalog
        if (ref.catName or _CATALOG) != _CATALOG:
            return None
        if ref.objectType == _Type.DATABASE:
            return self.schemas.get(ref.dbName)
        leaf = self.leaves.get((ref.dbName, ref.objectName))
        if ref.objectType == _Type.TABLE:
            return leaf
        if (
            ref.objectType == _Type.COLUMN
            and not ref.partValues
            and leaf is not None
            and leaf.type is _T.TABLE
        ):
            return Securable(_T.COLUMN, (*leaf.path, ref.columnName))
        return None


class _Hand:
    """Makes changes one call at a time: there are no transactions over several."""

    def __init__(self, client: Any) -> None:
        self.client = client

    def make(self, change: Change) -> Applied:
        try:
            for fact, holds in ((change.before, False), (change.after, True)):
                if fact is not None and not (isinstance(fact, Owner) and not holds and change.after):
                    answer = self._one(fact, holds)
                    if answer is not None:
                        return answer
        except TTransport.TTransportException:
            raise
        except TException as error:
            return Applied(Outcome.FAILED, _told(error))
        except IllegalArgument as error:
            return Applied(Outcome.FAILED, str(error))
        return Applied(Outcome.APPLIED)

    def _one(self, fact: Fact, holds: bool) -> Applied | None:
        match fact:
            case Known(principal) if principal.kind is Kind.ROLE:
                self._role(principal.name, holds)
            case Member(of, who) if of.kind is Kind.ROLE:
                self._member(of, who, holds)
            case Grant(_, _, _, Condition.DENY):
                return Applied(Outcome.UNSUPPORTED, "there is no deny")
            case Grant():
                self._grant(fact, holds)
            case Owner(object, principal):
                return self._own(object, principal if holds else None)
            case _:
                return Applied(Outcome.UNSUPPORTED, "there is no such thing")
        return None

    def _role(self, name: str, exists: bool) -> None:
        if name != name.lower() or name in (_ADMIN, EVERYONE.name):
            raise IllegalArgument(
                f"a role cannot be called '{name}' here", hint="map it to another name in lower case"
            )
        there = name in self.client.get_role_names()
        if exists and not there:
            self.client.create_role(hive.Role(roleName=name, createTime=0, ownerName=_GRANTOR))
        elif there and not exists:
            self.client.drop_role(name)

    def _member(self, of: Principal, who: Principal, holds: bool) -> None:
        name, type = _native(who)
        request = hive.GetPrincipalsInRoleRequest(of.name)
        found = self.client.get_principals_in_role(request).principalGrants
        if holds is any((entry.principalName, entry.principalType) == (name, type) for entry in found):
            return
        word = hive.GrantRevokeType.GRANT if holds else hive.GrantRevokeType.REVOKE
        self.client.grant_revoke_role(
            hive.GrantRevokeRoleRequest(
                word, of.name, name, type, grantor=_GRANTOR, grantorType=_KINDS[Kind.USER], grantOption=False
            )
        )

    def _grant(self, fact: Grant, holds: bool) -> None:
        name, type = _native(fact.holder)
        ref = _ref(fact.object)
        rows = [
            row.grantInfo
            for row in self.client.list_privileges(name, type, ref)
            if row.grantInfo.privilege.upper() == fact.privilege and _same(row.hiveObject, ref)
        ]
        if not holds:
            # A word may be stored in any case and by several grantors.
            for row in rows:
                self._rows(hive.GrantRevokeType.REVOKE, name, type, ref, row)
        elif not any(bool(row.grantOption) is fact.option for row in rows):
            row = hive.PrivilegeGrantInfo(
                fact.privilege, 0, grantor=_GRANTOR, grantorType=_KINDS[Kind.USER], grantOption=fact.option
            )
            self._rows(hive.GrantRevokeType.GRANT, name, type, ref, row)

    def _rows(self, word: int, name: str, type: int, ref: Any, row: Any) -> None:
        entry = hive.HiveObjectPrivilege(ref, name, type, row, authorizer="SQL")
        bag = hive.PrivilegeBag(privileges=[entry])
        self.client.grant_revoke_privileges(hive.GrantRevokePrivilegeRequest(word, bag))

    def _own(self, object: Securable, principal: Principal | None) -> Applied | None:
        name, type = _native(principal) if principal is not None else (None, None)
        if object.type is _T.SCHEMA and name is not None:
            database = self.client.get_database(object.path[1])
            database.ownerName, database.ownerType = name, type
            self.client.alter_database(object.path[1], database)
        elif object.type in (_T.TABLE, _T.VIEW):
            request = hive.GetTableRequest(dbName=object.path[1], tblName=object.path[2])
            table = self.client.get_table_req(request).table
            table.owner, table.ownerType = name, type
            self.client.alter_table(object.path[1], object.path[2], table)
        elif object.type is _T.FUNCTION and name is not None:
            function = self.client.get_function(object.path[1], object.path[2])
            function.ownerName, function.ownerType = name, type
            self.client.alter_function(object.path[1], object.path[2], function)
        elif name is None:
            return Applied(Outcome.UNSUPPORTED, f"a {object.type} cannot be left without its owner")
        else:
            return Applied(Outcome.UNSUPPORTED, f"a {object.type} has no owner here")
        return None


def _native(principal: Principal) -> tuple[str, int]:
    """A name and a type as the metastore keeps them."""
    if principal == EVERYONE:
        return EVERYONE.name, _KINDS[Kind.ROLE]
    if principal.kind is Kind.ROLE and principal.name in (_ADMIN, EVERYONE.name):
        raise IllegalArgument(f"the role '{principal.name}' is the metastore's own", hint="map it to another")
    return principal.name, _KINDS[principal.kind]


def _ref(object: Securable) -> Any:
    path = (*object.path[1:], None, None, None)
    types = {
        _T.CATALOG: _Type.GLOBAL,
        _T.SCHEMA: _Type.DATABASE,
        _T.TABLE: _Type.TABLE,
        _T.VIEW: _Type.TABLE,
        _T.COLUMN: _Type.COLUMN,
    }
    if object.type not in types:
        raise IllegalArgument(f"a {object.type} cannot be granted on in a metastore")
    if object.type is _T.CATALOG:
        return hive.HiveObjectRef(_Type.GLOBAL)
    return hive.HiveObjectRef(types[object.type], path[0], path[1], None, path[2], _CATALOG)


def _same(found: Any, wanted: Any) -> bool:
    fields: Iterable[str] = ("objectType", "dbName", "objectName", "columnName")
    return not found.partValues and all(getattr(found, f) == getattr(wanted, f) for f in fields)


def _place(ref: Any) -> str:
    parts = (ref.catName, ref.dbName, ref.objectName, *(ref.partValues or ()), ref.columnName)
    return ".".join(part for part in parts if part)


def _told(error: TException) -> str:
    return f"{type(error).__name__}: {getattr(error, 'message', None) or error}"
