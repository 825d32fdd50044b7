"""Trino: a file in ``etc/catalog``, or ``CREATE CATALOG`` where catalogs are managed by statements."""

from typing import Final

from headgate.engines.config import rendering, words
from headgate.engines.config.blocks import (
    TOKEN_VARIABLE,
    Block,
    Blocks,
    ConfigPair,
    Engine,
    Placeholder,
    Writer,
    pairs,
)
from headgate.engines.config.catalog import Behind, EngineCatalog, FileAccess, GlueAddress
from headgate.engines.config.names import ConfigFormat, EngineName

_TITLE: Final = "Trino"
_ENVIRONMENT: Final = "${{ENV:{}}}"
_RESTART: Final = "on the coordinator and on every worker; restart them then."


def _text(blocks: Blocks, format: ConfigFormat) -> str:
    if format is ConfigFormat.SQL:
        return rendering.sql_with(
            blocks, 'CREATE CATALOG "{name}" USING {taken}', quote_keys='"', taken="connector.name"
        )
    return rendering.properties(blocks)


def _block(
    catalog: EngineCatalog, name: str, notes: tuple[str, ...], settings: tuple[ConfigPair, ...]
) -> Block:
    places = {
        ConfigFormat.PROPERTIES: f"Goes to etc/catalog/{name}.properties {_RESTART}",
        ConfigFormat.SQL: "For a Trino with catalog.management=dynamic; run it as one who may create catalogs.",
    }
    named = words.named(catalog, name) if name == catalog.alias.lower() else ()
    return Block(name, (*notes, *named), settings, places)


def _storage(catalog: EngineCatalog, *, role: bool = False) -> tuple[ConfigPair, ...]:
    """How files are reached; with the catalog's own role where Headgate gives out none of it."""
    storage = FileAccess.of(catalog)
    if not storage.s3:
        return pairs({"fs.hadoop.enabled": "true"})
    return pairs(
        {
            "fs.native-s3.enabled": "true",
            "s3.region": storage.region,
            "s3.endpoint": storage.endpoint,
            "s3.path-style-access": "true" if storage.path_style else None,
            "s3.iam-role": storage.role if role else None,
            "s3.external-id": storage.external_id if role and storage.role else None,
        }
    )


def _headgate(catalog: EngineCatalog, format: ConfigFormat) -> str:
    vended = FileAccess.of(catalog).s3
    settings = pairs(
        {
            "connector.name": "iceberg",
            "iceberg.catalog.type": "rest",
            "iceberg.rest-catalog.uri": catalog.uri,
            "iceberg.rest-catalog.warehouse": catalog.warehouse,
            "iceberg.rest-catalog.security": "OAUTH2",
            "iceberg.rest-catalog.oauth2.token": Placeholder(TOKEN_VARIABLE, _ENVIRONMENT),
            "iceberg.rest-catalog.vended-credentials-enabled": "true" if vended else None,
        }
    )
    notes = (
        words.title(catalog, _TITLE),
        words.from_environment("of every node"),
        words.SHARED,
        *words.access(catalog),
    )
    block = _block(catalog, catalog.alias.lower(), notes, (*settings, *_storage(catalog)))
    return _text((block,), format)


def _glue_metastore(catalog: EngineCatalog) -> tuple[ConfigPair, ...]:
    glue, storage = GlueAddress.of(catalog), FileAccess.of(catalog)
    return pairs(
        {
            "hive.metastore.glue.region": glue.region,
            "hive.metastore.glue.catalogid": glue.catalog_id,
            "hive.metastore.glue.endpoint-url": glue.endpoint,
            "hive.metastore.glue.default-warehouse-dir": catalog.value("warehouse"),
            "hive.metastore.glue.iam-role": storage.role,
            "hive.metastore.glue.external-id": storage.external_id,
        }
    )


def _native(
    catalog: EngineCatalog,
    format: ConfigFormat,
    settings: tuple[ConfigPair, ...],
    *notes: str,
    storage: bool = True,
) -> str:
    aws = (words.AWS_IDENTITY,) if storage and FileAccess.of(catalog).s3 else ()
    more = _storage(catalog, role=True) if storage else ()
    above = (*words.past(catalog, _TITLE), *aws, *notes)
    return _text((_block(catalog, catalog.alias.lower(), above, (*settings, *more)),), format)


def _on_glue(catalog: EngineCatalog, format: ConfigFormat) -> str:
    kind = pairs({"connector.name": "iceberg", "iceberg.catalog.type": "glue"})
    return _native(catalog, format, (*kind, *_glue_metastore(catalog)))


def _hive_on_glue(catalog: EngineCatalog, format: ConfigFormat) -> str:
    kind = pairs({"connector.name": "hive", "hive.metastore": "glue"})
    return _native(catalog, format, (*kind, *_glue_metastore(catalog)))


def _both_on_glue(catalog: EngineCatalog, format: ConfigFormat) -> str:
    """A catalog of Trino reads one format and sends the other to its neighbour."""
    glue = GlueAddress.of(catalog)
    if not glue.iceberg:
        return _hive_on_glue(catalog, format)
    if not glue.hive:
        return _on_glue(catalog, format)
    hive, iceberg = f"{catalog.alias.lower()}_hive", f"{catalog.alias.lower()}_iceberg"
    shared = (*_glue_metastore(catalog), *_storage(catalog, role=True))
    above = (
        *words.past(catalog, _TITLE),
        words.AWS_IDENTITY,
        f"A catalog of Trino reads one format. These two send queries on the other's tables to each other: {hive} and {iceberg}.",
    )
    first = pairs({"connector.name": "hive", "hive.metastore": "glue", "hive.iceberg-catalog-name": iceberg})
    second = pairs(
        {"connector.name": "iceberg", "iceberg.catalog.type": "glue", "iceberg.hive-catalog-name": hive}
    )
    return _text(
        (
            _block(catalog, hive, above, (*first, *shared)),
            _block(catalog, iceberg, (), (*second, *shared)),
        ),
        format,
    )


