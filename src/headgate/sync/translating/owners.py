"""Owners and properties of roles: what a target keeps beside grants."""

from headgate.sync.access.effective import restricted
from headgate.sync.snapshots.facts import Known, OwnerFact, Property
from headgate.sync.translating.dialects import shows_all
from headgate.sync.translating.losses import Cause
from headgate.sync.translating.restrictions import table_of
from headgate.sync.translating.target_draft import TargetDraft


def carry_owners(draft: TargetDraft) -> None:
    for owner in draft.mapped.owners:
        carry_owner(draft, owner)


def carry_owner(draft: TargetDraft, owner: OwnerFact) -> None:
    able = (
        draft.options.owners
        and owner.object.type in draft.able.owners
        and owner.object in draft.target.present
        and owner.principal in draft.kept
        and not _is_restricted(draft, owner)
    )
    if able:
        draft.out.add(owner)
    else:
        draft.book.note(Cause.OWNER, owner.principal, owner.object)


def _is_restricted(draft: TargetDraft, owner: OwnerFact) -> bool:
    """Whether somebody who would own a table sees a part of it only: an owner can lift what restricts them."""
    return any(
        owner.principal in draft.mapped.closure(user)
        for user, rules in restricted(draft.mapped).items()
        if any(table_of(rule) == owner.object and not shows_all(rule) for rule in rules)
    )


def carry_properties(draft: TargetDraft) -> None:
    """The properties of the roles that are written."""
    for fact in draft.mapped:
        if isinstance(fact, Property):
            if draft.able.role_properties and Known(fact.principal) in draft.out:
                draft.out.add(fact)
            else:
                draft.book.note(Cause.PROPERTY, fact.principal, None, fact.name)
