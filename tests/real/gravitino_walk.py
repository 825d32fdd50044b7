"""The worked example of Gravitino's access control, walked with its own client; runs in the client's environment.

``python gravitino_walk.py URL CATALOGS`` prints one line of JSON per step: what was done, and how each attempt of someone who
may not do it ended. CATALOGS is JSON: provider and properties of the catalogs `hive` and `mysql`. Nothing of Headgate is
imported here.
"""

import json
import os
import sys
from collections.abc import Callable
from typing import Any

from gravitino import GravitinoAdminClient, GravitinoClient, NameIdentifier
from gravitino.api.authorization.owner import Owner
from gravitino.api.authorization.privileges import CreateCatalog, SelectTable, UseCatalog, UseSchema
from gravitino.api.authorization.securable_objects import SecurableObjects
from gravitino.api.catalog import Catalog
from gravitino.api.metadata_object import MetadataObject
from gravitino.api.metadata_objects import MetadataObjects
from gravitino.api.rel.column import Column
from gravitino.api.rel.types.types import Types
from gravitino.auth.simple_auth_provider import SimpleAuthProvider
from gravitino.namespace import Namespace

URL = sys.argv[1]
CATALOGS = json.loads(sys.argv[2])
LAKE = "lake"
USER, GROUP = Owner.Type.USER, Owner.Type.GROUP


def who(user: str) -> SimpleAuthProvider:
    os.environ["GRAVITINO_USER"] = user
    return SimpleAuthProvider()


def admin_client(user: str) -> GravitinoAdminClient:
    return GravitinoAdminClient(uri=URL, auth_data_provider=who(user))


def client(user: str) -> GravitinoClient:
    return GravitinoClient(uri=URL, metalake_name=LAKE, auth_data_provider=who(user))


def step(number: int, does: Callable[[], Any], **not_by: Callable[[], Any]) -> Any:
    """Let those who may not try, then do it; tell how each ended."""
    attempts = {name: attempt(attempted) for name, attempted in not_by.items()}
    result = does()
    print(json.dumps({"step": number, "attempts": attempts}), flush=True)
    return result


def attempt(attempted: Callable[[], Any]) -> str:
    try:
        attempted()
    except Exception as error:
        return type(error).__name__
    return "done"


def lake_object() -> MetadataObject:
    return MetadataObjects.of([LAKE], MetadataObject.Type.METALAKE)


def create_catalog(user: str, name: str) -> Catalog:
    declared = CATALOGS[name.removesuffix("_catalog")]
    return client(user).create_catalog(
        name, Catalog.Type.RELATIONAL, declared["provider"], "tables", declared["properties"]
    )


def create_schema(user: str, catalog: str, name: str) -> Any:
    return client(user).load_catalog(catalog).as_schemas().create_schema(name, "a schema", {})


def create_table(user: str, catalog: str, schema: str, name: str) -> Any:
    columns = [
        # Hive knows no columns that must have a value.
        Column.of("id", Types.LongType.get(), "the key"),
        Column.of("name", Types.StringType.get()),
    ]
    tables = client(user).load_catalog(catalog).as_table_catalog()
    return tables.create_table(NameIdentifier.of(schema, name), columns, "a table", {})


def load_table(user: str, catalog: str, schema: str, name: str) -> Any:
    tables = client(user).load_catalog(catalog).as_table_catalog()
    return tables.load_table(NameIdentifier.of(schema, name))


def first_people() -> tuple[GravitinoClient, GravitinoClient, GravitinoClient]:
    """Steps 1 to 6: the metalake, Manager who owns it, Staff who may create catalogs, and Guest who may nothing."""
    lake = step(
        1,
        lambda: admin_client("admin").create_metalake(LAKE, "the lake", {}),
        manager=lambda: admin_client("Manager").create_metalake(LAKE, "mine", {}),
    )
    assert lake.name() == LAKE
    admin = client("admin")
    step(2, lambda: admin.add_user("Manager"), manager=lambda: client("Manager"))
    admin.add_user("Guest")
    step(
        3,
        lambda: admin.set_owner(lake_object(), "Manager", USER),
        manager=lambda: client("Manager").set_owner(lake_object(), "Manager", USER),
        guest=lambda: client("Guest").set_owner(lake_object(), "Guest", USER),
    )
    manager, guest = client("Manager"), client("Guest")
    owner = guest.get_owner(lake_object())
    assert owner is not None
    assert (owner.name(), owner.type()) == ("Manager", USER)
    step(
        4,
        lambda: manager.add_user("Staff"),
        guest=lambda: guest.add_user("Staff"),
        no_longer_owner=lambda: admin.add_user("Staff"),
        outsider=lambda: client("Staff"),
    )
    assert manager.list_user_names() == ["Guest", "Manager", "Staff", "admin"]
    assert guest.list_user_names() == ["Guest"]
    may = [SecurableObjects.of_metalake(LAKE, [CreateCatalog.allow()])]
    role = step(
        5,
        lambda: manager.create_role("catalog_manager", None, may),
        guest=lambda: guest.create_role("catalog_manager", None, may),
        staff=lambda: client("Staff").create_role("catalog_manager", None, may),
    )
    assert [o.full_name() for o in role.securable_objects()] == [LAKE]
    staff = client("Staff")
    step(
        6,
        lambda: manager.grant_roles_to_user(["catalog_manager"], "Staff"),
        guest=lambda: guest.grant_roles_to_user(["catalog_manager"], "Guest"),
        staff=lambda: staff.grant_roles_to_user(["catalog_manager"], "Staff"),
    )
    assert staff.get_user("Staff").roles() == ["catalog_manager"]
    return manager, staff, guest


