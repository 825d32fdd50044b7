"""Settings of Iceberg's Java catalogs, which Spark and Flink take alike."""

from collections.abc import Callable
from typing import Final

from headgate.engines.config.blocks import TOKEN_VARIABLE, ConfigValues, Placeholder
from headgate.engines.config.catalog import EngineCatalog, FileAccess, GlueAddress
from headgate.engines.config.trino import metastore

ICEBERG: Final = "1.12.0"
"""The version that the tests run; held against the one that the worker uses."""
SPARK_RUNTIME: Final = f"org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:{ICEBERG}"
AWS_BUNDLE: Final = f"org.apache.iceberg:iceberg-aws-bundle:{ICEBERG}"
GLUE_CATALOG: Final = "org.apache.iceberg.aws.glue.GlueCatalog"
JDBC_CATALOG: Final = "org.apache.iceberg.jdbc.JdbcCatalog"
HIVE_CLIENT_FACTORY: Final = "com.amazonaws.glue.catalog.metastore.AWSGlueDataCatalogHiveClientFactory"

_ENVIRONMENT: Final = "env:{}"
_S3_IO: Final = "org.apache.iceberg.aws.s3.S3FileIO"

FOREIGN: Final = "REST_TOKEN is a token of the other catalog's; leave the setting out where it asks for none."
STORED_NAME: Final = (
    "Iceberg keeps the name of the catalog with every table in the database: where the tables were made under another name, "
    "call the catalog so."
)

ConfigSource = Callable[[EngineCatalog], ConfigValues]
"""What makes the settings of one kind of catalog."""


def rest_token(variable: str = TOKEN_VARIABLE) -> Placeholder:
    """REST catalogs look up what begins with ``env:`` by themselves."""
    return Placeholder(variable, _ENVIRONMENT)


def storage(catalog: EngineCatalog, region: str | None = None) -> ConfigValues:
    found = FileAccess.of(catalog)
    if not found.s3:
        return {}
    return {
        "io-impl": _S3_IO,
        "client.region": region or found.region,
        "s3.cross-region-access-enabled": "true" if region not in (None, found.region) else None,
        "s3.endpoint": found.endpoint,
        "s3.path-style-access": "true" if found.path_style else None,
    }


def headgate(catalog: EngineCatalog) -> ConfigValues:
    asked = "vended-credentials,remote-signing" if FileAccess.of(catalog).s3 else None
    return {
        "uri": catalog.uri,
        "warehouse": catalog.warehouse,
        "token": rest_token(),
        "header.X-Iceberg-Access-Delegation": asked,
        **storage(catalog),
    }


def on_rest(catalog: EngineCatalog) -> ConfigValues:
    return {
        "uri": catalog.address("uri"),
        "warehouse": catalog.value("warehouse"),
        "token": rest_token("REST_TOKEN"),
        **storage(catalog),
    }


def on_aws_rest(catalog: EngineCatalog) -> ConfigValues:
    return {
        "uri": catalog.address("uri"),
        "warehouse": catalog.value("warehouse"),
        **catalog.signing,
        **storage(catalog),
    }


def on_hms(catalog: EngineCatalog) -> ConfigValues:
    return {"uri": metastore(catalog), "warehouse": catalog.value("warehouse"), **storage(catalog)}


def on_jdbc(catalog: EngineCatalog) -> ConfigValues:
    return {
        "uri": catalog.jdbc_url,
        "jdbc.user": catalog.value("jdbc-user"),
        "jdbc.password": Placeholder("JDBC_PASSWORD"),
        "warehouse": catalog.value("warehouse"),
        **storage(catalog),
    }


def on_glue(catalog: EngineCatalog) -> ConfigValues:
    glue, found = GlueAddress.of(catalog), FileAccess.of(catalog)
    role = {
        "client.factory": "org.apache.iceberg.aws.AssumeRoleAwsClientFactory",
        "client.assume-role.arn": found.role,
        "client.assume-role.region": glue.region,
        "client.assume-role.external-id": found.external_id,
    }
    return {
        "catalog-impl": GLUE_CATALOG,
        "warehouse": catalog.value("warehouse"),
        "glue.id": glue.catalog_id,
        "glue.endpoint": glue.endpoint,
        **storage(catalog, glue.region),
        **(role if found.role else {}),
    }


def hive_client(catalog: EngineCatalog) -> ConfigValues:
    """What Hive's client is told so that it asks Glue."""
    glue = GlueAddress.of(catalog)
    return {
        "hive.metastore.client.factory.class": HIVE_CLIENT_FACTORY,
        "hive.metastore.glue.catalogid": glue.catalog_id,
        "aws.region": glue.region,
        "aws.glue.endpoint": glue.endpoint,
    }
