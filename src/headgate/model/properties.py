"""The properties that Gravitino defines: for each kind of object those that are read here, and those that nothing reads.

A property that is accepted and does nothing is a promise that nobody keeps: an owner who sets `authorization-provider`
believes that another system enforces their grants. So what nothing reads is refused by name until something does. All
other keys are the clients' own words about an object, and are kept as they are; but one of a catalog that is nearly the name
of a property that is read here is taken for a slip, and refused too.
"""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Final

import msgspec

from headgate.model.errors import IllegalArgument
from headgate.model.objects import clip


class Defined(msgspec.Struct, frozen=True):
    """What Gravitino defines for one kind of object. A name that ends with ``*`` stands for all that begin so."""

    read: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    own: tuple[str, ...] = ()
    """What is read here though Gravitino knows nothing of it."""

    closed: bool = False
    """Whether no other key is taken either, so that a misspelled one is not believed to do something."""
    noted: tuple[str, ...] = ()
    """What is taken and does nothing here, as other clients of the same system send it. The documentation says so."""

    def meant_by(self, key: str) -> str | None:
        """The property that is read here and that a key misses by a slip of the pen; None if it is no slip."""
        known = {name for name in (*self.read, *self.own) if not name.endswith("*")}
        if key in known or key.replace("s3.", "s3-", 1) in known or _named(key, _prefixes(self)):
            return None
        alike = {_plain(name): name for name in sorted(known)}
        found = get_close_matches(_plain(key), alike, n=1, cutoff=_ALIKE)
        return alike[found[0]] if found else None

    def unread_in(self, keys: Iterable[str]) -> list[str]:
        """Those of the keys that nothing would read, by name."""
        return sorted(key for key in keys if not self._taken(key))

    def _taken(self, key: str) -> bool:
        if any(_named(key, names) for names in (self.read, self.own, self.noted)):
            return True
        return not (_named(key, self.unread) or (self.closed and not key.lower().startswith(OWN)))


_ALIKE: Final = 0.84
"""How alike two names are of which one is taken for the other: `regoin` and `region`, and not `region` and `s3-region`."""


def _plain(key: str) -> str:
    return key.lower().replace("_", "-").replace(".", "-")


def _prefixes(defined: Defined) -> tuple[str, ...]:
    return tuple(name for name in (*defined.read, *defined.own) if name.endswith("*"))


def _named(key: str, names: tuple[str, ...]) -> bool:
    word = key.lower()
    return any(word.startswith(name[:-1]) if name.endswith("*") else word == name for name in names)


OWN: Final = "headgate."
"""How the keys begin that Headgate itself defines; each is checked where it is read."""

_ALL: Final = ("gravitino.identifier",)
"""What Gravitino keeps of every object for itself."""

_S3: Final = (
    "s3-access-key-id",
    "s3-endpoint",
    "s3-external-id",
    "s3-path-style-access",
    "s3-region",
    "s3-role-arn",
    "s3-secret-access-key",
    "s3-token-expire-in-secs",
    "s3-token-service-endpoint",
)

_MODES: Final = ("headgate.enforce", "headgate.lazy", "headgate.originals")
_STORAGE: Final = ("s3-remote-signing", "s3-session-token", "s3-sts-endpoint")
_SERVER: Final = (
    "credential",
    "oauth2-server-uri",
    "rest.signing-name",
    "rest.signing-region",
    "rest.sigv4-enabled",
    "scope",
    "token",
)

_CATALOG: Final = (
    *_ALL,
    "authentication.*",
    "authorization-provider",
    "authorization.*",
    "cloud.name",
    "cloud.region-code",
    "gravitino.bypass.*",
    "metalake-in-use",
    "ops-impl",
    "package",
)

_CREDENTIALS: Final = (
    "credential-cache-expire-ratio",
    "credential-cache-max-size",
    "credential-provider-type",
    "s3-credential-list-location-prefix",
    "s3-creds-provider",
)

