"""The changes of a push, taken out one by one until nobody could do or see more than the source lets them."""

from collections.abc import Iterable
from functools import partial

from headgate.sync.access.capabilities import Capabilities
from headgate.sync.access.effective import Access, Effective, Shared, beyond, reads, restricted
from headgate.sync.access.reach import Reach, gained_by_others_rights, reach
from headgate.sync.access.surroundings import Surroundings
from headgate.sync.pushing.culprits import culprits
from headgate.sync.pushing.results import Mode
from headgate.sync.pushing.touching import is_kept_by_target, is_managed, is_removable, untouchable
from headgate.sync.snapshots.facts import (
    ROOT,
    Fact,
    Facts,
    Known,
    Mask,
    MemberFact,
    OwnerFact,
    Principal,
    RowFilter,
    key,
)
from headgate.sync.translating.restrictions import Withheld, table_of, without
from headgate.sync.translating.translate import Translation


class PlanDraft:
    """The changes of a push while it is found out which of them can be made."""

    def __init__(
        self,
        current: Facts,
        wanted: Translation,
        owned: frozenset[Fact],
        mode: Mode,
        capabilities: Capabilities,
        around: Surroundings,
    ) -> None:
        self.current, self.wanted, self.able, self.around = current, wanted, capabilities, around
        self.refused: dict[Fact, str] = {}
        self.already: list[Fact] = []
        self.add: dict[Fact, Fact | None] = {}
        """What is put there, with what it replaces."""
        present = {key(fact): fact for fact in current if is_managed(fact)}
        self.assumed = {
            f for f in wanted.facts if isinstance(f, MemberFact) and not is_kept_by_target(f, capabilities)
        }
        for fact in wanted.facts.all - self.assumed:
            now = present.get(key(fact))
            if now == fact or (isinstance(fact, Known) and fact.principal in current.known):
                self.already.append(fact)
            elif now is None:
                self.add[fact] = None
            elif reason := untouchable(now, fact, owned, mode, capabilities):
                self.refused[fact] = reason
            else:
                self.add[fact] = now
        self.replaced = {now for now in self.add.values() if now is not None}
        surplus = {fact for fact in current if is_removable(fact, owned, mode, capabilities)}
        surplus -= wanted.facts.all | self.replaced
        self.remove = surplus - {present[key(fact)] for fact in self.refused if key(fact) in present}
        self.before = self._reach(current.changed(self.assumed))
        self.after, self.bound = self.before, self.before.users
        self.allowed: Effective = {}
        """What the source lets everybody do, as far as the target can hold its restrictions."""
        self.kept: tuple[Withheld, ...] = ()
        """From whom which tables are kept, because the target does not restrict them as the source does."""

    def _reach(self, facts: Facts) -> Reach:
        return reach(facts, self.around, self.able.semantics, self.current)

    def settle(self) -> None:
        """Take out changes until nobody could do or see more than the source lets them, or than they could before."""
        while True:
            unrestricted = _unrestricted(self.refused, self.current.changed(self.assumed))
            self.kept = (self.wanted.withheld, unrestricted)
            allowed = without(self.wanted.allowed, unrestricted, self.current)
            self.after = self._reach(self._result())
            users, was = self.after.users, self.before.users
            self.bound, self.allowed = _either(was, allowed, users), allowed
            if not (self._stay(allowed) or self._close_ways() or self._take_out(allowed)):
                break
        hiding = {
            rule
            for rule in self.remove
            if isinstance(rule, RowFilter | Mask)
            and any(_still_hides(rule, kept, users) for kept in self.kept)
        }
        self.remove -= hiding
        self.refused |= dict.fromkeys(
            hiding, "without it somebody would see what the source hides and the target cannot"
        )

    def _result(self) -> Facts:
        return self.current.changed([*self.add, *self.assumed], self.remove | self.replaced)

    def _refuse(self, fact: Fact, reason: str) -> None:
        if fact in self.add:
            self.refused[fact] = reason
            now = self.add.pop(fact)
            if now is not None:
                self.replaced.discard(now)
        self.remove.discard(fact)

    def _stay(self, allowed: Effective) -> bool:
        """INVARIANT: a rule stays as long as it hides something from somebody to whom the source shows nothing of the table.

        Nothing is hidden from somebody who owns everything in the target and so may lift every rule.
        """
        lifting = {
            fact.principal for fact in self.current if isinstance(fact, OwnerFact) and fact.object == ROOT
        }
        replacing = {now: fact for fact, now in self.add.items() if now is not None}
        kept = False
        for rule in [r for r in self.remove | self.replaced if isinstance(r, RowFilter | Mask)]:
            table = table_of(rule)
            for user, may in self.after.users.items():
                seen = reads(may, table) and not reads(allowed.get(user, ()), table)
                if seen and self.before.meets(rule, user) and not self.before.may_be(user) & lifting:
                    reason = f"without what is there {user} would see more of {table}: the source hides it"
                    if rule in self.remove:
                        self.refused[rule] = reason
                    self._refuse(replacing.get(rule, rule), reason)
                    kept = True
                    break
        return kept

    def _close_ways(self) -> bool:
        """INVARIANT: no push leads anybody to a role that may do more than what it is granted."""
        closed = self.around.above | self.around.closed
        found = {}
        for fact in self.add if closed else ():
            if isinstance(fact, MemberFact):
                led = (self.after.may_be(fact.of) & closed) - self.before.may_be(fact.who)
                if led:
                    found[fact] = f"it leads to {min(led)}, which is not bound by what is granted"
        for fact, reason in found.items():
            self._refuse(fact, reason)
        return bool(found)

    def _take_out(self, allowed: Effective) -> bool:
        excess: dict[Principal, dict[Access, Principal]] = {
            user: dict.fromkeys(extra, user) for user, extra in beyond(self.after.users, self.bound).items()
        }
        for who, gained in gained_by_others_rights(self.before, self.after, allowed, self.bound).items():
            excess.setdefault(who, {}).update(gained)
        if not excess:
            return False
        found = culprits(excess, self.after.acting, set(self.add), self.remove, self.able)
        for fact, who in found.items():
            self._refuse(fact, f"it would allow what the source does not: to {who}")
        return True


def _either(one: Effective, other: Effective, users: Iterable[Principal]) -> Effective:
    """What users may do by the one or by the other."""
    nothing: frozenset[Access] = frozenset()
    shared = Shared()
    result: Effective = {}
    for user in users:
        a, b = one.get(user, nothing), other.get(user, nothing)
        result[user] = shared.of((id(a), id(b)), partial(frozenset.union, a, b))
    return result


def _unrestricted(refused: Iterable[Fact], facts: Facts) -> Withheld:
    """INVARIANT: where a restriction is refused, whomever it meets gains nothing on its table either."""
    rules = {fact for fact in refused if isinstance(fact, RowFilter | Mask)}
    if not rules:
        return {}
    found = restricted(facts.changed(rules)).items()
    return {user: {table_of(rule): None for rule in met & rules} for user, met in found if met & rules}


def _still_hides(rule: RowFilter | Mask, withheld: Withheld, after: Effective) -> bool:
    """Whether somebody from whom the table is withheld reads it nevertheless, by what others put there."""
    table = table_of(rule)
    return any(
        table in tables and any(object.path[:3] == table.path for object, _ in after.get(user, ()))
        for user, tables in withheld.items()
    )
