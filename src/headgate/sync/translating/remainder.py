"""What groups and roles could not carry: grants to each user, and denials in the words of the target."""

from collections import defaultdict

from headgate.model.objects import ObjectType
from headgate.model.privileges import Condition
from headgate.sync.access.effective import Access, Effective, effective
from headgate.sync.snapshots.facts import Facts, GrantFact, Kind, Principal, Securable
from headgate.sync.translating.target_draft import TargetDraft


def grant_the_rest(draft: TargetDraft, granted: Effective) -> None:
    """Grant to each user what the source allows and the structure did not carry over."""
    if Kind.USER not in draft.able.direct and not draft.able.roles:
        return
    now = effective(Facts(draft.out), draft.able.semantics, draft.target)
    for user in sorted(granted):
        full = granted[user]
        missing: dict[Securable, set[str]] = defaultdict(set)
        for object, action in full - now.get(user, frozenset()):
            missing[object].add(action)
        for object in sorted(missing.keys() & draft.target.present):
            for word, gives in draft.able.semantics.natives.get(object.type, {}).items():
                if gives & missing[object] and all((object, action) in full for action in gives):
                    draft.out.add(GrantFact(draft.receiver(user), object, word))


def write_denials(draft: TargetDraft, allowed: Effective) -> None:
    """Denials in the target's own words, for each user: where they take nothing that the source allows."""
    if not draft.able.deny or draft.deny_sayable or Kind.USER not in draft.able.direct:
        return
    for denial in draft.denials():
        # A denial on a column takes nothing from somebody who may read the table.
        if denial.object.type is ObjectType.COLUMN or denial.object not in draft.target.present:
            continue
        taken = draft.semantics.given(denial.object.type, denial.privilege)
        for user in draft.mapped.users:
            if denial.holder in draft.mapped.closure(user):
                spared = _spared(draft, user, denial, allowed.get(user, frozenset()))
                draft.out.update(
                    GrantFact(user, denial.object, word, Condition.DENY)
                    for word, gives in draft.able.semantics.natives.get(denial.object.type, {}).items()
                    if gives & taken and not gives & spared
                )


def _spared(draft: TargetDraft, user: Principal, denial: GrantFact, allowed: frozenset[Access]) -> set[str]:
    """What the user may do at the object of a denial or below, now or to what comes later."""
    place = denial.object
    spared = {action for object, action in allowed if place in object.chain(draft.semantics.nested_schemas)}
    for holder in draft.mapped.closure(user):
        for grant in draft.mapped.grants_of.get(holder, ()):
            near = grant.object in place.chain() or place in grant.object.chain()
            if grant.decision is Condition.ALLOW and near and grant.privilege != denial.privilege:
                spared |= draft.semantics.given(grant.object.type, grant.privilege)
    return spared
