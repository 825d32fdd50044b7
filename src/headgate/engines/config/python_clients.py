"""pyiceberg, and polars and daft, which read Iceberg tables through it."""

import keyword
from collections.abc import Callable
from typing import Final
from urllib.parse import quote

import msgspec

from headgate.engines.config import rendering, words
from headgate.engines.config.blocks import (
    TOKEN_VARIABLE,
    Block,
    ConfigValues,
    Engine,
    Placeholder,
    Writer,
    pairs,
)
from headgate.engines.config.catalog import Behind, EngineCatalog, FileAccess, GlueAddress
from headgate.engines.config.names import ConfigFormat, EngineName
from headgate.engines.config.trino import metastore

_PLACES: Final = {
    ConfigFormat.YAML: "Goes to ~/.pyiceberg.yaml, or to .pyiceberg.yaml in the folder that PYICEBERG_HOME names.",
    ConfigFormat.PYTHON: "For a program or notebook.",
}
_REPLACE: Final = "Replace what stands in <>; let nobody else read the file."
_ICEBERG_ONLY: Final = "it reads Iceberg tables only"


class _Client(msgspec.Struct, frozen=True):
    """A Python library over pyiceberg: what it is installed and imported by, and how it reads a table."""

    name: EngineName
    title: str
    packages: str
    imports: str
    reads: str
    """What stands at the end, with ``{catalog}`` for the catalog's name."""
    taken: tuple[str, ...]
    """Names that the program needs for something else."""


_PYICEBERG: Final = _Client(
    EngineName.PYICEBERG,
    "pyiceberg",
    "pyiceberg[pyarrow]",
    "",
    '# {catalog}.load_table("schema.table").scan().to_arrow()\n',
    ("load_catalog", "os"),
)
_POLARS: Final = _Client(
    EngineName.POLARS,
    "polars",
    "polars pyiceberg[pyarrow]",
    "import polars as pl\n",
    # INVARIANT: nothing but settings of S3, as polars takes a 'token' among them for one of S3 and would send it there.
    """

def scan(name: str) -> pl.LazyFrame:
    table = {catalog}.load_table(name)
    # The keys that came with the table: polars does not take them over by itself.
    storage = {{key: value for key, value in table.io.properties.items() if key.startswith("s3.")}}
    return pl.scan_iceberg(table, storage_options=storage)


# scan("schema.table").collect()
""",
    ("load_catalog", "os", "pl", "scan"),
)
_DAFT: Final = _Client(
    EngineName.DAFT,
    "daft",
    "daft pyiceberg[pyarrow]",
    "import daft\n",
    '# daft.read_iceberg({catalog}.load_table("schema.table")).to_pydict()\n',
    ("daft", "load_catalog", "os"),
)


def _text(client: _Client, block: Block, format: ConfigFormat) -> str:
    if format is ConfigFormat.YAML:
        return rendering.yaml((block,))
    head = rendering.head(block, format) + rendering.comments((f"Needs: pip install {client.packages}",))
    body = rendering.python_arguments(block)
    needs = "import os\n\n" if "os.environ" in body else ""
    return (
        f"{head}{needs}{client.imports}from pyiceberg.catalog import load_catalog\n\n"
        f"{block.name} = load_catalog(\n    {rendering.literal(block.name)},\n    **{{\n"
        f"{rendering.python_arguments(block, ' ' * 8)}    }},\n)\n"
        f"{client.reads.format(catalog=block.name)}"
    )


def _storage(catalog: EngineCatalog) -> ConfigValues:
    found = FileAccess.of(catalog)
    if not found.s3:
        return {}
    return {
        "s3.region": found.region,
        "s3.endpoint": found.endpoint,
        "s3.force-virtual-addressing": None if found.path_style else "true" if found.endpoint else None,
    }


def _headgate(client: _Client) -> Writer:
    def write(catalog: EngineCatalog, format: ConfigFormat) -> str:
        s3 = FileAccess.of(catalog).s3
        settings: ConfigValues = {
            "type": "rest",
            "uri": catalog.uri,
            "warehouse": catalog.warehouse,
            "token": Placeholder(TOKEN_VARIABLE),
            "header.X-Iceberg-Access-Delegation": "vended-credentials" if s3 else None,
            **_storage(catalog),
        }
        yaml = format is ConfigFormat.YAML
        notes = (
            words.title(catalog, client.title),
            words.token(_REPLACE) if yaml else words.from_environment("of the program"),
            *words.access(catalog),
            *words.named(catalog, catalog.alias),
        )
        return _text(client, Block(catalog.alias, notes, pairs(settings), _PLACES), format)

    return write


def _past(client: _Client, source: Callable[[EngineCatalog], ConfigValues], *notes: str) -> Writer:
    def write(catalog: EngineCatalog, format: ConfigFormat) -> str:
        settings = pairs({**source(catalog), **_storage(catalog)})
        hidden = any("<" in pair.text for pair in settings) and format is ConfigFormat.YAML
        above = (
            *words.past(catalog, client.title),
            *((words.AWS_IDENTITY,) if FileAccess.of(catalog).s3 else ()),
            *notes,
            *((_REPLACE,) if hidden else ()),
            *words.named(catalog, catalog.alias),
        )
        return _text(client, Block(catalog.alias, above, settings, _PLACES), format)

    return write


