"""Filesets: folders under governance. Managed ones are made and removed here, external ones only recorded."""

import secrets
from collections.abc import Callable
from typing import Any, Final

import msgspec

from headgate.catalogs.folders import (
    DEFAULT_NAME,
    UNKNOWN,
    FileInfo,
    Folders,
    before_placeholder,
    checked_location,
    checked_sub_path,
    filled,
    has_placeholder,
    is_touched,
    named_locations,
    placeholders,
)
from headgate.catalogs.iceberg.storage import Storage
from headgate.catalogs.locations import segment
from headgate.decide import Op
from headgate.decide.verdict import allowed
from headgate.model.errors import ConnectionFailed, Forbidden, IllegalArgument, NotFound
from headgate.model.objects import ObjectType, clip
from headgate.model.places import normal, within
from headgate.model.records import ObjectRecord
from headgate.steward.acts import act
from headgate.steward.metadata.catalogs import Catalogs, catalog_node
from headgate.steward.metadata.kept.leaves import Leaves
from headgate.steward.metadata.placing import Placing
from headgate.steward.permits import Permit
from headgate.steward.updates import Updates
from headgate.store import Read, Write, objects, places
from headgate.vending import StorageSettings
from headgate.vending.providers import PROPERTY, check_providers

MANAGED, EXTERNAL = "managed", "external"

VOUCHED: Final = "vouched"
"""Kept with a fileset: its places were seen empty when it was made, or the owner of its catalog chose them."""


class _FilesetPlaces(msgspec.Struct, frozen=True):
    """What the catalog and schema of a fileset say about where it may lie."""

    words: dict[str, str]
    above: dict[str, str]
    """Where filesets of this schema go, by name of location."""
    fallback: str | None
    """Where one goes for which nobody said anything."""
    own: tuple[str, ...]
    """The schema's own folders, in which whoever makes filesets may choose what is nobody's."""
    divided: str | None
    """What of the server's warehouse is the catalog's."""
    folders: Folders
    storage: Callable[[], Storage] | None
    """Where the catalog gives out credentials: opens what files in S3 are seen by, which somebody would get."""

    def sees(self, location: str) -> bool:
        """Whether files at a location can be seen from here, as far as credentials could open them."""
        return self.storage is not None or not _is_s3(location)

    def holds_files(self, location: str) -> bool:
        """Whether files lie at a location already, as far as anybody could get at them by a fileset there."""
        if self.storage is None or not _is_s3(location):
            return self.folders.holds_files(location)
        try:
            return self.storage().holds_files(normal(location))
        except (ConnectionFailed, Forbidden):
            return True


