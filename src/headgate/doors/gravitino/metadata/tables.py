"""Tables: ``…/catalogs/{catalog}/schemas/{schema}/tables``."""

from typing import Any, Final

import msgspec

from headgate.decide import Op
from headgate.doors.gravitino import wire
from headgate.doors.routing import DoorCall, Routes
from headgate.model import tables as t
from headgate.model.errors import IllegalArgument
from headgate.model.objects import ObjectRef, ObjectType, clip
from headgate.model.privileges import Privilege
from headgate.model.secrets import without_secrets
from headgate.steward import Permit
from headgate.steward.metadata.tables import KeptTable
from headgate.steward.updates import checked_properties

routes = Routes("/api/metalakes/{metalake}/catalogs/{catalog}/schemas/{schema}/tables")

_table = wire.leaf(ObjectType.TABLE)

RESERVED: Final = frozenset({"provider", "format-version", "location", "current-snapshot-id"})
"""What the catalog says of a table in its properties, beside those that clients set."""


class CreateTable(msgspec.Struct, frozen=True, rename="camel"):
    """A table as clients ask for it; they send null for what they leave out."""

    name: str
    columns: tuple[t.TableColumn, ...]
    comment: str | None = None
    properties: dict[str, str] | None = None
    partitioning: tuple[t.Partitioning, ...] | None = None
    sort_orders: tuple[t.SortOrder, ...] | None = None
    distribution: t.Distribution | None = None
    indexes: tuple[t.Index, ...] | None = None

    def definition(self) -> t.TableDefinition:
        return t.TableDefinition(
            self.name,
            self.columns,
            self.comment,
            checked_properties(self.properties),
            self.partitioning or (),
            self.sort_orders or (),
            self.distribution or t.Distribution(),
            self.indexes or (),
        )


class AlterTable(msgspec.Struct, frozen=True):
    updates: tuple[t.TableChange, ...]


def shown(kept: KeptTable) -> dict[str, Any]:
    definition = kept.table.definition
    return wire.present(
        {
            "name": definition.name,
            "comment": definition.comment,
            "columns": [_column(column) for column in definition.columns],
            "properties": without_secrets(definition.properties),
            "partitioning": definition.partitioning,
            "sortOrders": definition.sort_orders,
            "distribution": definition.distribution,
            "indexes": definition.indexes,
            "audit": wire.audit(kept.audit),
        }
    )


def _column(column: t.TableColumn) -> dict[str, Any]:
    return wire.present(
        {
            "name": column.name,
            "type": column.type,
            "comment": column.comment,
            "nullable": column.nullable,
            "autoIncrement": column.auto_increment,
            "defaultValue": column.default_value,
        }
    )


@routes.on("GET", "", Op.LIST_TABLES, wire.schema, query=wire.PAGE)
def list_tables(call: DoorCall) -> Any:
    """List the tables of a schema that the caller may read or write."""
    found, token = wire.page(call, call.steward.tables.list(call.permit), lambda ref: ref.name)
    return wire.ok(identifiers=[wire.identifier(ref) for ref in found], nextPageToken=token)


@routes.on("POST", "", Op.CREATE_TABLE, wire.schema, body=CreateTable)
def create_table(call: DoorCall) -> Any:
    """Create a table."""
    body: CreateTable = call.body
    rendered = shown(call.steward.tables.create(call.permit, body.definition()))
    # Clients compare what they made with what they asked for; loading the table tells the rest.
    unasked = RESERVED - (body.properties or {}).keys()
    rendered["properties"] = {
        key: value for key, value in rendered["properties"].items() if key not in unasked
    }
    return wire.ok(table=rendered)


@routes.on("GET", "/{table}", Op.LOAD_TABLE, _table, query=("privileges",))
def load_table(call: DoorCall) -> Any:
    """Load a table; who asks for MODIFY_TABLE must be allowed to change it."""
    if Privilege.MODIFY_TABLE in _privileges(call.query.get("privileges")):
        call.ask(Op.ALTER_TABLE, call.permit.ref)
    return wire.ok(table=shown(call.steward.tables.load(call.permit)))


def _privileges(text: str | None) -> set[Privilege]:
    found: set[Privilege] = set()
    for word in text.split(",") if text else ():
        if word not in Privilege.__members__:
            raise IllegalArgument(
                f"'{clip(word)}' is not a privilege", hint="name privileges in upper case, joined by commas"
            )
        found.add(Privilege[word])
    return found


@routes.on("PUT", "/{table}", Op.ALTER_TABLE, _table, body=AlterTable)
def alter_table(call: DoorCall) -> Any:
    """Rename a table, change its columns, its comment or its properties."""
    body: AlterTable = call.body
    return wire.ok(
        table=shown(call.steward.tables.alter(call.permit, body.updates, _move(call, body.updates)))
    )


def _move(call: DoorCall, changes: tuple[t.TableChange, ...]) -> tuple[Permit, Permit] | None:
    """Permits for a table that goes to another schema: to drop it here and create it there."""
    here = call.permit.ref.parent
    target = next(
        (c.new_schema_name for c in changes if isinstance(c, t.RenameTable) and c.new_schema_name), None
    )
    if target is None or target == here.name:
        return None
    there = ObjectRef(here.metalake, ObjectType.SCHEMA, (*here.path[:-1], target))
    return call.ask(Op.DROP_TABLE, call.permit.ref), call.ask(Op.CREATE_TABLE, there)


@routes.on("DELETE", "/{table}", Op.DROP_TABLE, _table, query=("purge",), absent=wire.ok(dropped=False))
def drop_table(call: DoorCall) -> Any:
    """Drop a table; purge deletes its files as well."""
    call.steward.tables.drop(call.permit, purge=call.flag("purge"))
    return wire.ok(dropped=True)
