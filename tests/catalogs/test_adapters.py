"""The shared suite over every adapter."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from headgate.catalogs.native import Native
from headgate.store import Store
from tests.catalogs import abilities, glue_server, hive_server, jdbc, relational
from tests.catalogs.suite import CatalogSuite, Opened
from tests.openings import opened as allowed

GLUE = ("glue-iceberg", "glue-both")
JDBC = ("jdbc-sqlite", "jdbc-sqlite-v0", "jdbc-postgresql", "jdbc-postgresql-v0")
METASTORES = {"hive-3": "hive_metastore", "hive-4": "hive_metastore_four"}

TABLES = {"postgresql": abilities.POSTGRES, "mariadb": abilities.MYSQL, "mysql": abilities.MYSQL}
"""The tables of databases of these kinds, and what they can do."""
REAL = pytest.mark.real


@pytest.fixture(scope="module")
def glue() -> Iterator[str]:
    with glue_server.glue_server() as url:
        yield url


@pytest.fixture(
    params=["native", *JDBC, *GLUE, *(pytest.param(kind, marks=REAL) for kind in (*METASTORES, *TABLES))]
)
def opened(request: pytest.FixtureRequest, store: Store, tmp_path: Path) -> Iterator[Opened]:
    if request.param == "native":
        yield Opened(Native(store, str(tmp_path / "warehouse"), "lake/cat", {}, allowed(tmp_path)), store)
        return
    if request.param in TABLES:
        if request.param == "postgresql":
            declared = relational.on_postgres(request.getfixturevalue("postgres_url"))
        else:
            server = request.getfixturevalue(f"{request.param}_server")
            declared = relational.on_mysql(relational.emptied(server), request.param)
        provider = "jdbc-postgresql" if request.param == "postgresql" else "jdbc-mysql"
        database = relational.opened_catalog(provider, store, declared, tmp_path)
        database.create_schema(("s",), None, {})
        yield Opened(database, store, TABLES[request.param])
        database.close()
        return
    if request.param in GLUE:
        glue_server.backend().reset()
        kind = request.param.removeprefix("glue-")
        declared = glue_server.properties(kind, request.getfixturevalue("glue"), tmp_path)
        if kind == "both":
            declared["default-table-format"] = "iceberg"
        glue = glue_server.opened_catalog(kind, store, declared, tmp_path)
        glue.create_schema(("s",), None, {})
        yield Opened(glue, store)
        glue.close()
        return
    if request.param in METASTORES:
        port = request.getfixturevalue(METASTORES[request.param])
        hive_server.emptied(port)
        declared = hive_server.properties(port, tmp_path)
        hive = hive_server.opened_catalog("iceberg", store, declared, tmp_path)
        hive.create_schema(("s",), None, {})
        yield Opened(hive, store)
        hive.close()
        hive_server.emptied(port)
        return
    properties = jdbc.on_sqlite(tmp_path)
    if "postgresql" in request.param:
        properties = jdbc.on_postgres(tmp_path, request.getfixturevalue("postgres_url"))
    if request.param.endswith("-v0"):
        jdbc.old_layout(properties)
    catalog = jdbc.opened_catalog(store, properties, tmp_path)
    catalog.create_schema(("s",), None, {})
    yield Opened(catalog, store)
    catalog.close()


class TestEveryAdapter(CatalogSuite):
    pass
