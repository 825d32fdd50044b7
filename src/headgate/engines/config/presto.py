"""Presto: a file in ``etc/catalog``."""

from typing import Final

from headgate.engines.config import rendering, words
from headgate.engines.config.blocks import (
    TOKEN_VARIABLE,
    Block,
    ConfigPair,
    ConfigValues,
    Engine,
    Placeholder,
    Writer,
    pairs,
)
from headgate.engines.config.catalog import Behind, EngineCatalog, FileAccess, GlueAddress
from headgate.engines.config.names import ConfigFormat, EngineName
from headgate.engines.config.trino import metastore, server_of

_TITLE: Final = "Presto"
_OWN_KEYS: Final = (
    "Presto takes no credentials with a table: it reads the storage with an identity of its own. Its users see what the "
    "catalog shows them; that identity sees all, so keep it from them."
)
_PRIVATE: Final = "Replace what stands in <>; let only Presto read the file."


def _block(
    catalog: EngineCatalog, name: str, notes: tuple[str, ...], settings: tuple[ConfigPair, ...]
) -> Block:
    place = (
        f"Goes to etc/catalog/{name}.properties on the coordinator and on every worker; restart them then."
    )
    named = words.named(catalog, name) if name == catalog.alias.lower() else ()
    return Block(name, (*notes, *named), settings, {ConfigFormat.PROPERTIES: place})


def _storage(catalog: EngineCatalog) -> tuple[ConfigPair, ...]:
    storage = FileAccess.of(catalog)
    if not storage.s3:
        return ()
    endpoint = storage.endpoint or f"https://s3.{storage.region}.amazonaws.com"
    return pairs(
        {
            "hive.s3.endpoint": endpoint,
            "hive.s3.path-style-access": "true" if storage.path_style else None,
            "hive.s3.ssl.enabled": "false" if endpoint.startswith("http://") else None,
            "hive.s3.use-instance-credentials": "true" if storage.endpoint is None else None,
        }
    )


def _headgate(catalog: EngineCatalog, format: ConfigFormat) -> str:
    settings: ConfigValues = {
        "connector.name": "iceberg",
        "iceberg.catalog.type": "rest",
        "iceberg.rest.uri": catalog.uri,
        "iceberg.catalog.warehouse": catalog.warehouse,
        "iceberg.rest.auth.type": "OAUTH2",
        "iceberg.rest.auth.oauth2.token": Placeholder(TOKEN_VARIABLE),
    }
    s3 = FileAccess.of(catalog).s3
    notes = (
        words.title(catalog, _TITLE),
        words.token(_PRIVATE),
        words.SHARED,
        *((_OWN_KEYS,) if s3 else words.access(catalog)),
    )
    name = catalog.alias.lower()
    return rendering.properties((_block(catalog, name, notes, (*pairs(settings), *_storage(catalog))),))


def _glue(catalog: EngineCatalog) -> tuple[ConfigPair, ...]:
    glue, storage = GlueAddress.of(catalog), FileAccess.of(catalog)
    return pairs(
        {
            "hive.metastore": "glue",
            "hive.metastore.glue.region": glue.region,
            "hive.metastore.glue.catalogid": glue.catalog_id,
            "hive.metastore.glue.endpoint-url": glue.endpoint,
            "hive.metastore.glue.default-warehouse-dir": catalog.value("warehouse"),
            "hive.metastore.glue.iam-role": storage.role,
        }
    )


_HIVE: Final = pairs({"connector.name": "hive-hadoop2"})
_ICEBERG: Final = pairs({"connector.name": "iceberg", "iceberg.catalog.type": "hive"})


def _native(catalog: EngineCatalog, settings: tuple[ConfigPair, ...], *notes: str) -> str:
    aws = (words.AWS_IDENTITY,) if FileAccess.of(catalog).s3 else ()
    above = (*words.past(catalog, _TITLE), *aws, *notes)
    block = _block(catalog, catalog.alias.lower(), above, (*settings, *_storage(catalog)))
    return rendering.properties((block,))


def _on_glue(catalog: EngineCatalog, _: ConfigFormat) -> str:
    return _native(catalog, (*_ICEBERG, *_glue(catalog)))


def _hive_on_glue(catalog: EngineCatalog, _: ConfigFormat) -> str:
    return _native(catalog, (*_HIVE, *_glue(catalog)))


def _both_on_glue(catalog: EngineCatalog, format: ConfigFormat) -> str:
    glue = GlueAddress.of(catalog)
    if not glue.iceberg:
        return _hive_on_glue(catalog, format)
    if not glue.hive:
        return _on_glue(catalog, format)
    above = (
        *words.past(catalog, _TITLE),
        words.AWS_IDENTITY,
        "A catalog of Presto reads one format: two files.",
    )
    shared = (*_glue(catalog), *_storage(catalog))
    name = catalog.alias.lower()
    return rendering.properties(
        (
            _block(catalog, f"{name}_hive", above, (*_HIVE, *shared)),
            _block(catalog, f"{name}_iceberg", (), (*_ICEBERG, *shared)),
        )
    )


def _on_hms(catalog: EngineCatalog, _: ConfigFormat) -> str:
    return _native(catalog, (*_ICEBERG, *pairs({"hive.metastore.uri": metastore(catalog)})))


def _hive_on_hms(catalog: EngineCatalog, _: ConfigFormat) -> str:
    return _native(catalog, (*_HIVE, *pairs({"hive.metastore.uri": metastore(catalog)})))


def _on_rest(catalog: EngineCatalog, _: ConfigFormat) -> str:
    settings: ConfigValues = {
        "connector.name": "iceberg",
        "iceberg.catalog.type": "rest",
        "iceberg.rest.uri": catalog.address("uri"),
        "iceberg.catalog.warehouse": catalog.value("warehouse"),
        "iceberg.rest.auth.type": "OAUTH2",
        "iceberg.rest.auth.oauth2.token": Placeholder("REST_TOKEN"),
    }
    note = "REST_TOKEN is a token of the other catalog's; leave out the last two settings where it asks for none."
    return _native(catalog, pairs(settings), _PRIVATE, note)


def _database(connector: str) -> Writer:
    def write(catalog: EngineCatalog, _: ConfigFormat) -> str:
        # Presto has one connector for both, which takes MySQL's addresses.
        url = catalog.jdbc_url.replace("jdbc:mariadb:", "jdbc:mysql:", 1)
        settings: ConfigValues = {
            "connector.name": connector,
            "connection-url": server_of(url) if connector == "mysql" else url,
            "connection-user": catalog.value("jdbc-user"),
            "connection-password": Placeholder("JDBC_PASSWORD"),
        }
        above = (*words.past(catalog, _TITLE), _PRIVATE)
        return rendering.properties((_block(catalog, catalog.alias.lower(), above, pairs(settings)),))

    return write


PRESTO: Final = Engine(
    EngineName.PRESTO,
    _TITLE,
    _headgate,
    {
        Behind.REST: _on_rest,
        Behind.HMS: _on_hms,
        Behind.GLUE: _on_glue,
        Behind.HIVE_TABLES: _hive_on_hms,
        Behind.GLUE_HIVE_TABLES: _hive_on_glue,
        Behind.GLUE_BOTH: _both_on_glue,
        Behind.POSTGRESQL: _database("postgresql"),
        Behind.MYSQL: _database("mysql"),
    },
    {
        **words.NO_TABLES,
        Behind.AWS_REST: "its Iceberg connector signs no requests to a catalog",
        Behind.JDBC: "its Iceberg connector knows no JDBC catalog",
    },
    frozenset({"system"}),
)
