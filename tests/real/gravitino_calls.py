"""Every access-control call of Gravitino's client; runs in the client's environment, prints one line of JSON per call.

``python gravitino_calls.py URL``. The server has a user `admin` who is service admin. Nothing of Headgate is imported.
"""

import json
import os
import sys
from collections.abc import Callable
from typing import Any

from gravitino import GravitinoAdminClient, GravitinoClient
from gravitino.api.authorization import privileges as p
from gravitino.api.authorization.owner import Owner
from gravitino.api.authorization.securable_objects import SecurableObjects
from gravitino.api.catalog import Catalog
from gravitino.api.metadata_object import MetadataObject
from gravitino.api.metadata_objects import MetadataObjects
from gravitino.auth.simple_auth_provider import SimpleAuthProvider
from gravitino.client.metadata_object_role_operations import MetadataObjectRoleOperations

os.environ["GRAVITINO_USER"] = "admin"
LOGIN = {"uri": sys.argv[1], "auth_data_provider": SimpleAuthProvider()}


def tell(name: str, call: Callable[[], Any]) -> None:
    try:
        told = call()
    except Exception as error:
        told = type(error).__name__
    print(json.dumps([name, told]), flush=True)


def said(role: Any) -> dict[str, list[str]]:
    """What a role says, by object: names of privileges, a bang before those denied."""
    return {
        f"{o.type().name} {o.full_name()}": [
            ("!" if privilege.condition().name == "DENY" else "") + privilege.name().name
            for privilege in o.privileges()
        ]
        for o in role.securable_objects()
    }


def owner_of(client: GravitinoClient, names: list[str], type: MetadataObject.Type) -> list[str] | None:
    owner = client.get_owner(MetadataObjects.of(names, type))
    return None if owner is None else [owner.name(), owner.type().name]


def users_and_groups(client: GravitinoClient) -> None:
    tell("add user", lambda: client.add_user("ann@example.com").name())
    tell("add user again", lambda: client.add_user("ann@example.com").name())
    tell("get user", lambda: client.get_user("ann@example.com").name())
    tell("get user missing", lambda: client.get_user("bob").name())
    tell("list users", lambda: [[user.name(), user.roles()] for user in client.list_users()])
    tell("list user names", client.list_user_names)
    tell("add group", lambda: client.add_group("eu/devs").name())
    tell("add group again", lambda: client.add_group("eu/devs").name())
    tell("get group", lambda: client.get_group("eu/devs").name())
    tell("get group missing", lambda: client.get_group("ops").name())
    tell("list groups", lambda: [[group.name(), group.roles()] for group in client.list_groups()])
    tell("list group names", client.list_group_names)


def roles(client: GravitinoClient) -> None:
    catalog = SecurableObjects.of_catalog("cat", [p.UseCatalog.allow(), p.CreateSchema.deny()])
    tell("create role", lambda: said(client.create_role("r", {"k": "v"}, [catalog])))
    tell("create role again", lambda: said(client.create_role("r", None, [])))
    nowhere = SecurableObjects.of_catalog("none", [p.UseCatalog.allow()])
    tell("create role on nothing", lambda: said(client.create_role("x", None, [nowhere])))
    other = SecurableObjects.of_catalog("cat", [p.ConsumeTopic.allow()])
    tell("create role of another type", lambda: said(client.create_role("x", None, [other])))
    tell("get role", lambda: [said(client.get_role("r")), client.get_role("r").properties()])
    tell("get role missing", lambda: said(client.get_role("x")))
    tell("list roles", client.list_role_names)
    of_catalog = MetadataObjectRoleOperations("lake", catalog, client._rest_client)
    tell("roles of object", of_catalog.list_binding_role_names)
    lake = SecurableObjects.of_metalake("lake", [])
    every = [getattr(p, name) for name in dir(p) if isinstance(getattr(p, name), type)]
    all_of_them = [
        k.allow() for k in every if issubclass(k, p.GenericPrivilege) and k is not p.GenericPrivilege
    ]
    tell(
        "grant all privileges",
        lambda: len(said(client.grant_privileges_to_role("r", lake, all_of_them))["METALAKE lake"]),
    )
    tell("revoke all privileges", lambda: said(client.revoke_privileges_from_role("r", lake, all_of_them)))
    tell(
        "grant to missing role",
        lambda: said(client.grant_privileges_to_role("x", lake, [p.UseCatalog.allow()])),
    )
    missing = SecurableObjects.of_catalog("none", [])
    tell(
        "grant on nothing",
        lambda: said(client.grant_privileges_to_role("r", missing, [p.UseCatalog.allow()])),
    )
    tell(
        "grant wrongly", lambda: said(client.grant_privileges_to_role("r", catalog, [p.ManageUsers.allow()]))
    )
    tell("grant role to user", lambda: client.grant_roles_to_user(["r"], "ann@example.com").roles())
    tell("grant missing role", lambda: client.grant_roles_to_user(["x"], "ann@example.com").roles())
    tell("grant role to nobody", lambda: client.grant_roles_to_user(["r"], "bob").roles())
    tell("revoke role from user", lambda: client.revoke_roles_from_user(["r"], "ann@example.com").roles())
    tell("grant role to group", lambda: client.grant_roles_to_group(["r"], "eu/devs").roles())
    tell("grant role to no group", lambda: client.grant_roles_to_group(["r"], "ops").roles())
    tell("revoke role from group", lambda: client.revoke_roles_from_group(["r"], "eu/devs").roles())
    tell("delete role", lambda: [client.delete_role("r"), client.delete_role("r")])


def owners(client: GravitinoClient) -> None:
    lake, catalog = MetadataObject.Type.METALAKE, MetadataObject.Type.CATALOG
    tell("owner of metalake", lambda: owner_of(client, ["lake"], lake))
    tell(
        "set owner",
        lambda: client.set_owner(MetadataObjects.of(["cat"], catalog), "eu/devs", Owner.Type.GROUP),
    )
    tell("owner of catalog", lambda: owner_of(client, ["cat"], catalog))
    tell("owner of nothing", lambda: owner_of(client, ["none"], catalog))
    tell(
        "owner missing",
        lambda: client.set_owner(MetadataObjects.of(["cat"], catalog), "bob", Owner.Type.USER),
    )
    tell("remove group", lambda: [client.remove_group("eu/devs"), client.remove_group("eu/devs")])
    tell("no owner", lambda: owner_of(client, ["cat"], catalog))
    tell(
        "remove user", lambda: [client.remove_user("ann@example.com"), client.remove_user("ann@example.com")]
    )


GravitinoAdminClient(**LOGIN).create_metalake("lake", "", {})
admin = GravitinoClient(metalake_name="lake", **LOGIN)
admin.create_catalog("cat", Catalog.Type.RELATIONAL, "lakehouse-iceberg", "", {})
users_and_groups(admin)
roles(admin)
owners(admin)
