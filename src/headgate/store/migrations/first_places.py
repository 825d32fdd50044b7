"""The first registry of places: of what is there, and of what was dropped as far as journal and audit know it.

Known are: native tables and views by their pointers, filesets by their locations, and every folder that an audited read
of a table named, whether the table is still there or not. A table that was dropped and never read is not known; nobody
but the catalog's owner can make anything in a folder that holds files.
"""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec
import sqlalchemy as sa

from headgate.model import changes as c
from headgate.model.errors import IllegalArgument
from headgate.model.objects import SCHEMA_SEPARATOR, ObjectType
from headgate.store.metadata.places import CONTESTED, DROPPED, LIVE, canonical

_PLACED: Final = (ObjectType.TABLE, ObjectType.VIEW, ObjectType.FILESET)
_READS: Final = ("load_table", "read_table", "load_view")
_UUID: Final = re.compile(r"-([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})$")
_changes: Final = msgspec.json.Decoder(list[c.Change])


@dataclass
class _KnownObject:
    """An object as the journal tells of it, and the places that were found for it."""

    put: c.ObjectPut
    since: str
    owner: int | None = None
    labels: dict[tuple[int, int], str | None] = field(default_factory=dict)
    denials: dict[int, int] = field(default_factory=dict)
    places: list[str] = field(default_factory=list)
    dropped: tuple[str, str, int, int] | None = None
    """When it was dropped, what it was called, its catalog and its metalake."""


class _ReplayedJournal:
    """The journal replayed: every object that ever was."""

    def __init__(self) -> None:
        self.known: dict[int, _KnownObject] = {}
        self.children: dict[tuple[int, ObjectType, str], int] = {}

    def apply(self, at: str, entry: list[c.Change]) -> None:
        gone = [change.id for change in entry if isinstance(change, c.ObjectGone)]
        for id in gone:
            known = self.known.get(id)
            if known is not None and known.put.type in _PLACED:
                catalog, metalake, name = self.whereabouts(id)
                known.dropped = (at, name, catalog, metalake)
        # What an entry takes off an object that it drops is what the object had.
        lost = frozenset(gone)
        for change in entry:
            self._one(at, change, lost)

    def _one(self, at: str, change: c.Change, lost: frozenset[int]) -> None:
        match change:
            case c.ObjectPut():
                before = self.known.get(change.id)
                if before is not None:
                    self.children.pop((before.put.parent, before.put.type, before.put.name), None)
                    before.put = change
                else:
                    self.known[change.id] = _KnownObject(change, at)
                self.children[change.parent, change.type, change.name] = change.id
            case c.ObjectGone() if change.id in self.known:
                put = self.known[change.id].put
                self.children.pop((put.parent, put.type, put.name), None)
            case c.OwnerSet() if change.object in self.known and change.object not in lost:
                self.known[change.object].owner = change.principal
            case c.LabelSet() if change.object in self.known and change.object not in lost:
                on = self.known[change.object].labels
                if change.present:
                    on[change.label, change.field] = change.value
                else:
                    on.pop((change.label, change.field), None)
            case c.RoleGrants() if change.object in self.known and change.object not in lost:
                self.known[change.object].denials[change.role] = change.deny

    def whereabouts(self, id: int) -> tuple[int, int, str]:
        """The catalog and the metalake of an object, and its name below the metalake."""
        put = self.known[id].put
        catalog = metalake = 0
        schemas: list[str] = []
        names = [put.name]
        while put.parent in self.known:
            put = self.known[put.parent].put
            match put.type:
                case ObjectType.SCHEMA:
                    schemas.insert(0, put.name)
                case ObjectType.CATALOG:
                    catalog = put.id
                    names = [put.name, SCHEMA_SEPARATOR.join(schemas), *names]
                case ObjectType.METALAKE:
                    metalake = put.id
        return catalog, metalake, ".".join(names)

    def find(self, metalake: str, type: ObjectType, name: str) -> int | None:
        """The object of a name at the moment that the journal was replayed to."""
        catalog, _, rest = name.partition(".")
        schema, _, leaf = rest.partition(".")
        steps = [(ObjectType.METALAKE, metalake), (ObjectType.CATALOG, catalog)]
        steps += [(ObjectType.SCHEMA, level) for level in schema.split(SCHEMA_SEPARATOR)]
        at: int | None = 0
        for kind, step in (*steps, (type, leaf)):
            at = None if at is None else self.children.get((at, kind, step))
        return at


def fill(connection: sa.Connection) -> None:
    """Write the registry of a store that had none."""
    tables = sa.MetaData()
    tables.reflect(connection, only=["objects", "pointers", "places", "dropped_objects", "journal", "audit"])
    past = _replayed(connection, tables)
    now = connection.execute(sa.select(tables.tables["objects"])).all()
    there = {row.id: row for row in now}
    _add_present(connection, tables, past, there)
    claimed = _Claimed()
    for id in sorted(past.known):
        known = past.known[id]
        if known.places and (id in there or known.dropped is not None):
            _write(connection, tables, past, id, there, claimed)


