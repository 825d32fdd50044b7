"""What Gravitino's own client suites rely on beyond access control; runs in the client's environment.

``python gravitino_suites.py URL`` prints one line of JSON per call. The server has a user `admin` who is service admin.
Nothing of Headgate is imported.
"""

import json
import os
import sys
from collections.abc import Callable
from typing import Any

from gravitino import GravitinoAdminClient, GravitinoClient, NameIdentifier
from gravitino.api.authorization.owner import Owner
from gravitino.api.authorization.privileges import CreateCatalog, SelectTable, UseCatalog
from gravitino.api.authorization.securable_objects import SecurableObjects
from gravitino.api.catalog import Catalog
from gravitino.api.catalog_change import CatalogChange
from gravitino.api.file.fileset import Fileset
from gravitino.api.file.fileset_change import FilesetChange
from gravitino.api.metadata_object import MetadataObject
from gravitino.api.metadata_objects import MetadataObjects
from gravitino.api.metalake_change import MetalakeChange
from gravitino.api.model_change import ModelChange
from gravitino.api.rel.column import Column
from gravitino.api.rel.table_change import TableChange
from gravitino.api.rel.types.types import Types
from gravitino.api.stats.statistic_values import StatisticValues
from gravitino.api.tag.tag_change import TagChange
from gravitino.auth.simple_auth_provider import SimpleAuthProvider

os.environ["GRAVITINO_USER"] = "admin"
LOGIN = {"uri": sys.argv[1], "auth_data_provider": SimpleAuthProvider()}


def tell(name: str, call: Callable[[], Any]) -> None:
    try:
        told = call()
    except Exception as error:
        told = type(error).__name__
    print(json.dumps([name, told]), flush=True)


def names(client: GravitinoClient) -> None:
    """AccessControlIT names people and roles with a number sign."""
    user, group, role = "user1#123", "group1#123", "role#123"
    tell("user", lambda: [client.add_user(user).name(), client.get_user(user).name()])
    tell("group", lambda: [client.add_group(group).name(), client.get_group(group).name()])
    may = [SecurableObjects.of_metalake("lake", [CreateCatalog.allow()])]
    tell("role", lambda: [client.create_role(role, None, may).name(), client.get_role(role).name()])
    tell("user holds", lambda: client.grant_roles_to_user([role], user).roles())
    tell("group holds", lambda: client.grant_roles_to_group([role], group).roles())
    lake = MetadataObjects.of(["lake"], MetadataObject.Type.METALAKE)
    tell("privilege", lambda: client.grant_privileges_to_role(role, lake, [UseCatalog.allow()]).name())
    owned = MetadataObjects.of(["cat"], MetadataObject.Type.CATALOG)
    client.set_owner(owned, user, Owner.Type.USER)
    tell("owner", lambda: client.get_owner(owned).name())
    client.set_owner(owned, "admin", Owner.Type.USER)
    tell("user gone", lambda: [client.remove_user(user), client.remove_user(user)])
    tell("group gone", lambda: client.remove_group(group))
    tell("role gone", lambda: [client.delete_role(role), client.list_role_names()])


def comments(admin: GravitinoAdminClient, client: GravitinoClient, table: NameIdentifier) -> None:
    """A comment that is updated to null is there no more."""
    alter = admin.alter_metalake("lake", MetalakeChange.update_comment(None))
    tell("metalake comment", lambda: [alter.comment(), admin.load_metalake("lake").comment()])
    client.alter_catalog("cat", CatalogChange.update_comment(None))
    tell("catalog comment", lambda: client.load_catalog("cat").comment())
    tables = client.load_catalog("cat").as_table_catalog()
    tell("table comment", lambda: tables.alter_table(table, TableChange.update_comment(None)).comment())
    client.create_tag("t", "a comment", {})
    tell("tag comment", lambda: client.alter_tag("t", TagChange.update_comment(None)).comment())
    files = client.create_catalog("files", Catalog.Type.FILESET, "fileset", "files", {})
    files.as_schemas().create_schema("s", "", {})
    fileset = NameIdentifier.of("s", "f")
    sets = files.as_fileset_catalog()
    sets.create_fileset(fileset, "a comment", Fileset.Type.MANAGED, None, {})
    altered = lambda: sets.alter_fileset(fileset, FilesetChange.update_comment(None)).comment()
    tell("fileset comment", lambda: [altered(), sets.load_fileset(fileset).comment()])
    models = client.create_catalog("models", Catalog.Type.MODEL, "model", "models", {})
    models.as_schemas().create_schema("s", "", {})
    model = NameIdentifier.of("s", "m")
    held = models.as_model_catalog()
    held.register_model(model, "a comment", {})
    held.alter_model(model, ModelChange.update_comment(None))
    tell("model comment", lambda: held.get_model(model).comment())


