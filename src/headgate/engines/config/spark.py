"""Spark: lines of spark-defaults.conf, a command, or a session in Python."""

from typing import Final

from headgate.engines.config import iceberg_java, rendering, words
from headgate.engines.config.blocks import Block, ConfigPair, ConfigValues, Engine, Placeholder, Writer, pairs
from headgate.engines.config.catalog import Behind, EngineCatalog, FileAccess, GlueAddress
from headgate.engines.config.iceberg_java import ConfigSource
from headgate.engines.config.names import ConfigFormat, EngineName
from headgate.engines.config.trino import metastore

_TITLE: Final = "Spark"
_PLACES: Final = {
    ConfigFormat.PROPERTIES: "Goes to conf/spark-defaults.conf, or to a file for spark-submit --properties-file.",
    ConfigFormat.SHELL: "For a terminal; spark-shell, pyspark and spark-submit take the same options.",
    ConfigFormat.PYTHON: "For a program or notebook, before any other Spark session is there.",
}
_VERSION: Final = "The first package is for Spark 4.1 with Scala 2.13: another Spark needs its own."
_FACTORY: Final = (
    "AWS's client of Glue for Hive (aws-glue-datacatalog-spark-client) is on EMR and Glue; elsewhere its jar has to be built and "
    "put on Spark's class path."
)
_HIVE_CLIENT: Final = (
    "Spark reads these tables as its own Hive tables: spark.sql('SELECT … FROM schema.table')."
)
_PASSWORD: Final = "Replace what stands in <>; let nobody else read the file."  # noqa: S105 — a sentence


def _text(block: Block, format: ConfigFormat) -> str:
    if format is ConfigFormat.SHELL:
        return rendering.shell((block,), "spark-sql")
    if format is ConfigFormat.PROPERTIES:
        return rendering.properties((block,))
    head = rendering.head(block, format)
    lines = "".join(
        f"    .config({rendering.literal(pair.key)}, {rendering.literal(pair.text)})\n"
        for pair in block.pairs
    )
    return (
        f"{head}from pyspark.sql import SparkSession\n\n"
        f"spark = (\n    SparkSession.builder\n{lines}    .getOrCreate()\n)\n"
    )


def _iceberg(catalog: EngineCatalog, kind: str | None, settings: ConfigValues) -> tuple[ConfigPair, ...]:
    """The settings of one catalog of Iceberg's; `kind` is its type, where no class is named."""
    prefix = f"spark.sql.catalog.{catalog.alias}"
    s3 = FileAccess.of(catalog).s3
    jars = ",".join((iceberg_java.SPARK_RUNTIME, *((iceberg_java.AWS_BUNDLE,) if s3 else ())))
    own: ConfigValues = {
        "spark.jars.packages": jars,
        "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        prefix: "org.apache.iceberg.spark.SparkCatalog",
        f"{prefix}.type": kind,
    }
    return pairs({**own, **{f"{prefix}.{key}": value for key, value in settings.items()}})


def _headgate(catalog: EngineCatalog, format: ConfigFormat) -> str:
    notes = (
        words.title(catalog, _TITLE),
        words.from_environment("of the driver"),
        words.SHARED,
        *words.access(catalog),
        _VERSION,
        *words.named(catalog, catalog.alias),
    )
    settings = _iceberg(catalog, "rest", iceberg_java.headgate(catalog))
    return _text(Block(catalog.alias, notes, settings, _PLACES), format)


def _native(
    catalog: EngineCatalog,
    format: ConfigFormat,
    settings: tuple[ConfigPair, ...],
    *notes: str,
    name: str | None = None,
) -> str:
    name = name or catalog.alias
    aws = (words.AWS_IDENTITY,) if FileAccess.of(catalog).s3 else ()
    above = (*words.past(catalog, _TITLE), *aws, *notes)
    if any(isinstance(pair.value, Placeholder) and not pair.value.template for pair in settings):
        above = (*above, _PASSWORD)
    return _text(Block(name, above, settings, _PLACES), format)