def build(number: int, kind: str, staff: GravitinoClient) -> None:
    """Three steps: Staff creates a catalog, a schema and a table, and lets Guest come only as far as each."""
    catalog, schema, table = f"{kind}_catalog", f"{kind}_db", f"{kind}_table"
    step(
        number,
        lambda: create_catalog("Staff", catalog),
        guest=lambda: create_catalog("Guest", catalog),
        no_longer_owner=lambda: create_catalog("admin", catalog),
    )
    out_of_sight = attempt(lambda: client("Guest").load_catalog(catalog))
    assert out_of_sight == "ForbiddenException", out_of_sight
    staff.grant_privileges_to_role("guests", SecurableObjects.of_catalog(catalog, []), [UseCatalog.allow()])
    step(
        number + 1,
        lambda: create_schema("Staff", catalog, schema),
        guest=lambda: create_schema("Guest", catalog, schema),
        no_longer_owner=lambda: create_schema("admin", catalog, schema),
    )
    of_catalog = SecurableObjects.of_catalog(catalog, [])
    of_schema = SecurableObjects.of_schema(of_catalog, schema, [])
    staff.grant_privileges_to_role("guests", of_schema, [UseSchema.allow()])
    step(
        number + 2,
        lambda: create_table("Staff", catalog, schema, table),
        guest=lambda: create_table("Guest", catalog, schema, table),
        no_longer_owner=lambda: create_table("admin", catalog, schema, table),
    )


def main() -> None:
    manager, staff, guest = first_people()
    manager.create_role("guests", None, [])
    manager.grant_roles_to_user(["guests"], "Guest")
    build(7, "hive", staff)
    build(10, "mysql", staff)
    both = [("hive_catalog", "hive_db", "hive_table"), ("mysql_catalog", "mysql_db", "mysql_table")]
    loaded = step(
        13,
        lambda: [load_table("Staff", *names) for names in both],
        guest_hive=lambda: load_table("Guest", *both[0]),
        guest_mysql=lambda: load_table("Guest", *both[1]),
        outsider=lambda: client("Nobody"),
        no_longer_owner=lambda: load_table("admin", *both[0]),
    )
    assert [[column.name() for column in table.columns()] for table in loaded] == [["id", "name"]] * 2
    one_by_one(manager, staff, guest, both[0])


def one_by_one(
    manager: GravitinoClient, staff: GravitinoClient, guest: GravitinoClient, names: tuple[str, str, str]
) -> None:
    """Beyond the example: a grant opens the table for Guest, a deny and a revoke close it again, at once."""
    catalog, schema, table = names
    of_catalog = SecurableObjects.of_catalog(catalog, [])
    of_table = SecurableObjects.of_table(SecurableObjects.of_schema(of_catalog, schema, []), table, [])
    seen = guest.load_catalog(catalog).as_table_catalog()

    def visible() -> tuple[str, list[str]]:
        there = [found.name() for found in seen.list_tables(Namespace.of(schema))]
        return attempt(lambda: load_table("Guest", *names)), there

    story = [visible()]
    staff.grant_privileges_to_role("guests", of_table, [SelectTable.allow()])
    story.append(visible())
    staff.grant_privileges_to_role("guests", of_catalog, [SelectTable.deny()])
    story.append(visible())
    staff.revoke_privileges_from_role("guests", of_catalog, [SelectTable.allow()])
    story.append(visible())
    staff.revoke_privileges_from_role("guests", of_catalog, [SelectTable.deny()])
    story.append(visible())
    manager.revoke_roles_from_user(["guests"], "Guest")
    story.append((attempt(lambda: load_table("Guest", *names)), []))
    removed = [manager.remove_user("Guest"), manager.remove_user("Guest")]
    gone = attempt(lambda: client("Guest"))
    print(json.dumps({"story": story, "removed": removed, "gone": gone}), flush=True)


main()
