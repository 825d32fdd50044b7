"""Lake Formation's resources as an object and a word, and back.

``SELECT`` on a table is a grant on the table, ``SELECT ON ALL TABLES`` on a schema one on all its tables, present and future.
Any other resource is written out behind the word, so that it can be shown, revoked and granted again as it was.
"""

import json
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from headgate.model.errors import IllegalArgument
from headgate.model.objects import ObjectType, clip
from headgate.sync.snapshots.facts import Securable

_T = ObjectType

_ON: Final = " ON "
_ALL_TABLES: Final = "ALL TABLES"


class ResourcePermission(msgspec.Struct, frozen=True):
    """One permission on one resource, and to whom."""

    permission: str
    resource: dict[str, Any]
    condition: dict[str, Any] | None = None
    holder: str = ""
    option: bool = False

    def to(self, holder: str, option: bool) -> "ResourcePermission":
        return msgspec.structs.replace(self, holder=holder, option=option)

    @property
    def arguments(self) -> dict[str, Any]:
        found: dict[str, Any] = {
            "Principal": {"DataLakePrincipalIdentifier": self.holder},
            "Resource": self.resource,
            "Permissions": [self.permission],
        }
        if self.option:
            found["PermissionsWithGrantOption"] = [self.permission]
        if self.condition:
            found["Condition"] = self.condition
        return found


class Words:
    """The words of one account's data catalog."""

    def __init__(self, account: str, catalog: str) -> None:
        self.account = account
        self.catalog = Securable(_T.CATALOG, (catalog,))
        self.views: set[tuple[str, ...]] = set()
        """The paths that were last seen to be views; Lake Formation itself does not tell them from tables."""

    def schema(self, name: str) -> Securable:
        return Securable(_T.SCHEMA, (*self.catalog.path, name))

    # -- from the wire -------------------------------------------------------------------------------------------

    def parse(
        self, permission: str, resource: dict[str, Any], condition: dict[str, Any] | None
    ) -> Iterator[tuple[Securable, str]]:
        """The objects and the words that an entry comes to; more than one where it names columns."""
        ((kind, body),) = resource.items()
        plain = not condition and body.get("CatalogId", self.account) == self.account
        if plain and kind == "Catalog" and body.get("Id", self.account) == self.account:
            yield self.catalog, permission
        elif plain and kind == "Database":
            yield self.schema(body["Name"]), permission
        elif plain and self._all_tables(kind, body):
            yield self.schema(body["DatabaseName"]), f"{permission}{_ON}{_ALL_TABLES}"
        elif plain and kind == "Table":
            yield self.table(body["DatabaseName"], body["Name"]), permission
        elif plain and kind == "TableWithColumns" and self._all_columns(body):
            # The service may list a grant on a whole table as one on all its columns.
            yield self.table(body["DatabaseName"], body["Name"]), permission
        elif plain and kind == "TableWithColumns" and self._named_columns(body):
            path = self.table(body["DatabaseName"], body["Name"]).path
            for column in body["ColumnNames"]:
                yield Securable(_T.COLUMN, (*path, column)), permission
        else:
            yield self._nearest(kind, body), _written(permission, resource, condition)

    def _all_tables(self, kind: str, body: dict[str, Any]) -> bool:
        """The name for all tables of a database. The service may list a SELECT on them as all columns of a table of this name."""
        if kind == "TableWithColumns":
            return body["Name"] == "ALL_TABLES" and self._all_columns(body)
        return kind == "Table" and body.get("TableWildcard") is not None

    def table(self, database: str, name: str) -> Securable:
        path = (*self.catalog.path, database, name)
        return Securable(_T.VIEW if path in self.views else _T.TABLE, path)

    def _all_columns(self, body: dict[str, Any]) -> bool:
        wildcard = body.get("ColumnWildcard")
        return wildcard is not None and not wildcard.get("ExcludedColumnNames")

    def _named_columns(self, body: dict[str, Any]) -> bool:
        return bool(body.get("ColumnNames")) and (
            self.table(body["DatabaseName"], body["Name"]).type is _T.TABLE
        )

    def _nearest(self, kind: str, body: dict[str, Any]) -> Securable:
        own = body.get("CatalogId", body.get("TableCatalogId", self.account)) == self.account
        if own and kind in ("DataCellsFilter", "TableWithColumns", "Table"):
            name = body.get("TableName") or body.get("Name")
            if name and body.get("TableWildcard") is None:
                return self.table(body["DatabaseName"], name)
        return self.catalog

    # -- to the wire ---------------------------------------------------------------------------------------------

    def render(self, object: Securable, word: str) -> ResourcePermission:
        """The entry that an object and a word stand for."""
        permission, _, on = word.partition(_ON)
        if on.startswith("{"):
            written = json.loads(on)
            return ResourcePermission(permission, written["Resource"], written.get("Condition"))
        path = object.path[1:]
        place: dict[str, Any] = {"CatalogId": self.account}
        match object.type:
            case _T.CATALOG if not on:
                return ResourcePermission(permission, {"Catalog": {}})
            case _T.SCHEMA if on == _ALL_TABLES:
                return ResourcePermission(
                    permission, {"Table": {**place, "DatabaseName": path[0], "TableWildcard": {}}}
                )
            case _T.SCHEMA if not on:
                return ResourcePermission(permission, {"Database": {**place, "Name": path[0]}})
            case _T.TABLE | _T.VIEW if not on:
                return ResourcePermission(
                    permission, {"Table": {**place, "DatabaseName": path[0], "Name": path[1]}}
                )
            case _T.COLUMN if not on:
                body = {**place, "DatabaseName": path[0], "Name": path[1], "ColumnNames": [path[2]]}
                return ResourcePermission(permission, {"TableWithColumns": body})
        raise IllegalArgument(f"'{clip(word)}' cannot be granted on a {object.type}", about="sync")


def _written(permission: str, resource: dict[str, Any], condition: dict[str, Any] | None) -> str:
    whole: dict[str, Any] = {"Resource": resource}
    if condition:
        whole["Condition"] = condition
    return f"{permission}{_ON}{json.dumps(whole, sort_keys=True, separators=(',', ':'))}"
