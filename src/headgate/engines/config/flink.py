"""Flink: ``CREATE CATALOG`` for the SQL client or gateway."""

from typing import Final

from headgate.engines.config import iceberg_java, rendering, words
from headgate.engines.config.blocks import Block, Blocks, ConfigValues, Engine, Placeholder, Writer, pairs
from headgate.engines.config.catalog import Behind, EngineCatalog, FileAccess, GlueAddress
from headgate.engines.config.iceberg_java import ConfigSource
from headgate.engines.config.names import ConfigFormat, EngineName
from headgate.engines.config.trino import metastore, server_of

_TITLE: Final = "Flink"
_PLACES: Final = {
    ConfigFormat.SQL: "For the SQL client, or the init script that it is started with (sql-client.sh -i FILE)."
}
_JARS: Final = f"The jars of iceberg-flink-runtime and, for S3, iceberg-aws-bundle {iceberg_java.ICEBERG} lie in Flink's lib folder."
_PASSWORD: Final = "Replace what stands in <>; let nobody else read the file."  # noqa: S105 — a sentence
_HIVE_SITE: Final = (
    "Flink's Hive connector reads hive-site.xml from the folder that hive-conf-dir names. It has to hold:"
)


def _text(blocks: Blocks) -> str:
    return rendering.sql_with(blocks, "CREATE CATALOG `{name}`")


def _iceberg(
    catalog: EngineCatalog, kind: str | None, settings: ConfigValues, notes: tuple[str, ...]
) -> Block:
    own: ConfigValues = {"type": "iceberg", "catalog-type": kind, **settings}
    named = words.named(catalog, catalog.alias)
    return Block(catalog.alias, (*notes, _JARS, *named), pairs(own), _PLACES)


def _headgate(catalog: EngineCatalog, _: ConfigFormat) -> str:
    notes = (
        words.title(catalog, _TITLE),
        words.from_environment("of the SQL client, the job manager and the task managers"),
        words.SHARED,
        *words.access(catalog),
    )
    return _text((_iceberg(catalog, "rest", iceberg_java.headgate(catalog), notes),))


def _past(catalog: EngineCatalog, *notes: str) -> tuple[str, ...]:
    aws = (words.AWS_IDENTITY,) if FileAccess.of(catalog).s3 else ()
    return (*words.past(catalog, _TITLE), *aws, *notes)


def _on_iceberg(kind: str | None, settings: ConfigSource, *notes: str) -> Writer:
    def write(catalog: EngineCatalog, _: ConfigFormat) -> str:
        return _text((_iceberg(catalog, kind, settings(catalog), _past(catalog, *notes)),))

    return write


def _hive(catalog: EngineCatalog, name: str, settings: ConfigValues, notes: tuple[str, ...]) -> Block:
    """A catalog of Flink's Hive connector, with what its hive-site.xml has to hold as comments."""
    site = tuple(f"  {pair.key} = {pair.text}" for pair in pairs(settings))
    named = words.named(catalog, name) if name == catalog.alias else ()
    own = pairs({"type": "hive", "hive-conf-dir": "/opt/hive-conf"})
    return Block(name, (*notes, _HIVE_SITE, *site, *named), own, _PLACES)


def _hive_on_hms(catalog: EngineCatalog, _: ConfigFormat) -> str:
    settings: ConfigValues = {"hive.metastore.uris": metastore(catalog)}
    return _text((_hive(catalog, catalog.alias, settings, _past(catalog)),))


def _hive_on_glue(catalog: EngineCatalog, _: ConfigFormat) -> str:
    client = iceberg_java.hive_client(catalog)
    return _text((_hive(catalog, catalog.alias, client, _past(catalog, _FACTORY)),))


def _both_on_glue(catalog: EngineCatalog, format: ConfigFormat) -> str:
    glue = GlueAddress.of(catalog)
    if not glue.iceberg:
        return _hive_on_glue(catalog, format)
    iceberg = _iceberg(catalog, None, iceberg_java.on_glue(catalog), _past(catalog))
    if not glue.hive:
        return _text((iceberg,))
    hive = _hive(
        catalog, f"{catalog.alias}_hive", iceberg_java.hive_client(catalog), (_second(catalog), _FACTORY)
    )
    return _text((iceberg, hive))


def _second(catalog: EngineCatalog) -> str:
    return f"The tables of catalog '{catalog.name}' in Hive's formats."


_FACTORY: Final = (
    "AWS's client of Glue for Hive has to be built for Flink's Hive version and put into its lib folder."
)


def _database(catalog: EngineCatalog, _: ConfigFormat) -> str:
    # Its catalog of MySQL is the one for MariaDB too, and takes MySQL's addresses.
    url = catalog.jdbc_url.replace("jdbc:mariadb:", "jdbc:mysql:", 1)
    settings: ConfigValues = {
        "type": "jdbc",
        "base-url": server_of(url),
        "default-database": catalog.value("jdbc-database") or rendering.database_of(url) or "<DATABASE>",
        "username": catalog.value("jdbc-user") or "<JDBC_USER>",
        "password": Placeholder("JDBC_PASSWORD"),
    }
    named = words.named(catalog, catalog.alias)
    notes = (
        *_past(catalog, "The jars of flink-connector-jdbc and of the driver lie in Flink's lib folder."),
        _PASSWORD,
    )
    return _text((Block(catalog.alias, (*notes, *named), pairs(settings), _PLACES),))


FLINK: Final = Engine(
    EngineName.FLINK,
    _TITLE,
    _headgate,
    {
        Behind.REST: _on_iceberg("rest", iceberg_java.on_rest, iceberg_java.FOREIGN),
        Behind.AWS_REST: _on_iceberg("rest", iceberg_java.on_aws_rest),
        Behind.HMS: _on_iceberg("hive", iceberg_java.on_hms),
        Behind.GLUE: _on_iceberg(None, iceberg_java.on_glue),
        Behind.JDBC: _on_iceberg(
            None,
            lambda catalog: {"catalog-impl": iceberg_java.JDBC_CATALOG, **iceberg_java.on_jdbc(catalog)},
            iceberg_java.STORED_NAME,
            _PASSWORD,
        ),
        Behind.HIVE_TABLES: _hive_on_hms,
        Behind.GLUE_HIVE_TABLES: _hive_on_glue,
        Behind.GLUE_BOTH: _both_on_glue,
        Behind.POSTGRESQL: _database,
        Behind.MYSQL: _database,
    },
    words.NO_TABLES,
    frozenset({"default_catalog"}),
)
