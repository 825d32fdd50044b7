"""Who could do what in a target, by its facts and by what surrounds them: the judge of whether a push widens."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cached_property

import msgspec

from headgate.sync.access import actions
from headgate.sync.access.capabilities import Semantics
from headgate.sync.access.effective import Access, Effective, covered, effective, restricted
from headgate.sync.access.surroundings import Proxy, Surroundings
from headgate.sync.snapshots.facts import Facts, Mask, MemberFact, Principal, RowFilter

_NOTHING: frozenset[Access] = frozenset()


class Reach:
    """What everybody could do if these were the facts."""

    def __init__(
        self, facts: Facts, around: Surroundings, semantics: Semantics, inventory: Facts | None
    ) -> None:
        self.facts, self.around = facts, around
        # A membership that a push takes away gives nothing any more, in none of the ways in which the target keeps it.
        gone = {fact for fact in inventory or () if isinstance(fact, MemberFact)} - facts.all
        acts = around.acts - gone
        self.wide = facts.changed(around.facts.all - gone) if around.facts.all else facts
        self.acting = self.wide.changed(acts) if acts else self.wide
        self.proxies = around.proxies or ()
        owners = {proxy.owner for proxy in self.proxies if proxy.owner is not None}
        self.all = effective(self.wide, semantics, inventory, owners | around.above)
        if acts:
            self._act(semantics, inventory)
        # A view asks its owner for no use of a schema.
        ungated = msgspec.structs.replace(semantics, gates={})
        self.raw = effective(self.wide, ungated, inventory, owners) if owners else {}

    def _act(self, semantics: Semantics, inventory: Facts | None) -> None:
        """Add what users may do as others: with the others' rights alone, but in the catalogs that they themselves may enter."""
        others = {user: self.may_be(user) - self.wide.closure(user) for user in self.acting.users}
        inside = {
            what: tuple(use for use in uses if use != actions.USE_CATALOG)
            for what, uses in semantics.gates.items()
        }
        entered = msgspec.structs.replace(semantics, gates=inside)
        acts = effective(self.wide, entered, inventory, frozenset().union(*others.values()))
        for user, roles in others.items():
            open = {object.path for object, action in self.all.get(user, ()) if action == actions.USE_CATALOG}
            gained = frozenset(
                access
                for role in roles
                for access in acts[role]
                if access[1] != actions.USE_CATALOG and (not semantics.gates or access[0].path[:1] in open)
            )
            self.all[user] = self.all.get(user, _NOTHING) | gained

    @cached_property
    def users(self) -> Effective:
        """By everybody who can enter and whom anything binds."""
        entering = self.acting.users - self.around.unbound
        return {user: may for user, may in self.all.items() if user in entering}

    def may_be(self, user: Principal) -> frozenset[Principal]:
        """Everybody as whom a user can act."""
        return self.acting.closure(user)

    def meets(self, rule: RowFilter | Mask, user: Principal) -> bool:
        """Whether a rule holds for a user: whoever can act as one whom it is for meets it, only its own exempt do not."""
        if rule.to and not (self.may_be(user) | self.facts.everyone) & set(rule.to):
            return False
        return not self.facts.closure(user) & set(rule.exempt)

    def used(self, user: Principal, but: frozenset[Access]) -> Iterator[Proxy]:
        """Views and functions that a user reaches, directly or through others, but for those in `but`."""
        seen: set[int] = set()
        waiting: list[tuple[frozenset[Access], frozenset[Access] | None]] = [
            (self.users.get(user, _NOTHING) - but, None)
        ]
        while waiting:
            may, among = waiting.pop()
            in_part = {o.path[:3] for o, action in may if action == "column.read"}
            for n, proxy in enumerate(self.proxies):
                use, path = (proxy.object, proxy.action), proxy.object.path
                if n in seen or not (use in may or path in in_part):
                    continue
                if among is not None and not any(object.path[:3] == path for object, _ in among):
                    continue
                seen.add(n)
                yield proxy
                may_owner = proxy.reads if proxy.owner is None else self.raw.get(proxy.owner)
                waiting.append((may_owner or _NOTHING, proxy.reads))


def reach(facts: Facts, around: Surroundings, semantics: Semantics, inventory: Facts | None = None) -> Reach:
    return Reach(facts, around, semantics, inventory)


def gained_by_others_rights(
    before: Reach, after: Reach, allowed: Mapping[Principal, frozenset[Access]], bound: Effective
) -> dict[Principal, dict[Access, Principal]]:
    """What owners of views and functions, and those whom no filter binds, would gain, and who else would see it by that.

    INVARIANT: such an owner gains nothing that somebody who uses the view or function may not see anyway. What the source
    itself lets somebody use is theirs to use.
    """
    found: dict[Principal, dict[Access, Principal]] = defaultdict(dict)
    bound_owners = [p for p in after.proxies if p.owner is not None and p.owner not in after.around.unbound]
    gains = {proxy: new for proxy in bound_owners if (new := _newly(proxy, before, after))}
    for user in after.users if gains else ():
        for proxy in after.used(user, allowed.get(user, _NOTHING)):
            if proxy in gains and not _all_seen(proxy, after, bound.get(user, _NOTHING)):
                assert proxy.owner is not None
                found[proxy.owner].update(dict.fromkeys(gains[proxy], user))
    for free in after.around.above - after.around.unbound:
        new = {a for a in after.all[free] - before.all.get(free, _NOTHING) if a[1] not in actions.GATES}
        if new:
            ruled = restricted(after.facts)
            for user in after.users:
                if free in after.may_be(user):
                    tables = {rule.object.path[:3] for rule in ruled.get(user, ())}
                    seen = bound.get(user, _NOTHING)
                    bad = [a for a in new if a[0].path[:3] in tables or not covered(a, seen)]
                    found[free].update(dict.fromkeys(bad, user))
    return {who: gained for who, gained in found.items() if gained}


def _newly(proxy: Proxy, before: Reach, after: Reach) -> set[Access]:
    """What the owner of a proxy could not do before, as far as the proxy may need it."""
    owner = proxy.owner
    assert owner is not None
    was, now = before.raw.get(owner, _NOTHING), after.raw.get(owner, _NOTHING)
    if proxy.reads is None:
        return set(now - was) | set(after.all[owner] - before.all.get(owner, _NOTHING))
    return {read for read in proxy.reads if covered(read, now) and not covered(read, was)}


def _all_seen(proxy: Proxy, after: Reach, seen: frozenset[Access]) -> bool:
    """Whether somebody may see all that the proxy could show."""
    assert proxy.owner is not None
    shown = after.raw.get(proxy.owner, _NOTHING) if proxy.reads is None else proxy.reads
    return all(covered(access, seen) for access in shown if access[1] not in actions.GATES)
