"""What stays open: what the source keeps from people and a push cannot take from them, for others of the target gave it."""

from collections.abc import Iterable, Iterator

import msgspec

from headgate.model.privileges import Condition
from headgate.sync.access.capabilities import Semantics
from headgate.sync.access.effective import Access, Effective, beyond
from headgate.sync.access.reach import Reach
from headgate.sync.snapshots.facts import ROOT, Fact, GrantFact, OwnerFact, Principal, Securable
from headgate.sync.translating.restrictions import Withheld


class OpenAccess(msgspec.Struct, frozen=True):
    """An action that the source keeps from a user, and by which facts of the target they may do it nevertheless."""

    user: Principal
    object: Securable
    action: str
    by: tuple[Fact, ...]
    """None if it is not granted: who stands above all grants, or acts with the rights of others."""


def stay_open(
    after: Reach, allowed: Effective, kept: Iterable[Withheld], semantics: Semantics
) -> tuple[OpenAccess, ...]:
    """What of the withheld people may see after the push, beyond what the source lets them.

    Who owns everything in the target is not named: they could open it again at any time.
    """
    owners = {holder for holder, owned in after.facts.owned_by.items() if ROOT in owned}
    found: dict[tuple[Principal, Securable, str], OpenAccess] = {}
    for withheld in kept:
        concerned = {
            user: after.users[user]
            for user in withheld
            if user in after.users and not after.may_be(user) & owners
        }
        for user, extra in beyond(concerned, allowed).items():
            closed = {table.path for table in withheld[user]}
            for object, action in extra:
                if object.path[:3] in closed and _shows(action):
                    by = tuple(sorted(_giving(after, user, (object, action), semantics), key=str))
                    found[user, object, action] = OpenAccess(user, object, action, by)
    return tuple(found[key] for key in sorted(found))


def _shows(action: str) -> bool:
    return action.endswith(".read") or action == "function.execute"


def _giving(after: Reach, user: Principal, access: Access, semantics: Semantics) -> Iterator[Fact]:
    """The grants and owners that an access comes from."""
    object, action = access
    chain = set(object.chain(semantics.nested_schemas))
    for holder in after.may_be(user) | after.facts.everyone:
        for grant in after.acting.grants_of.get(holder, ()):
            if (
                grant.decision is Condition.ALLOW
                and grant.object in chain
                and action in semantics.given(grant.object.type, grant.privilege)
            ):
                yield GrantFact(grant.holder, grant.object, grant.privilege, grant.decision)
        for owned in after.acting.owned_by.get(holder, ()):
            if owned in chain:
                yield OwnerFact(owned, holder)
