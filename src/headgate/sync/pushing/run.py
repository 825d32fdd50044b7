"""Carrying out a plan: journaled before, applied in batches, read back after; resumed or undone if it died on the way."""

from collections.abc import Iterator, Sequence
from typing import Protocol

import msgspec

from headgate.model.errors import Conflict, HeadgateError
from headgate.store.syncs import Lock
from headgate.sync.access.capabilities import Capabilities
from headgate.sync.access.effective import Effective, beyond
from headgate.sync.access.reach import reach
from headgate.sync.access.surroundings import Surroundings
from headgate.sync.pushing.journal import Journal, JournalStep
from headgate.sync.pushing.plan import PushPlan
from headgate.sync.pushing.results import Applied, Change, Item, Mode, Outcome, SyncResult
from headgate.sync.snapshots.facts import Fact, Facts, GrantFact, Known, Mask, Principal, Property, RowFilter
from headgate.sync.snapshots.snapshot import ChangeLog

_YES = (Outcome.APPLIED, Outcome.ALREADY)
_DONE_NOTHING = "the target said yes, but it is not so"
_HELD_BACK = "not tried, because a restriction before it failed"


class Reading(msgspec.Struct, frozen=True):
    """What a system holds, in its own words. INVARIANT: all of it; a partial answer must be an error."""

    facts: Facts
    logs: dict[Principal, ChangeLog] = {}
    notes: tuple[str, ...] = ()
    around: Surroundings = Surroundings()
    """What else decides there who sees what."""


class PushTarget(Protocol):
    """What a push needs of a connector."""

    name: str
    batch: int

    @property
    def capabilities(self) -> Capabilities: ...

    def read(self) -> Reading: ...

    def apply(self, changes: Sequence[Change]) -> list[Applied]: ...


def carry_out(
    target: PushTarget, plan: PushPlan, mode: Mode, source: str, journal: Journal, lock: Lock
) -> SyncResult:
    """Do what the plan says, under a lock that the caller holds."""
    push = journal.begin(target.name, source, mode, plan.changes, journal.marks(target.name))
    return _finish(target, push, journal, lock, plan)


def resume(target: PushTarget, journal: Journal) -> SyncResult:
    """Take up the last push where it died. What it had done by then stays done and is not done twice."""
    with journal.locked(target.name) as lock:
        record = journal.last(target.name)
        if record is None or record.state != "running":
            raise Conflict(f"no push to '{target.name}' is unfinished", hint="push again")
        now = target.read().facts
        found = [
            (step.position, Applied(Outcome.APPLIED))
            for step in journal.steps(record.id)
            if step.applied is None and _is_so(step.change, now)
        ]
        journal.settle(record.id, found)
        return _finish(target, record.id, journal, lock, None)


def undo(target: PushTarget, journal: Journal, push: int | None = None) -> SyncResult:
    """Take back a push, the last one, step by step in reverse: the target holds again what it held before."""
    with journal.locked(target.name) as lock:
        record = journal.last(target.name)
        if record is None or (push is not None and record.id != push):
            raise Conflict(
                f"push {push} is not the last one to '{target.name}'" if push else "there is no push to undo",
                hint="undo the pushes after it first" if record else None,
            )
        now = target.read().facts
        steps = [
            step
            for step in reversed(journal.steps(record.id))
            if _is_so(step.change, now) and (step.applied is None or step.applied.outcome is Outcome.APPLIED)
        ]
        answers: list[Applied] = []
        for batch in _batches(steps, target.batch):
            answers.extend(_applied(target, [step.change.undone for step in batch]))
            lock.keep()
        after = target.read().facts
        items = tuple(
            _checked(step.change.undone, answer, after) for step, answer in zip(steps, answers, strict=True)
        )
        good = all(item.outcome is not Outcome.FAILED for item in items)
        if good:
            journal.finish(
                record.id,
                "undone",
                target.name,
                marked=[s.change.before for s in steps if s.owned and s.change.before is not None],
                unmarked=[s.change.after for s in steps if s.change.after is not None],
            )
        return SyncResult(target.name, Mode(record.mode), record.id, items)


