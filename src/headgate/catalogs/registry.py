"""The providers that are built, and how a catalog's type, provider and backend lead to an adapter."""

import threading
import uuid
from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from headgate.catalogs import folders
from headgate.catalogs.interface import Catalog
from headgate.catalogs.kept import Kept
from headgate.catalogs.locations import checked_warehouse, more_places, segment
from headgate.catalogs.native import Native
from headgate.catalogs.openings import Openings
from headgate.catalogs.rest import RestIceberg
from headgate.model.errors import Forbidden, IllegalArgument
from headgate.model.objects import CatalogType, clip
from headgate.store import Store

BACKEND: Final = "catalog-backend"
_ICEBERG, _NATIVE = "lakehouse-iceberg", "native"

_MOST_REMOTE: Final = 200

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

    def __repr__(self) -> str:
        return f"CatalogDefinition({self.folder!r}, {self.type!r}, {self.provider!r})"


def new_folder(metalake: str, name: str) -> str:
    """A folder for a new catalog; one dropped and made again under the same name shares nothing with the former."""
    return f"{segment(metalake)}/{segment(name)}-{uuid.uuid4().hex[:12]}"


def kind_of(provider: str, properties: Mapping[str, str]) -> str:
    """What the properties of a catalog are listed under, as `Provider.kind`."""
    backend = properties.get(BACKEND, "").lower() or _NATIVE if provider == _ICEBERG else ""
    return " ".join(word for word in (provider, backend, "catalog") if word)


class Provider(msgspec.Struct, frozen=True):
    """A kind of catalog that is built. `backend` tells apart several systems behind one provider; "" if there is one."""

    type: CatalogType
    name: str
    backend: str
    open: Callable[[CatalogDefinition], Catalog]
    fixed: frozenset[str] = frozenset()
    """Properties that may not change once the catalog is made, because tables already rest on them."""

    @property
    def kind(self) -> str:
        return kind_of(self.name, {BACKEND: self.backend})

    def __str__(self) -> str:
        backend = f" with {BACKEND}={self.backend}" if self.backend else ""
        return f"{self.name}{backend} ({self.type})"


class Registry:
    """All providers of this server."""

    def __init__(self, store: Store, warehouse: str | None, openings: Openings) -> None:
        self.store = store
        self.openings = openings
        self.warehouse = warehouse
        self._remote: dict[tuple[str, tuple[tuple[str, str], ...]], RestIceberg] = {}
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
            ),
            Provider(
                CatalogType.RELATIONAL,
                _ICEBERG,
                "rest",
                self._rest,
                frozenset({BACKEND, "uri", "warehouse"}),
            ),
            Provider(CatalogType.FILESET, "fileset", "", kept),
            Provider(CatalogType.MESSAGING, "topic", "", kept),
            Provider(CatalogType.MODEL, "model", "", kept),
        )

    def _rest(self, definition: CatalogDefinition) -> Catalog:
        """Kept open, as opening one asks the other server where it is and for a token."""
        key = (definition.folder, tuple(sorted(definition.properties.items())))
        with self._lock:
            known = self._remote.get(key)
            if known is None:
                if len(self._remote) >= _MOST_REMOTE:
                    self._remote.pop(next(iter(self._remote))).close()
                known = self._remote[key] = RestIceberg(
                    self.store, definition.folder, definition.properties, self.openings, self.warehouse
                )
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
        backend = properties.get(BACKEND, "").lower()
        for provider in named:
            if backend in ("", provider.backend) or not provider.backend:
                return provider
        what = f"provider '{clip(wanted)}'" if wanted else "a catalog without a provider"
        if named:
            what += f" with {BACKEND}={clip(backend)}"
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
        if definition.type is not CatalogType.RELATIONAL:
            return
        self.openings.check_addresses(properties)
        for place in more_places(properties):
            self.openings.check_place("property 'allowed-locations'", place)
        provider = self.provider(definition.type, definition.provider, properties)
        if provider.backend == _NATIVE and properties.get("warehouse"):
            self.openings.check_place("property 'warehouse'", checked_warehouse(properties["warehouse"]))

    def open(self, definition: CatalogDefinition) -> Catalog:
        """The adapter of a catalog, asked anew whether all that it names is still open."""
        try:
            self.check(definition)
        except IllegalArgument as error:
            raise Forbidden(error.message, hint=error.hint) from None
        provider = self.provider(definition.type, definition.provider, definition.properties)
        return provider.open(definition)
