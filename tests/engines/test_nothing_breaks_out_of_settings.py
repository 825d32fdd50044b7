"""Promise: whoever pastes settings pastes settings of that catalog and nothing else: no value ends a line or a quotation, names
a variable of theirs, or carries a secret."""

import re
from collections.abc import Mapping
from urllib.parse import urlsplit

import pytest

from headgate.engines.config.catalog import EngineCatalog
from headgate.engines.config.names import FORMATS, EngineName, Through
from headgate.engines.config.writing import engine_config
from headgate.model.errors import IllegalArgument
from headgate.model.objects import CatalogType
from tests.engines.kinds import KINDS, SERVER

HOSTILE = (
    "x\nconnector.name=evil",
    "x'); DROP SCHEMA s; --",
    'x"}); import os #',
    "x\\u000aevil=1",
    "${ENV:AWS_SECRET_ACCESS_KEY}",
    "$(touch /tmp/evil)",
    "`touch /tmp/evil`",
    "env:AWS_SECRET_ACCESS_KEY",
    "<HEADGATE_TOKEN>",
    "{os.environ}",
    "s3://user:pass@bucket",
    "https://user@host/",
    "x\x1b[2J",
    "x\u2028y",
)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("value", HOSTILE)
def test_a_value_that_could_mean_more_is_refused_wherever_it_would_stand(kind: str, value: str) -> None:
    catalog = KINDS[kind]
    for key in catalog.properties.keys() - {"catalog-backend", "metastore-type", "table-format-filter"}:
        without = {name: text for name, text in catalog.properties.items() if name != key}
        for engine in EngineName:
            for through in Through:
                text = written(catalog, {**without, key: value}, engine, through)
                # A property that goes unread changes nothing; one that looks like a secret is not there.
                unread = written(catalog, catalog.properties, engine, through)
                assert text in (None, unread, written(catalog, without, engine, through)), f"{engine} {key}"


def written(
    catalog: EngineCatalog, properties: Mapping[str, str], engine: EngineName, through: Through
) -> list[str] | None:
    """Settings of a catalog with other properties, in all formats; None if one is refused."""
    changed = EngineCatalog(
        catalog.metalake, catalog.name, catalog.type, catalog.provider, properties, SERVER
    )
    try:
        return [engine_config(changed, engine, through, format).text for format in FORMATS[engine]]
    except IllegalArgument:
        return None


@pytest.mark.parametrize(
    "server",
    [
        "headgate.example.com",
        "ftp://host",
        "https://user:pass@host",
        "https://host/\nevil=1",
        "https://host/?token=x",
        "https://host/'",
        "https://host/${ENV:X}",
        "",
        "https://" + "h" * 2000,
    ],
)
def test_an_address_of_the_server_that_could_mean_more_is_refused(server: str) -> None:
    with pytest.raises(IllegalArgument, match="is not the address of a server"):
        EngineCatalog("demo", "lake", CatalogType.RELATIONAL, "lakehouse-iceberg", {}, server)


NAMES = ("my lake", "1st-lake", "käse=1", "Order", "a@b:c+d", "日本")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("engine", EngineName)
def test_a_catalog_of_any_name_has_settings(engine: EngineName, name: str) -> None:
    catalog = EngineCatalog("de mo", name, CatalogType.RELATIONAL, "lakehouse-iceberg", {}, SERVER)
    assert catalog.alias.isascii()
    assert catalog.alias.isidentifier()
    for format in FORMATS[engine]:
        text = engine_config(catalog, engine, Through.HEADGATE, format).text
        if format == "properties":
            text = re.sub(r"\\u([0-9a-f]{4})", lambda found: chr(int(found[1], 16)), text)
        assert f"de mo.{name}" in text, "the server finds it by its own name"


RESERVED = {
    "system": ("trino", "presto", "spark", "duckdb"),
    "System": ("trino", "presto", "spark", "duckdb"),
    "spark_catalog": ("spark",),
    "spark-catalog": ("spark",),
    "default_catalog": ("flink",),
    "main": ("duckdb",),
    "memory": ("duckdb",),
    "temp": ("duckdb",),
    "class": ("pyiceberg", "polars", "daft"),
    "pl": ("polars",),
    "os": ("pyiceberg", "polars", "daft"),
}


