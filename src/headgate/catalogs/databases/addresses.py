"""Addresses of databases, as JDBC spells them: taken apart here, so that nothing in one means more than it says."""

import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import parse_qsl

import msgspec
from sqlalchemy import URL

from headgate.catalogs.openings import Openings
from headgate.model.errors import IllegalArgument
from headgate.model.objects import clip
from headgate.model.places import normal
from headgate.store.metadata.places import canonical
from headgate.store.metadata.sources import server_of

URL_KEY: Final = "jdbc-url"
DATABASE_KEY: Final = "jdbc-database"
POSTGRESQL: Final = "postgresql"
MYSQL: Final = "mysql"
"""MySQL or MariaDB: which of them is asked once it is reached."""
_DEFAULT_PORT: Final = {POSTGRESQL: 5432, MYSQL: 3306}
_POSTGRES: Final = re.compile(
    r"jdbc:postgresql://(?P<host>[A-Za-z0-9_.-]+|\[[0-9A-Fa-f:.]+\])(:(?P<port>[0-9]{1,5}))?/(?P<database>[\w$-]{1,63})"
    r"(\?(?P<options>[\x21-\x7e]*))?",
    re.ASCII,
)
_SERVER: Final = re.compile(
    r"jdbc:(?P<system>postgresql|mysql|mariadb)://(?P<host>[A-Za-z0-9_.-]+|\[[0-9A-Fa-f:.]+\])(:(?P<port>[0-9]{1,5}))?"
    r"(/(?P<database>[\w$-]{1,63})?)?(\?(?P<options>[\x21-\x7e]*))?",
    re.ASCII,
)
"""A server, with or without one of its databases."""
_SQLITE: Final = re.compile(r"jdbc:sqlite:(file:)?(//)?(?P<file>/[^?#\x00-\x1f]+)", re.ASCII)
_BESIDE: Final = ("-journal", "-wal", "-shm")
"""How SQLite calls the files that it keeps beside a database while that is written."""
_DATABASE: Final = re.compile(r"[\w$-]{1,63}", re.ASCII)
_NAME: Final = re.compile(r"[A-Za-z_][\w$]{0,62}", re.ASCII)
_SSL: Final = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")
_SSL_MYSQL: Final = ("disabled", "preferred", "required", "verify_ca", "verify_identity")
_HINT: Final = "use jdbc:postgresql://host:port/database or jdbc:sqlite:/folder/file.db"


class DatabaseAddress(msgspec.Struct, frozen=True):
    """Where a database is. One with a file is SQLite, one with a host a server."""

    database: str
    """Its name, or its file."""
    host: str = ""
    port: int = 0
    schema: str = ""
    ssl: str = ""
    kind: str = POSTGRESQL
    """What kind of server it is, if it is one."""

    @property
    def system(self) -> str:
        if not self.host:
            return "SQLite database"
        return "PostgreSQL" if self.kind == POSTGRESQL else "MySQL"

    @property
    def source(self) -> str:
        """One spelling of the database, whatever schema of it is meant."""
        if not self.host:
            return canonical(normal(self.database))
        server = server_of(f"{self.kind}://{self.host}:{self.port}")
        # A server of MySQL's shows all of its databases at once.
        return f"{server}/{self.database}" if self.kind == POSTGRESQL else server

    @property
    def files(self) -> tuple[str, ...]:
        """The file of a database that is one, and those that SQLite keeps beside it."""
        if self.host:
            return ()
        return tuple(f"{normal(self.database)}{end}" for end in ("", *_BESIDE))

    def check(self, openings: Openings) -> None:
        """Refuse a host or a file that the operator has not opened."""
        if self.host:
            openings.check_url(f"property '{URL_KEY}'", f"{self.kind}://{self.host}:{self.port}")
        else:
            openings.check_place(f"property '{URL_KEY}'", normal(self.database))

    def url(self) -> URL:
        """As SQLAlchemy wants it, without anybody's name or password."""
        if not self.host:
            return URL.create("sqlite", database=self.database)
        if self.kind == MYSQL:
            return URL.create("mysql+pymysql", host=self.host.strip("[]"), port=self.port)
        return URL.create(
            "postgresql+psycopg", host=self.host.strip("[]"), port=self.port, database=self.database
        )

    def __str__(self) -> str:
        """Tells databases apart; no secret."""
        where = f"{self.host.lower()}:{self.port}/" if self.host else ""
        return f"{where}{self.database}/{self.schema}"


def address_of(properties: Mapping[str, str]) -> DatabaseAddress:
    """The database that a catalog declares, or a refusal that names the key."""
    text = properties.get(URL_KEY, "")
    if not text:
        raise IllegalArgument(f"the catalog has no '{URL_KEY}'", hint=_HINT)
    file = _SQLITE.fullmatch(text)
    if file is not None:
        for key in ("jdbc-user", "jdbc-password"):
            if properties.get(key):
                raise IllegalArgument(f"property '{key}' contradicts '{URL_KEY}': SQLite knows no users")
        if file["file"].endswith(_BESIDE):
            raise IllegalArgument(
                f"property '{URL_KEY}' names a file that belongs to something else",
                hint="SQLite keeps files of that name beside another database: choose another name",
            )
        return DatabaseAddress(file["file"])
    found = _POSTGRES.fullmatch(text)
    if found is None:
        # Not repeated: it may hold a password.
        raise IllegalArgument(f"property '{URL_KEY}' is no address of a database that is built", hint=_HINT)
    port = _port(found["port"], POSTGRESQL, _HINT)
    _check_user(properties)
    schema, ssl = _options(found["options"] or "")
    return DatabaseAddress(found["database"], found["host"], port, schema, ssl)


