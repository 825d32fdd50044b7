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
        return sorted(key for key in keys if not _named(key, self.read) and _named(key, self.unread))


_ALIKE: Final = 0.84
"""How alike two names are of which one is taken for the other: `regoin` and `region`, and not `region` and `s3-region`."""
_OURS: Final = "headgate."
"""Properties that begin so are nobody's own words."""


def _plain(key: str) -> str:
    return key.lower().replace("_", "-").replace(".", "-")


def _prefixes(defined: Defined) -> tuple[str, ...]:
    return tuple(name for name in (*defined.read, *defined.own) if name.endswith("*"))


def _named(key: str, names: tuple[str, ...]) -> bool:
    word = key.lower()
    return any(word.startswith(name[:-1]) if name.endswith("*") else word == name for name in names)


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
_SERVER: Final = ("credential", "oauth2-server-uri", "scope", "token")

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
    "fileset": Defined(("credential-providers", "default-location-name", "placeholder-*"), _FILES),
    "topic": Defined((), (*_ALL, "partition-count", "replication-factor")),
    "model": Defined(("default-uri-name",), _ALL),
}
"""By kind of object; catalogs by provider and what is behind it, schemas by the type of their catalog."""

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
        hint = next((text for start, text in _HINTS.items() if key.startswith(start)), "leave it out")
        raise IllegalArgument(
            f"property '{clip(key)}' of a {kind} is not supported by this server", hint=hint
        )
    for key in keys if kind.endswith("catalog") else ():
        meant = defined.meant_by(key)
        if meant is not None:
            raise IllegalArgument(
                f"property '{clip(key)}' of a {kind} is nearly '{meant}', and nothing would read it",
                hint=f"write '{meant}', or choose a name of your own that is less like it",
            )
        if key.lower().startswith(_OURS) and key not in defined.own:
            own = ", ".join(name for name in defined.own if name.startswith(_OURS))
            raise IllegalArgument(
                f"property '{clip(key)}' of a {kind} is not known", hint=f"use one of {own}"
            )
