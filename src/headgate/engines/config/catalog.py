"""A catalog as settings are written for it: what is behind it, and its properties as far as they may stand in a text."""

import enum
import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

import msgspec

from headgate.model.errors import IllegalArgument
from headgate.model.objects import CatalogType, clip
from headgate.model.secrets import without_secrets


class Behind(enum.StrEnum):
    """What is behind a catalog, as far as settings differ."""

    NATIVE = "iceberg-native"
    MEMORY = "iceberg-memory"
    REST = "iceberg-rest"
    AWS_REST = "iceberg-rest-signed"
    HMS = "iceberg-hive"
    GLUE = "iceberg-glue"
    JDBC = "iceberg-jdbc"
    HIVE_TABLES = "hive-hms"
    GLUE_HIVE_TABLES = "hive-glue"
    GLUE_BOTH = "glue"
    POSTGRESQL = "jdbc-postgresql"
    MYSQL = "jdbc-mysql"
    KAFKA = "kafka"
    TOPICS = "topic"
    FILESETS = "fileset"
    MODELS = "model"


_ICEBERG: Final = {
    "": Behind.NATIVE,
    "native": Behind.NATIVE,
    "memory": Behind.MEMORY,
    "rest": Behind.REST,
    "hive": Behind.HMS,
    "glue": Behind.GLUE,
    "jdbc": Behind.JDBC,
}
_IN_AWS: Final = (Behind.AWS_REST, Behind.GLUE, Behind.GLUE_BOTH, Behind.GLUE_HIVE_TABLES)
_TYPES: Final = {
    CatalogType.FILESET: Behind.FILESETS,
    CatalogType.MODEL: Behind.MODELS,
    CatalogType.MESSAGING: Behind.TOPICS,
}

_UNFIT: Final = re.compile(r"[\"'`\\$<>{}]|^env:", re.IGNORECASE)
_USERINFO: Final = re.compile(r"//[^/?#]*@")
_SERVER: Final = re.compile(
    r"https?://([\w.-]+|\[[0-9a-f:.]+\])(:[0-9]{1,5})?(/[\w./~-]*)?", re.ASCII | re.IGNORECASE
)
_REGION: Final = re.compile(r"[a-zA-Z0-9-]{1,40}", re.ASCII)
_JDBC: Final = re.compile(
    r"(jdbc:(?:(?:postgresql|mysql|mariadb)://(?:[\w.-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?(?:/[\w.$%-]*)?|sqlite:/[^?;()@#\s]+))"
    r"(?:\?([^;()@#\s]*))?",
    re.ASCII,
)
_DATABASE: Final = re.compile(r"[\w$-]{1,63}", re.ASCII)
_PARAMETERS: Final = frozenset({"currentSchema", "requireSSL", "sslMode", "sslmode", "useSSL"})
"""What an address of a database may say besides. INVARIANT: none of the many words by which a driver loads a class, writes
a file or sends one away."""
_MOST: Final = 1_000