_OTHER_CLOUDS: Final = ("adls-*", "azure-*", "cos-*", "gcs-*", "oss-*")

_ICEBERG: Final = (
    *_CATALOG,
    *_CREDENTIALS,
    *_OTHER_CLOUDS,
    "catalog-backend-impl",
    "catalog-backend-name",
    "data-access",
    "io-impl",
    "jdbc-*",
    "jdbc.*",
    "rest-client-connection-timeout-ms",
    "rest-client-socket-timeout-ms",
    "scan-plan-cache-*",
    "table-metadata-cache-*",
)

_GLUE: Final = (
    "allowed-locations",
    "aws-glue-catalog-id",
    "aws-glue-endpoint",
    "credential-providers",
    "in-use",
    "warehouse",
)

_HIVE: Final = (
    *_CATALOG,
    *_CREDENTIALS,
    *_OTHER_CLOUDS,
    "client.pool-*",
    "default.catalog",
    "impersonation-enable",
    "kerberos.*",
    "list-all-tables",
)

_METASTORE: Final = (
    "allowed-locations",
    "credential-providers",
    "in-use",
    "metastore.uris",
    "warehouse",
    *_S3,
)

_FILES: Final = (*_ALL, *_CREDENTIALS, *_OTHER_CLOUDS, *_S3, "authentication.*")
"""For what lies in a catalog of filesets: how its storage is reached is said on the catalog, by its owner."""

