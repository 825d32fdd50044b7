"""What a push is going to do, in order, and what it refuses to do: worked out before anything is touched."""

import hashlib
import heapq
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Final

import msgspec

from headgate.model.objects import ObjectType
from headgate.model.privileges import Condition
from headgate.sync import actions
from headgate.sync.capabilities import Capabilities
from headgate.sync.effective import Access, Effective, Shared, beyond, reads, restricted
from headgate.sync.facts import (
    ROOT,
    Fact,
    Facts,
    Grant,
    Kind,
    Known,
    Mask,
    Member,
    Owner,
    Present,
    Principal,
    Property,
    RowFilter,
    Tag,
    encoded,
    key,
)
from headgate.sync.losses import Loss
from headgate.sync.reach import Reach, gained_by_others_rights, reach
from headgate.sync.restrictions import Withheld, table_of, without
from headgate.sync.results import Change, Mode, Shift
from headgate.sync.surroundings import Surroundings
from headgate.sync.translate import Translation


class Plan(msgspec.Struct, frozen=True):
    """The changes of a push in the order they are made, and their effect."""

    changes: tuple[Change, ...]
    already: tuple[Fact, ...]
    """What is wanted and there already."""
    refused: tuple[tuple[Fact, str], ...]
    """What would let somebody do more than the source does, or would touch what others put there."""
    foreign: tuple[Fact, ...]
    """What others put there and an overwrite takes away."""
    losses: tuple[Loss, ...]
    gains: tuple[Shift, ...]
    loses: tuple[Shift, ...]
    unlisted: int
    """Gains and losses beyond those that are listed one by one."""
    bound: Effective
    """The most that anybody may be able to do afterwards."""
    assumed: frozenset[Fact] = frozenset()
    """Who is in which group by the source, where the target leaves that to others."""

    @property
    def digest(self) -> str:
        """Stands for the changes: who agreed to a plan agreed to these and no others."""
        sides = (side for change in self.changes for side in (change.before, change.after))
        text = b"\n".join(b"" if side is None else encoded(side) for side in sides)
        return hashlib.sha256(text).hexdigest()


def plan(
    current: Facts,
    wanted: Translation,
    owned: frozenset[Fact],
    mode: Mode,
    capabilities: Capabilities,
    around: Surroundings = Surroundings(),
) -> Plan:
    """Hold what is wanted against what is there."""
    work = _Draft(current, wanted, owned, mode, capabilities, around)
    work.settle()
    add, remove, after, before = work.add, work.remove, work.after.users, work.before.users
    changes = [Change(now, fact) for fact, now in add.items()] + [Change(fact, None) for fact in remove]
    (gains, more), (loses, besides) = listed(after, before), listed(before, after)
    return Plan(
        tuple(sorted(changes, key=_rank)),
        tuple(sorted(work.already, key=_text)),
        tuple(sorted(work.refused.items(), key=lambda item: _text(item[0]))),
        tuple(sorted((fact for fact in remove | work.replaced if fact not in owned), key=_text)),
        wanted.losses,
        gains,
        loses,
        more + besides,
        work.bound,
        frozenset(work.assumed),
    )