def postgres_of(properties: Mapping[str, str]) -> DatabaseAddress:
    """The PostgreSQL database whose schemas a catalog shows."""
    hint = "use jdbc:postgresql://host:port/database"
    found = _server(properties, (POSTGRESQL,), hint)
    schema, ssl = _options(found["options"] or "")
    if schema:
        raise IllegalArgument(
            f"'currentSchema' in property '{URL_KEY}' is not read", hint="the catalog shows all schemas"
        )
    named, database = properties.get(DATABASE_KEY, ""), found["database"] or ""
    if named and not _DATABASE.fullmatch(named):
        raise IllegalArgument(f"property '{DATABASE_KEY}' is no plain name", hint=hint)
    if named and database and named != database:
        raise IllegalArgument(
            f"property '{DATABASE_KEY}' contradicts '{URL_KEY}'", hint="leave one of them out"
        )
    if not named and not database:
        raise IllegalArgument(
            f"neither property '{URL_KEY}' nor '{DATABASE_KEY}' names a database", hint=hint
        )
    return DatabaseAddress(named or database, found["host"], _port(found["port"], POSTGRESQL, hint), "", ssl)


def mysql_of(properties: Mapping[str, str]) -> DatabaseAddress:
    """The MySQL or MariaDB server whose databases a catalog shows."""
    hint = "use jdbc:mysql://host:port or jdbc:mariadb://host:port"
    found = _server(properties, (MYSQL, "mariadb"), hint)
    if found["database"]:
        raise IllegalArgument(
            f"property '{URL_KEY}' names one database, and the catalog shows all of the server", hint=hint
        )
    ssl = _mysql_options(found["options"] or "")
    return DatabaseAddress("", found["host"], _port(found["port"], MYSQL, hint), "", ssl, MYSQL)


def _server(properties: Mapping[str, str], systems: tuple[str, ...], hint: str) -> "re.Match[str]":
    text = properties.get(URL_KEY, "")
    if not text:
        raise IllegalArgument(f"the catalog has no '{URL_KEY}'", hint=hint)
    found = _SERVER.fullmatch(text)
    if found is None or found["system"] not in systems:
        # Not repeated: it may hold a password.
        raise IllegalArgument(f"property '{URL_KEY}' is no address of such a database", hint=hint)
    _check_user(properties)
    return found


def _port(text: str | None, kind: str, hint: str) -> int:
    port = int(text or _DEFAULT_PORT[kind])
    if not 0 < port < 65_536:
        raise IllegalArgument(f"property '{URL_KEY}' names no port", hint=hint)
    return port


def _check_user(properties: Mapping[str, str]) -> None:
    if not properties.get("jdbc-user"):
        raise IllegalArgument("the catalog has no 'jdbc-user'", hint="name the user that the database knows")


def _mysql_options(text: str) -> str:
    """The SSL mode. INVARIANT: nothing else of an address reaches the driver."""
    options = {key.lower(): value.lower() for key, value in parse_qsl(text, keep_blank_values=True)}
    modes = [options.pop(key) for key in ("sslmode",) if key in options]
    if "usessl" in options:
        wanted = options.pop("usessl")
        if wanted not in ("true", "false"):
            raise IllegalArgument(f"'useSSL' in property '{URL_KEY}' is neither true nor false")
        modes.append("required" if wanted == "true" else "disabled")
    for key in options:
        raise IllegalArgument(
            f"'{clip(key)}' in property '{URL_KEY}' is not read",
            hint="use sslMode there, and 'jdbc-user' and 'jdbc-password' beside it",
        )
    if len(modes) > 1:
        raise IllegalArgument(f"'useSSL' in property '{URL_KEY}' contradicts 'sslMode'", hint="use sslMode")
    mode = modes[0] if modes else "preferred"
    if mode not in _SSL_MYSQL:
        raise IllegalArgument(
            f"'sslMode' in property '{URL_KEY}' is unknown", hint=f"use {', '.join(_SSL_MYSQL)}"
        )
    return mode


def _options(text: str) -> tuple[str, str]:
    """The schema and the SSL mode. INVARIANT: nothing else of an address reaches the driver, which knows many words that
    lead elsewhere."""
    options = dict(parse_qsl(text, keep_blank_values=True))
    schema, ssl = options.pop("currentSchema", ""), options.pop("sslmode", "")
    for key in options:
        raise IllegalArgument(
            f"'{clip(key)}' in property '{URL_KEY}' is not read",
            hint="use currentSchema and sslmode there, and 'jdbc-user' and 'jdbc-password' beside it",
        )
    if schema and not _NAME.fullmatch(schema):
        raise IllegalArgument(f"'currentSchema' in property '{URL_KEY}' is no plain name")
    if ssl and ssl not in _SSL:
        raise IllegalArgument(f"'sslmode' in property '{URL_KEY}' is unknown", hint=f"use {', '.join(_SSL)}")
    return schema, ssl