def tags(table: Any) -> None:
    """Tags that are not there are passed over."""
    on = table.supports_tags()
    tell("tags added", lambda: on.associate_tags(["t", "none"], []))
    tell("tags removed", lambda: on.associate_tags([], ["none"]))
    tell("tags left", lambda: on.associate_tags([], ["t", "none"]))


def statistics(table: Any) -> None:
    held = table.supports_statistics()
    tell("statistic", lambda: held.update_statistics({"custom-k": StatisticValues.long_value(1)}))
    tell("statistic of ours", lambda: held.update_statistics({"k": StatisticValues.long_value(1)}))
    tell("statistics", lambda: [statistic.name() for statistic in held.list_statistics()])


def order(admin: GravitinoAdminClient, client: GravitinoClient) -> None:
    """Which of two errors is told."""
    client.create_role("r", None, [])
    nothing = MetadataObjects.of(["none"], MetadataObject.Type.CATALOG)
    wrong = lambda: client.grant_privileges_to_role("r", nothing, [CreateCatalog.allow()])
    tell("privilege of another type on nothing", wrong)
    right = lambda: client.grant_privileges_to_role("r", nothing, [SelectTable.allow()])
    tell("privilege on nothing", right)
    schemas = client.load_catalog("cat").as_schemas()
    tell("schema missing", lambda: schemas.load_schema("none"))
    admin.disable_metalake("lake")
    tell("schema missing while not in use", lambda: schemas.load_schema("none"))
    admin.enable_metalake("lake")


def nested(client: GravitinoClient) -> None:
    schemas = client.load_catalog("cat").as_schemas()
    tell("nested", lambda: schemas.create_schema("A:B:C", "deep", {"k": "v"}).name())
    tell("nested again", lambda: schemas.create_schema("A:B:C", "deep", {}).name())
    tell("parents", lambda: [schemas.load_schema(name).comment() for name in ("A", "A:B", "A:B:C")])
    tell("listed", lambda: [schemas.list_schemas(), schemas.list_schemas("A"), schemas.list_schemas("A:B")])
    owner = lambda name: client.get_owner(
        MetadataObjects.of(["cat", name], MetadataObject.Type.SCHEMA)
    ).name()
    tell("owners", lambda: [owner(name) for name in ("A", "A:B", "A:B:C")])


def main() -> None:
    admin = GravitinoAdminClient(**LOGIN)
    admin.create_metalake("lake", "the lake", {})
    client = GravitinoClient(metalake_name="lake", **LOGIN)
    catalog = client.create_catalog("cat", Catalog.Type.RELATIONAL, "lakehouse-iceberg", "tables", {})
    catalog.as_schemas().create_schema("s", "a schema", {})
    ident = NameIdentifier.of("s", "t")
    columns = [Column.of("id", Types.LongType.get())]
    made = catalog.as_table_catalog().create_table(ident, columns, "a table", {"k": "v"})
    tell("properties of a new table", made.properties)
    loaded = catalog.as_table_catalog().load_table(ident)
    tell("properties of a table", lambda: sorted(loaded.properties()))
    names(client)
    comments(admin, client, ident)
    tags(loaded)
    statistics(loaded)
    order(admin, client)
    nested(client)
    tell("job runs", lambda: client.run_job("none", {}))
    tell(
        "unread",
        lambda: client.alter_catalog("cat", CatalogChange.set_property("authorization-provider", "x")),
    )


main()