DEFINED: Final[Mapping[str, Defined]] = {
    "metalake": Defined(("in-use",), _ALL),
    "lakehouse-iceberg native catalog": Defined(
        ("catalog-backend", "credential-providers", "in-use", "warehouse", *_S3),
        (*_ICEBERG, "uri"),
        (*_MODES, *_STORAGE, "allowed-locations"),
    ),
    "lakehouse-iceberg rest catalog": Defined(
        ("catalog-backend", "credential-providers", "in-use", "uri", "warehouse", *_S3),
        _ICEBERG,
        (*_MODES, *_STORAGE, *_SERVER, "allowed-locations"),
    ),
    "lakehouse-iceberg jdbc catalog": Defined(
        (
            "allowed-locations",
            "catalog-backend",
            "catalog-backend-name",
            "credential-providers",
            "in-use",
            "jdbc-initialize",
            "jdbc-password",
            "jdbc-url",
            "jdbc-user",
            "jdbc.schema-version",
            "warehouse",
            *_S3,
        ),
        _ICEBERG,
        (*_MODES, *_STORAGE),
        closed=True,
        noted=("jdbc-driver",),
    ),
    "lakehouse-iceberg glue catalog": Defined(
        ("catalog-backend", *_GLUE, "aws-region", *_S3),
        (*_ICEBERG, "uri"),
        (*_MODES, *_STORAGE),
        closed=True,
    ),
    "lakehouse-iceberg hive catalog": Defined(
        ("catalog-backend", *_METASTORE), (*_ICEBERG, "uri"), (*_MODES, *_STORAGE), closed=True
    ),
    "hive glue catalog": Defined(
        ("metastore-type", *_GLUE, "aws-region", *_S3),
        (*_HIVE, "metastore.uris"),
        (*_MODES, *_STORAGE),
        closed=True,
    ),
    "hive hive catalog": Defined(("metastore-type", *_METASTORE), _HIVE, (*_MODES, *_STORAGE), closed=True),
    "glue catalog": Defined(
        (
            *_GLUE,
            "aws-access-key-id",
            "aws-region",
            "aws-secret-access-key",
            "default-table-format",
            "table-format-filter",
            *(key for key in _S3 if key not in ("s3-access-key-id", "s3-region", "s3-secret-access-key")),
        ),
        (*_CATALOG, *_CREDENTIALS),
        (*_MODES, *(key for key in _STORAGE if key != "s3-session-token"), "aws-session-token"),
        closed=True,
    ),
    "jdbc-postgresql catalog": Defined(
        ("in-use", "jdbc-database", "jdbc-password", "jdbc-url", "jdbc-user"),
        _CATALOG,
        closed=True,
        noted=("jdbc-driver",),
    ),
    "jdbc-mysql catalog": Defined(
        ("in-use", "jdbc-password", "jdbc-url", "jdbc-user"), _CATALOG, closed=True, noted=("jdbc-driver",)
    ),
    "fileset catalog": Defined(
        ("credential-providers", "in-use", "location", "location-*", *_S3),
        (
            *_CATALOG,
            *_CREDENTIALS,
            *_OTHER_CLOUDS,
            "default-filesystem-provider",
            "disable-filesystem-ops",
            "fileset-cache-*",
            "filesystem-conn-timeout-secs",
            "filesystem-providers",
            "fs.path.config.*",
        ),
        (*_MODES, *_STORAGE),
    ),
    "kafka catalog": Defined(
        (
            "bootstrap.servers",
            "gravitino.bypass.sasl.jaas.config",
            "gravitino.bypass.sasl.mechanism",
            "gravitino.bypass.sasl.password",
            "gravitino.bypass.sasl.username",
            "gravitino.bypass.security.protocol",
            "in-use",
        ),
        _CATALOG,
        closed=True,
    ),
    "topic catalog": Defined(("in-use",), (*_CATALOG, "bootstrap.servers", "credential-providers"), _MODES),
    "model catalog": Defined(("in-use",), (*_CATALOG, "credential-providers"), _MODES),
    "relational schema": Defined((), _ALL),
    "fileset schema": Defined(("location", "location-*"), (*_FILES, "credential-providers")),
    "messaging schema": Defined((), _ALL),
    "model schema": Defined((), _ALL),
    "table": Defined(
        (
            "comment",
            "credential-providers",
            "current-snapshot-id",
            "format-version",
            "identifier-fields",
            "location",
            "provider",
            "sort-order",
        ),
        (*_ALL, "cherry-pick-snapshot-id", "creator", "format"),
    ),
    "hive table": Defined(
        (
            "comment",
            "credential-providers",
            "format",
            "input-format",
            "location",
            "output-format",
            "provider",
            "serde-lib",
            "serde.parameter.*",
            "table-type",
        ),
        (*_ALL, "external", "numfiles", "serde-name", "totalsize", "transient_lastddltime"),
    ),
    "fileset": Defined(("credential-providers", "default-location-name", "placeholder-*"), _FILES),
    "kafka topic": Defined(("partition-count", "replication-factor"), _ALL),
    "topic": Defined((), (*_ALL, "partition-count", "replication-factor")),
    "model": Defined(("default-uri-name",), _ALL),
}
"""By kind of object; catalogs by provider and what is behind it, schemas by the type of their catalog."""