class EngineCatalog(msgspec.Struct, frozen=True):
    """One catalog of one server. `properties` are those that the asker may see."""

    metalake: str
    name: str
    type: CatalogType
    provider: str
    properties: Mapping[str, str]
    server: str

    def __post_init__(self) -> None:
        # INVARIANT: whoever makes one, no secret gets further than this.
        msgspec.structs.force_setattr(self, "properties", without_secrets(self.properties))
        if len(self.server) > _MOST or not _SERVER.fullmatch(self.server):
            raise IllegalArgument(
                f"'{clip(self.server)}' is not the address of a server",
                hint="write it as http://host:8090, without a user, a query or a fragment",
            )

    @property
    def behind(self) -> Behind:
        """What is behind it, or a refusal where that is unknown."""
        if self.type is not CatalogType.RELATIONAL:
            return Behind.KAFKA if self.provider == "kafka" else _TYPES[self.type]
        found: Behind | None = None
        if self.provider == "lakehouse-iceberg":
            found = _ICEBERG.get(self.properties.get("catalog-backend", "").lower())
            if found is Behind.REST and self.properties.get("rest.sigv4-enabled", "").lower() == "true":
                found = Behind.AWS_REST
        elif self.provider == "hive":
            glue = self.properties.get("metastore-type", "").lower() == "glue"
            found = Behind.GLUE_HIVE_TABLES if glue else Behind.HIVE_TABLES
        elif self.provider in ("glue", "jdbc-postgresql", "jdbc-mysql"):
            found = Behind(self.provider)
        if found is None:
            raise IllegalArgument(
                f"no settings are known for a catalog of provider '{clip(self.provider)}'",
                hint="they are for lakehouse-iceberg, hive, glue, jdbc-postgresql and jdbc-mysql",
            )
        return found

    @property
    def alias(self) -> str:
        """What engines call it: a name that needs no quotes in any of them."""
        plain = re.sub(r"[^A-Za-z0-9_]", "_", self.name)
        return plain if plain[0].isalpha() else f"c_{plain}"

    @property
    def uri(self) -> str:
        """The Iceberg door."""
        return f"{self.server.rstrip('/')}/iceberg"

    @property
    def warehouse(self) -> str:
        """What clients of the Iceberg door call it."""
        return f"{self.metalake}.{self.name}"

    def value(self, key: str) -> str | None:
        """A property that may stand in a text, or None if it is not there.

        INVARIANT: a value is one line, ends no quotation of any format and names no variable of the one who pastes it.
        """
        text = self.properties.get(key, "").strip()
        if not text:
            return None
        if not text.isprintable() or len(text) > _MOST or _UNFIT.search(text) or _USERINFO.search(text):
            raise self._unfit(key)
        return text

    def required(self, key: str) -> str:
        text = self.value(key)
        if text is None:
            raise IllegalArgument(
                f"catalog '{clip(self.name)}' shows you no property '{key}'",
                hint="settings for the system behind it need it: ask the catalog's owner",
            )
        return text

    def address(self, key: str) -> str:
        """An address of http, without a query, in which keys are often put."""
        text = self.required(key)
        if not _SERVER.fullmatch(text):
            raise self._unfit(key)
        return text

    def region(self, *keys: str) -> str:
        """The first of the properties that names a region, which becomes a part of host names."""
        for key in keys:
            text = self.value(key)
            if text is not None:
                if not _REGION.fullmatch(text):
                    raise self._unfit(key)
                return text
        return "us-east-1"

    @property
    def signing(self) -> dict[str, str]:
        """What requests to a REST catalog of AWS's are signed for, as Iceberg's clients name it."""
        return {
            "rest.sigv4-enabled": "true",
            "rest.signing-name": self.word("rest.signing-name") or "execute-api",
            "rest.signing-region": self.region("rest.signing-region", "s3-region"),
        }

    def word(self, key: str) -> str | None:
        """A value without spaces, for a text in which a space begins the next setting."""
        text = self.value(key)
        if text is not None and re.search(r"\s", text):
            raise self._unfit(key)
        return text

    @property
    def jdbc_url(self) -> str:
        """The address of the database, with those parameters only that may stand in somebody else's settings."""
        found = _JDBC.fullmatch(self.required("jdbc-url"))
        if found is None or not _has_port(found[1].removeprefix("jdbc:")):
            raise self._unfit("jdbc-url")
        pairs = (part.partition("=") for part in (found[2] or "").split("&") if part)
        kept = [f"{key}={value}" for key, _, value in pairs if key in _PARAMETERS]
        address, database = found[1], self.value("jdbc-database")
        if (
            database
            and self.behind is Behind.POSTGRESQL
            and "/" not in address.partition("//")[2].rstrip("/")
        ):
            if not _DATABASE.fullmatch(database):
                raise self._unfit("jdbc-database")
            address = f"{address.rstrip('/')}/{database}"
        return "?".join((address, "&".join(kept))) if kept else address

    @property
    def mariadb(self) -> bool:
        """Whether the address is one of MariaDB's own driver."""
        return self.jdbc_url.startswith("jdbc:mariadb:")

    def _unfit(self, key: str) -> IllegalArgument:
        return IllegalArgument(
            f"property '{key}' of catalog '{clip(self.name)}' cannot stand in settings of an engine",
            hint="it holds quotes, variables or a user, or is no address: its owner can change it",
        )


def _has_port(url: str) -> bool:
    """Whether what stands for the port of an address is one, or nothing does."""
    try:
        return urlsplit(url).port != 0
    except ValueError:
        return False


class FileAccess(msgspec.Struct, frozen=True):
    """How the files of a catalog are reached, as far as its properties say so."""

    s3: bool
    local: bool
    region: str
    endpoint: str | None
    path_style: bool
    role: str | None
    external_id: str | None
    signs: bool

    @classmethod
    def of(cls, catalog: EngineCatalog) -> "FileAccess":
        """Defaults are those of the server: see docs/storage.md."""
        warehouse = catalog.value("warehouse") or ""
        endpoint = catalog.address("s3-endpoint") if catalog.value("s3-endpoint") else None
        in_aws = catalog.behind in _IN_AWS
        return cls(
            s3=in_aws
            or warehouse.startswith(("s3://", "s3a://"))
            or any(key.startswith("s3-") for key in catalog.properties),
            local=warehouse.startswith(("/", "file:")),
            region=catalog.region("s3-region", "aws-region"),
            endpoint=endpoint,
            path_style=(catalog.value("s3-path-style-access") or str(endpoint is not None)).lower() == "true",
            role=catalog.value("s3-role-arn"),
            external_id=catalog.value("s3-external-id"),
            signs=(catalog.value("s3-remote-signing") or "").lower() == "true",
        )


class GlueAddress(msgspec.Struct, frozen=True):
    """Which Glue a catalog is in. Its region may be another one than that of its storage."""

    region: str
    catalog_id: str | None
    endpoint: str | None
    hive: bool
    """Whether tables of Hive's formats are shown."""
    iceberg: bool

    @classmethod
    def of(cls, catalog: EngineCatalog) -> "GlueAddress":
        shown = (catalog.value("table-format-filter") or "all").lower()
        return cls(
            region=catalog.region("aws-region", "s3-region"),
            catalog_id=catalog.value("aws-glue-catalog-id"),
            endpoint=catalog.address("aws-glue-endpoint") if catalog.value("aws-glue-endpoint") else None,
            hive=shown in ("all", "hive", "parquet"),
            iceberg=shown in ("all", "iceberg"),
        )
