"""From canonical facts to what a target can hold: the same, or narrower and reported, never wider.

The source is evaluated first. Then groups, roles and grants are carried over as they are, wherever that gives nobody more. What is
still missing is granted to each user directly. Each step is a module of its own. INVARIANT: in the target every user may
do a subset of what they may do in the source.
"""

from typing import Final

import msgspec

from headgate.sync.access import actions
from headgate.sync.access.capabilities import CANONICAL, Capabilities, Natives
from headgate.sync.access.effective import PUSH_LESS, Access, Effective, Shared, check_fits, effective, most
from headgate.sync.access.surroundings import Surroundings
from headgate.sync.snapshots.facts import Facts, Present, Tag
from headgate.sync.snapshots.names import PrincipalMap
from headgate.sync.translating.grants import carry_grants
from headgate.sync.translating.losses import Loss, LossBook
from headgate.sync.translating.mapping import map_principals
from headgate.sync.translating.options import Options
from headgate.sync.translating.owners import carry_owners, carry_properties
from headgate.sync.translating.remainder import grant_the_rest, write_denials
from headgate.sync.translating.restrictions import Render, Takes, Withheld, native, restrictions, without
from headgate.sync.translating.structure import carry_structure
from headgate.sync.translating.target_draft import TargetDraft
from headgate.sync.translating.withholding import Withholding

_TIMES: Final = 2
"""A push takes about twice the memory of a comparison: four hundred bytes for each access of the two sides."""
_NOTHING: frozenset[Access] = frozenset()


class Translation(msgspec.Struct, frozen=True):
    """Native facts for a target, the losses, and what the source lets every user do, by their target names."""

    facts: Facts
    losses: tuple[Loss, ...]
    allowed: Effective
    """INVARIANT: whatever a push adds lies within this."""
    lost: Effective
    withheld: Withheld
    """From whom which tables are kept, because the target cannot restrict them as the source does."""


def translate(
    source: Facts,
    target: Facts,
    capabilities: Capabilities,
    names: PrincipalMap,
    vocabulary: Natives,
    options: Options = Options(),
    takes: Takes = lambda _rule: True,
    render: Render | None = None,
    around: Surroundings = Surroundings(),
) -> Translation:
    """What the target should hold, given what it holds now: its principals and objects count, its grants do not."""
    book = LossBook()
    semantics = msgspec.structs.replace(CANONICAL, natives=vocabulary)
    mapped = map_principals(source, target, capabilities, names, options, book, around)
    in_words = render or (lambda rule: native(rule, capabilities.dialect))
    rules, withheld, closed = restrictions(mapped, target, capabilities, in_words, takes, book)
    inventory = target.changed(map(Present, around.to_come))
    # Checked before anything is worked out: while the two sides are compared, an access stands in several sets.
    held = most(mapped, semantics, inventory) + most(target, capabilities.semantics, inventory)
    check_fits(held * _TIMES, "a push of these policies would", PUSH_LESS)
    everything = effective(mapped, semantics, inventory)
    Withholding(mapped, everything, target, source.objects, withheld, book).all(around)
    allowed = without(everything, withheld, target)
    # INVARIANT: ownership is never imitated by grants, so what is granted beyond the structure comes from grants alone.
    unowned = mapped.changed(remove=mapped.owners)
    granted = without(effective(unowned, semantics, target), withheld, target)
    draft = TargetDraft(mapped, target, capabilities, semantics, options, book, around, withheld, closed)
    carry_structure(draft)
    for holder in sorted(draft.kept):
        carry_grants(draft, holder)
    carry_owners(draft)
    grant_the_rest(draft, granted)
    write_denials(draft, allowed)
    draft.out.update(rules)
    draft.out.update(fact for fact in mapped if isinstance(fact, Tag))
    carry_properties(draft)
    after = effective(Facts(draft.out), capabilities.semantics, target)
    return Translation(Facts(draft.out), book.all, allowed, _lost(allowed, after, around), withheld)


def _lost(allowed: Effective, after: Effective, around: Surroundings) -> Effective:
    """What the source allows and the target will not."""
    shared = Shared()
    found: Effective = {}
    for user, full in allowed.items():
        now = after.get(user, _NOTHING)

        def missing(full: frozenset[Access] = full, now: frozenset[Access] = now) -> frozenset[Access]:
            gone = full - now
            return frozenset(a for a in gone if a[1] not in actions.GATES and a[0] not in around.to_come)

        if lost := shared.of((id(full), id(now)), missing):
            found[user] = lost
    return found
