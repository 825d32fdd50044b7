"""One catalog of every kind, as its owner is shown it, for the golden settings: the properties are those of the documents."""

from typing import Final

from headgate.engines.config.catalog import Behind, EngineCatalog
from headgate.engines.config.names import ConfigFormat, EngineName, Through
from headgate.model.objects import CatalogType

SERVER: Final = "https://headgate.example.com"
_SECRETS: Final = {
    "s3-access-key-id": "AKIAHIDDEN",
    "s3-secret-access-key": "hidden/key",
    "jdbc-password": "hidden-password",
    "token": "hidden-token",
}
"""Given to every catalog, though no caller is shown them: no text may hold one."""
HIDDEN: Final = tuple(_SECRETS.values())


def catalog(provider: str, type: CatalogType = CatalogType.RELATIONAL, **properties: str) -> EngineCatalog:
    """`_` in a key stands for a dash; `dots` that are needed are written as two."""
    named = {key.replace("__", ".").replace("_", "-"): value for key, value in properties.items()}
    return EngineCatalog("demo", "lake", type, provider, {**_SECRETS, **named}, SERVER)


def iceberg(backend: str, **properties: str) -> EngineCatalog:
    return catalog("lakehouse-iceberg", catalog_backend=backend, **properties)


KINDS: Final[dict[str, EngineCatalog]] = {
    "iceberg-native": iceberg("native"),
    "iceberg-native-local": iceberg("native", warehouse="/srv/lake"),
    "iceberg-native-s3": iceberg(
        "native",
        warehouse="s3://lake/tables",
        s3_region="eu-central-1",
        s3_role_arn="arn:aws:iam::123456789012:role/lake-tables",
    ),
    "iceberg-native-minio": iceberg(
        "native", warehouse="s3://lake/tables", s3_endpoint="http://minio.example.com:9000"
    ),
    "iceberg-native-signed": iceberg("native", warehouse="s3://lake/tables", s3_remote_signing="true"),
    "iceberg-memory": iceberg("memory"),
    "iceberg-rest": iceberg(
        "rest", uri="https://polaris.example.com/api/catalog", warehouse="sales", s3_region="eu-central-1"
    ),
    "iceberg-rest-signed": iceberg(
        "rest",
        uri="https://glue.eu-central-1.amazonaws.com/iceberg",
        warehouse="123456789012",
        s3_region="eu-central-1",
        rest__sigv4_enabled="true",
        rest__signing_name="glue",
    ),
    "iceberg-hive": iceberg(
        "hive",
        uri="thrift://metastore.example.com:9083",
        warehouse="s3://lake/hive",
        s3_region="eu-central-1",
    ),
    "iceberg-glue": iceberg("glue", warehouse="s3://bucket/iceberg", s3_region="us-east-1"),
    "iceberg-glue-account": iceberg(
        "glue",
        warehouse="s3://bucket/iceberg",
        s3_region="us-east-1",
        aws_region="eu-west-1",
        aws_glue_catalog_id="123456789012",
        aws_glue_endpoint="https://vpce-1.glue.eu-west-1.vpce.amazonaws.com",
        s3_role_arn="arn:aws:iam::123456789012:role/reader",
        s3_external_id="external-1",
    ),
    "iceberg-jdbc": iceberg(
        "jdbc",
        jdbc_url="jdbc:postgresql://db.example.com:5432/iceberg?sslmode=require&user=x&password=hidden-password",
        jdbc_user="iceberg",
        warehouse="s3://lake/jdbc",
        s3_region="eu-central-1",
    ),
    "iceberg-jdbc-sqlite": iceberg("jdbc", jdbc_url="jdbc:sqlite:/srv/iceberg.db", warehouse="/srv/lake"),
    "hive-hms": catalog("hive", metastore__uris="thrift://127.0.0.1:9083,thrift://127.0.0.2:9083"),
    "hive-glue": catalog("hive", metastore_type="glue", s3_region="us-east-1"),
    "hive-glue-account": catalog(
        "hive",
        metastore_type="glue",
        s3_region="us-east-1",
        aws_region="eu-west-1",
        aws_glue_catalog_id="123456789012",
    ),
    "glue": catalog("glue", aws_region="us-east-1", warehouse="s3://bucket/wh"),
    "glue-hive-only": catalog("glue", aws_region="us-east-1", table_format_filter="hive"),
    "glue-iceberg-only": catalog("glue", aws_region="us-east-1", table_format_filter="iceberg"),
    "jdbc-postgresql": catalog(
        "jdbc-postgresql", jdbc_url="jdbc:postgresql://db.example.com:5432/shop", jdbc_user="reader"
    ),
    "jdbc-mysql": catalog("jdbc-mysql", jdbc_url="jdbc:mysql://db.example.com:3306", jdbc_user="reader"),
    "jdbc-postgresql-database": catalog(
        "jdbc-postgresql",
        jdbc_url="jdbc:postgresql://db.example.com?sslmode=require",
        jdbc_database="shop",
        jdbc_user="reader",
    ),
    "jdbc-mariadb": catalog("jdbc-mysql", jdbc_url="jdbc:mariadb://db.example.com:3306", jdbc_user="reader"),
    "kafka": catalog("kafka", CatalogType.MESSAGING, bootstrap__servers="broker.example.com:9092"),
    "topic": catalog("topic", CatalogType.MESSAGING),
    "fileset": catalog("fileset", CatalogType.FILESET),
    "model": catalog("model", CatalogType.MODEL),
}

# Not .py: these are not files of this project.
ENDINGS: Final = {
    ConfigFormat.PROPERTIES: "properties",
    ConfigFormat.SQL: "sql",
    ConfigFormat.SHELL: "sh",
    ConfigFormat.PYTHON: "py.txt",
    ConfigFormat.YAML: "yaml",
}

assert {each.behind for each in KINDS.values()} == set(Behind), "every kind has a catalog"


def golden_name(kind: str, engine: EngineName, through: Through, format: ConfigFormat) -> str:
    return f"{engine}/{kind}.{through}.{ENDINGS[format]}"
