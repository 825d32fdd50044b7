"""Catalogs over the tables of databases, for tests."""

from pathlib import Path

from sqlalchemy import make_url

from headgate.catalogs.databases.relational.catalog import RelationalCatalog, relational_catalog
from headgate.store import Store
from tests.mariadb import Server
from tests.openings import opened

Properties = dict[str, str]


def on_postgres(url: str) -> Properties:
    parsed = make_url(url)
    return {
        "jdbc-url": f"jdbc:postgresql://{parsed.host}:{parsed.port}/{parsed.database}",
        "jdbc-user": parsed.username or "",
        "jdbc-password": "any words",
    }


def on_mysql(server: Server, system: str = "mysql") -> Properties:
    return {
        "jdbc-url": f"jdbc:{system}://127.0.0.1:{server.port}",
        "jdbc-user": server.user,
        "jdbc-password": server.password,
    }


def emptied(server: Server) -> Server:
    """The server without what tests have left in it."""
    with server.connect() as connection, connection.cursor() as cursor:
        cursor.execute("SHOW DATABASES")
        for (name,) in cursor.fetchall():
            if name not in ("information_schema", "mysql", "performance_schema", "sys"):
                cursor.execute("DROP DATABASE `" + name.replace("`", "``") + "`")
    return server


def opened_catalog(provider: str, store: Store, properties: Properties, folder: Path) -> RelationalCatalog:
    return relational_catalog(provider, store, "db", properties, opened(folder))
