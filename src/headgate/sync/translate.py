"""From canonical facts to what a target can hold: the same, or narrower and reported, never wider.

First what the source allows is evaluated; then groups, roles and grants are carried over as they are wherever that gives
nobody more than was evaluated; what is still missing is granted to each user directly. INVARIANT: in the target every user may
do a subset of what they may do in the source.
"""

from collections import defaultdict
from collections.abc import Iterable
from typing import Final

import msgspec

from headgate.model.objects import ObjectType
from headgate.model.privileges import Condition
from headgate.sync import actions
from headgate.sync.actions import reaches, type_of
from headgate.sync.canonical import OWNER_WORD, direct_role, word_of
from headgate.sync.capabilities import CANONICAL, Capabilities, Natives, Semantics
from headgate.sync.dialects import shows_all
from headgate.sync.effective import (
    PUSH_LESS,
    Access,
    Effective,
    Shared,
    check_fits,
    effective,
    most,
    restricted,
)
from headgate.sync.facts import (
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
    Securable,
    Tag,
)
from headgate.sync.losses import Cause, Loss, LossBook
from headgate.sync.names import PrincipalMap
from headgate.sync.restrictions import (
    Says,
    Takes,
    Withheld,
    native,
    renamed,
    restrictions,
    table_of,
    without,
)
from headgate.sync.surroundings import Surroundings
from headgate.sync.withholding import Withholding


class Options(msgspec.Struct, frozen=True):
    """What a push carries over only when asked to, because it is hard to take back."""

    owners: bool = False
    grant_option: bool = False
    create_principals: bool = False
    tags: bool = False


class Translation(msgspec.Struct, frozen=True):
    """Native facts for a target, what could not be said, and what every user may do by the source, by their target names."""

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
    says: Says | None = None,
    around: Surroundings = Surroundings(),
) -> Translation:
    """What the target should hold, given what it holds now: its principals and objects count, its grants do not."""
    book = LossBook()
    semantics = msgspec.structs.replace(CANONICAL, natives=vocabulary)
    mapped = _mapped(source, target, capabilities, names, options, book, around)
    said = says or (lambda rule: native(rule, capabilities.dialect))
    rules, withheld, closed = restrictions(mapped, target, capabilities, said, takes, book)
    inventory = target.changed(map(Present, around.to_come))
    # Before any of it is worked out. While the two are held against each other an access stands in several sets.
    held = most(mapped, semantics, inventory) + most(target, capabilities.semantics, inventory)
    check_fits(held * _TIMES, "a push of these policies would", PUSH_LESS)
    everything = effective(mapped, semantics, inventory)
    Withholding(mapped, everything, target, source.objects, withheld, book).all(around)
    allowed = without(everything, withheld, target)
    # INVARIANT: ownership is never imitated by grants, so what is granted beyond the structure comes from grants alone.
    unowned = mapped.changed(remove=mapped.owners)
    granted = without(effective(unowned, semantics, target), withheld, target)
    work = _Work(mapped, target, capabilities, semantics, options, book, around)
    work.hidden, work.closed = {user for user, tables in withheld.items() if tables}, closed
    work.carry_over()
    work.complete(granted)
    work.deny(allowed)
    work.out.update(rules)
    work.out.update(fact for fact in mapped if isinstance(fact, Tag))
    work.describe()
    after = effective(Facts(work.out), capabilities.semantics, target)
    return Translation(Facts(work.out), book.all, allowed, _lost(allowed, after, around), withheld)


_TIMES: Final = 2
"""A push takes about twice the memory of a comparison: four hundred bytes for each access of the two sides."""


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


_NOTHING: frozenset[Access] = frozenset()


# -- who is who --------------------------------------------------------------------------------------------------


def _mapped(
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
            case Member(of, who):
                if of in keep and who in keep:
                    result.add(Member(keep[of], keep[who]))
            case Grant(holder):
                if holder in keep:
                    result.add(msgspec.structs.replace(fact, holder=keep[holder]))
            case Owner(object, principal):
                if principal in keep:
                    result.add(Owner(object, keep[principal]))
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
                Grant(keep[user], deny.object, deny.privilege, Condition.DENY)
                for deny in denials
                if deny.holder in before and keep.get(deny.holder) not in after
            )
    return found


# -- carrying over -----------------------------------------------------------------------------------------------


