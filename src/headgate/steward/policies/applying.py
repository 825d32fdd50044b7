"""Documents made the policies of a metalake: what removes a policy or shows somebody more is agreed to first.

Nothing is taken back by accident: an empty folder, a branch that lacks a file or a filter that was edited says so before it
acts. INVARIANT: without the digest of a plan, no change of documents removes a policy or widens anybody's view.
"""

import datetime as dt
import hashlib
from collections.abc import Callable, Iterator, Sequence
from typing import Final

import msgspec

from headgate.decide import Authority, Node, Op
from headgate.decide.changes.effects import ComparedCircumstances, WiderView
from headgate.decide.policies.rules import readable
from headgate.decide.verdict import allowed
from headgate.language.policies.export import dump
from headgate.model.errors import Conflict, IllegalArgument
from headgate.model.objects import ObjectRef, ObjectType, clip
from headgate.model.principals import Identity
from headgate.steward.acts import act
from headgate.steward.findings import examine
from headgate.steward.kernel import Kernel
from headgate.steward.permits import Permit
from headgate.steward.policies.authoring import Authoring
from headgate.steward.policies.edits import Edit, PolicyFiles
from headgate.steward.policies.inspection import Inspection, PolicyPlan

_NAMED: Final = 5
"""So many names are told one by one."""


class ProposedEdits(msgspec.Struct, frozen=True):
    """What documents would change, and what of it somebody must agree to."""

    edits: tuple[Edit, ...]
    digest: str
    asks: tuple[str, ...]


class AppliedEdits(msgspec.Struct, frozen=True):
    """What was changed."""

    edits: tuple[Edit, ...]
    since: int
    """The revision before: what the policies were then can be had back."""
    warming: tuple[str, ...] | None
    """Tables whose lately used views are being made ready; None for somebody who may not be told."""


class Applying:
    def __init__(
        self,
        kernel: Kernel,
        authoring: Authoring,
        inspection: Inspection,
        warm: Callable[[int], bool],
    ) -> None:
        self.kernel = kernel
        self.authoring = authoring
        self.inspection = inspection
        self.warm = warm
        """Have the lately used views of a table made ready, without waiting for them; False if nobody used any."""

    def propose(
        self, identity: Identity, metalake: ObjectRef, files: PolicyFiles, *, at_least: int = 0
    ) -> ProposedEdits:
        """What `apply` would do for the same caller. It takes the rights of `apply`, and changes nothing."""
        authority, top, _, edits = self.authoring.compared(identity, metalake, files, at_least=at_least)
        asks = tuple(self._asks(identity, metalake, authority, top, edits))
        return ProposedEdits(tuple(edits), digest(edits), asks)

    def apply(
        self,
        identity: Identity,
        metalake: ObjectRef,
        files: PolicyFiles,
        *,
        agreed: str | None = None,
        allow_empty: bool = False,
        at_least: int = 0,
    ) -> AppliedEdits:
        """Make the policies of a metalake those of the documents, all of it or nothing."""
        authority, top, wanted, edits = self.authoring.compared(identity, metalake, files, at_least=at_least)
        if not wanted and not allow_empty:
            raise IllegalArgument(
                "the documents hold no policies",
                hint="name others; that there shall be none is said with --allow-empty ('allowEmpty' over HTTP)",
            )
        if agreed is not None and agreed != digest(edits):
            raise Conflict(
                "what the documents would change is not what was agreed to", hint="look at the plan again"
            )

        def agree() -> None:
            asks = list(self._asks(identity, metalake, authority, top, edits))
            if asks:
                raise IllegalArgument(
                    f"this has to be agreed to: {'; '.join(asks)}",
                    hint="look at the plan and send its digest as 'plan'",
                )

        self.authoring.write(identity, metalake, authority, edits, last=None if agreed else agree)
        return AppliedEdits(tuple(edits), authority.revision, self._warmed(identity, metalake, edits))

    def _warmed(
        self, identity: Identity, metalake: ObjectRef, edits: Sequence[Edit]
    ) -> tuple[str, ...] | None:
        """Ask for the views that other edits than renewals made new. INVARIANT: named to those only who may ask about others."""
        now = self.kernel.authority()
        changed = [edit for edit in edits if edit.kind != "renewed"]
        tables = [node for _, node in sorted(self.inspection.below(now, changed).items())]
        warming = tuple(now.ref(node).full_name for node in tables if self.warm(node.id))
        return warming if examine(now, identity, Op.ASK, metalake).allowed else None

    @act(Op.ASK)
    def asks(self, permit: Permit, plan: PolicyPlan) -> tuple[str, ...]:
        """What somebody who applies a plan must agree to, for somebody who was told all of the plan."""
        lowest = _lowest(permit.identity, permit.authority, permit.node)
        return tuple(_sentences(plan.edits, lowest, plan.wider, plan.unread))

    def _asks(
        self,
        identity: Identity,
        metalake: ObjectRef,
        authority: Authority,
        top: Node,
        edits: Sequence[Edit],
    ) -> Iterator[str]:
        """What somebody must agree to.

        INVARIANT: whose view a change widens is told to those only who may ask about others. From everybody else it takes a
        word for whatever could widen one.
        """
        lowest = _lowest(identity, authority, top)
        if not examine(authority, identity, Op.ASK, metalake).allowed:
            yield from _removals(edits)
            loose = _loose(edits, lowest)
            if loose:
                yield f"{_policies(loose)} could show somebody more, and you may not be told whom"
            return
        now = ComparedCircumstances(dt.datetime.now(dt.UTC))
        yield from _sentences(edits, lowest, *self.inspection.widened(identity, authority, top, edits, now))


