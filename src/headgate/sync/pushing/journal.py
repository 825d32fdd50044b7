"""The journal of pushes in terms of facts: marks, steps and the lock of a target, kept in the store."""

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager

import msgspec

from headgate.model.errors import Conflict
from headgate.store import Store, syncs
from headgate.sync.pushing.results import Applied, Change, Mode, Outcome
from headgate.sync.snapshots.facts import Fact, decoded, encoded
from headgate.sync.snapshots.snapshot import PolicySnapshot


class JournalStep(msgspec.Struct, frozen=True):
    """One journaled change and what became of it, if that is known."""

    position: int
    change: Change
    owned: bool
    applied: Applied | None


class Journal:
    """What pushes did to which target."""

    def __init__(self, store: Store, actor: str = "sync") -> None:
        self.store = store
        self.actor = actor

    def marks(self, target: str) -> frozenset[Fact]:
        """What pushes put into the target."""
        return frozenset(map(decoded, syncs.marks(self.store, target)))

    def locked(self, target: str) -> AbstractContextManager[syncs.Lock]:
        return syncs.locked(self.store, target)

    def begin(
        self, target: str, source: str, mode: Mode, changes: Sequence[Change], owned: frozenset[Fact]
    ) -> int:
        """Write a push down before it touches anything; not while another one is unfinished."""
        self.check_finished(target)
        rows = (
            syncs.PushStep(n, _bytes(change.before), _bytes(change.after), change.before in owned)
            for n, change in enumerate(changes)
        )
        return syncs.begin(self.store, target, source, mode.value, self.actor, rows)

    def check_finished(self, target: str) -> None:
        last = syncs.pushes(self.store, target)
        if last and last[0].state == "running":
            raise Conflict(
                f"push {last[0].id} to '{target}' did not come to its end",
                hint=f"resume or undo push {last[0].id} first",
            )

    def last(self, target: str) -> syncs.PushRecord | None:
        """The newest push that was not undone."""
        found = [record for record in syncs.pushes(self.store, target) if record.state != "undone"]
        return found[0] if found else None

    def record(self, push: int) -> syncs.PushRecord:
        return syncs.push(self.store, push)

    def steps(self, push: int) -> list[JournalStep]:
        return [
            JournalStep(
                step.position,
                Change(_fact(step.before), _fact(step.after)),
                step.owned,
                None if step.outcome is None else Applied(Outcome(step.outcome), step.detail or ""),
            )
            for step in syncs.steps(self.store, push)
        ]

    def settle(self, push: int, outcomes: Iterable[tuple[int, Applied]]) -> None:
        syncs.settle(self.store, push, ((n, a.outcome.value, a.detail) for n, a in outcomes))

    def finish(
        self, push: int, state: str, target: str, marked: Iterable[Fact], unmarked: Iterable[Fact]
    ) -> None:
        syncs.finish(self.store, push, state, target, map(encoded, marked), map(encoded, unmarked))

    # -- snapshots -----------------------------------------------------------------------------------------------

    def keep(self, name: str, snapshot: PolicySnapshot) -> None:
        syncs.keep_snapshot(self.store, name, snapshot.content_hash, snapshot.to_json())

    def kept(self, name: str) -> PolicySnapshot | None:
        found = syncs.last_snapshot(self.store, name)
        return None if found is None else PolicySnapshot.read(found)


def _bytes(fact: Fact | None) -> bytes | None:
    return None if fact is None else encoded(fact)


def _fact(text: bytes | None) -> Fact | None:
    return None if text is None else decoded(text)