class _Holdings:
    """What one holder's own grants give, by object, answered along the chain."""

    def __init__(self, grants: Iterable[Grant], semantics: Semantics) -> None:
        self.nested = semantics.nested_schemas
        self.given: dict[Securable, set[str]] = defaultdict(set)
        self.optional: dict[Securable, set[str]] = defaultdict(set)
        for grant in grants:
            gives = semantics.given(grant.object.type, grant.privilege)
            self.given[grant.object] |= gives
            if grant.option:
                self.optional[grant.object] |= gives

    def has(self, object: Securable, action: str, option: bool = False) -> bool:
        table = self.optional if option else self.given
        return any(action in table.get(step, ()) for step in object.chain(self.nested))


class _Work:
    """One translation under way."""

    def __init__(
        self,
        mapped: Facts,
        target: Facts,
        capabilities: Capabilities,
        semantics: Semantics,
        options: Options,
        book: LossBook,
        around: Surroundings,
    ) -> None:
        self.mapped = mapped
        self.around = around
        self.target = target
        self.able = capabilities
        self.semantics = semantics
        self.options = options
        self.book = book
        self.out: set[Fact] = set()
        self.hidden: set[Principal] = set()
        self.closed = False
        self.deny_sayable = self._sayable_denials()

    def _sayable_denials(self) -> bool:
        """Whether every denial can be said by the same word with the same meaning, and meets what it meets in the source."""
        denials = self._denials()
        taken = {a for g in denials for a in self.semantics.given(g.object.type, g.privilege)}
        # A word that the target does not have is written as others, and a denial of those would meet it there.
        return self.able.deny and not any(
            self.able.semantics.given(g.object.type, g.privilege) != gives
            for g in self.mapped.grants
            if (gives := self.semantics.given(g.object.type, g.privilege)) & taken
        )

    def _denials(self) -> list[Grant]:
        """The denials that take something away; one of a privilege that nobody knows takes nothing."""
        return [
            g
            for g in self.mapped.grants
            if g.decision is Condition.DENY and self.semantics.given(g.object.type, g.privilege)
        ]

    def carry_over(self) -> None:
        """Groups, roles, memberships and grants, wherever they give nobody more than the source does."""
        denying = set()
        if not self.deny_sayable:
            denying = {g.holder for g in self._denials()}
        self.apart = self.hidden | {u for u in self.mapped.users if self.mapped.closure(u) & denying}
        """Users for whom a group or role gives too much: they get their own grants only."""
        for holder in denying:
            self.book.note(Cause.DENIAL if self.able.deny else Cause.DENY, holder)
        reached: dict[Principal, set[Principal]] = defaultdict(set)
        for user in self.mapped.users:
            for up in self.mapped.closure(user):
                reached[up].add(user)
        self.kept = {
            p
            for p in self.mapped.principals
            if p not in self.apart
            and p not in denying
            and (
                p.kind is Kind.USER
                or (p.kind is Kind.ROLE and self._holds_role(p))
                or (p.kind is Kind.GROUP and self._holds_group(p) and self._alike(reached[p]))
            )
        }
        self._structure()
        for holder in sorted(self.kept):
            self._grants(holder)
        self._owners()

    def _alike(self, members: set[Principal]) -> bool:
        """Whether a group may stand for all in it: also for those who are not known, if anything is kept from them."""
        return not members & self.apart and (bool(members) or not self.closed)

    def _holds_role(self, role: Principal) -> bool:
        """INVARIANT: a role is written only if it is itself in the target, and gives there what it is granted and no more."""
        if role in self.around.above | self.around.closed:
            self.book.note(Cause.ABOVE, role)
        elif not self.able.names(role):
            self.book.note(Cause.NAME, role)
        else:
            return self.able.roles
        return False

    def _holds_group(self, group: Principal) -> bool:
        """A group of everyone is one only where the map says that the target has the same."""
        if group in self.mapped.everyone:
            return group in self.target.everyone
        return self.able.groups

    def _structure(self) -> None:
        for principal in self.mapped.principals - self.kept - self.apart:
            if principal in self.mapped.everyone:
                self.book.note(Cause.EVERYONE, principal)
            elif principal.kind is Kind.GROUP:
                self.book.note(Cause.APART if self.able.groups else Cause.GROUP, principal)
            elif principal.kind is Kind.ROLE:
                self._unwritten(principal)
        for fact in self.mapped:
            if isinstance(fact, Known) and (fact.principal in self.kept or fact.principal.kind is Kind.USER):
                self.out.add(fact)
        self.out.update(Known(p) for p in self.kept if p.kind is Kind.ROLE)
        for who in self.kept:
            self._memberships(who)

    def _unwritten(self, role: Principal) -> None:
        """Why a role is written for its holders: not always because the target has none."""
        if not self.able.roles:
            self.book.note(Cause.ROLE_UNWRITTEN if self.able.other_roles else Cause.ROLE, role)
        elif self.able.names(role) and role not in self.around.above | self.around.closed:
            self.book.note(Cause.APART, role)

    def _native_edge(self, who: Principal, of: Principal) -> bool:
        if who not in self.kept or of not in self.kept:
            return False
        if who.kind is not Kind.USER and who in self.mapped.closure(of):
            # No system that was seen lets groups or roles hold each other; their members are put into all of them.
            self.book.note(Cause.CYCLE, who, None, str(of))
            return False
        return who.kind in self.able.role_holders if of.kind is Kind.ROLE else self.able.groups

    def _memberships(self, who: Principal) -> None:
        """What a principal reaches, through everything that the target cannot hold, up to what it can."""
        seen, waiting = {who}, [who]
        while waiting:
            here = waiting.pop()
            for up in self.mapped.above.get(here, ()):
                if here != who and self._native_edge(here, up) and self._native_edge(who, here):
                    continue
                if up in seen:
                    continue
                seen.add(up)
                if self._native_edge(who, up):
                    self.out.add(Member(up, who))
                elif who.kind is Kind.ROLE:
                    self.book.note(Cause.NESTED, who)
                waiting.append(up)

    # -- grants --------------------------------------------------------------------------------------------------

    def receiver(self, holder: Principal) -> Principal:
        """Who is granted to in the holder's place: a role of its own, where only roles can be granted to."""
        if holder.kind is Kind.ROLE or holder.kind in self.able.direct:
            return holder
        role = direct_role(holder)
        self.book.note(Cause.DIRECT, holder)
        self.out.update((Known(role), Member(role, holder)))
        return role

    def _grants(self, holder: Principal) -> None:
        grants = self.mapped.grants_of.get(holder, [])
        if not grants:
            return
        if holder.kind is not Kind.ROLE and holder.kind not in self.able.direct and not self.able.roles:
            self.book.note(Cause.GROUP if holder.kind is Kind.GROUP else Cause.ROLE, holder)
            return
        holdings = _Holdings((g for g in grants if g.decision is Condition.ALLOW), self.semantics)
        for grant in grants:
            word = word_of(grant.privilege, self.able.system)
            if word == OWNER_WORD:
                self._own(Owner(grant.object, holder))
                continue
            gives = self.semantics.given(grant.object.type, grant.privilege)
            if not gives:
                self.book.note(Cause.OPAQUE, holder, grant.object, grant.privilege)
                continue
            if grant.decision is Condition.DENY:
                if grant.object in self.target.present:
                    self.out.add(msgspec.structs.replace(grant, holder=self.receiver(holder), option=False))
                else:
                    self.book.note(Cause.MISSING_OBJECT, holder, grant.object, f"deny {grant.privilege}")
                continue
            if grant.option and not (self.options.grant_option and self.able.grant_option):
                self.book.note(Cause.OPTION, holder, grant.object, grant.privilege)
            goals = gives
            if not self.able.semantics.gates and gives & actions.GATES:
                goals = gives - actions.GATES
                self.book.note(Cause.GATE, holder, grant.object, grant.privilege)
            if goals:
                self._place(holder, holdings, grant.object, goals, grant.privilege)

    def _place(
        self, holder: Principal, own: _Holdings, object: Securable, goals: frozenset[str], name: str
    ) -> None:
        """Say the goals at this object, and what cannot be said here at the objects below that exist."""
        if object not in self.target.present:
            self.book.note(Cause.MISSING_OBJECT, holder, object, name)
            return
        said: frozenset[str] = frozenset()
        words = self.able.semantics.natives.get(object.type, {})
        if words.get(name) == goals:
            # INVARIANT: where the target has the very privilege, no other is written in its place: a denial of this one
            # would not meet that other.
            words = {name: goals}
        for word, gives in words.items():
            if gives & goals and self._safe(own, object, gives):
                said |= gives
                option = (
                    self.options.grant_option
                    and self.able.grant_option
                    and all(own.has(object, action, option=True) for action in gives)
                )
                self.out.add(Grant(self.receiver(holder), object, word, option=option))
        rest = goals - said
        here = {a for a in rest if type_of(a) is object.type}
        below = frozenset(a for a in rest - here if reaches(object.type, type_of(a)))
        if here:
            self.book.note(self._why(own, object, here), holder, object, name)
        if below:
            children = [
                child
                for child in self.target.children.get(object, ())
                if any(reaches(child.type, type_of(a)) for a in below)
            ]
            if children or object.type in (ObjectType.CATALOG, ObjectType.SCHEMA):
                self.book.note(Cause.FUTURE, holder, object, name)
            for child in children:
                goal = frozenset(a for a in below if reaches(child.type, type_of(a)))
                self._place(holder, own, child, goal, name)

    def _why(self, own: _Holdings, object: Securable, missing: set[str]) -> Cause:
        if object.type not in self.able.levels:
            return Cause.COLUMN if object.type is ObjectType.COLUMN else Cause.NO_SUCH_LEVEL
        if all(self._open(own, object, action) for action in missing):
            return Cause.NARROWER
        return Cause.DORMANT

    def _safe(self, own: _Holdings, object: Securable, gives: frozenset[str]) -> bool:
        """Whether the holder itself already has everything that a native privilege would give, and the way to it."""
        return all(own.has(object, action) and self._open(own, object, action) for action in gives)

    def _open(self, own: _Holdings, object: Securable, action: str) -> bool:
        """INVARIANT: a grant that a closed gate makes ineffective must not reach a target that has no such gate."""
        unasked = set(self.semantics.gates_of(action)) - set(self.able.semantics.gates_of(action))
        for use in unasked:
            type = type_of(use)
            depth = 1 if type is ObjectType.CATALOG else 2
            gate = Securable(type, object.path[:depth]) if len(object.path) >= depth else object
            if not own.has(gate, use):
                return False
        return True

    # -- owners --------------------------------------------------------------------------------------------

    def _owners(self) -> None:
        for owner in self.mapped.owners:
            self._own(owner)

    def _own(self, owner: Owner) -> None:
        able = (
            self.options.owners
            and owner.object.type in self.able.owners
            and owner.object in self.target.present
            and owner.principal in self.kept
            and not self._is_restricted(owner)
        )
        if able:
            self.out.add(owner)
        else:
            self.book.note(Cause.OWNER, owner.principal, owner.object)

    def _is_restricted(self, owner: Owner) -> bool:
        """Whether somebody who would own a table sees a part of it only: an owner can lift what restricts them."""
        return any(
            owner.principal in self.mapped.closure(user)
            for user, rules in restricted(self.mapped).items()
            if any(table_of(rule) == owner.object and not shows_all(rule) for rule in rules)
        )

    def describe(self) -> None:
        """The properties of the roles that are written."""
        for fact in self.mapped:
            if isinstance(fact, Property):
                if self.able.role_properties and Known(fact.principal) in self.out:
                    self.out.add(fact)
                else:
                    self.book.note(Cause.PROPERTY, fact.principal, None, fact.name)

    # -- the rest ------------------------------------------------------------------------------------------------

    def complete(self, granted: Effective) -> None:
        """Grant to each user what the source allows and the structure did not carry over."""
        if Kind.USER not in self.able.direct and not self.able.roles:
            return
        now = effective(Facts(self.out), self.able.semantics, self.target)
        for user in sorted(granted):
            full = granted[user]
            missing: dict[Securable, set[str]] = defaultdict(set)
            for object, action in full - now.get(user, frozenset()):
                missing[object].add(action)
            for object in sorted(missing.keys() & self.target.present):
                for word, gives in self.able.semantics.natives.get(object.type, {}).items():
                    if gives & missing[object] and all((object, action) in full for action in gives):
                        self.out.add(Grant(self.receiver(user), object, word))

    def deny(self, allowed: Effective) -> None:
        """Denials in the target's own words, for each user: where they take nothing that the source allows."""
        if not self.able.deny or self.deny_sayable or Kind.USER not in self.able.direct:
            return
        for denial in self._denials():
            # A denial on a column takes nothing from who may read the table.
            if denial.object.type is ObjectType.COLUMN or denial.object not in self.target.present:
                continue
            taken = self.semantics.given(denial.object.type, denial.privilege)
            for user in self.mapped.users:
                if denial.holder in self.mapped.closure(user):
                    spared = self._spared(user, denial, allowed.get(user, frozenset()))
                    self.out.update(
                        Grant(user, denial.object, word, Condition.DENY)
                        for word, gives in self.able.semantics.natives.get(denial.object.type, {}).items()
                        if gives & taken and not gives & spared
                    )

    def _spared(self, user: Principal, denial: Grant, allowed: frozenset[Access]) -> set[str]:
        """What the user may do at the object of a denial or below, now or to what comes later."""
        place = denial.object
        spared = {
            action for object, action in allowed if place in object.chain(self.semantics.nested_schemas)
        }
        for holder in self.mapped.closure(user):
            for grant in self.mapped.grants_of.get(holder, ()):
                near = grant.object in place.chain() or place in grant.object.chain()
                if grant.decision is Condition.ALLOW and near and grant.privilege != denial.privilege:
                    spared |= self.semantics.given(grant.object.type, grant.privilege)
        return spared
