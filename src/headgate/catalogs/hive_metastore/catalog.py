"""Catalogs over a Hive Metastore, put together from their properties: of Hive tables, or of Iceberg tables."""

from typing import Final

from headgate.catalogs.hive.metastore import ICEBERG, MetastoreCatalog
from headgate.catalogs.hive_metastore.addresses import addresses_of, check_addresses
from headgate.catalogs.openings import Openings
from headgate.catalogs.outside.claims import Claims
from headgate.catalogs.outside.pointer_catalog import PointerCatalog
from headgate.model.extras import Extra, needs, require
from headgate.store import Store

_SHOWN: Final = {"hive": frozenset({"hive", "view"}), "iceberg": frozenset({"iceberg"})}


def check_hive(properties: dict[str, str], openings: Openings) -> None:
    """Refuse properties that make no sense, and a host that is not open."""
    require(Extra.HIVE)
    check_addresses(addresses_of(properties), openings)


def hive_catalog(
    kind: str,
    store: Store,
    name: str,
    folder: str,
    properties: dict[str, str],
    openings: Openings,
    warehouse: str | None,
) -> PointerCatalog | MetastoreCatalog:
    """The catalog, not yet connected; `kind` is hive or iceberg."""
    check_hive(properties, openings)
    with needs(Extra.HIVE):
        from headgate.catalogs.hive_metastore.client import MetastoreClient
        from headgate.catalogs.hive_metastore.pointers import HiveMetastore
    addresses = addresses_of(properties)
    sources = tuple(sorted({address.source for address in addresses}))
    client = MetastoreClient(addresses, name, openings.largest_document)
    metastore = HiveMetastore(client, _SHOWN[kind])
    claims = Claims(store, f"hive {' '.join(sources)}", warehouse)
    # Any of its addresses leads to the same tables, so a catalog that has one in common has all.
    iceberg = PointerCatalog(metastore, claims, folder, properties, openings, sources)
    return iceberg if kind == ICEBERG else MetastoreCatalog(metastore, iceberg, _SHOWN[kind], kind)
