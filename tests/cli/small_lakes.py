"""Small metalakes on a running server: a catalog with two tables, and somebody who reads one of them."""

from tests.real.server import RunningServer


def with_tables(server: RunningServer, lake: str, *users: str) -> None:
    """A metalake with these users and the tables `c.s.orders` and `c.s.others`, each of one column."""
    server.must("admin", "POST", "/api/metalakes", {"name": lake})
    at = f"/api/metalakes/{lake}"
    for user in users:
        server.must("admin", "POST", f"{at}/users", {"name": user})
    catalog = {"name": "c", "type": "relational", "provider": "lakehouse-iceberg", "properties": {}}
    server.must("admin", "POST", f"{at}/catalogs", catalog)
    server.must("admin", "POST", f"{at}/catalogs/c/schemas", {"name": "s"})
    for table in ("orders", "others"):
        body = {"name": table, "columns": [{"name": "x", "type": "integer"}]}
        server.must("admin", "POST", f"{at}/catalogs/c/schemas/s/tables", body)


def with_a_reader(server: RunningServer, lake: str, table: str) -> None:
    """Ann reads a table of a metalake, by the role `reader`."""
    at = f"/api/metalakes/{lake}"
    server.must("admin", "POST", f"{at}/roles", {"name": "reader", "securableObjects": []})
    for object, privilege in (
        ("catalog/c", "use_catalog"),
        ("schema/c.s", "use_schema"),
        (f"table/c.s.{table}", "select_table"),
    ):
        body = {"privileges": [{"name": privilege, "condition": "allow"}]}
        server.must("admin", "PUT", f"{at}/permissions/roles/reader/{object}/grant", body)
    server.must("admin", "PUT", f"{at}/permissions/users/ann/grant", {"roleNames": ["reader"]})
