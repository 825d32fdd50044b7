"""Filesets: folders under governance. Managed ones are made and removed here, external ones only recorded."""

import secrets
from typing import Any

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
    overlap,
    placeholders,
    real_paths,
)
from headgate.catalogs.locations import segment
from headgate.decide import Op
from headgate.model.errors import IllegalArgument, NotFound
from headgate.model.objects import ObjectType, clip
from headgate.steward.catalogs import Catalogs, catalog_node
from headgate.steward.leaves import Leaves
from headgate.steward.permits import Permit
from headgate.steward.updates import Updates
from headgate.store import Read, Write, objects
from headgate.store.records import ObjectRecord

MANAGED, EXTERNAL = "managed", "external"


class _Places(msgspec.Struct, frozen=True):
    """What the catalog and schema of a fileset say about where it may lie."""

    words: dict[str, str]
    above: dict[str, str]
    """Where filesets of this schema go, by name of location."""
    fallback: str | None
    """Where one goes for which nobody said anything."""
    folders: Folders


class Filesets(Leaves):
    def __init__(self, catalogs: Catalogs, warehouse: str | None) -> None:
        super().__init__(catalogs, ObjectType.FILESET, Op.LIST_FILESETS)
        self.openings = catalogs.registry.openings
        self.warehouse = None if warehouse is None else checked_location(warehouse) + "/filesets"

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
        places = self._places(permit)
        chosen = self._locations(places, kind, name, locations, properties)
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
        made: list[str] = []

        def body(tx: Write) -> dict[str, Any]:
            served = [place for place in chosen.values() if places.folders.path(place) is not None]
            _stand_alone(tx, served)
            if kind == MANAGED:
                made.extend(place for place in served if places.folders.make(place))
            return {"type": kind, "locations": chosen, "served": served, "made": made}

        try:
            return self.create(permit, name, comment, {**properties, DEFAULT_NAME: default}, body)
        except BaseException:
            for place in made:
                places.folders.remove(place)
            raise

    def change(self, permit: Permit, updates: Updates) -> ObjectRecord:
        """Rename a fileset (its folders stay), change its comment or properties."""
        if any(key == DEFAULT_NAME or key.startswith("placeholder-") for key, _ in updates.properties):
            raise IllegalArgument("the locations of a fileset and their default cannot change")
        return self.alter(permit, updates)

    def discard(self, permit: Permit) -> None:
        """Drop a fileset, and the folders that were made for it with all they hold."""
        places = self._places(permit)
        gone = self.drop(permit)
        for place in gone.body["made"]:
            places.folders.remove(place)

    def location(self, permit: Permit, sub_path: str, name: str | None) -> str:
        """Where a path inside a fileset lies."""
        return self._location(self.load(permit), name) + checked_sub_path(sub_path)

    def files(self, permit: Permit, sub_path: str, name: str | None) -> list[FileInfo]:
        """What lies in a folder of a fileset."""
        record = self.load(permit)
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

    def _places(self, permit: Permit) -> _Places:
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
        fallback = None
        if self.warehouse is not None:
            roots.append(self.warehouse)
            tree = "/".join(segment(part) for part in (permit.ref.metalake, catalog.name, schema_name))
            # A folder that no other fileset ever had: one that is dropped and made again does not find old files.
            fallback = f"{self.warehouse}/{tree}/{{{{fileset}}}}-{secrets.token_hex(4)}"
        return _Places(words, above, fallback, Folders(roots, self.openings))

    def _schema(self, read: Read, permit: Permit) -> ObjectRecord:
        ids = [id for id, _ in permit.node.chain if permit.authority.objects[id].type is ObjectType.SCHEMA]
        return objects.present(read, ids[-1])

    def _locations(
        self, places: _Places, kind: str, name: str, given: dict[str, str], properties: dict[str, str]
    ) -> dict[str, str]:
        if not all(key.strip() and place.strip() for key, place in given.items()):
            raise IllegalArgument("a storage location and its name must not be blank")
        if kind == EXTERNAL and not given:
            raise IllegalArgument("an external fileset needs a storage location")
        above = places.above
        if not given and not above and places.fallback is not None:
            above = {UNKNOWN: places.fallback}
        if not given and not above:
            raise IllegalArgument(
                "the fileset has no storage location",
                hint="give one, or set the property 'location' of its schema or catalog",
            )
        folder = segment(name)
        words = {**placeholders(properties), **places.words, "fileset": folder}
        chosen: dict[str, str] = {}
        for key in sorted({*above, *given}):
            place = given.get(key) or above[key]
            if key not in given and not has_placeholder(place):
                place = f"{place.rstrip('/')}/{folder}"
            chosen[key] = checked_location(filled(place, words))
        return chosen


def _stand_alone(tx: Write, served: list[str]) -> None:
    """INVARIANT: no two filesets share a folder that this server touches, so rights to one are no rights to another."""
    mine = real_paths(served)
    if not mine:
        return
    taken = real_paths(place for body in objects.bodies(tx, ObjectType.FILESET) for place in body["served"])
    if any(overlap(path, other) for path in mine for other in taken):
        raise IllegalArgument(
            "the storage location overlaps with that of another fileset", hint="choose another folder"
        )
