"""Who is who: the source's facts under the names of the target. Whoever is unknown there is left out and reported."""

import msgspec

from headgate.model.privileges import Condition
from headgate.sync.access.capabilities import Capabilities
from headgate.sync.access.surroundings import Surroundings
from headgate.sync.snapshots.facts import (
    Fact,
    Facts,
    GrantFact,
    Kind,
    Known,
    Mask,
    MemberFact,
    OwnerFact,
    Present,
    Principal,
    Property,
    RowFilter,
    Tag,
)
from headgate.sync.snapshots.names import PrincipalMap
from headgate.sync.translating.losses import Cause, LossBook
from headgate.sync.translating.options import Options
from headgate.sync.translating.restrictions import renamed


def map_principals(
    source: Facts,
    target: Facts,
    capabilities: Capabilities,
    names: PrincipalMap,
    options: Options,
    book: LossBook,
    around: Surroundings,
) -> Facts:
    """The source's facts under the target's names; whoever is unknown there is left out."""
    to = names.all(p for p in source.principals if p.kind is not Kind.GROUP or capabilities.groups)
    to |= {group: same for group in source.everyone if (same := names.of(group)) in target.everyone and same}
    keep: dict[Principal, Principal] = {}
    made: set[Fact] = set()
    for principal in source.principals:
        if principal not in to and principal.kind is Kind.GROUP and not capabilities.groups:
            keep[principal] = principal
        elif principal not in to:
            book.note(Cause.UNMAPPED, principal)
        elif to[principal].kind is not Kind.ROLE and to[principal] in around.above:
            book.note(Cause.ABOVE, to[principal])
        elif to[principal].kind is not Kind.ROLE and not capabilities.names(to[principal]):
            book.note(Cause.NAME, to[principal])
        elif principal.kind is Kind.ROLE or to[principal] in target.known:
            keep[principal] = to[principal]
        elif options.create_principals and to[principal].kind in capabilities.creates:
            keep[principal] = to[principal]
            made.add(Known(to[principal]))
        else:
            book.note(Cause.MISSING_PRINCIPAL, to[principal])
    result: set[Fact] = set(made)
    for fact in source:
        match fact:
            case Known(principal):
                if principal in keep:
                    result.add(Known(keep[principal], fact.everyone))
            case MemberFact(of, who):
                if of in keep and who in keep:
                    result.add(MemberFact(keep[of], keep[who]))
            case GrantFact(holder):
                if holder in keep:
                    result.add(msgspec.structs.replace(fact, holder=keep[holder]))
            case OwnerFact(object, principal):
                if principal in keep:
                    result.add(OwnerFact(object, keep[principal]))
            case RowFilter() | Mask():
                rule = renamed(fact, source, target, keep)
                if rule is not None:
                    result.add(rule)
            case Tag(object):
                if options.tags and object.type in capabilities.tags and object in target.present:
                    result.add(fact)
                else:
                    book.note(Cause.TAG, None, object, fact.name)
            case Property(principal):
                if principal in keep:
                    result.add(msgspec.structs.replace(fact, principal=keep[principal]))
            case Present():
                pass
    return Facts(result | _stranded_denials(source, Facts(result), keep))


def _stranded_denials(source: Facts, mapped: Facts, keep: dict[Principal, Principal]) -> set[Fact]:
    """INVARIANT: a denial that reached a user through somebody who is left out still binds the user."""
    denials = [grant for grant in source.grants if grant.decision is Condition.DENY]
    found: set[Fact] = set()
    if denials and len(keep) < len(source.principals):
        for user in source.users & keep.keys():
            before, after = source.closure(user), mapped.closure(keep[user])
            found.update(
                GrantFact(keep[user], deny.object, deny.privilege, Condition.DENY)
                for deny in denials
                if deny.holder in before and keep.get(deny.holder) not in after
            )
    return found