class _Draft:
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
        present = {key(fact): fact for fact in current if _managed(fact)}
        self.assumed = {f for f in wanted.facts if isinstance(f, Member) and not _pushable(f, capabilities)}
        for fact in wanted.facts.all - self.assumed:
            now = present.get(key(fact))
            if now == fact or (isinstance(fact, Known) and fact.principal in current.known):
                self.already.append(fact)
            elif now is None:
                self.add[fact] = None
            elif reason := _untouchable(now, fact, owned, mode, capabilities):
                self.refused[fact] = reason
            else:
                self.add[fact] = now
        self.replaced = {now for now in self.add.values() if now is not None}
        surplus = {fact for fact in current if _removable(fact, owned, mode, capabilities)}
        surplus -= wanted.facts.all | self.replaced
        self.remove = surplus - {present[key(fact)] for fact in self.refused if key(fact) in present}
        self.before = self._reach(current.changed(self.assumed))
        self.after, self.bound = self.before, self.before.users

    def _reach(self, facts: Facts) -> Reach:
        return reach(facts, self.around, self.able.semantics, self.current)

    def settle(self) -> None:
        """Take out changes until nobody could do or see more than the source lets them, or than they could before."""
        while True:
            unrestricted = _unrestricted(self.refused, self.current.changed(self.assumed))
            allowed = without(self.wanted.allowed, unrestricted, self.current)
            self.after = self._reach(self._result())
            users, was = self.after.users, self.before.users
            self.bound = _either(was, allowed, users)
            if not (self._stay(allowed) or self._close_ways() or self._take_out(allowed)):
                break
        hiding = {
            rule
            for rule in self.remove
            if isinstance(rule, RowFilter | Mask)
            and any(_still_hides(rule, kept, users) for kept in (self.wanted.withheld, unrestricted))
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

        Who owns everything in the target, and so may lift every rule, is not somebody from whom it hides.
        """
        lifting = {fact.principal for fact in self.current if isinstance(fact, Owner) and fact.object == ROOT}
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
            if isinstance(fact, Member):
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
        found = _culprits(excess, self.after.acting, set(self.add), self.remove, self.able)
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


def shifts(more: Effective, less: Effective) -> tuple[Shift, ...]:
    """What users may do by the one and not by the other."""
    return tuple(sorted(_shifts(more, less)))


MOST_LISTED: Final = 100_000
"""Gains, and losses, that a plan lists one by one."""


def listed(more: Effective, less: Effective) -> tuple[tuple[Shift, ...], int]:
    """The first of what users may do by the one and not by the other, and how many there are beside."""
    found = tuple(heapq.nsmallest(MOST_LISTED, _shifts(more, less)))
    if len(found) < MOST_LISTED:
        return found, 0
    return found, sum(1 for _ in _shifts(more, less)) - len(found)


def _shifts(more: Effective, less: Effective) -> Iterator[Shift]:
    return (
        Shift(user, object, action)
        for user, extra in beyond(more, less).items()
        for object, action in extra
        if action not in actions.GATES
    )


def _managed(fact: Fact) -> bool:
    """What a push may put in place or take away."""
    return not isinstance(fact, Present)


def _pushable(fact: Fact, capabilities: Capabilities) -> bool:
    """Whether the target itself keeps such a fact."""
    if isinstance(fact, Member) and fact.of.kind is Kind.GROUP:
        return capabilities.memberships
    return True


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


def _removable(fact: Fact, owned: frozenset[Fact], mode: Mode, capabilities: Capabilities) -> bool:
    if isinstance(fact, RowFilter | Mask):
        written = capabilities.rows if isinstance(fact, RowFilter) else capabilities.masks
        return written and (fact in owned or (mode is Mode.OVERWRITE and not capabilities.rules_stay))
    if isinstance(fact, Known | Owner):
        # A principal or an owner that somebody else made is never removed, only what it was granted.
        return fact in owned and isinstance(fact, Known)
    if isinstance(fact, Tag | Property):
        # A tag or property of others may mean something to them that nobody said here.
        return fact in owned
    if isinstance(fact, Grant | Member):
        return fact in owned or mode is Mode.OVERWRITE
    return False


def _untouchable(now: Fact, fact: Fact, owned: frozenset[Fact], mode: Mode, able: Capabilities) -> str:
    """Why what somebody else put there is not replaced; empty if it may be."""
    stays = isinstance(now, RowFilter | Mask) and able.rules_stay
    if (mode is Mode.OVERWRITE and not stays) or now in owned or isinstance(fact, Owner):
        return ""
    if isinstance(now, Grant) and isinstance(fact, Grant):
        if fact.decision is Condition.DENY and now.decision is Condition.ALLOW:
            return ""
        if fact.decision is now.decision:
            return "" if fact.option else "somebody else granted the same with the right to hand it on"
    return "somebody else put another of the same name there"


def _culprits(
    excess: dict[Principal, dict[Access, Principal]],
    after: Facts,
    add: set[Fact],
    remove: set[Fact],
    capabilities: Capabilities,
) -> dict[Fact, Principal]:
    """Those of the changes that an excess comes from, and who would have it: a grant of it, else a way to it, else the
    opening of a gate."""
    semantics = capabilities.semantics
    by_holder: dict[Principal, list[Grant]] = defaultdict(list)
    for fact in add:
        if isinstance(fact, Grant) and fact.decision is Condition.ALLOW:
            by_holder[fact.holder].append(fact)
    found: dict[Fact, Principal] = {}
    for user, accesses in excess.items():
        reached = after.closure(user) | after.everyone
        grants = [grant for holder in reached for grant in by_holder.get(holder, ())]
        ways: list[Fact] = [f for f in add if isinstance(f, Member) and f.who in reached and f.of in reached]
        ways += [f for f in add if isinstance(f, Owner) and f.principal in reached]
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
                if isinstance(f, Grant) and f.decision is Condition.DENY and f.holder in reached
            ]
            culprits = direct or ways or gates or denials
            # INVARIANT: where no change can be blamed, none is made.
            found.update(dict.fromkeys(culprits or add or remove, who))
    return found


_WIDENING_LAST = {ObjectType.SCHEMA: 5, ObjectType.CATALOG: 6, ObjectType.METALAKE: 7}


def _rank(change: Change) -> tuple[int, str]:
    """Make roles, take away, restrict, deny, then grant: leaves before the gates to them, owners last."""
    fact = change.fact
    adds = change.after is not None
    match fact:
        case Known(principal) | Property(principal):
            # A role is made with its properties, and they go before it does: some systems take both in one request.
            first = isinstance(fact, Known) is adds
            return (0 if adds else 11), f"{principal} {0 if first else 1} {_text(fact)}"
        case Grant(_, _, _, Condition.DENY):
            rank = 3 if adds else 9
        case Grant(_, object):
            rank = _WIDENING_LAST.get(object.type, 4) if adds else 1
        case Member():
            rank = 8 if adds else 1
        case RowFilter() | Mask():
            rank = 2 if adds else 9
        case _:
            rank = 10
    return rank, _text(fact)


def _text(fact: Fact) -> str:
    return str(fact)
