"""DuckDB: statements, or the same in Python."""

import re
from typing import Final
from urllib.parse import urlsplit

from headgate.engines.config import rendering, words
from headgate.engines.config.blocks import TOKEN_VARIABLE, Engine, Writer
from headgate.engines.config.catalog import Behind, EngineCatalog, FileAccess, GlueAddress
from headgate.engines.config.names import ConfigFormat, EngineName
from headgate.engines.config.rendering import sql_text

_TITLE: Final = "DuckDB"
_REPLACE: Final = "Replace what stands in <>."
_ICEBERG_ONLY: Final = "it speaks to no Hive metastore and reads no Hive tables of a catalog"


def _text(format: ConfigFormat, notes: tuple[str, ...], statements: tuple[str, ...]) -> str:
    """`statements` may be a comment, of lines that begin with two dashes."""
    if format is ConfigFormat.SQL:
        head = rendering.comments(
            (*notes[:1], "For the shell of DuckDB, or any of its clients.", *notes[1:]), "--"
        )
        return head + "".join(s if s.startswith("--") else f"{s};\n" for s in statements)
    lines = [
        re.sub(r"^--", "#", statement, flags=re.MULTILINE) if statement.startswith("--") else _call(statement)
        for statement in statements
    ]
    head = rendering.comments((*notes[:1], "For a program or notebook.", *notes[1:]))
    needs = "import os\n\n" if any("os.environ" in line for line in lines) else ""
    return f"{head}{needs}import duckdb\n\ndb = duckdb.connect()\n{''.join(lines)}"


def _call(statement: str) -> str:
    filled = re.sub(r"<(\w+)>", r"{os.environ['\1']}", statement)
    mark = "f" if filled != statement else ""
    return f'db.execute({mark}"""{filled}""")\n'


def _extensions(*names: str) -> tuple[str, ...]:
    return tuple(word for name in names for word in (f"INSTALL {name}", f"LOAD {name}"))


def _options(*options: tuple[str, str | None]) -> str:
    return ",\n".join(f"  {key} {value}".rstrip() for key, value in options if value is not None)


def _secret(name: str, *options: tuple[str, str | None]) -> str:
    return f'CREATE SECRET "{name}" (\n{_options(*options)}\n)'


def _attach(catalog: EngineCatalog, what: str, *options: tuple[str, str | None]) -> str:
    return f'ATTACH {sql_text(what)} AS "{catalog.alias}" (\n{_options(*options)}\n)'


def _own_keys(catalog: EngineCatalog, region: str | None = None) -> str:
    """A secret that finds AWS keys on the machine."""
    storage = FileAccess.of(catalog)
    endpoint = urlsplit(storage.endpoint) if storage.endpoint else None
    return _secret(
        f"{catalog.alias}_storage",
        ("TYPE", "s3"),
        ("PROVIDER", "credential_chain"),
        ("CHAIN", sql_text("sts") if storage.role else None),
        ("ASSUME_ROLE_ARN", sql_text(storage.role) if storage.role else None),
        ("EXTERNAL_ID", sql_text(storage.external_id) if storage.role and storage.external_id else None),
        ("REGION", sql_text(region or storage.region)),
        ("ENDPOINT", sql_text(endpoint.netloc) if endpoint else None),
        ("URL_STYLE", sql_text("path") if storage.path_style else None),
        ("USE_SSL", "false" if endpoint and endpoint.scheme == "http" else None),
    )


def _rest(
    catalog: EngineCatalog, uri: str, warehouse: str, token: str, delegation: str | None
) -> tuple[str, ...]:
    return (
        _secret(f"{catalog.alias}_token", ("TYPE", "iceberg"), ("TOKEN", f"'<{token}>'")),
        _attach(
            catalog,
            warehouse,
            ("TYPE", "iceberg"),
            ("ENDPOINT", sql_text(uri)),
            ("SECRET", f'"{catalog.alias}_token"'),
            ("ACCESS_DELEGATION_MODE", delegation),
        ),
    )


