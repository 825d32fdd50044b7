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
_DEFAULT_PORT: Final = 5432
_POSTGRES: Final = re.compile(
    r"jdbc:postgresql://(?P<host>[A-Za-z0-9_.-]+|\[[0-9A-Fa-f:.]+\])(:(?P<port>[0-9]{1,5}))?/(?P<database>[\w$-]{1,63})"
    r"(\?(?P<options>[\x21-\x7e]*))?",
    re.ASCII,
)
_SQLITE: Final = re.compile(r"jdbc:sqlite:(file:)?(//)?(?P<file>/[^?#\x00-\x1f]+)", re.ASCII)
_BESIDE: Final = ("-journal", "-wal", "-shm")
"""How SQLite calls the files that it keeps beside a database while that is written."""
_NAME: Final = re.compile(r"[A-Za-z_][\w$]{0,62}", re.ASCII)
_SSL: Final = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")
_HINT: Final = "use jdbc:postgresql://host:port/database or jdbc:sqlite:/folder/file.db"


class DatabaseAddress(msgspec.Struct, frozen=True):
    """Where a database is. One with a host is PostgreSQL, one with a file is SQLite."""

    database: str
    """Its name, or its file."""
    host: str = ""
    port: int = 0
    schema: str = ""
    ssl: str = ""

    @property
    def system(self) -> str:
        return "PostgreSQL" if self.host else "SQLite database"

    @property
    def source(self) -> str:
        """One spelling of the database, whatever schema of it is meant."""
        if not self.host:
            return canonical(normal(self.database))
        return f"{server_of(f'postgresql://{self.host}:{self.port}')}/{self.database}"

    @property
    def files(self) -> tuple[str, ...]:
        """The file of a database that is one, and those that SQLite keeps beside it."""
        if self.host:
            return ()
        return tuple(f"{normal(self.database)}{end}" for end in ("", *_BESIDE))

    def check(self, openings: Openings) -> None:
        """Refuse a host or a file that the operator has not opened."""
        if self.host:
            openings.check_url(f"property '{URL_KEY}'", f"postgresql://{self.host}:{self.port}")
        else:
            openings.check_place(f"property '{URL_KEY}'", normal(self.database))

    def url(self) -> URL:
        """As SQLAlchemy wants it, without anybody's name or password."""
        if not self.host:
            return URL.create("sqlite", database=self.database)
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
    port = int(found["port"] or _DEFAULT_PORT)
    if not 0 < port < 65_536:
        raise IllegalArgument(f"property '{URL_KEY}' names no port", hint=_HINT)
    if not properties.get("jdbc-user"):
        raise IllegalArgument("the catalog has no 'jdbc-user'", hint="name the user that the database knows")
    schema, ssl = _options(found["options"] or "")
    return DatabaseAddress(found["database"], found["host"], port, schema, ssl)


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
