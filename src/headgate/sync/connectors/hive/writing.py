"""How changes of facts are made in a Hive Metastore."""

from collections.abc import Iterable
from typing import Any, Final

from pymetastore.hive_metastore import ttypes as hive
from thrift.Thrift import TException
from thrift.transport import TTransport

from headgate.model.errors import IllegalArgument
from headgate.model.objects import ObjectType
from headgate.model.privileges import Condition
from headgate.sync.connectors.hive.reading import ADMIN, CATALOG, EVERYONE, KINDS, HiveType
from headgate.sync.pushing.results import Applied, Change, Outcome
from headgate.sync.snapshots.facts import (
    Fact,
    GrantFact,
    Kind,
    Known,
    MemberFact,
    OwnerFact,
    Principal,
    Securable,
)

_T = ObjectType
_GRANTOR: Final = "headgate"


class HiveWriter:
    """Makes changes one call at a time: there are no transactions over several."""

    def __init__(self, client: Any) -> None:
        self.client = client

    def make(self, change: Change) -> Applied:
        try:
            for fact, holds in ((change.before, False), (change.after, True)):
                if fact is not None and not (isinstance(fact, OwnerFact) and not holds and change.after):
                    answer = self._one(fact, holds)
                    if answer is not None:
                        return answer
        except TTransport.TTransportException:
            raise
        except TException as error:
            return Applied(Outcome.FAILED, message(error))
        except IllegalArgument as error:
            return Applied(Outcome.FAILED, str(error))
        return Applied(Outcome.APPLIED)

    def _one(self, fact: Fact, holds: bool) -> Applied | None:
        match fact:
            case Known(principal) if principal.kind is Kind.ROLE:
                self._role(principal.name, holds)
            case MemberFact(of, who) if of.kind is Kind.ROLE:
                self._member(of, who, holds)
            case GrantFact(_, _, _, Condition.DENY):
                return Applied(Outcome.UNSUPPORTED, "there is no deny")
            case GrantFact():
                self._grant(fact, holds)
            case OwnerFact(object, principal):
                return self._own(object, principal if holds else None)
            case _:
                return Applied(Outcome.UNSUPPORTED, "there is no such thing")
        return None

    def _role(self, name: str, exists: bool) -> None:
        if name != name.lower() or name in (ADMIN, EVERYONE.name):
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
                word, of.name, name, type, grantor=_GRANTOR, grantorType=KINDS[Kind.USER], grantOption=False
            )
        )

    def _grant(self, fact: GrantFact, holds: bool) -> None:
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
                fact.privilege, 0, grantor=_GRANTOR, grantorType=KINDS[Kind.USER], grantOption=fact.option
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
        return EVERYONE.name, KINDS[Kind.ROLE]
    if principal.kind is Kind.ROLE and principal.name in (ADMIN, EVERYONE.name):
        raise IllegalArgument(f"the role '{principal.name}' is the metastore's own", hint="map it to another")
    return principal.name, KINDS[principal.kind]


def _ref(object: Securable) -> Any:
    path = (*object.path[1:], None, None, None)
    types = {
        _T.CATALOG: HiveType.GLOBAL,
        _T.SCHEMA: HiveType.DATABASE,
        _T.TABLE: HiveType.TABLE,
        _T.VIEW: HiveType.TABLE,
        _T.COLUMN: HiveType.COLUMN,
    }
    if object.type not in types:
        raise IllegalArgument(f"a {object.type} cannot be granted on in a metastore")
    if object.type is _T.CATALOG:
        return hive.HiveObjectRef(HiveType.GLOBAL)
    return hive.HiveObjectRef(types[object.type], path[0], path[1], None, path[2], CATALOG)


def _same(found: Any, wanted: Any) -> bool:
    fields: Iterable[str] = ("objectType", "dbName", "objectName", "columnName")
    return not found.partValues and all(getattr(found, f) == getattr(wanted, f) for f in fields)


def message(error: TException) -> str:
    return f"{type(error).__name__}: {getattr(error, 'message', None) or error}"