def _headgate(catalog: EngineCatalog, format: ConfigFormat) -> str:
    storage = FileAccess.of(catalog)
    notes = (
        words.title(catalog, _TITLE),
        words.token(_REPLACE) if format is ConfigFormat.SQL else words.from_environment("of the program"),
        *words.access(catalog),
        *words.named(catalog, catalog.alias),
    )
    delegation = None if storage.s3 else "'none'"
    statements = _rest(catalog, catalog.uri, catalog.warehouse, TOKEN_VARIABLE, delegation)
    own: tuple[str, ...] = ()
    if storage.s3 and not storage.role:
        needed = "".join(f"{each};\n" for each in (*_extensions("aws"), _own_keys(catalog)))
        lines = f"Where none come with the tables, add ACCESS_DELEGATION_MODE 'none' below, and:\n{needed}"
        own = ("".join(f"-- {line}\n" for line in lines.splitlines()),)
    return _text(format, notes, (*_extensions("httpfs", "iceberg"), *own, *statements))


def _past(catalog: EngineCatalog, *notes: str) -> tuple[str, ...]:
    return (*words.past(catalog, _TITLE), *notes, *words.named(catalog, catalog.alias))


def _on_rest(catalog: EngineCatalog, format: ConfigFormat) -> str:
    s3 = FileAccess.of(catalog).s3
    notes = _past(
        catalog, "REST_TOKEN is a token of the other catalog's.", *((words.AWS_IDENTITY,) if s3 else ())
    )
    own = (_own_keys(catalog),) if s3 else ()
    statements = _rest(
        catalog,
        catalog.address("uri"),
        catalog.value("warehouse") or "",
        "REST_TOKEN",
        None if s3 else "'none'",
    )
    return _text(
        format, notes, (*_extensions("httpfs", "iceberg", *(("aws",) if s3 else ())), *own, *statements)
    )


def _on_glue(catalog: EngineCatalog, format: ConfigFormat) -> str:
    glue = GlueAddress.of(catalog)
    if not glue.iceberg:
        raise words.refusal(catalog, _TITLE, _ICEBERG_ONLY, past=True)
    only = ("Only its Iceberg tables are read.",) if catalog.behind is Behind.GLUE_BOTH and glue.hive else ()
    account = () if glue.catalog_id else ("AWS_ACCOUNT_ID is the number of the account that Glue is in.",)
    endpoint = glue.endpoint or f"https://glue.{glue.region}.amazonaws.com"
    attach = _attach(
        catalog,
        glue.catalog_id or "<AWS_ACCOUNT_ID>",
        ("TYPE", "iceberg"),
        ("ENDPOINT", sql_text(f"{endpoint.removeprefix('https://').rstrip('/')}/iceberg")),
        ("AUTHORIZATION_TYPE", "'sigv4'"),
        ("SECRET", f'"{catalog.alias}_storage"'),
    )
    notes = _past(catalog, words.AWS_IDENTITY, *account, *only)
    keys = _own_keys(catalog, glue.region)
    return _text(format, notes, (*_extensions("httpfs", "iceberg", "aws"), keys, attach))


def _database(extension: str, database_key: str) -> Writer:
    def write(catalog: EngineCatalog, format: ConfigFormat) -> str:
        url = catalog.jdbc_url
        parts = urlsplit(url.removeprefix("jdbc:"))
        given = {
            "host": parts.hostname,
            "port": str(parts.port) if parts.port else None,
            database_key: catalog.word("jdbc-database") or rendering.database_of(url),
            "user": catalog.word("jdbc-user"),
            "password": "<JDBC_PASSWORD>",
        }
        text = " ".join(f"{key}={value}" for key, value in given.items() if value)
        notes = _past(catalog, _REPLACE)
        attach = _attach(catalog, text, ("TYPE", extension), ("READ_ONLY", ""))
        return _text(format, notes, (*_extensions(extension), attach))

    return write


DUCKDB: Final = Engine(
    EngineName.DUCKDB,
    _TITLE,
    _headgate,
    {
        Behind.REST: _on_rest,
        Behind.GLUE: _on_glue,
        Behind.GLUE_BOTH: _on_glue,
        Behind.POSTGRESQL: _database("postgres", "dbname"),
        Behind.MYSQL: _database("mysql", "database"),
    },
    {
        **words.NO_TABLES,
        **dict.fromkeys((Behind.HMS, Behind.HIVE_TABLES, Behind.GLUE_HIVE_TABLES), _ICEBERG_ONLY),
        Behind.AWS_REST: "it signs requests for Glue and S3 Tables alone, under a setting of its own",
        Behind.JDBC: "its Iceberg extension knows REST catalogs only",
    },
    frozenset({"information_schema", "main", "memory", "pg_catalog", "system", "temp"}),
)
