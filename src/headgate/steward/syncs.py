"""Policies of other systems: fetched, compared, pushed, taken back and kept in step, each under permits of the caller.

A metalake of this store is ``headgate:NAME`` and is its owner's matter. Another system is a connection of the server: service
admins use any, owners of metalakes those that were opened to their metalake. INVARIANT: a system is neither read nor changed
before the permit for it was given, and nobody else learns whether a connection exists.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

import msgspec

from headgate.decide import Op
from headgate.model.errors import IllegalArgument, NotFound
from headgate.model.objects import ObjectRef, ObjectType, clip
from headgate.model.principals import Identity
from headgate.steward.access.tokens import SERVER
from headgate.steward.acts import act
from headgate.steward.findings import examine
from headgate.steward.kernel import Kernel
from headgate.steward.metadata.shapes import Shapes
from headgate.steward.permits import Permit
from headgate.store import syncs
from headgate.sync import operations
from headgate.sync.comparing.diff import Difference
from headgate.sync.comparing.merge import Prefer
from headgate.sync.connections import Connection
from headgate.sync.connectors.headgate.connector import HeadgateConnector
from headgate.sync.contract import Connector
from headgate.sync.operations import InStep
from headgate.sync.pushing.journal import Journal
from headgate.sync.pushing.plan import PushPlan
from headgate.sync.pushing.results import Mode, SyncResult
from headgate.sync.pushing.run import resume, undo
from headgate.sync.registry import opened
from headgate.sync.snapshots.names import PrincipalMap
from headgate.sync.snapshots.snapshot import PolicySnapshot
from headgate.sync.translating.options import Options

_HERE: Final = "headgate"

Source = str | PolicySnapshot
"""A system by name, or the policies themselves."""


class System(msgspec.Struct, frozen=True):
    """A system that the caller may use, and by which permit."""

    connector: Connector
    permit: Permit


class Progress(msgspec.Struct, frozen=True):
    """A push as it is journaled, and how far it came."""

    push: syncs.PushRecord
    settled: int
    steps: int


class Syncs:
    def __init__(self, kernel: Kernel, shapes: Shapes, connections: Mapping[str, Connection]) -> None:
        self.kernel = kernel
        self.shapes = shapes
        self.connections = dict(connections)

    @act(Op.SYNC_SYSTEMS)
    def listed(self, permit: Permit) -> list[tuple[str, Connection]]:
        """The connections of the server, by name."""
        assert permit.op is Op.SYNC_SYSTEMS
        return sorted(self.connections.items())

    def fetch(self, identity: Identity, source: str) -> PolicySnapshot:
        """The policies of a system, shown and kept."""
        with self._using(identity, source) as (system,):
            snapshot = operations.fetch(system.connector, self._journal(identity))
            self._audit([system], "fetch", **_which(snapshot))
            return snapshot

    def compare(self, identity: Identity, source: Source, target: str, names: PrincipalMap) -> Difference:
        """What differs between two systems, in what is written and in what people may do."""
        with self._between(identity, source, target) as (snapshot, other, used):
            found = operations.compare(snapshot, other.connector.fetch(), names)
            self._audit(used, "compare")
            return found

    def plan(
        self,
        identity: Identity,
        source: Source,
        target: str,
        mode: Mode,
        names: PrincipalMap,
        options: Options = Options(),
    ) -> tuple[PolicySnapshot, PushPlan]:
        """The policies of the source, and what a push of them would do."""
        with self._between(identity, source, target) as (snapshot, other, used):
            found = other.connector.plan(snapshot, mode, names, self._journal(identity), options)
            self._audit(used, "plan", **_which(snapshot))
            return snapshot, found

    def push(
        self,
        identity: Identity,
        source: Source,
        target: str,
        mode: Mode,
        names: PrincipalMap,
        options: Options = Options(),
        agreed: str | None = None,
    ) -> SyncResult:
        """Push the policies of one system to another; only by the plan that was agreed to, if one was."""
        with self._between(identity, source, target) as (snapshot, other, used):
            if isinstance(source, str):
                self._journal(identity).keep(source, snapshot)
            # Kept before: that somebody began must be known even if the process dies on the way.
            self._audit(used, "push", mode=mode.value, **_which(snapshot))
            return other.connector.push(
                snapshot, mode, names, self._journal(identity), options, agreed=agreed
            )

    def resume(self, identity: Identity, target: str) -> SyncResult:
        """Bring the last push to its end, if it died on the way."""
        with self._using(identity, target) as (system,):
            self._audit([system], "resume")
            return resume(system.connector, self._journal(identity))

    def undo(self, identity: Identity, target: str | None, push: int | None) -> SyncResult:
        """Take back the last push to a target; one that is named by number names its target too."""
        if target is None:
            target = self._target_of(identity, push)
        with self._using(identity, target) as (system,):
            self._audit([system], "undo", push=push)
            return undo(system.connector, self._journal(identity), push)

    def in_step(
        self,
        identity: Identity,
        source: str,
        target: str,
        names: PrincipalMap,
        prefer: Prefer = Prefer.NEITHER,
        options: Options = Options(),
    ) -> InStep:
        """Take to each of two systems what only the other changed since they were last in step."""
        with self._using(identity, source, target) as (one, other):
            self._audit([one, other], "in step", prefer=prefer.value)
            journal = self._journal(identity)
            return operations.keep_in_step(one.connector, other.connector, names, journal, prefer, options)

    def pushes(self, identity: Identity, target: str, most: int) -> list[Progress]:
        """The latest pushes to a target, newest first."""
        with self._using(identity, target):
            store = self.kernel.store
            return [
                Progress(push, *syncs.progress(store, push.id)) for push in syncs.pushes(store, target)[:most]
            ]

    # -- permits -------------------------------------------------------------------------------------------------

    @contextmanager
    def _using(self, identity: Identity, *names: str) -> Iterator[list[System]]:
        """These systems, each under its permit, let go of afterwards."""
        if len(set(names)) < len(names):
            raise IllegalArgument(f"'{clip(names[0])}' is both source and target", hint="name two systems")
        systems: list[System] = []
        try:
            for name in names:
                systems.append(self._system(identity, name))
            yield systems
        finally:
            for system in systems:
                system.connector.close()

    @contextmanager
    def _between(
        self, identity: Identity, source: Source, target: str
    ) -> Iterator[tuple[PolicySnapshot, System, list[System]]]:
        """The policies of the source, the target, and all systems that are used. A snapshot at hand is nobody's to permit."""
        if isinstance(source, PolicySnapshot):
            with self._using(identity, target) as (other,):
                yield source, other, [other]
        else:
            with self._using(identity, source, target) as (one, other):
                yield one.connector.fetch(), other, [one, other]

    def _system(self, identity: Identity, name: str) -> System:
        kind, colon, rest = name.partition(":")
        if not colon or not rest:
            raise IllegalArgument(
                f"'{clip(name)}' does not name a system", hint="write KIND:NAME, e.g. headgate:lake"
            )
        if kind == _HERE:
            permit = self._permit(identity, [rest])
            details: dict[str, object] = {"sync": name}
            return System(
                HeadgateConnector(
                    self.kernel.store,
                    rest,
                    name,
                    lambda: self.kernel.change(permit, telling=lambda _: details),
                    self.shapes.of,
                ),
                permit,
            )
        connection = self.connections.get(name)
        permit = self._permit(identity, () if connection is None else connection.metalakes)
        if connection is None:
            raise NotFound(
                f"there is no connection '{clip(name)}'",
                hint=f"add [sync.connections.{clip(kind)}.{clip(rest)}] to headgate.toml",
                about="sync",
            )
        return System(opened(name, connection), permit)

    def _permit(self, identity: Identity, metalakes: Iterable[str]) -> Permit:
        """As the owner of one of these metalakes, else as a service admin."""
        authority = self.kernel.authority()
        for metalake in metalakes:
            ref = ObjectRef(metalake, ObjectType.METALAKE)
            if examine(authority, identity, Op.SYNC_METALAKE, ref).allowed:
                return self.kernel.permit(identity, Op.SYNC_METALAKE, ref, at=authority)
        return self.kernel.permit(identity, Op.SYNC_SYSTEMS, SERVER, at=authority)

    def _target_of(self, identity: Identity, push: int | None) -> str:
        if push is None:
            raise IllegalArgument("an undo needs a target or the number of a push", hint="name one of them")
        try:
            return syncs.push(self.kernel.store, push).target
        except NotFound:
            # Only who may see every push is told that there is none.
            self._permit(identity, ())
            raise

    def _journal(self, identity: Identity) -> Journal:
        return Journal(self.kernel.store, identity.user)

    def _audit(self, systems: list[System], what: str, **details: object) -> None:
        names = [system.connector.name for system in systems]
        for permit in {system.permit.ref: system.permit for system in systems}.values():
            self.kernel.audit(
                permit.identity,
                permit.op,
                permit.ref,
                permit.revision,
                allowed=True,
                sync=what,
                systems=names,
                **details,
            )


def _which(snapshot: PolicySnapshot) -> dict[str, object]:
    """Which snapshot it was, and what it said."""
    return {"version": snapshot.version_id, "content": snapshot.content_hash}