def _replayed(connection: sa.Connection, tables: sa.MetaData) -> _ReplayedJournal:
    """The journal and, in between, what the audit tells of the places of tables at that moment."""
    past, journal = _ReplayedJournal(), tables.tables["journal"]
    entries = iter(connection.execute(sa.select(journal).order_by(journal.c.revision)).all())
    waiting = next(entries, None)
    for event in _read_events(connection, tables.tables["audit"]):
        while waiting is not None and waiting.revision <= event.revision:
            past.apply(waiting.at, _changes.decode(waiting.changes))
            waiting = next(entries, None)
        folders = msgspec.json.decode(event.details).get("folders")
        found = past.find(event.metalake or "", ObjectType(event.type), event.object or "")
        if found is not None and isinstance(folders, list):
            places = past.known[found].places
            places += [each for each in map(str, folders) if each not in places]
    while waiting is not None:
        past.apply(waiting.at, _changes.decode(waiting.changes))
        waiting = next(entries, None)
    return past


def _read_events(connection: sa.Connection, audit: sa.Table) -> Iterator[Any]:
    """Audited reads by revision, each table's folders once for every name and revision."""
    query = (
        sa.select(audit.c.metalake, audit.c.type, audit.c.object, audit.c.revision, audit.c.details)
        .where(audit.c.allowed, audit.c.action.in_(_READS), audit.c.revision.is_not(None))
        .order_by(audit.c.revision, audit.c.id)
    )
    last: dict[tuple[str, str], tuple[int, bytes]] = {}
    for row in connection.execute(query):
        key = (row.metalake, row.object)
        if b'"folders"' in row.details and last.get(key) != (row.revision, row.details):
            last[key] = (row.revision, row.details)
            yield row


def _add_present(
    connection: sa.Connection, tables: sa.MetaData, past: _ReplayedJournal, there: dict[int, Any]
) -> None:
    """What the store itself tells of the objects that are there; the journal may not reach back to them."""
    for id, row in there.items():
        if id not in past.known:
            put = c.ObjectPut(id, row.parent, ObjectType(row.type), row.name)
            past.known[id] = _KnownObject(put, row.created_at)
    for row in connection.execute(sa.select(tables.tables["pointers"])):
        past.known[row.object].places.insert(0, row.place)
    for id, row in there.items():
        if row.type == ObjectType.FILESET.value:
            past.known[id].places += msgspec.json.decode(row.body).get("locations", {}).values()


class _Claimed:
    """Places given out so far, found by what lies above and below them."""

    def __init__(self) -> None:
        self._at: dict[str, set[int]] = {}
        self._below: dict[str, set[int]] = {}

    def overlaps(self, object: int, place: str) -> bool:
        others = self._below.get(place, set()).union(*(self._at.get(above, ()) for above in _above(place)))
        return bool(others - {object})

    def add(self, object: int, place: str) -> None:
        self._at.setdefault(place, set()).add(object)
        for above in _above(place):
            self._below.setdefault(above, set()).add(object)


def _above(place: str) -> list[str]:
    parts = place.split("/")
    return ["/".join(parts[:count]) for count in range(1, len(parts) + 1)]


def _write(
    connection: sa.Connection,
    tables: sa.MetaData,
    past: _ReplayedJournal,
    id: int,
    there: dict[int, Any],
    claimed: _Claimed,
) -> None:
    known = past.known[id]
    catalog, metalake, name = past.whereabouts(id)
    at = known.since
    if known.dropped is not None:
        at, name, catalog, metalake = known.dropped
    rows = []
    for place in dict.fromkeys(filter(None, map(_named, known.places))):
        if id not in there and _is_gone(place):
            continue
        found = _UUID.search(place)
        younger = id in there and claimed.overlaps(id, place)
        claimed.add(id, place)
        row = {
            "place": place,
            "object": id,
            "catalog": catalog,
            "state": CONTESTED if younger else LIVE if id in there else DROPPED,
            "uuid": "-".join(found.groups()) if found else None,
            "source": _source(there.get(catalog)),
            "holder": "",
            "since": known.since,
        }
        rows.append(row)
    if rows:
        connection.execute(sa.insert(tables.tables["places"]), rows)
    if rows and id not in there:
        labels = [(label, field, value) for (label, field), value in sorted(known.labels.items())]
        denials = sorted((role, deny) for role, deny in known.denials.items() if deny)
        row = {
            "object": id,
            "metalake": metalake,
            "catalog": catalog,
            "parent": known.put.parent,
            "type": known.put.type.value,
            "name": name,
            "owner": known.owner,
            "labels": msgspec.json.encode(labels),
            "denials": msgspec.json.encode(denials),
            # Nobody knows any more what stood above it.
            "under_policies": True,
            "at": at,
        }
        connection.execute(sa.insert(tables.tables["dropped_objects"]), [row])


def _named(place: str) -> str | None:
    try:
        return canonical(place)
    except IllegalArgument:
        # No place that anything could be made in.
        return None


def _is_gone(place: str) -> bool:
    """Whether the files of a dropped object are gone, as far as can be seen from here."""
    path = place.removeprefix("file://")
    return path.startswith("/") and not os.path.exists(path)


def _source(catalog: Any) -> str:
    """The other server that vouches for a catalog's tables."""
    properties = {} if catalog is None else msgspec.json.decode(catalog.properties)
    return f"{properties['uri']} {properties.get('warehouse', '')}" if "uri" in properties else ""
