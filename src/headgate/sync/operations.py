"""What one does with connectors: fetch, compare, push, keep two systems in step. The shell over these is thin."""

import msgspec

from headgate.sync.comparing.diff import Difference, Judge, diff, in_memory, renamed
from headgate.sync.comparing.merge import Clash, Prefer, merge
from headgate.sync.contract import Connector
from headgate.sync.pushing.journal import Journal
from headgate.sync.pushing.results import Mode, SyncResult
from headgate.sync.registry import all_capabilities
from headgate.sync.snapshots.facts import Facts, Mask, Property, RowFilter, Tag
from headgate.sync.snapshots.names import PrincipalMap
from headgate.sync.snapshots.snapshot import PolicySnapshot
from headgate.sync.translating.canonical import vocabulary
from headgate.sync.translating.options import Options
from headgate.sync.translating.restrictions import Rule, rule_name


def fetch(connector: Connector, journal: Journal) -> PolicySnapshot:
    """The policies of a system, kept in the store under its name."""
    snapshot = connector.fetch()
    journal.keep(connector.name, snapshot)
    return snapshot


def compare(
    source: PolicySnapshot, target: PolicySnapshot, names: PrincipalMap, judge: Judge = in_memory
) -> Difference:
    """What differs, in what is written and in what people may do: who would gain or lose what in the target."""
    tables = all_capabilities()
    both = {source.system, target.system}
    one, other = source.facts, target.facts
    for sort, kept in (
        (Tag, {table.system for table in tables if table.tags}),
        (Property, {table.system for table in tables if table.role_properties}),
    ):
        if not both <= kept:
            # What a system has no place for is no difference from it.
            one, other = (Facts(f for f in facts if not isinstance(f, sort)) for facts in (one, other))
    return diff(one, other, vocabulary(tables), names, judge)


class InStep(msgspec.Struct, frozen=True):
    """What keeping two systems in step did to each, and what both had changed."""

    source: SyncResult
    target: SyncResult
    clashes: tuple[Clash, ...]


def keep_in_step(
    source: Connector,
    target: Connector,
    names: PrincipalMap,
    journal: Journal,
    prefer: Prefer = Prefer.NEITHER,
    options: Options = Options(),
) -> InStep:
    """Two-way synchronisation: take to each side what only the other changed since both were last in step.

    Each side is compared with its own snapshot of the last time, so what one side cannot express is no change of it. The
    first time nothing is common yet, and nothing counts as taken away.
    """
    one, other = source.fetch(), target.fetch()
    here = _renamed(one, names)
    was_here = _renamed(journal.kept(_last(source, target, source)), names)
    was_there = _renamed(journal.kept(_last(source, target, target)), PrincipalMap({}))
    there = _followed(was_here, was_there, other.facts)
    merged = merge(was_here, here, there, prefer)
    same = PrincipalMap.same_names()
    to_target = target.push(
        PolicySnapshot.of(merged.target, one.system), Mode.MERGE, same, journal, options, managed=other
    )
    back = Facts(renamed(merged.source, names.back))
    to_source = source.push(
        PolicySnapshot.of(back, other.system), Mode.MERGE, same, journal, options, managed=one
    )
    for side in (source, target):
        journal.keep(_last(source, target, side), side.fetch())
    return InStep(to_source, to_target, merged.clashes)


def _followed(here: Facts, was_there: Facts, there: Facts) -> Facts:
    """The facts of one side with the changes of the other since then. Each side writes its row filters and masks in its own dialect."""
    gone = was_there.all - there.all
    rules = {_rule_key(fact) for fact in gone if isinstance(fact, RowFilter | Mask)}
    gone |= {rule for rule in here.restrictions if _rule_key(rule) in rules}
    return here.changed(add=there.all - was_there.all, remove=gone)


def _rule_key(rule: Rule) -> object:
    return type(rule), rule.object, rule_name(rule.name)


def _renamed(snapshot: PolicySnapshot | None, names: PrincipalMap) -> Facts:
    return Facts() if snapshot is None else Facts(renamed(snapshot.facts, names))


def _last(source: Connector, target: Connector, side: Connector) -> str:
    """The name under which the journal keeps the snapshot of a side when the two were last in step."""
    return f"in step: {source.name} and {target.name}: {side.name}"
