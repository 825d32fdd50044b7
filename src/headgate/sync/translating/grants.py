"""Grants, carried over as they are or in the words of the target that give no more."""

from collections import defaultdict
from collections.abc import Iterable

import msgspec

from headgate.model.objects import ObjectType
from headgate.model.privileges import Condition
from headgate.sync.access import actions
from headgate.sync.access.actions import reaches, type_of
from headgate.sync.access.capabilities import Semantics
from headgate.sync.snapshots.facts import GrantFact, Kind, OwnerFact, Principal, Securable
from headgate.sync.translating.canonical import OWNER_WORD, word_of
from headgate.sync.translating.losses import Cause
from headgate.sync.translating.owners import carry_owner
from headgate.sync.translating.target_draft import TargetDraft


class _Holdings:
    """What one holder's own grants give, by object, answered along the chain."""

    def __init__(self, grants: Iterable[GrantFact], semantics: Semantics) -> None:
        self.nested = semantics.nested_schemas
        self.given: dict[Securable, set[str]] = defaultdict(set)
        self.optional: dict[Securable, set[str]] = defaultdict(set)
        for grant in grants:
            gives = semantics.given(grant.object.type, grant.privilege)
            self.given[grant.object] |= gives
            if grant.option:
                self.optional[grant.object] |= gives

    def has(self, object: Securable, action: str, option: bool = False) -> bool:
        table = self.optional if option else self.given
        return any(action in table.get(step, ()) for step in object.chain(self.nested))


def carry_grants(draft: TargetDraft, holder: Principal) -> None:
    grants = draft.mapped.grants_of.get(holder, [])
    if not grants:
        return
    if holder.kind is not Kind.ROLE and holder.kind not in draft.able.direct and not draft.able.roles:
        draft.book.note(Cause.GROUP if holder.kind is Kind.GROUP else Cause.ROLE, holder)
        return
    holdings = _Holdings((g for g in grants if g.decision is Condition.ALLOW), draft.semantics)
    for grant in grants:
        word = word_of(grant.privilege, draft.able.system)
        if word == OWNER_WORD:
            carry_owner(draft, OwnerFact(grant.object, holder))
            continue
        gives = draft.semantics.given(grant.object.type, grant.privilege)
        if not gives:
            draft.book.note(Cause.OPAQUE, holder, grant.object, grant.privilege)
            continue
        if grant.decision is Condition.DENY:
            if grant.object in draft.target.present:
                draft.out.add(msgspec.structs.replace(grant, holder=draft.receiver(holder), option=False))
            else:
                draft.book.note(Cause.MISSING_OBJECT, holder, grant.object, f"deny {grant.privilege}")
            continue
        if grant.option and not (draft.options.grant_option and draft.able.grant_option):
            draft.book.note(Cause.OPTION, holder, grant.object, grant.privilege)
        goals = gives
        if not draft.able.semantics.gates and gives & actions.GATES:
            goals = gives - actions.GATES
            draft.book.note(Cause.GATE, holder, grant.object, grant.privilege)
        if goals:
            _place(draft, holder, holdings, grant.object, goals, grant.privilege)


def _place(
    draft: TargetDraft, holder: Principal, own: _Holdings, object: Securable, goals: frozenset[str], name: str
) -> None:
    """Grant the goals on this object, and what cannot be granted here on the existing objects below."""
    if object not in draft.target.present:
        draft.book.note(Cause.MISSING_OBJECT, holder, object, name)
        return
    written: frozenset[str] = frozenset()
    words = draft.able.semantics.natives.get(object.type, {})
    if words.get(name) == goals:
        # INVARIANT: where the target has the very privilege, no other is written in its place: a denial of this one
        # would not meet that other.
        words = {name: goals}
    for word, gives in words.items():
        if gives & goals and _safe(draft, own, object, gives):
            written |= gives
            option = (
                draft.options.grant_option
                and draft.able.grant_option
                and all(own.has(object, action, option=True) for action in gives)
            )
            draft.out.add(GrantFact(draft.receiver(holder), object, word, option=option))
    rest = goals - written
    here = {a for a in rest if type_of(a) is object.type}
    below = frozenset(a for a in rest - here if reaches(object.type, type_of(a)))
    if here:
        draft.book.note(_why(draft, own, object, here), holder, object, name)
    if below:
        children = [
            child
            for child in draft.target.children.get(object, ())
            if any(reaches(child.type, type_of(a)) for a in below)
        ]
        if children or object.type in (ObjectType.CATALOG, ObjectType.SCHEMA):
            draft.book.note(Cause.FUTURE, holder, object, name)
        for child in children:
            goal = frozenset(a for a in below if reaches(child.type, type_of(a)))
            _place(draft, holder, own, child, goal, name)


def _why(draft: TargetDraft, own: _Holdings, object: Securable, missing: set[str]) -> Cause:
    if object.type not in draft.able.levels:
        return Cause.COLUMN if object.type is ObjectType.COLUMN else Cause.NO_SUCH_LEVEL
    if all(_open(draft, own, object, action) for action in missing):
        return Cause.NARROWER
    return Cause.DORMANT


def _safe(draft: TargetDraft, own: _Holdings, object: Securable, gives: frozenset[str]) -> bool:
    """Whether the holder itself already has everything that a native privilege would give, and the way to it."""
    return all(own.has(object, action) and _open(draft, own, object, action) for action in gives)


def _open(draft: TargetDraft, own: _Holdings, object: Securable, action: str) -> bool:
    """INVARIANT: a grant that a closed gate makes ineffective must not reach a target that has no such gate."""
    unasked = set(draft.semantics.gates_of(action)) - set(draft.able.semantics.gates_of(action))
    for use in unasked:
        type = type_of(use)
        depth = 1 if type is ObjectType.CATALOG else 2
        gate = Securable(type, object.path[:depth]) if len(object.path) >= depth else object
        if not own.has(gate, use):
            return False
    return True
