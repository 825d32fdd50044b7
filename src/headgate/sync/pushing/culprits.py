"""Which changes an excess of access comes from."""

from collections import defaultdict
from collections.abc import Iterable

from headgate.model.privileges import Condition
from headgate.sync.access import actions
from headgate.sync.access.capabilities import Capabilities
from headgate.sync.access.effective import Access
from headgate.sync.snapshots.facts import (
    Fact,
    Facts,
    GrantFact,
    MemberFact,
    OwnerFact,
    Principal,
)


def culprits(
    excess: dict[Principal, dict[Access, Principal]],
    after: Facts,
    add: set[Fact],
    remove: set[Fact],
    capabilities: Capabilities,
) -> dict[Fact, Principal]:
    """Those of the changes that an excess comes from, and who would have it: a grant of it, else a way to it, else the
    opening of a gate."""
    semantics = capabilities.semantics
    by_holder: dict[Principal, list[GrantFact]] = defaultdict(list)
    for fact in add:
        if isinstance(fact, GrantFact) and fact.decision is Condition.ALLOW:
            by_holder[fact.holder].append(fact)
    found: dict[Fact, Principal] = {}
    for user, accesses in excess.items():
        reached = after.closure(user) | after.everyone
        grants = [grant for holder in reached for grant in by_holder.get(holder, ())]
        ways: list[Fact] = [
            f for f in add if isinstance(f, MemberFact) and f.who in reached and f.of in reached
        ]
        ways += [f for f in add if isinstance(f, OwnerFact) and f.principal in reached]
        for (object, action), who in accesses.items():
            chain = set(object.chain(semantics.nested_schemas))
            near = [g for g in grants if g.object in chain]
            wakes = {action} | semantics.needs.get(action, frozenset())

            direct: Iterable[Fact] = [g for g in near if wakes & semantics.given(g.object.type, g.privilege)]
            gates: Iterable[Fact] = [
                g for g in near if actions.GATES & semantics.given(g.object.type, g.privilege)
            ]
            denials = [
                f
                for f in remove
                if isinstance(f, GrantFact) and f.decision is Condition.DENY and f.holder in reached
            ]
            culprits = direct or ways or gates or denials
            # INVARIANT: where no change can be blamed, none is made.
            found.update(dict.fromkeys(culprits or add or remove, who))
    return found
