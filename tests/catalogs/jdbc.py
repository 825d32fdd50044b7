"""Iceberg catalogs in databases, for tests: their properties, and pyiceberg as a second writer of the same catalog."""

from pathlib import Path

from pyiceberg.catalog.sql import SqlCatalog
from sqlalchemy import create_engine, make_url, text

from headgate.catalogs.databases.iceberg_catalog import jdbc_catalog
from headgate.catalogs.outside.pointer_catalog import PointerCatalog
from headgate.store import Store
from tests.openings import opened

Properties = dict[str, str]


def on_sqlite(folder: Path) -> Properties:
    """A catalog in a file."""
    place = folder / "theirs"
    place.mkdir(exist_ok=True)
    return _with(folder, {"jdbc-url": f"jdbc:sqlite:{place}/catalog.db"})


def on_postgres(folder: Path, url: str) -> Properties:
    """A catalog in a PostgreSQL database."""
    parsed = make_url(url)
    where = f"jdbc:postgresql://{parsed.host}:{parsed.port}/{parsed.database}"
    return _with(
        folder, {"jdbc-url": where, "jdbc-user": parsed.username or "", "jdbc-password": "any words"}
    )


def _with(folder: Path, properties: Properties) -> Properties:
    return {"catalog-backend": "jdbc", "warehouse": f"file://{folder}/tables", **properties}


def sqlalchemy_url(properties: Properties) -> str:
    text = properties["jdbc-url"].removeprefix("jdbc:")
    if text.startswith("sqlite:"):
        return f"sqlite:///{text.removeprefix('sqlite:')}"
    return text.replace("postgresql://", f"postgresql+psycopg://{properties['jdbc-user']}@")


_open: list[SqlCatalog] = []


def pyiceberg_catalog(properties: Properties, name: str = "jdbc") -> SqlCatalog:
    """The same catalog, as pyiceberg opens it; `close_all` closes it."""
    _open.append(SqlCatalog(name, uri=sqlalchemy_url(properties), warehouse=properties["warehouse"]))
    return _open[-1]


def close_all() -> None:
    while _open:
        _open.pop().engine.dispose()


def old_layout(properties: Properties, more: str = "") -> None:
    """Lay the tables out as Java's JdbcCatalog did before it knew views; `more` says more of columns with names."""
    engine = create_engine(sqlalchemy_url(properties))
    names = "catalog_name VARCHAR(255) NOT NULL, "
    with engine.begin() as tx:
        tx.execute(
            text(
                f"CREATE TABLE iceberg_tables({names}table_namespace VARCHAR(255) NOT NULL {more}, "
                f"table_name VARCHAR(255) NOT NULL {more}, metadata_location VARCHAR(1000), "
                "previous_metadata_location VARCHAR(1000), "
                "PRIMARY KEY (catalog_name, table_namespace, table_name))"
            )
        )
        tx.execute(
            text(
                f"CREATE TABLE iceberg_namespace_properties({names}namespace VARCHAR(255) NOT NULL {more}, "
                "property_key VARCHAR(255), property_value VARCHAR(1000), "
                "PRIMARY KEY (catalog_name, namespace, property_key))"
            )
        )
    engine.dispose()


def opened_catalog(store: Store, properties: Properties, folder: Path) -> PointerCatalog:
    return jdbc_catalog(store, "db", "lake/db", properties, opened(folder), None)
