"""`catalog-backend=jdbc`: an Iceberg catalog in a database, put together from its properties."""

import os
from typing import Final

from headgate.catalogs.databases.addresses import DatabaseAddress, address_of
from headgate.catalogs.databases.connections import DatabaseConnections
from headgate.catalogs.databases.iceberg_tables import JdbcPointers
from headgate.catalogs.openings import Openings
from headgate.catalogs.outside.claims import Claims
from headgate.catalogs.outside.pointer_catalog import PointerCatalog
from headgate.model.errors import IllegalArgument
from headgate.model.objects import clip
from headgate.model.places import within
from headgate.store import Store, places
from headgate.store.database import file_of

NAME: Final = "catalog-backend-name"
_DEFAULT_NAME: Final = "jdbc"
"""As Gravitino calls a catalog in a database that is given no name."""
_VERSIONS: Final = {"": None, "v0": 0, "v1": 1}


def check_jdbc(store: Store, properties: dict[str, str], openings: Openings, warehouse: str | None) -> None:
    """Refuse properties that make no sense, and a database that is not the catalog's to use."""
    address = address_of(properties)
    address.check(openings)
    _initialize(properties), _version(properties)
    if not properties.get("warehouse"):
        raise IllegalArgument(
            "the catalog has no 'warehouse'", hint="set it to the folder or s3:// bucket of its tables"
        )
    if not address.host:
        _check_file(store, address, warehouse)


def jdbc_catalog(
    store: Store,
    name: str,
    folder: str,
    properties: dict[str, str],
    openings: Openings,
    warehouse: str | None,
) -> PointerCatalog:
    """The catalog, not yet connected."""
    check_jdbc(store, properties, openings, warehouse)
    address = address_of(properties)
    named = properties.get(NAME) or _DEFAULT_NAME
    connections = DatabaseConnections(
        address,
        properties.get("jdbc-user", ""),
        properties.get("jdbc-password", ""),
        name,
        openings.largest_document,
    )
    pointers = JdbcPointers(
        connections, named, initialize=_initialize(properties), version=_version(properties)
    )
    claims = Claims(store, f"jdbc {address} {named}", warehouse)
    return PointerCatalog(
        pointers, claims, folder, properties, openings, (address.source,), files=address.files
    )


def _check_file(store: Store, address: DatabaseAddress, warehouse: str | None) -> None:
    """INVARIANT: no catalog is kept in this server's own store or warehouse, nor among the files of a table."""
    own = file_of(str(store.url))
    file = os.path.realpath(address.database)
    refused = own is not None and file.startswith(os.path.realpath(own))
    if not refused and warehouse is not None:
        refused = within(places.canonical(file), places.canonical(warehouse))
    if not refused:
        try:
            with store.read() as read:
                places.check_file(read, 0, file)
        except IllegalArgument:
            refused = True
    if refused:
        raise IllegalArgument(
            "property 'jdbc-url' names a file that belongs to something else", hint="choose another folder"
        )


def _initialize(properties: dict[str, str]) -> bool:
    text = properties.get("jdbc-initialize", "true").lower()
    if text not in ("true", "false"):
        raise IllegalArgument("property 'jdbc-initialize' is neither true nor false")
    return text == "true"


def _version(properties: dict[str, str]) -> int | None:
    text = properties.get("jdbc.schema-version", "").lower()
    if text not in _VERSIONS:
        raise IllegalArgument(f"property 'jdbc.schema-version' is '{clip(text)}'", hint="use V0 or V1")
    return _VERSIONS[text]