_URI: Final = "Trino's own name is hive.metastore.uri, also for several addresses; Hive's hive.metastore.uris is unknown to it."


def _on_hms(catalog: EngineCatalog, format: ConfigFormat) -> str:
    settings = {
        "connector.name": "iceberg",
        "iceberg.catalog.type": "hive_metastore",
        "hive.metastore.uri": metastore(catalog),
    }
    return _native(catalog, format, pairs(settings), _URI)


def _hive_on_hms(catalog: EngineCatalog, format: ConfigFormat) -> str:
    settings = {
        "connector.name": "hive",
        "hive.metastore": "thrift",
        "hive.metastore.uri": metastore(catalog),
    }
    return _native(catalog, format, pairs(settings), _URI)


def metastore(catalog: EngineCatalog) -> str:
    """The addresses of a Hive metastore; Iceberg's backend may name them as its `uri`."""
    text = catalog.required("metastore.uris" if catalog.value("metastore.uris") else "uri")
    return ",".join(each.strip() for each in text.split(","))


def _on_rest(catalog: EngineCatalog, format: ConfigFormat) -> str:
    settings = {
        "connector.name": "iceberg",
        "iceberg.catalog.type": "rest",
        "iceberg.rest-catalog.uri": catalog.address("uri"),
        "iceberg.rest-catalog.warehouse": catalog.value("warehouse"),
        "iceberg.rest-catalog.security": "OAUTH2",
        "iceberg.rest-catalog.oauth2.token": Placeholder("REST_TOKEN", _ENVIRONMENT),
    }
    note = "REST_TOKEN is a token of the other catalog's; leave out the last two settings where it asks for none."
    return _native(catalog, format, pairs(settings), note)


def _on_aws_rest(catalog: EngineCatalog, format: ConfigFormat) -> str:
    settings = {
        "connector.name": "iceberg",
        "iceberg.catalog.type": "rest",
        "iceberg.rest-catalog.uri": catalog.address("uri"),
        "iceberg.rest-catalog.warehouse": catalog.value("warehouse"),
        "iceberg.rest-catalog.security": "SIGV4",
        "iceberg.rest-catalog.signing-name": catalog.signing["rest.signing-name"],
    }
    return _native(catalog, format, pairs(settings))


def _on_jdbc(catalog: EngineCatalog, format: ConfigFormat) -> str:
    url = catalog.jdbc_url
    driver = "org.postgresql.Driver" if url.startswith("jdbc:postgresql") else "com.mysql.cj.jdbc.Driver"
    settings = {
        "connector.name": "iceberg",
        "iceberg.catalog.type": "jdbc",
        "iceberg.jdbc-catalog.catalog-name": catalog.value("catalog-backend-name") or catalog.name,
        "iceberg.jdbc-catalog.driver-class": "org.sqlite.JDBC" if url.startswith("jdbc:sqlite") else driver,
        "iceberg.jdbc-catalog.connection-url": url,
        "iceberg.jdbc-catalog.connection-user": catalog.value("jdbc-user"),
        "iceberg.jdbc-catalog.connection-password": Placeholder("JDBC_PASSWORD", _ENVIRONMENT),
        "iceberg.jdbc-catalog.default-warehouse-dir": catalog.value("warehouse"),
    }
    note = "The driver's jar goes to the folder of Trino's Iceberg plugin. JDBC_PASSWORD is a variable of every node."
    return _native(catalog, format, pairs(settings), note)


def database(connector: str) -> Writer:
    def write(catalog: EngineCatalog, format: ConfigFormat) -> str:
        # Its connector of MySQL does not take MariaDB's addresses, and it has one that does.
        named = "mariadb" if catalog.mariadb else connector
        settings = {
            "connector.name": named,
            "connection-url": server_of(catalog.jdbc_url) if connector == "mysql" else catalog.jdbc_url,
            "connection-user": catalog.value("jdbc-user"),
            "connection-password": Placeholder("JDBC_PASSWORD", _ENVIRONMENT),
        }
        note = "JDBC_PASSWORD is a variable of every node."
        return _native(catalog, format, pairs(settings), note, storage=False)

    return write


def server_of(url: str) -> str:
    """A database's address without its database and parameters: the MySQL connectors take every schema from the server."""
    scheme, rest = url.split("//", 1)
    return f"{scheme}//{rest.partition('/')[0].partition('?')[0]}"


_NATIVE: Final[dict[Behind, Writer]] = {
    Behind.REST: _on_rest,
    Behind.AWS_REST: _on_aws_rest,
    Behind.HMS: _on_hms,
    Behind.GLUE: _on_glue,
    Behind.JDBC: _on_jdbc,
    Behind.HIVE_TABLES: _hive_on_hms,
    Behind.GLUE_HIVE_TABLES: _hive_on_glue,
    Behind.GLUE_BOTH: _both_on_glue,
    Behind.POSTGRESQL: database("postgresql"),
    Behind.MYSQL: database("mysql"),
}

TRINO: Final = Engine(EngineName.TRINO, _TITLE, _headgate, _NATIVE, words.NO_TABLES, frozenset({"system"}))
