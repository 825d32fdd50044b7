"""Privileges as Gravitino's document has them, through its own client; runs in the client's environment.

``python gravitino_privileges.py URL`` prints one line of JSON per call. The server runs with ``--dev``, its service admin is
`admin`. Nothing of Headgate is imported.
"""

import json
import os
import sys
from collections.abc import Callable
from typing import Any

from gravitino import GravitinoAdminClient, GravitinoClient, NameIdentifier
from gravitino.api.authorization import privileges as p
from gravitino.api.authorization.owner import Owner
from gravitino.api.authorization.securable_objects import SecurableObjects
from gravitino.api.catalog import Catalog
from gravitino.api.metadata_object import MetadataObject
from gravitino.api.metadata_objects import MetadataObjects
from gravitino.api.rel.column import Column
from gravitino.api.rel.types.types import Types
from gravitino.auth.simple_auth_provider import SimpleAuthProvider

URL = sys.argv[1]


def login(user: str) -> dict[str, Any]:
    os.environ["GRAVITINO_USER"] = user
    return {"uri": URL, "auth_data_provider": SimpleAuthProvider()}


def client(user: str) -> GravitinoClient:
    return GravitinoClient(metalake_name="lake", **login(user))


def tell(name: str, call: Callable[[], Any]) -> None:
    try:
        told = call()
    except Exception as error:
        told = type(error).__name__
    print(json.dumps([name, told]), flush=True)


def said(role: Any) -> dict[str, list[str]]:
    return {
        f"{o.type().name} {o.full_name()}": sorted(each.name().name for each in o.privileges())
        for o in role.securable_objects()
    }


def hold(user: str, role: str, *securables: Any) -> None:
    admin = client("admin")
    admin.create_role(role, {}, list(securables))
    admin.grant_roles_to_user([role], user)


nameless = {"uri": URL}
tell("admin loads none", lambda: GravitinoAdminClient(**login("admin")).load_metalake("none").name())
tell("admin drops none", lambda: GravitinoAdminClient(**login("admin")).drop_metalake("none"))
tell("ann loads none", lambda: GravitinoAdminClient(**login("ann")).load_metalake("none").name())
GravitinoAdminClient(**login("admin")).create_metalake("lake", "", {})
tell("nameless lists", lambda: len(GravitinoAdminClient(**nameless).list_metalakes()))
tell("nameless loads", lambda: GravitinoAdminClient(**nameless).load_metalake("lake").name())
admin = client("admin")
for name in ("ann", "bob", "cat", "anonymous"):
    admin.add_user(name)
tell("nameless is added", lambda: GravitinoAdminClient(**nameless).load_metalake("lake").name())

catalog = admin.create_catalog("c", Catalog.Type.RELATIONAL, "lakehouse-iceberg", "", {})
catalog.as_schemas().create_schema("s", "", {})
columns = [Column.of("id", Types.LongType.get())]
catalog.as_table_catalog().create_table(NameIdentifier.of("s", "t"), columns, "", {})
admin.create_role("spare", {}, [])

of_catalog = SecurableObjects.of_catalog("c", [])
of_schema = SecurableObjects.of_schema(of_catalog, "s", [])
of_table = SecurableObjects.of_table(of_schema, "t", [])
SELECT, MODIFY = [p.SelectTable.allow()], [p.ModifyTable.allow()]
lake = SecurableObjects.of_metalake("lake", [p.ManageGrants.allow()])

tell("ann grants before", lambda: said(client("ann").grant_privileges_to_role("spare", of_table, SELECT)))
hold("ann", "granting", lake)
tell("ann loads the catalog", lambda: client("ann").load_catalog("c").name())
tell("ann grants", lambda: said(client("ann").grant_privileges_to_role("spare", of_table, SELECT)))
tell("ann revokes", lambda: said(client("ann").revoke_privileges_from_role("spare", of_table, SELECT)))
schema = MetadataObjects.of(["c", "s"], MetadataObject.Type.SCHEMA)
tell("ann sets the owner", lambda: client("ann").set_owner(schema, "ann", Owner.Type.USER))

admin.set_owner(schema, "bob", Owner.Type.USER)
tell("bob grants", lambda: said(client("bob").grant_privileges_to_role("spare", of_schema, SELECT)))
tell("bob grants above", lambda: said(client("bob").grant_privileges_to_role("spare", of_catalog, SELECT)))
tell("bob loads the catalog", lambda: client("bob").load_catalog("c").name())
tell("bob passes it on", lambda: client("bob").set_owner(schema, "cat", Owner.Type.USER))
tell("owner of the schema", lambda: admin.get_owner(schema).name())
tell("bob has nothing left", lambda: client("bob").set_owner(schema, "bob", Owner.Type.USER))

ways = SecurableObjects.of_catalog("c", [p.UseCatalog.allow(), p.UseSchema.allow(), p.SelectTable.deny()])
hold("bob", "ways", ways)
table = NameIdentifier.of("s", "t")
tell("bob reads before", lambda: client("bob").load_catalog("c").as_table_catalog().load_table(table).name())
hold("bob", "modify", SecurableObjects.of_table(of_schema, "t", MODIFY))
tell("bob reads", lambda: client("bob").load_catalog("c").as_table_catalog().load_table(table).name())

tell(
    "create schema on a schema",
    lambda: said(admin.grant_privileges_to_role("spare", of_schema, [p.CreateSchema.allow()])),
)
tell(
    "create schema on a catalog",
    lambda: said(admin.grant_privileges_to_role("spare", of_catalog, [p.CreateSchema.allow()])),
)
