"""Catalogs over AWS Glue, put together from their properties: of Hive tables, of Iceberg tables, or of both."""

from typing import Final

from headgate.catalogs.glue.settings import FORMATS, GlueSettings, storage_properties
from headgate.catalogs.hive.metastore import HIVE, ICEBERG, MetastoreCatalog
from headgate.catalogs.openings import Openings
from headgate.catalogs.outside.claims import Claims
from headgate.catalogs.outside.pointer_catalog import PointerCatalog
from headgate.model.errors import IllegalArgument
from headgate.model.extras import Extra, needs, require
from headgate.model.objects import clip
from headgate.store import Store
from headgate.store.metadata.sources import server_of

BOTH: Final = "both"

_DEFAULT: Final = "default-table-format"
_FILTER: Final = "table-format-filter"
_SHOWN: Final = {
    "all": frozenset({"hive", "iceberg", "delta", "view"}),
    "hive": frozenset({"hive", "view"}),
    "iceberg": frozenset({"iceberg"}),
    "delta": frozenset({"delta"}),
    "parquet": frozenset({"parquet"}),
}


def check_glue(kind: str, properties: dict[str, str], openings: Openings) -> None:
    """Refuse properties that make no sense, and a host that is not open."""
    require(Extra.AWS)
    GlueSettings.of(properties, own_keys=kind == BOTH).check(openings)
    if kind == BOTH:
        _formats(properties)


def glue_catalog(
    kind: str,
    store: Store,
    name: str,
    folder: str,
    properties: dict[str, str],
    openings: Openings,
    warehouse: str | None,
) -> PointerCatalog | MetastoreCatalog:
    """The catalog, not yet connected; `kind` is hive, iceberg or both."""
    check_glue(kind, properties, openings)
    with needs(Extra.AWS):
        from headgate.catalogs.glue.client import GlueClient
        from headgate.catalogs.glue.pointers import GluePointers

    settings = GlueSettings.of(properties, own_keys=kind == BOTH)
    shown, default = _SHOWN.get(kind, _SHOWN["all"]), kind
    if kind == BOTH:
        shown, default = _formats(properties)
    pointers = GluePointers(GlueClient(settings, name, openings.largest_document), shown)
    claims = Claims(
        store, f"glue {settings.address} {settings.catalog_id or settings.identity.role or ''}", warehouse
    )
    known = storage_properties(properties, own_keys=kind == BOTH)
    # Whose account it is may be known to AWS alone, so all accounts of a region are one source.
    iceberg = PointerCatalog(pointers, claims, folder, known, openings, (server_of(settings.address),))
    return iceberg if kind == ICEBERG else MetastoreCatalog(pointers, iceberg, shown, default)


def _formats(properties: dict[str, str]) -> tuple[frozenset[str], str]:
    wanted = properties.get(_FILTER, "all").lower()
    default = properties.get(_DEFAULT, HIVE).lower()
    if wanted not in FORMATS:
        raise IllegalArgument(
            f"property '{_FILTER}' is '{clip(wanted)}'", hint=f"use one of {', '.join(FORMATS)}"
        )
    if default not in (HIVE, ICEBERG):
        raise IllegalArgument(f"property '{_DEFAULT}' is '{clip(default)}'", hint=f"use {HIVE} or {ICEBERG}")
    if _DEFAULT in properties and default not in _SHOWN[wanted]:
        raise IllegalArgument(
            f"property '{_DEFAULT}' contradicts '{_FILTER}'", hint="new tables would not be shown"
        )
    return _SHOWN[wanted], default