@pytest.mark.parametrize("name", RESERVED)
def test_a_name_that_means_something_else_to_an_engine_is_refused_there(name: str) -> None:
    catalog = EngineCatalog("demo", name, CatalogType.RELATIONAL, "lakehouse-iceberg", {}, SERVER)
    for engine in EngineName:
        for format in FORMATS[engine]:
            if engine not in RESERVED[name]:
                assert engine_config(catalog, engine, Through.HEADGATE, format).text
                continue
            with pytest.raises(IllegalArgument, match="a name of its own") as refused:
                engine_config(catalog, engine, Through.HEADGATE, format)
            assert refused.value.hint is not None


USERS = ("reader host=evil.example.com", "x@evil.example.com/y?z", "x:p@evil.example.com/", "a b", "käse")


@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize("kind", ["jdbc-postgresql", "iceberg-jdbc"])
def test_no_name_of_a_user_leads_to_another_server(kind: str, user: str) -> None:
    catalog = KINDS[kind]
    properties = {**catalog.properties, "jdbc-user": user}
    for engine in (EngineName.PYICEBERG, EngineName.POLARS, EngineName.DAFT):
        for text in written(catalog, properties, engine, Through.NATIVE) or ():
            for address in re.findall(r'"[a-z0-9+]+://[^"]*"', re.sub(r"\{.*?\}", "", text)):
                if "db.example.com" in address:
                    assert urlsplit(address.strip('"')).hostname == "db.example.com"
            assert user not in text
    for text in written(catalog, properties, EngineName.DUCKDB, Through.NATIVE) or ():
        assert not re.search(r"user=\S* (?!password=)", text)


@pytest.mark.parametrize("engine", EngineName)
@pytest.mark.parametrize("kind", ["glue", "iceberg-glue", "hive-glue"])
@pytest.mark.parametrize("region", ["evil.example.com/x", "us east 1", "x.y"])
def test_a_region_that_is_none_gets_into_no_host(kind: str, engine: EngineName, region: str) -> None:
    for key in ("aws-region", "s3-region"):
        properties = {**KINDS[kind].properties, "aws-region": "us-east-1", key: region}
        assert written(KINDS[kind], properties, engine, Through.NATIVE) is None


@pytest.mark.parametrize("engine", EngineName)
@pytest.mark.parametrize("kind", ["jdbc-postgresql", "jdbc-mysql", "iceberg-jdbc"])
def test_an_address_of_a_database_that_is_none_is_refused_by_name(kind: str, engine: EngineName) -> None:
    for url in ("jdbc:postgresql:shop", "jdbc:mysql:", "jdbc:mysql://h:99999/shop", "jdbc:mysql://h:0/shop"):
        assert (
            written(KINDS[kind], {**KINDS[kind].properties, "jdbc-url": url}, engine, Through.NATIVE) is None
        )


def test_an_address_of_a_database_loses_its_secrets_and_keeps_the_rest() -> None:
    def url(text: str) -> str:
        properties = {"jdbc-url": text}
        return EngineCatalog(
            "demo", "shop", CatalogType.RELATIONAL, "jdbc-mysql", properties, SERVER
        ).jdbc_url

    assert url("jdbc:mysql://h:3306/db?useSSL=true&password=p&user=u&trustStorePassword=q") == (
        "jdbc:mysql://h:3306/db?useSSL=true"
    )
    loads = "autoDeserialize=true&queryInterceptors=x&allowLoadLocalInfile=true"
    assert url(f"jdbc:mysql://h:3306/db?{loads}") == "jdbc:mysql://h:3306/db"
    assert url("jdbc:postgresql://h/db?socketFactory=x&loggerFile=/etc/x&sslmode=require") == (
        "jdbc:postgresql://h/db?sslmode=require"
    )
    for wrong in (
        "jdbc:mysql://u:p@h/db",
        "jdbc:mysql://u@h/db",
        "jdbc:sqlserver://h;password=p",
        "jdbc:mysql://address=(host=h)(password=p)/db",
        "postgresql://h/db",
    ):
        with pytest.raises(IllegalArgument):
            url(wrong)
