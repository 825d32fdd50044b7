"""The providers that are built, and how a catalog's type, provider and backend lead to an adapter."""

import threading
import uuid
from collections.abc import Callable, Iterable, Mapping
from typing import Final, Protocol

import msgspec

from headgate.catalogs import folders
from headgate.catalogs.databases.addresses import DATABASE_KEY, URL_KEY
from headgate.catalogs.databases.iceberg_catalog import NAME, check_jdbc, jdbc_catalog
from headgate.catalogs.databases.relational.catalog import relational_address, relational_catalog
from headgate.catalogs.glue.catalog import BOTH, check_glue, glue_catalog
from headgate.catalogs.hive.metastore import HIVE, ICEBERG
from headgate.catalogs.hive_metastore.addresses import URIS
from headgate.catalogs.hive_metastore.catalog import check_hive, hive_catalog
from headgate.catalogs.interface import Catalog
from headgate.catalogs.kafka.catalog import KafkaCatalog, check_kafka
from headgate.catalogs.kafka.settings import BROKERS, JAAS, MECHANISM, PROTOCOL, USERNAME
from headgate.catalogs.kept import Kept, KeptFilesets
from headgate.catalogs.locations import checked_warehouse, more_places, segment
from headgate.catalogs.native import Native
from headgate.catalogs.openings import Openings
from headgate.catalogs.rest import RestIceberg
from headgate.catalogs.rest_signing import SIGNING
from headgate.model.errors import Forbidden, IllegalArgument
from headgate.model.objects import CatalogType, clip
from headgate.model.places import overlap
from headgate.store import Store, places
from headgate.store.metadata import sources

BACKEND: Final = "catalog-backend"
_ICEBERG, _NATIVE = "lakehouse-iceberg", "native"

_MOST_REMOTE: Final = 200

_SYSTEMS: Final = {_ICEBERG: (BACKEND, _NATIVE), "hive": ("metastore-type", "hive")}
"""The property that says which of several systems is behind a provider, and which it is where nothing is said."""

_STORAGE: Final = frozenset({"s3-endpoint", "s3-region"})
"""Where the documents and files of tables are read."""
_ACCOUNT: Final = frozenset({"aws-access-key-id", "s3-access-key-id", "s3-external-id", "s3-role-arn"})
"""Whose Glue is asked."""

_LEGACY: Final = {(CatalogType.FILESET, "hadoop"): "fileset"}
"""Names that older clients still send."""

_IMPLIED: Final = {CatalogType.FILESET: "fileset", CatalogType.MODEL: "model"}
"""The provider when none is named: only for kinds of which there is just one."""


class CatalogDefinition(msgspec.Struct, frozen=True):
    """A catalog as it was declared. Its properties may hold secrets, so its repr does not tell them."""

    folder: str
    """Its own folder in a warehouse that it may share: kept from when it was made, whatever it is called later."""
    type: CatalogType
    provider: str
    properties: dict[str, str]
    name: str = ""
    """What it is called now, for errors that name it."""

    def __repr__(self) -> str:
        return f"CatalogDefinition({self.folder!r}, {self.type!r}, {self.provider!r})"


def new_folder(metalake: str, name: str) -> str:
    """A folder for a new catalog; one dropped and made again under the same name shares nothing with the former."""
    return f"{segment(metalake)}/{segment(name)}-{uuid.uuid4().hex[:12]}"


def kind_of(provider: str, properties: Mapping[str, str]) -> str:
    """What the properties of a catalog are listed under, as `Provider.kind`."""
    return " ".join(word for word in (provider, _backend_of(provider, properties), "catalog") if word)


def _backend_of(provider: str, properties: Mapping[str, str]) -> str:
    """Which of several systems behind one provider is meant; "" where there is one only."""
    key, usual = _SYSTEMS.get(provider, ("", ""))
    return properties.get(key, "").lower() or usual


class Provider(msgspec.Struct, frozen=True):
    """A kind of catalog that is built. `backend` tells apart several systems behind one provider; "" if there is one."""

    type: CatalogType
    name: str
    backend: str
    open: Callable[[CatalogDefinition], Catalog]
    fixed: frozenset[str] = frozenset()
    """Properties that may not change once the catalog is made, because tables already rest on them."""
    asked: frozenset[str] = frozenset()
    """The others that say where its tables are asked for, or as whom: the other system may answer with other tables."""
    check: Callable[[CatalogDefinition], None] = lambda definition: None
    """Refuses what this kind of catalog cannot be declared with."""

    @property
    def kind(self) -> str:
        return " ".join(word for word in (self.name, self.backend, "catalog") if word)

    def asks_elsewhere(self, before: Mapping[str, str], after: Mapping[str, str]) -> bool:
        """Whether the tables of a catalog would be looked for in another place, or in the name of somebody else."""
        return any(_values(before, key) != _values(after, key) for key in self.asked | self.fixed)

    def __str__(self) -> str:
        backend = f" with {_SYSTEMS[self.name][0]}={self.backend}" if self.backend else ""
        return f"{self.name}{backend} ({self.type})"


