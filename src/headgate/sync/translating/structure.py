"""Groups, roles and memberships: carried over wherever that gives nobody more than the source does."""

from collections import defaultdict

from headgate.sync.snapshots.facts import Kind, Known, MemberFact, Principal
from headgate.sync.translating.losses import Cause
from headgate.sync.translating.target_draft import TargetDraft


def carry_structure(draft: TargetDraft) -> None:
    """Groups, roles and memberships, wherever they give nobody more than the source does."""
    denying = set()
    if not draft.deny_sayable:
        denying = {g.holder for g in draft.denials()}
    draft.apart = draft.hidden | {u for u in draft.mapped.users if draft.mapped.closure(u) & denying}
    for holder in denying:
        draft.book.note(Cause.DENIAL if draft.able.deny else Cause.DENY, holder)
    reached: dict[Principal, set[Principal]] = defaultdict(set)
    for user in draft.mapped.users:
        for up in draft.mapped.closure(user):
            reached[up].add(user)
    draft.kept = {
        p
        for p in draft.mapped.principals
        if p not in draft.apart
        and p not in denying
        and (
            p.kind is Kind.USER
            or (p.kind is Kind.ROLE and _holds_role(draft, p))
            or (p.kind is Kind.GROUP and _holds_group(draft, p) and _alike(draft, reached[p]))
        )
    }
    _structure(draft)


def _alike(draft: TargetDraft, members: set[Principal]) -> bool:
    """Whether a group may stand for all in it: also for those who are not known, if anything is kept from them."""
    return not members & draft.apart and (bool(members) or not draft.closed)


def _holds_role(draft: TargetDraft, role: Principal) -> bool:
    """INVARIANT: a role is written only if it is itself in the target, and gives there what it is granted and no more."""
    if role in draft.around.above | draft.around.closed:
        draft.book.note(Cause.ABOVE, role)
    elif not draft.able.names(role):
        draft.book.note(Cause.NAME, role)
    else:
        return draft.able.roles
    return False


def _holds_group(draft: TargetDraft, group: Principal) -> bool:
    """A group of everyone is one only where the map says that the target has the same."""
    if group in draft.mapped.everyone:
        return group in draft.target.everyone
    return draft.able.groups


def _structure(draft: TargetDraft) -> None:
    for principal in draft.mapped.principals - draft.kept - draft.apart:
        if principal in draft.mapped.everyone:
            draft.book.note(Cause.EVERYONE, principal)
        elif principal.kind is Kind.GROUP:
            draft.book.note(Cause.APART if draft.able.groups else Cause.GROUP, principal)
        elif principal.kind is Kind.ROLE:
            _unwritten(draft, principal)
    for fact in draft.mapped:
        if isinstance(fact, Known) and (fact.principal in draft.kept or fact.principal.kind is Kind.USER):
            draft.out.add(fact)
    draft.out.update(Known(p) for p in draft.kept if p.kind is Kind.ROLE)
    for who in draft.kept:
        _memberships(draft, who)


def _unwritten(draft: TargetDraft, role: Principal) -> None:
    """Why a role is written for its holders: not always because the target has none."""
    if not draft.able.roles:
        draft.book.note(Cause.ROLE_UNWRITTEN if draft.able.other_roles else Cause.ROLE, role)
    elif draft.able.names(role) and role not in draft.around.above | draft.around.closed:
        draft.book.note(Cause.APART, role)


def _native_edge(draft: TargetDraft, who: Principal, of: Principal) -> bool:
    if who not in draft.kept or of not in draft.kept:
        return False
    if who.kind is not Kind.USER and who in draft.mapped.closure(of):
        # No system that was seen lets groups or roles hold each other; their members are put into all of them.
        draft.book.note(Cause.CYCLE, who, None, str(of))
        return False
    return who.kind in draft.able.role_holders if of.kind is Kind.ROLE else draft.able.groups


def _memberships(draft: TargetDraft, who: Principal) -> None:
    """What a principal reaches, through everything that the target cannot hold, up to what it can."""
    seen, waiting = {who}, [who]
    while waiting:
        here = waiting.pop()
        for up in draft.mapped.above.get(here, ()):
            if here != who and _native_edge(draft, here, up) and _native_edge(draft, who, here):
                continue
            if up in seen:
                continue
            seen.add(up)
            if _native_edge(draft, who, up):
                draft.out.add(MemberFact(up, who))
            elif who.kind is Kind.ROLE:
                draft.book.note(Cause.NESTED, who)
            waiting.append(up)