MEANING: Final[Mapping[str, str]] = {
    "allowed-locations": "folders, separated by commas, for whose keeping tables apart the owner vouches: tables may lie there, and access to them is given out",
    "aws-access-key-id": "secret; for Glue and for the files of tables",
    "aws-glue-catalog-id": "the account whose Glue it is, where that is not the caller's own",
    "aws-glue-endpoint": "the address of Glue, if it is not AWS's for the region",
    "aws-region": "the region of Glue; it may differ from that of S3",
    "aws-secret-access-key": "secret",
    "bootstrap.servers": "the brokers that are asked first, as `host:port`, several with commas. Hosts of all brokers that the cluster names have to be open",
    "catalog-backend": "which system keeps the Iceberg catalog",
    "catalog-backend-name": "the name of the catalog in a database that several may share; `jdbc` if it is left out",
    "credential-providers": "what is given out for files: see [Access to files](storage.md)",
    "default-table-format": "`hive` (the default) or `iceberg`: what a new table becomes that does not say it by its property `provider`",
    "gravitino.bypass.sasl.jaas.config": "secret; user and password as Java's clients write them, in place of the two below",
    "gravitino.bypass.sasl.mechanism": "`PLAIN`, `SCRAM-SHA-256` or `SCRAM-SHA-512`",
    "gravitino.bypass.sasl.password": "secret",
    "gravitino.bypass.sasl.username": "the user that Kafka knows",
    "gravitino.bypass.security.protocol": "`PLAINTEXT` (the default), `SSL`, `SASL_PLAINTEXT` or `SASL_SSL`",
    "in-use": "whether the catalog is in use",
    "jdbc-database": "the database, where `jdbc-url` names none",
    "jdbc-driver": "taken and ignored, as clients on Java send it",
    "jdbc-initialize": "`false`: Iceberg's tables are not made in the database, but must be there",
    "jdbc-password": "secret",
    "jdbc-url": "`jdbc:postgresql://host:port/database` with `sslmode`, `jdbc:mysql://host:port` or `jdbc:mariadb://host:port` with `sslMode`; for Iceberg's tables with `currentSchema` too, or `jdbc:sqlite:/folder/file.db`",
    "jdbc-user": "the user that the database knows",
    "jdbc.schema-version": "`V0` or `V1`: the layout of Iceberg's tables when they are made; `V1` brings an older one up to date. Views need `V1`",
    "metastore-type": "`hive` (the default): a Hive Metastore; `glue`: AWS Glue",
    "metastore.uris": "`thrift://host:port`, several addresses of one metastore separated by commas",
    "s3-access-key-id": "secret; with Glue, for Glue as well",
    "s3-endpoint": "the address of an S3 server that is not AWS's",
    "s3-external-id": "sent along when the role is assumed",
    "s3-path-style-access": "whether buckets stand in the path and not in the host",
    "s3-region": "the region of S3, and of Glue where `aws-region` does not say another",
    "s3-role-arn": "the role that credentials are given out for; Glue is asked as this role",
    "s3-secret-access-key": "secret",
    "s3-token-expire-in-secs": "how long credentials that are given out live",
    "s3-token-service-endpoint": "the address of STS, if it is not AWS's",
    "table-format-filter": "`all` (the default), `hive`, `iceberg`, `delta` or `parquet`: which tables are shown",
    "warehouse": "the folder or bucket in which new tables get folders of their own",
}
"""What the properties of federated catalogs mean, for the documentation."""

_HINTS: Final = {
    "authorization-provider": "other systems get their grants by 'headgate sync push'",
    "s3-": "how storage is reached is said on the catalog",
}


def check_read(kind: str, keys: Iterable[str]) -> None:
    """Refuse properties that somebody would believe to be read, and that nothing here reads."""
    defined = DEFINED.get(kind)
    if defined is None:
        return
    keys = sorted(keys)
    for key in defined.unread_in(keys):
        raise IllegalArgument(
            f"property '{clip(key)}' of a {kind} is not supported by this server",
            hint=_instead(kind, defined, key),
        )
    for key in keys if kind.endswith("catalog") else ():
        meant = defined.meant_by(key)
        if meant is not None:
            raise IllegalArgument(
                f"property '{clip(key)}' of a {kind} is nearly '{meant}', and nothing would read it",
                hint=f"write '{meant}', or choose a name of your own that is less like it",
            )
        if key.lower().startswith(OWN) and key not in defined.own:
            own = ", ".join(name for name in defined.own if name.startswith(OWN))
            raise IllegalArgument(
                f"property '{clip(key)}' of a {kind} is not known",
                hint=f"use one of {own}" if own else "leave it out",
            )


def _instead(kind: str, defined: Defined, key: str) -> str:
    """What to do about a property that nothing reads: most are slips, or leftovers of another kind."""
    # One that Gravitino gives a meaning of its own is meant as it is written.
    meant = None if key.lower() in defined.unread else defined.meant_by(key)
    if meant is not None:
        return f"did you mean '{meant}'?"
    if kind.endswith("catalog") and key.startswith("s3-"):
        return "leave it out"
    return next((text for start, text in _HINTS.items() if key.startswith(start)), "leave it out")