def _values(properties: Mapping[str, str], key: str) -> tuple[str | None, ...]:
    """What properties say under a name, in both spellings of those of storage."""
    return properties.get(key), properties.get(key.replace("s3-", "s3.", 1))


class _Connected(Catalog, Protocol):
    """A catalog with connections to another system."""

    def close(self) -> None:
        """Let go of them."""


class Registry:
    """All providers of this server."""

    def __init__(self, store: Store, warehouse: str | None, openings: Openings) -> None:
        self.store = store
        self.openings = openings
        self.warehouse = warehouse
        self._remote: dict[tuple[str, str, tuple[tuple[str, str], ...]], _Connected] = {}
        self._lock = threading.Lock()

        def kept(_: CatalogDefinition) -> Catalog:
            return Kept()

        def native(definition: CatalogDefinition) -> Catalog:
            return Native(store, warehouse, definition.folder, definition.properties, openings)

        self.providers = (
            Provider(
                CatalogType.RELATIONAL,
                _ICEBERG,
                _NATIVE,
                native,
                frozenset({BACKEND, "warehouse"}),
                _STORAGE,
            ),
            Provider(
                CatalogType.RELATIONAL,
                _ICEBERG,
                "rest",
                self._rest,
                frozenset({BACKEND, "uri", "warehouse"}),
                _STORAGE | _ACCOUNT | {"credential", "oauth2-server-uri", "scope", "token", *SIGNING},
            ),
            Provider(
                CatalogType.RELATIONAL,
                _ICEBERG,
                "jdbc",
                self._jdbc,
                frozenset({BACKEND, URL_KEY, "warehouse", NAME}),
                _STORAGE | {"jdbc-user"},
                self._check_jdbc,
            ),
            self._glue(_ICEBERG, ICEBERG, BACKEND),
            self._glue("hive", HIVE, "metastore-type"),
            self._glue("glue", BOTH, "aws-region"),
            self._hive(_ICEBERG, ICEBERG, BACKEND),
            self._hive("hive", HIVE, "metastore-type"),
            self._database("jdbc-postgresql"),
            self._database("jdbc-mysql"),
            Provider(CatalogType.FILESET, "fileset", "", lambda d: KeptFilesets(d.properties)),
            Provider(CatalogType.MESSAGING, "topic", "", kept),
            self._kafka(),
            Provider(CatalogType.MODEL, "model", "", kept),
        )

    def _rest(self, definition: CatalogDefinition) -> Catalog:
        d = definition
        return self._kept_open(
            d, lambda: RestIceberg(self.store, d.folder, d.properties, self.openings, self.warehouse)
        )

    def _jdbc(self, definition: CatalogDefinition) -> Catalog:
        d = definition
        return self._kept_open(
            d,
            lambda: jdbc_catalog(self.store, d.name, d.folder, d.properties, self.openings, self.warehouse),
        )

    def _database(self, provider: str) -> Provider:
        """The tables of a database of its own kind."""

        def check(d: CatalogDefinition) -> None:
            relational_address(provider, d.properties, self.openings)

        def opened(d: CatalogDefinition) -> Catalog:
            return self._kept_open(
                d, lambda: relational_catalog(provider, self.store, d.name, d.properties, self.openings)
            )

        fixed = frozenset({URL_KEY, DATABASE_KEY})
        return Provider(CatalogType.RELATIONAL, provider, "", opened, fixed, frozenset({"jdbc-user"}), check)

    def _kafka(self) -> Provider:
        def check(d: CatalogDefinition) -> None:
            check_kafka(d.properties, self.openings)

        def opened(d: CatalogDefinition) -> Catalog:
            settings = check_kafka(d.properties, self.openings)

            def taken(brokers: Iterable[str]) -> bool:
                with self.store.read() as read:
                    return sources.is_taken(read, settings.sources, brokers)

            return KafkaCatalog(settings, d.name, self.openings, taken)

        asked = frozenset({JAAS, MECHANISM, PROTOCOL, USERNAME})
        return Provider(CatalogType.MESSAGING, "kafka", "", opened, frozenset({BROKERS}), asked, check)

    def _check_jdbc(self, definition: CatalogDefinition) -> None:
        self._check_warehouse(definition)
        check_jdbc(self.store, definition.properties, self.openings, self.warehouse)

    def _glue(self, provider: str, kind: str, key: str) -> Provider:
        """AWS Glue behind a provider; `kind` says which formats the catalog shows."""

        def check(d: CatalogDefinition) -> None:
            self._check_warehouse(d)
            check_glue(kind, d.properties, self.openings)

        def opened(d: CatalogDefinition) -> Catalog:
            return self._kept_open(
                d,
                lambda: glue_catalog(
                    kind, self.store, d.name, d.folder, d.properties, self.openings, self.warehouse
                ),
            )

        fixed = frozenset({key, "aws-region", "s3-region", "aws-glue-catalog-id", "aws-glue-endpoint"})
        backend = "" if kind == BOTH else "glue"
        return Provider(
            CatalogType.RELATIONAL,
            provider,
            backend,
            opened,
            fixed | {"warehouse"},
            _STORAGE | _ACCOUNT,
            check,
        )

    def _hive(self, provider: str, kind: str, key: str) -> Provider:
        """A Hive Metastore behind a provider; `kind` says which format the catalog shows."""

        def check(d: CatalogDefinition) -> None:
            self._check_warehouse(d)
            check_hive(d.properties, self.openings)

        def opened(d: CatalogDefinition) -> Catalog:
            return self._kept_open(
                d,
                lambda: hive_catalog(
                    kind, self.store, d.name, d.folder, d.properties, self.openings, self.warehouse
                ),
            )

        return Provider(
            CatalogType.RELATIONAL,
            provider,
            "hive",
            opened,
            frozenset({key, URIS, "warehouse"}),
            _STORAGE,
            check,
        )

    def _check_warehouse(self, definition: CatalogDefinition) -> None:
        """Where others keep tables too is not this server's own warehouse, which it divides by itself."""
        if not definition.properties.get("warehouse"):
            return
        place = checked_warehouse(definition.properties["warehouse"])
        self.openings.check_place("property 'warehouse'", place)
        if self.warehouse is not None and overlap(
            places.canonical(place), places.canonical(checked_warehouse(self.warehouse))
        ):
            raise IllegalArgument(
                "property 'warehouse' names this server's own warehouse, or what lies around it",
                hint="choose another folder",
            )

    def _kept_open(self, definition: CatalogDefinition, open: Callable[[], _Connected]) -> Catalog:
        """Kept open, as opening one asks the other system where it is, who we are, and for a token."""
        key = (definition.folder, definition.name, tuple(sorted(definition.properties.items())))
        with self._lock:
            known = self._remote.get(key)
            if known is None:
                if len(self._remote) >= _MOST_REMOTE:
                    self._remote.pop(next(iter(self._remote))).close()
                known = self._remote[key] = open()
            return known

    def close(self) -> None:
        """Let go of the connections to other servers."""
        with self._lock:
            while self._remote:
                self._remote.popitem()[1].close()

    def provider(self, type: CatalogType, name: str | None, properties: dict[str, str]) -> Provider:
        """The provider that a catalog declares, or a refusal that names those that are built."""
        wanted = (name or "").strip().lower() or _IMPLIED.get(type, "")
        wanted = _LEGACY.get((type, wanted), wanted)
        named = [p for p in self.providers if (p.type, p.name) == (type, wanted)]
        backend = _backend_of(wanted, properties)
        for provider in named:
            if backend == provider.backend or not provider.backend:
                return provider
        what = f"provider '{clip(wanted)}'" if wanted else "a catalog without a provider"
        if named:
            what += f" with {_SYSTEMS[wanted][0]}={clip(backend)}"
        built = ", ".join(str(provider) for provider in self.providers)
        raise IllegalArgument(
            f"{what} of type {type} is not built into this server", hint=f"use one of {built}"
        )

    def check(self, definition: CatalogDefinition) -> None:
        """Refuse a catalog that names a place or a host which the operator has not opened."""
        properties = definition.properties
        if definition.type is CatalogType.FILESET:
            for key, place in folders.named_locations(properties).items():
                root = folders.checked_location(folders.before_placeholder(place))
                if folders.is_touched(root):
                    self.openings.check_place(f"the location '{clip(key)}' of the catalog", root)
            return
        if definition.type is CatalogType.MESSAGING:
            self.provider(definition.type, definition.provider, properties).check(definition)
        if definition.type is not CatalogType.RELATIONAL:
            return
        self.openings.check_addresses(properties)
        for place in more_places(properties):
            self.openings.check_place("property 'allowed-locations'", place)
        provider = self.provider(definition.type, definition.provider, properties)
        if provider.backend == _NATIVE and properties.get("warehouse"):
            self.openings.check_place("property 'warehouse'", checked_warehouse(properties["warehouse"]))
        provider.check(definition)

    def open(self, definition: CatalogDefinition) -> Catalog:
        """The adapter of a catalog, asked anew whether all that it names is still open."""
        try:
            self.check(definition)
        except IllegalArgument as error:
            raise Forbidden(error.message, hint=error.hint) from None
        provider = self.provider(definition.type, definition.provider, definition.properties)
        return provider.open(definition)
