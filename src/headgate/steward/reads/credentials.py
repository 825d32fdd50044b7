"""Credentials as Gravitino's clients ask for them: of a table or fileset whose providers say that it has any."""

from headgate.decide import Op
from headgate.decide.verdict import allowed
from headgate.model.objects import ObjectType
from headgate.model.places import normal
from headgate.steward.acts import act
from headgate.steward.metadata.catalogs import Catalogs
from headgate.steward.metadata.kept.filesets import VOUCHED, Filesets
from headgate.steward.metadata.tables import Tables
from headgate.steward.permits import Permit
from headgate.steward.reads.vending import OWN, Access, Vending
from headgate.vending.providers import PROPERTY, names_s3_token


class Credentials:
    """INVARIANT: all that is given comes from `Vending`, which alone says what someone may touch, and audits it."""

    def __init__(self, catalogs: Catalogs, tables: Tables, filesets: Filesets, vending: Vending) -> None:
        self.catalogs = catalogs
        self.tables = tables
        self.filesets = filesets
        self.vending = vending

    @act(Op.LOAD_CATALOG, Op.LOAD_FILESET, Op.READ_TABLE)
    def of(self, permit: Permit) -> Access:
        """What the caller is given for the storage of the permit's object."""
        catalog = self.catalogs.of(permit).properties
        if permit.ref.type is ObjectType.TABLE:
            own = self.tables.described(permit).table.definition.properties
            return self.vending.credentials(permit) if _provides(own, catalog) else OWN
        if permit.ref.type is ObjectType.FILESET:
            fileset = self.filesets.load(permit)
            # INVARIANT: files that nobody looked at, or answered for, are opened by no word of the catalog alone.
            spoken_for = PROPERTY in fileset.properties or fileset.body.get(VOUCHED, False)
            if not spoken_for or not _provides(fileset.properties, catalog):
                return OWN
            places = tuple(map(normal, fileset.body["locations"].values()))
            folders = tuple(place for place in places if place.startswith("s3://"))
            write = allowed(permit.authority, permit.caller, Op.ALTER_FILESET, permit.node)
            return self.vending.of_folders(permit, catalog, folders, write=write)
        # Credentials are for places, and a catalog has none of its own.
        return OWN


def _provides(own: dict[str, str], catalog: dict[str, str]) -> bool:
    """What stands on the object itself goes before what its catalog says."""
    return names_s3_token(own.get(PROPERTY, catalog.get(PROPERTY)))
