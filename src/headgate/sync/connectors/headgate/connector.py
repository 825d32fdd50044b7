"""Headgate itself: a metalake of a local store."""

import datetime as dt
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager

from headgate.decide.authority import Authority
from headgate.model.objects import ObjectType
from headgate.model.principals import Audit, PrincipalKind
from headgate.store import Store, access, objects, policies
from headgate.store.database import Write
from headgate.store.snapshot import everything
from headgate.sync.access.capabilities import Capabilities
from headgate.sync.connectors.headgate.capabilities import CAPABILITIES
from headgate.sync.connectors.headgate.policies import Lake, pushed
from headgate.sync.connectors.headgate.reading import HeadgateReader
from headgate.sync.connectors.headgate.rules import PolicyRules, Shapes
from headgate.sync.connectors.headgate.writing import HeadgateWriter
from headgate.sync.contract import Connector
from headgate.sync.pushing.results import Applied, Change
from headgate.sync.pushing.run import Reading
from headgate.sync.snapshots.facts import (
    Facts,
    Mask,
    Present,
    Principal,
    Property,
    RowFilter,
    Securable,
    Tag,
)
from headgate.sync.snapshots.snapshot import ChangeLog
from headgate.sync.translating.restrictions import Rule

_T = ObjectType
Writing = Callable[[], AbstractContextManager[Write]]


class HeadgateConnector(Connector):
    """One metalake of a store, read and changed in place; every batch is one revision."""

    batch = 2_000

    def __init__(
        self,
        store: Store,
        metalake: str,
        name: str | None = None,
        writing: Writing | None = None,
        shapes: Shapes = lambda _authority, _table: None,
    ) -> None:
        super().__init__(name or f"headgate:{metalake}")
        self.store = store
        self.metalake = metalake
        self.writing = writing or (lambda: store.write("sync", "sync"))
        """How the store is changed: a steward gives a change under a permit here."""
        self.shapes = shapes
        self.lake: Lake | None = None

    @property
    def capabilities(self) -> Capabilities:
        return CAPABILITIES

    def read(self) -> Reading:
        revision, changes = everything(self.store)
        reader = HeadgateReader(self.metalake, changes)
        tables = {at: id for id, at in reader.tables}
        lake = Lake(lambda: Authority().applied(changes, revision), self.metalake, tables, self.shapes)
        facts, notes = Facts(reader.facts).changed(self._column_tags(lake, reader)), set(reader.notes)
        if reader.policies:
            lake.own = self._pushed(lake, reader)
            now, besides = dt.datetime.now(dt.UTC), lake.own.keys()
            rules = PolicyRules(lake.authority, self.metalake, facts, lake.shape_of, now, besides)
            # The policy of a push is not an object beside its rule: it comes and goes with it.
            made = {Present(at) for id in lake.own if (at := reader.paths[id]) is not None}
            facts = facts.changed(lake.own.values(), made).changed(
                rule for at, id in tables.items() for rule in rules.on(lake.authority.objects[id], at)
            )
            notes |= rules.notes
        described, logs = self._described(reader)
        facts = facts.changed(described)
        lake.facts = facts
        self.lake = lake
        return Reading(facts, logs, notes=tuple(sorted(notes)))

    def _described(self, reader: "HeadgateReader") -> tuple[list[Property], dict[Principal, ChangeLog]]:
        """The properties of roles, and who made and changed whom."""
        found: list[Property] = []
        logs: dict[Principal, ChangeLog] = {}
        with self.store.read() as read:
            for record in objects.in_parent(read, reader.root, _T.ROLE):
                role = reader.roles.get(record.id)
                if role is not None:
                    logs[role] = _log(record.audit)
                    found += (Property(role, name, value) for name, value in record.properties.items())
            for kind in (PrincipalKind.USER, PrincipalKind.GROUP):
                for person in access.principals(read, reader.root, kind):
                    if person.id in reader.people:
                        logs[reader.people[person.id]] = _log(person.audit)
        return found, logs

    def _column_tags(self, lake: Lake, reader: "HeadgateReader") -> Iterator[Tag]:
        """The tags of columns that are there by a name."""
        for table, field, name, value in reader.columns:
            at = reader.paths[table]
            shape = None if at is None else lake.shape(at)
            located = None if shape is None else shape.schema.by_id.get(field)
            if at is not None and located is not None and len(located.path) == 1:
                yield Tag(Securable(_T.COLUMN, (*at.path, *located.path)), name, value)

    def _pushed(self, lake: Lake, reader: "HeadgateReader") -> dict[int, Rule]:
        """The rules of pushes, of the policies that say just them today."""
        with self.store.read() as read:
            records = objects.many(read, sorted(reader.policies))
        found: dict[int, Rule] = {}
        for record in records:
            stored, places = reader.policies[record.id], reader.placed.get(record.id, [])
            on = reader.paths.get(places[0][0]) if len(places) == 1 and not places[0][1] else None
            rule = pushed(record, on)
            same = stored.enabled and stored.document == policies.document_of(record.body)
            if rule is not None and same and lake.meant(rule) == rule:
                found[record.id] = rule
        return found

    def render(self, rule: Rule) -> Rule | None:
        return self._lake().render(rule)

    def takes(self, rule: Rule) -> bool:
        return self._lake().takes(rule)

    def apply(self, changes: Sequence[Change]) -> list[Applied]:
        ruled = any(isinstance(change.fact, RowFilter | Mask) for change in changes)
        lake = self._lake().again() if ruled else None
        with self.writing() as tx:
            return HeadgateWriter(tx, self.metalake, lake, changes).make()

    def _lake(self) -> Lake:
        """The metalake as it was read last."""
        if self.lake is None:
            self.read()
        assert self.lake is not None
        return self.lake


def _log(audit: Audit) -> ChangeLog:
    return ChangeLog(audit.creator, audit.create_time, audit.last_modifier, audit.last_modified_time)