def _sentences(
    edits: Sequence[Edit], lowest: int, wider: Sequence[WiderView], unread: Sequence[str]
) -> Iterator[str]:
    removed = list(_removals(edits))
    yield from removed
    yield from map(describe, wider)
    if unread and (removed or _loose(edits, lowest)):
        yield f"the columns of {_some(unread)} cannot be told now, so nor can who would see more of it"


def _removals(edits: Sequence[Edit]) -> Iterator[str]:
    removed = [edit.name for edit in edits if edit.kind == "removed"]
    if removed:
        yield f"{_policies(removed)} would be removed"


def _loose(edits: Sequence[Edit], lowest: int) -> list[str]:
    return [edit.name for edit in edits if edit.kind != "removed" and _could_widen(edit, lowest)]


def describe(view: WiderView) -> str:
    """Who would see more of what, in a sentence."""
    return f"{_some(view.people)} would see more of {_some(view.tables)}"


def digest(edits: Sequence[Edit]) -> str:
    """Stands for edits: who agreed to a plan agreed to these and no others."""
    sides = (
        side
        for edit in edits
        for side in (
            f"{edit.kind} {edit.name}",
            "" if edit.before is None else dump([edit.before.policy]),
            "" if edit.after is None else dump([edit.after]),
        )
    )
    return hashlib.sha256("\0".join(sides).encode()).hexdigest()


def _could_widen(edit: Edit, lowest: int) -> bool:
    """Whether an edit could show anybody more. A new policy only restricts, unless its mask goes before others."""
    if edit.kind in ("changed", "renewed"):
        return True
    after = edit.after
    return after is not None and bool(after.mask) and (after.priority != 0 or after.priority > lowest)


def _lowest(identity: Identity, authority: Authority, top: Node) -> int:
    """The lowest priority of those masks that a policy of the caller's may go before: others yield to none of theirs."""
    caller = authority.caller(identity, top.id)
    read = (
        readable(authority.policies[node.id].document)
        for node in authority.children_of(top.id, ObjectType.POLICY)
        if node.id in authority.policies and allowed(authority, caller, Op.ALTER_POLICY, node)
    )
    return min((each.policy.priority for each in read if each is not None and each.mask), default=0)


def _policies(names: Sequence[str]) -> str:
    return f"{'policy' if len(names) == 1 else 'policies'} {_some(names)}"


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(clip(name) for name in names[:_NAMED]) + more