def _on_iceberg(kind: str | None, settings: ConfigSource, *notes: str) -> Writer:
    def write(catalog: EngineCatalog, format: ConfigFormat) -> str:
        named = words.named(catalog, catalog.alias)
        return _native(catalog, format, _iceberg(catalog, kind, settings(catalog)), _VERSION, *notes, *named)

    return write


def _hadoop(settings: ConfigValues) -> tuple[ConfigPair, ...]:
    hive: ConfigValues = {"spark.sql.catalogImplementation": "hive"}
    return pairs({**hive, **{f"spark.hadoop.{key}": value for key, value in settings.items()}})


def _s3a(catalog: EngineCatalog) -> ConfigValues:
    """How Hadoop, which reads Hive tables, reaches S3."""
    found = FileAccess.of(catalog)
    if not found.s3:
        return {}
    return {
        "fs.s3.impl": "org.apache.hadoop.fs.s3a.S3AFileSystem",
        "fs.s3a.endpoint.region": found.region,
        "fs.s3a.endpoint": found.endpoint,
        "fs.s3a.path.style.access": "true" if found.path_style else None,
    }


def _hive_on_hms(catalog: EngineCatalog, format: ConfigFormat) -> str:
    settings = _hadoop({"hive.metastore.uris": metastore(catalog), **_s3a(catalog)})
    return _native(catalog, format, settings, _HIVE_CLIENT)


def _hive_on_glue(catalog: EngineCatalog, format: ConfigFormat) -> str:
    settings = _hadoop({**iceberg_java.hive_client(catalog), **_s3a(catalog)})
    return _native(catalog, format, settings, _HIVE_CLIENT, _FACTORY)


def _both_on_glue(catalog: EngineCatalog, format: ConfigFormat) -> str:
    glue = GlueAddress.of(catalog)
    if not glue.iceberg:
        return _hive_on_glue(catalog, format)
    iceberg = _iceberg(catalog, None, iceberg_java.on_glue(catalog))
    if not glue.hive:
        return _native(catalog, format, iceberg, _VERSION, *words.named(catalog, catalog.alias))
    hive = _hadoop({**iceberg_java.hive_client(catalog), **_s3a(catalog)})
    note = f"Iceberg tables are read as {catalog.alias}.schema.table, Hive tables as schema.table."
    return _native(catalog, format, (*iceberg, *hive), _VERSION, note, _FACTORY)


def _database(usual: str) -> Writer:
    def write(catalog: EngineCatalog, format: ConfigFormat) -> str:
        driver = "org.mariadb.jdbc.Driver" if catalog.mariadb else usual
        prefix = f"spark.sql.catalog.{catalog.alias}"
        settings: ConfigValues = {
            prefix: "org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTableCatalog",
            f"{prefix}.url": catalog.jdbc_url,
            f"{prefix}.driver": driver,
            f"{prefix}.user": catalog.value("jdbc-user"),
            f"{prefix}.password": Placeholder("JDBC_PASSWORD"),
        }
        named = words.named(catalog, catalog.alias)
        return _native(
            catalog, format, pairs(settings), f"The jar of {driver} has to be on Spark's class path.", *named
        )

    return write


SPARK: Final = Engine(
    EngineName.SPARK,
    _TITLE,
    _headgate,
    {
        Behind.REST: _on_iceberg("rest", iceberg_java.on_rest, iceberg_java.FOREIGN),
        Behind.AWS_REST: _on_iceberg("rest", iceberg_java.on_aws_rest),
        Behind.HMS: _on_iceberg("hive", iceberg_java.on_hms),
        Behind.GLUE: _on_iceberg(None, iceberg_java.on_glue),
        Behind.JDBC: _on_iceberg("jdbc", iceberg_java.on_jdbc, iceberg_java.STORED_NAME),
        Behind.HIVE_TABLES: _hive_on_hms,
        Behind.GLUE_HIVE_TABLES: _hive_on_glue,
        Behind.GLUE_BOTH: _both_on_glue,
        Behind.POSTGRESQL: _database("org.postgresql.Driver"),
        Behind.MYSQL: _database("com.mysql.cj.jdbc.Driver"),
    },
    words.NO_TABLES,
    frozenset({"spark_catalog", "system"}),
)