def _finish(target: PushTarget, push: int, journal: Journal, lock: Lock, plan: PushPlan | None) -> SyncResult:
    steps = journal.steps(push)
    restricted = True
    for batch in _batches([step for step in steps if step.applied is None], target.batch):
        if not restricted:
            answers = [Applied(Outcome.FAILED, _HELD_BACK)] * len(batch)
        else:
            answers = _applied(target, [step.change for step in batch])
        journal.settle(push, zip((step.position for step in batch), answers, strict=True))
        restricted = restricted and all(
            answer.outcome in _YES or not _restricts(step.change)
            for step, answer in zip(batch, answers, strict=True)
        )
        lock.keep()
    return _settled(target, push, journal, plan)


def _settled(target: PushTarget, push: int, journal: Journal, plan: PushPlan | None) -> SyncResult:
    """Read back, and report as done only what is so."""
    record = journal.record(push)
    reading = target.read()
    after = reading.facts
    steps = journal.steps(push)
    items: list[Item] = []
    lies: list[tuple[int, Applied]] = []
    for step in steps:
        assert step.applied is not None
        item = _checked(step.change, step.applied, after)
        if item.detail == _DONE_NOTHING:
            lies.append((step.position, Applied(item.outcome, item.detail)))
        items.append(item)
    journal.settle(push, lies)
    done = [s for s, item in zip(steps, items, strict=True) if item.outcome is Outcome.APPLIED]
    failed = any(item.outcome is Outcome.FAILED for item in items)
    journal.finish(
        push,
        "failed" if failed else "done",
        target.name,
        marked=[s.change.after for s in done if s.change.after is not None],
        unmarked=[s.change.before for s in done if s.change.before is not None],
    )
    if plan is None:
        return SyncResult(target.name, Mode(record.mode), push, tuple(items))
    items += [Item(Change(None, fact), Outcome.ALREADY) for fact in plan.already]
    items += [Item(Change(None, fact), Outcome.WIDENS, why) for fact, why in plan.refused]
    # A denial may reach a user through a group, and the target may not list the group's members.
    now = reach(after.changed(plan.assumed), reading.around, target.capabilities.semantics)
    notes = _widened(now.users, plan.bound)
    return SyncResult(
        target.name,
        Mode(record.mode),
        push,
        tuple(items),
        plan.losses,
        plan.gains,
        plan.loses,
        plan.unlisted,
        notes,
        plan.open,
    )


def _widened(after: Effective, bound: Effective) -> tuple[str, ...]:
    """INVARIANT: nobody may do more than before and than the source allows; what somebody else granted meanwhile is reported."""
    return tuple(
        f"{user} may {action} {object}, which neither the source nor the target before allowed"
        for user, extra in sorted(beyond(after, bound).items())
        for object, action in sorted(extra)
    )


def _batches(steps: list[JournalStep], size: int) -> Iterator[list[JournalStep]]:
    """Steps in batches of one sort: what restricts never shares a batch with what it must precede.

    A role and its properties stay in one batch.
    """
    start = 0
    for end in range(1, len(steps) + 1):
        full = end - start >= size
        if (
            end == len(steps)
            or (full and not _of_one_role(steps[end - 1].change, steps[end].change))
            or _restricts(steps[end].change) != _restricts(steps[start].change)
        ):
            yield steps[start:end]
            start = end


def _of_one_role(one: Change, other: Change) -> bool:
    a, b = one.fact, other.fact
    return isinstance(a, Known | Property) and isinstance(b, Known | Property) and a.principal == b.principal


def _restricts(change: Change) -> bool:
    """Whether leaving this change out would let somebody see more."""
    fact = change.after
    return isinstance(fact, RowFilter | Mask) or (isinstance(fact, GrantFact) and fact.decision == "deny")


def _applied(target: PushTarget, changes: list[Change]) -> list[Applied]:
    try:
        answers = target.apply(changes)
    except HeadgateError as error:
        return [Applied(Outcome.FAILED, str(error))] * len(changes)
    assert len(answers) == len(changes), "a connector answers every change"
    return answers


def _is_so(change: Change, facts: Facts) -> bool:
    return (change.after is None or _holds(change.after, facts)) and (
        change.before is None or not _holds(change.before, facts)
    )


def _holds(fact: Fact, facts: Facts) -> bool:
    return fact in facts


def _checked(change: Change, answer: Applied, after: Facts) -> Item:
    if answer.outcome in _YES and not _is_so(change, after):
        return Item(change, Outcome.FAILED, _DONE_NOTHING)
    return Item(change, answer.outcome, answer.detail)
