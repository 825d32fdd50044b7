"""What one does with connectors: fetch, compare, push, keep two systems in step. The shell over these is thin."""

import msgspec

from headgate.sync.canonical import vocabulary
from headgate.sync.connectors import all_capabilities
from headgate.sync.contract import Connector
from headgate.sync.diff import Difference, diff, renamed
from headgate.sync.facts import Facts
from headgate.sync.journal import Journal
from headgate.sync.merge import Clash, Prefer, merge
from headgate.sync.names import PrincipalMap
from headgate.sync.results import Mode, SyncResult
from headgate.sync.snapshot import PolicySnapshot
from headgate.sync.translate import Options


def fetch(connector: Connector, journal: Journal) -> PolicySnapshot:
    """The policies of a system, kept in the store under its name."""
    snapshot = connector.fetch()
    journal.keep(connector.name, snapshot)
    return snapshot


def compare(source: PolicySnapshot, target: PolicySnapshot, names: PrincipalMap) -> Difference:
    """What differs, in what is written and in what people may do: who would gain or lose what in the target."""
    return diff(source.facts, target.facts, vocabulary(all_capabilities()), names)


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

    The first time nothing is common yet, so nothing counts as taken away. What a side cannot say is no change of that
    side: each is compared with what it said itself the last time, not with what the other had.
    """
    one, other = source.fetch(), target.fetch()
    there = Facts(renamed(one.facts, names))
    was_one = journal.kept(_common(source, target, source.name))
    was_other = journal.kept(_common(source, target, target.name))
    base_one = Facts(renamed(was_one.facts, names)) if was_one else Facts()
    base_other = was_other.facts if was_other else Facts()
    merged = merge(
        base_one.changed(base_other), there, _carried(other.facts, base_one, base_other, there), prefer
    )
    to_target = PolicySnapshot.of(merged.target, one.system)
    after_target = target.push(to_target, Mode.MERGE, PrincipalMap.same_names(), journal, options)
    back = Facts(renamed(merged.source, names.back))
    to_source = PolicySnapshot.of(back, other.system)
    after_source = source.push(to_source, Mode.MERGE, PrincipalMap.same_names(), journal, options)
    journal.keep(_common(source, target, source.name), source.fetch())
    journal.keep(_common(source, target, target.name), target.fetch())
    return InStep(after_source, after_target, merged.clashes)


def _carried(target: Facts, base_one: Facts, base_other: Facts, source: Facts) -> Facts:
    """The target's facts, with what it never could say standing as the source had it: no change of the target."""
    unsaid = base_one.all - base_other.all
    return target.changed(add=unsaid & source.all)


def _common(source: Connector, target: Connector, side: str) -> str:
    return f"common {source.name} {target.name} {side}"