class Filesets(Leaves):
    def __init__(self, catalogs: Catalogs, placing: Placing, warehouse: str | None) -> None:
        super().__init__(catalogs, ObjectType.FILESET, Op.LIST_FILESETS)
        self.openings = catalogs.registry.openings
        self.placing = placing
        self.warehouse = None if warehouse is None else checked_location(warehouse) + "/filesets"

    @act(Op.CREATE_FILESET)
    def add(
        self,
        permit: Permit,
        name: str,
        comment: str | None,
        type: str,
        locations: dict[str, str],
        properties: dict[str, str],
    ) -> ObjectRecord:
        """Make a fileset where it is told to be, or else where its schema or catalog keeps filesets."""
        kind = type.lower()
        if kind not in (MANAGED, EXTERNAL):
            raise IllegalArgument(f"'{clip(type)}' is not a type of fileset", hint="use managed or external")
        where = self._places(permit)
        chosen = self._locations(where, kind, name, locations, properties)
        for key, place in chosen.items():
            if is_touched(place):
                self.openings.check_place(f"the storage location '{clip(key)}'", place)
        default = properties.get(DEFAULT_NAME) or (UNKNOWN if UNKNOWN in chosen else next(iter(chosen)))
        if default not in chosen:
            raise IllegalArgument(
                f"there is no location '{clip(default)}' to be the default",
                hint=f"{DEFAULT_NAME} must be one of {', '.join(map(clip, chosen))}",
            )
        if len(chosen) > 1 and DEFAULT_NAME not in properties:
            raise IllegalArgument(
                "a fileset with several locations needs a default", hint=f"set the property {DEFAULT_NAME}"
            )
        more = self._named(permit, where, chosen, locations)
        if PROPERTY in properties:
            more = (self._providing(permit, properties[PROPERTY]),)
        vouching = more or self._vouching(permit)
        vouched = bool(vouching) or all(map(where.sees, chosen.values()))
        made: list[str] = []

        def body(tx: Write) -> dict[str, Any]:
            served = [place for place in chosen.values() if where.folders.path(place) is not None]
            for place in chosen.values():
                if not more or places.dropped_at(tx, place) is None:
                    places.check(tx, 0, catalog_node(permit).id, place)
            if kind == MANAGED:
                made.extend(place for place in served if where.folders.make(place))
            return {"type": kind, "locations": chosen, "served": served, "made": made, VOUCHED: vouched}

        def settle(tx: Write, id: int) -> None:
            if more:
                self.placing.bring_back(tx, permit, id, list(chosen.values()))
            places.claim(tx, id, chosen.values())

        try:
            full = {**properties, DEFAULT_NAME: default}
            return self.create(permit, name, comment, full, body, more=vouching, settle=settle)
        except BaseException:
            for place in made:
                where.folders.remove(place)
            raise

    @act(Op.ALTER_FILESET)
    def change(self, permit: Permit, updates: Updates) -> ObjectRecord:
        """Rename a fileset (its folders stay), change its comment or properties."""
        if any(key == DEFAULT_NAME or key.startswith("placeholder-") for key, _ in updates.properties):
            raise IllegalArgument("the locations of a fileset and their default cannot change")
        properties = dict(updates.properties)
        # Without a word of its own, what the catalog says holds: to remove it may turn credentials on as well.
        more = (self._providing(permit, properties[PROPERTY] or ""),) if PROPERTY in properties else ()
        return self.alter(permit, updates, more=more)

    @act(Op.DROP_FILESET)
    def discard(self, permit: Permit) -> None:
        """Drop a fileset, and the folders that were made for it with all they hold."""
        where = self._places(permit)
        gone = self.drop(permit)
        for place in gone.body["made"]:
            where.folders.remove(place)
        # INVARIANT: only now, so nobody gets a place in which files of the former fileset still lie.
        with self.kernel.store.write("headgate", "purge") as tx:
            places.release(tx, gone.id, gone.body["made"])

    @act(Op.LOAD_FILESET)
    def load(self, permit: Permit) -> ObjectRecord:
        return self.present(permit)

    def present(self, permit: Permit) -> ObjectRecord:
        """INVARIANT: a fileset whose place another object claims as well is told and opened to nobody."""
        places.check_uncontested(self.kernel.store, permit.node.id)
        return super().present(permit)

    @act(Op.LOAD_FILESET)
    def location(self, permit: Permit, sub_path: str, name: str | None) -> str:
        """Where a path inside a fileset lies."""
        return self._location(self.present(permit), name) + checked_sub_path(sub_path)

    @act(Op.LIST_FILES)
    def files(self, permit: Permit, sub_path: str, name: str | None) -> list[FileInfo]:
        """What lies in a folder of a fileset."""
        record = self.present(permit)
        location = self._location(record, name)
        folders = (
            self._places(permit).folders if location in record.body["served"] else Folders((), self.openings)
        )
        return folders.files(location, checked_sub_path(sub_path))

    # -- inside -------------------------------------------------------------------------------------------------

    def _location(self, record: ObjectRecord, name: str | None) -> str:
        wanted = name or record.properties[DEFAULT_NAME]
        found: str | None = record.body["locations"].get(wanted)
        if found is None:
            raise NotFound(
                f"fileset '{clip(record.name)}' has no location '{clip(wanted)}'", about="location-name"
            )
        return found

    def _places(self, permit: Permit) -> _FilesetPlaces:
        """Read what catalog and schema declare. The catalog's own locations and the server's warehouse are the roots."""
        with self.kernel.store.read() as read:
            catalog = objects.present(read, catalog_node(permit).id)
            schema = self._schema(read, permit)
        schema_name = permit.ref.path[1]
        words = {"catalog": catalog.name, "schema": schema_name}
        declared = named_locations(catalog.properties)
        above = {
            key: place if has_placeholder(place) else f"{place.rstrip('/')}/{schema_name}"
            for key, place in declared.items()
        }
        above.update(named_locations(schema.properties))
        roots = [checked_location(before_placeholder(place)) for place in declared.values()]
        own = [
            checked_location(f"{place.rstrip('/')}/{schema_name}")
            for place in declared.values()
            if not has_placeholder(place)
        ]
        fallback = divided = None
        if self.warehouse is not None:
            roots.append(self.warehouse)
            divided = f"{self.warehouse}/{segment(permit.ref.metalake)}/{segment(catalog.name)}"
            own.append(f"{divided}/{segment(schema_name)}")
            # A folder that no other fileset ever had: one that is dropped and made again does not find old files.
            fallback = f"{own[-1]}/{{{{fileset}}}}-{secrets.token_hex(4)}"
        folders = Folders(roots, self.openings)
        # Opened only to look: what makes nothing new asks no storage, so it works also where a host was closed.
        storage = (lambda: Storage(catalog.properties, self.openings)) if _vends(catalog.properties) else None
        return _FilesetPlaces(words, above, fallback, tuple(own), divided, folders, storage)

    def _named(
        self, permit: Permit, where: _FilesetPlaces, chosen: dict[str, str], given: dict[str, str]
    ) -> tuple[Permit, ...]:
        """The further permits that the locations of a new fileset take; none where catalog or server chose them."""
        own = [places.canonical(folder) for folder in where.own]
        declared = [places.canonical(f"file://{root}") for root in where.folders.roots]
        more: tuple[Permit, ...] = ()
        for key, location in chosen.items():
            place = places.canonical(location)
            free = any(within(place, folder) and place != folder for folder in own)
            named_above = key not in given and any(within(place, root) for root in declared)
            # One that holds files already is somebody's, whether or not it is known whose.
            if not (free or named_above) or where.holds_files(location):
                more = (self.placing.owner(permit),)
            self.placing.check_reserved(location, where.divided)
        return more

    def _vouching(self, permit: Permit) -> tuple[Permit, ...]:
        """The permit by which the catalog's owner decides for what lies at a new fileset; none where others make it."""
        decides = allowed(permit.authority, permit.caller, Op.CHOOSE_PLACE, catalog_node(permit))
        return (self.placing.owner(permit),) if decides else ()

    def _providing(self, permit: Permit, providers: str) -> Permit:
        """The permit to have credentials given out for a fileset: whose storage it is decides, not who made the fileset."""
        check_providers(providers, self.catalogs.of(permit).properties)
        return self.placing.owner(permit)

    def _schema(self, read: Read, permit: Permit) -> ObjectRecord:
        ids = [id for id, _ in permit.node.chain if permit.authority.objects[id].type is ObjectType.SCHEMA]
        return objects.present(read, ids[-1])

    def _locations(
        self, where: _FilesetPlaces, kind: str, name: str, given: dict[str, str], properties: dict[str, str]
    ) -> dict[str, str]:
        if not all(key.strip() and place.strip() for key, place in given.items()):
            raise IllegalArgument("a storage location and its name must not be blank")
        if kind == EXTERNAL and not given:
            raise IllegalArgument("an external fileset needs a storage location")
        above = where.above
        if not given and not above and where.fallback is not None:
            above = {UNKNOWN: where.fallback}
        if not given and not above:
            raise IllegalArgument(
                "the fileset has no storage location",
                hint="give one, or set the property 'location' of its schema or catalog",
            )
        folder = segment(name)
        words = {**placeholders(properties), **where.words, "fileset": folder}
        chosen: dict[str, str] = {}
        for key in sorted({*above, *given}):
            place = given.get(key) or above[key]
            if key not in given and not has_placeholder(place):
                place = f"{place.rstrip('/')}/{folder}"
            chosen[key] = checked_location(filled(place, words))
        return chosen


def _is_s3(location: str) -> bool:
    return normal(location).startswith("s3://")


def _vends(catalog: dict[str, str]) -> bool:
    """Whether credentials could be given out. A catalog older than the checks may say what makes no sense."""
    try:
        return StorageSettings.of(catalog).role is not None
    except IllegalArgument:
        return False