def _on_rest(catalog: EngineCatalog) -> ConfigValues:
    return {
        "type": "rest",
        "uri": catalog.address("uri"),
        "warehouse": catalog.value("warehouse"),
        "token": Placeholder("REST_TOKEN"),
    }


def _on_aws_rest(catalog: EngineCatalog) -> ConfigValues:
    return {
        "type": "rest",
        "uri": catalog.address("uri"),
        "warehouse": catalog.value("warehouse"),
        **catalog.signing,
    }


def _on_hms(catalog: EngineCatalog) -> ConfigValues:
    return {"type": "hive", "uri": metastore(catalog), "warehouse": catalog.value("warehouse")}


def _on_glue(client: _Client) -> Callable[[EngineCatalog], ConfigValues]:
    def settings(catalog: EngineCatalog) -> ConfigValues:
        glue = GlueAddress.of(catalog)
        if not glue.iceberg:
            raise words.refusal(catalog, client.title, _ICEBERG_ONLY, past=True)
        return {
            "type": "glue",
            "warehouse": catalog.value("warehouse"),
            "glue.region": glue.region,
            "glue.id": glue.catalog_id,
            "glue.endpoint": glue.endpoint,
            "client.role-arn": FileAccess.of(catalog).role,
        }

    return settings


def _on_jdbc(catalog: EngineCatalog) -> ConfigValues:
    """SQLAlchemy's address of the database, which has user and password inside."""
    url = catalog.jdbc_url.removeprefix("jdbc:")
    scheme, _, rest = url.partition(":")
    user = _user(catalog)
    place = f"//{user}:<JDBC_PASSWORD>@{rest.removeprefix('//').partition('?')[0]}"
    drivers = {"postgresql": "postgresql+psycopg2", "mysql": "mysql+pymysql", "mariadb": "mysql+pymysql"}
    sqlite = f"sqlite:///{rest}"
    return {
        "type": "sql",
        "uri": sqlite if scheme == "sqlite" else f"{drivers[scheme]}:{place}",
        "warehouse": catalog.value("warehouse"),
    }


def _user(catalog: EngineCatalog) -> str:
    """The user as a part of an address, in which nothing of the name ends it."""
    named = catalog.value("jdbc-user")
    return quote(named, safe="") if named else "<JDBC_USER>"


def _engine(client: _Client, databases: dict[Behind, Writer], refused: dict[Behind, str]) -> Engine:
    glue = _past(client, _on_glue(client))
    stored = "Iceberg keeps the name of the catalog with every table: where they were made under another name, call it so."
    return Engine(
        client.name,
        client.title,
        _headgate(client),
        {
            Behind.REST: _past(client, _on_rest, "REST_TOKEN is a token of the other catalog's."),
            Behind.AWS_REST: _past(client, _on_aws_rest),
            Behind.HMS: _past(client, _on_hms),
            Behind.GLUE: glue,
            Behind.GLUE_BOTH: _past(client, _on_glue(client), "Only its Iceberg tables are read."),
            Behind.JDBC: _past(client, _on_jdbc, stored),
            **databases,
        },
        {
            **words.NO_TABLES,
            **dict.fromkeys((Behind.HIVE_TABLES, Behind.GLUE_HIVE_TABLES), _ICEBERG_ONLY),
            **refused,
        },
        frozenset({*map(str.lower, keyword.kwlist), *client.taken}),
    )


def _database(client: _Client, read: str) -> Writer:
    """polars and daft send a query to a database, by its address."""

    def write(catalog: EngineCatalog, _: ConfigFormat) -> str:
        url = catalog.jdbc_url.removeprefix("jdbc:").partition("?")[0].replace("mariadb:", "mysql:")
        user = _user(catalog)
        address = url.replace("//", f"//{user}:<JDBC_PASSWORD>@", 1)
        notes = (*words.past(catalog, client.title), f"Needs: pip install {client.name} connectorx")
        return (
            f"{rendering.comments(notes)}import os\n\n{client.imports}\n"
            f"{catalog.alias} = {rendering.python_value(address)}\n"
            f"# {read.format(catalog=catalog.alias)}\n"
        )

    return write


def _databases(client: _Client, read: str) -> dict[Behind, Writer]:
    return dict.fromkeys((Behind.POSTGRESQL, Behind.MYSQL), _database(client, read))


PYICEBERG: Final = _engine(_PYICEBERG, {}, dict.fromkeys((Behind.POSTGRESQL, Behind.MYSQL), _ICEBERG_ONLY))
POLARS: Final = _engine(
    _POLARS, _databases(_POLARS, 'pl.read_database_uri("SELECT * FROM schema.table", {catalog})'), {}
)
DAFT: Final = _engine(
    _DAFT, _databases(_DAFT, 'daft.read_sql("SELECT * FROM schema.table", {catalog}).to_pydict()'), {}
)
