"""Headgate's own policies as row filters and masks: whom they are for, and what is left of them without a request.

What depends on the person is worked out for each user who is known; everybody else is then shown nothing. What depends on the
circumstances of a request, cannot be evaluated, or denies, shows nothing to those it is for. INVARIANT: what a
policy hides from somebody, whatever the circumstances, the rules hide too.
"""

import datetime as dt
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import cached_property
from typing import Final, NamedTuple

from headgate.decide.authority import Authority, Node
from headgate.decide.policies.clauses import Clause, TableRules, any_on_the_way, rules_of
from headgate.decide.policies.lens import ClauseEffect, LensVerdict, apply_clause, binding, decide, why_not
from headgate.decide.policies.people import Person, person, request_of
from headgate.decide.policies.shape import Shape
from headgate.language.ast import FALSE, TRUE
from headgate.language.bind import shown
from headgate.language.canonical import canonical, text
from headgate.language.fold import Request
from headgate.language.masks.mask import ColumnMask as BoundMask
from headgate.model.objects import ObjectType
from headgate.model.principals import Identity
from headgate.model.schema import Schema
from headgate.sync.snapshots.facts import Columns, Facts, Kind, Mask, Principal, RowFilter, Securable
from headgate.sync.translating.dialects import OWN
from headgate.sync.translating.policy_text import NO_ROW, NOTHING, filter_text, mask_text

Shapes = Callable[[Authority, Node], Shape | None]
"""The columns of a table; None if they are unknown."""

_CIRCUMSTANCES: Final = frozenset({"context", "date"})
_PERSONAL: Final = frozenset({"attribute", "user", "member"})

People = tuple[Principal, ...]


class Piece(NamedTuple):
    """What a policy says of a table to some people."""

    name: str
    to: People
    exempt: People
    effect: ClauseEffect | None
    """None if it shows them nothing."""


class PolicyRules:
    """The rules of one metalake at one revision. `facts` say who there is and who is in what.

    The policies `besides` are left out: their rules are known already.
    """

    def __init__(
        self,
        authority: Authority,
        metalake: str,
        facts: Facts,
        shapes: Shapes,
        now: dt.datetime,
        besides: Collection[int] = (),
    ) -> None:
        root = authority.metalake(metalake)
        assert root is not None
        self.authority, self.facts, self.shapes, self.now = authority, facts, shapes, now
        self.besides = besides
        self.users: dict[Principal, tuple[Person, Request]] = {}
        for user in sorted(facts.known):
            if user.kind is Kind.USER:
                identity = Identity(user.name)
                who = person(authority, authority.caller(identity, root.id))
                self.users[user] = who, request_of(who, identity, now)
        self.notes: set[str] = set()

    def on(self, table: Node, at: Securable) -> Iterator[RowFilter | Mask]:
        """The row filters and masks of a table."""
        named = any_on_the_way(self.authority, table)
        if not named:
            return
        shape = self.shapes(self.authority, table)
        if shape is None:
            self.notes.add(f"the columns of {at} cannot be told, so its policies hide all of it")
            yield RowFilter(at, named[0], NO_ROW, dialect=OWN)
            return
        found = rules_of(self.authority, table, shape)
        clauses = tuple(clause for clause in found.clauses if clause.id not in self.besides)
        yield from _RulesOfTable(self, TableRules(shape, clauses, found.skipped), at).rules()

    def audience(self, clause: Clause) -> tuple[People, People] | None:
        """Whom a policy is for and whom it spares; None if that is nobody."""
        policy = clause.parsed.policy
        if "everyone" in policy.except_:
            return None
        to, exempt = _principals(policy.to), _principals(policy.except_)
        vague = [who for who in to if not self._kept(who, set())]
        if vague:
            self.notes.add(
                f"policy '{clause.name}' is for {vague[0]}, whose members are not kept here: taken to be for everyone"
            )
        return () if vague or "everyone" in policy.to else to, exempt

    def _kept(self, who: Principal, seen: set[Principal]) -> bool:
        """Whether it is known here who is in a group or holds a role: tokens may claim groups that nobody is kept in."""
        if who.kind is Kind.USER or who in seen:
            return True
        seen.add(who)
        members = [member.who for member in self.facts.members if member.of == who]
        if who.kind is Kind.GROUP and not members:
            return False
        return all(self._kept(member, seen) for member in members)


def _principals(names: Iterable[str]) -> People:
    found = []
    for name in names:
        kind, colon, rest = name.partition(":")
        if colon:
            found.append(Principal(Kind.USER if kind == "service" else Kind(kind), rest))
    return tuple(sorted(set(found)))


class _RulesOfTable:
    """The rules of one table."""

    def __init__(self, all: PolicyRules, rules: TableRules, at: Securable) -> None:
        self.all, self.policies, self.at = all, rules, at
        self.schema = rules.shape.schema

    def rules(self) -> Iterator[RowFilter | Mask]:
        pieces = [piece for clause in self.policies.clauses for piece in self._pieces(clause)]
        for name, own in _by_name(pieces).items():
            yield from self._filters(name, own)
        offers: dict[int, list[Piece]] = defaultdict(list)
        for piece in pieces:
            for id in _touched(piece.effect, self.schema):
                offers[id].append(piece)
        for id, found in offers.items():
            simple = all(_simply(piece.effect, id) for piece in found)
            if len({piece.name for piece in found}) == 1 and simple:
                yield from self._masks(id, found)
            else:
                yield from self._settled(id)

    # -- what a policy says ----------------------------------------------------------------------------------------

    def _pieces(self, clause: Clause) -> Iterator[Piece]:
        audience = self.all.audience(clause)
        policy = clause.parsed.policy
        if audience is None or (policy.until is not None and policy.until <= self.all.now):
            return
        if policy.from_ is not None and policy.from_ > self.all.now:
            self.all.notes.add(
                f"policy '{clause.name}' begins at {policy.from_.isoformat()}: push again then"
            )
            return
        to, exempt = audience
        asked = {fact.kind for fact in clause.facts()}
        if clause.problem is not None or asked & _CIRCUMSTANCES:
            self.all.notes.add(
                f"policy '{clause.name}' "
                + (clause.problem or "depends on the circumstances of a request, so it shows nothing")
            )
            yield Piece(clause.name, to, exempt, None)
        elif not asked & _PERSONAL:
            yield from _piece(clause.name, to, exempt, apply_clause(clause, Request("")))
        else:
            yield from self._by_person(clause, to, exempt)

    def _by_person(self, clause: Clause, to: People, exempt: People) -> Iterator[Piece]:
        alike: dict[object, tuple[ClauseEffect, list[Principal]]] = {}
        for user, (who, request) in self.all.users.items():
            if why_not(clause, who, None, self.all.now) is None:
                effect = apply_clause(clause, request)
                alike.setdefault(_key(effect), (effect, []))[1].append(user)
        for effect, people in alike.values():
            yield from _piece(clause.name, tuple(people), (), effect)
        # INVARIANT: of whoever is not known yet nothing is known that the policy could let through.
        if not all(who.kind is Kind.USER for who in to) or not to:
            yield Piece(clause.name, to, tuple(sorted({*exempt, *self.all.users})), None)

    # -- as rules --------------------------------------------------------------------------------------------------

    def _filters(self, name: str, pieces: list[Piece]) -> Iterator[RowFilter]:
        found: list[tuple[str, Columns, Piece]] = []
        for piece in pieces:
            if piece.effect is None:
                found.append((NO_ROW, (), piece))
            for expr in piece.effect.rows if piece.effect is not None else ():
                plain = canonical(expr)
                if plain == FALSE:
                    found.append((NO_ROW, (), piece))
                elif plain != TRUE:
                    found.append((*filter_text(plain, self.schema), piece))
        several = len(found) > 1
        for number, (sql, typed, piece) in enumerate(found, 1):
            label = f"{name} #{number}" if several else name
            yield RowFilter(self.at, label, sql, piece.to, piece.exempt, OWN, typed)

    def _masks(self, id: int, pieces: list[Piece]) -> Iterator[Mask]:
        """The masks of a column that one policy speaks of."""
        for number, piece in enumerate(pieces, 1):
            label = f"{piece.name} #{number}" if len(pieces) > 1 else piece.name
            assert piece.effect is not None
            mask = next((mask for mask in piece.effect.masks if mask.column.field_id == id), None)
            yield self._mask(id, label, mask, piece.to, piece.exempt)

    def _settled(self, id: int) -> Iterator[RowFilter | Mask]:
        """The masks of a column that several policies speak of, as they come out for each user; others see nothing."""
        alike: dict[str, tuple[BoundMask | None, list[Principal]]] = {}
        denied: list[Principal] = []
        name = shown(self.schema.by_id[id].path)
        for user, verdict in self.verdicts.items():
            if verdict.lens is None:
                denied.append(user)
                continue
            around = {other for other in verdict.lens.blind if id in self.schema.by_id[other].ids}
            if around:
                masks = {m.column.field_id: m for m in verdict.lens.masks}
                # Of a column in which only a part is masked nothing is shown: elsewhere there may be no parts.
                mask = masks.get(id) if around == {id} else None
                alike.setdefault(NOTHING if mask is None else mask.text, (mask, []))[1].append(user)
        if denied:
            yield RowFilter(self.at, f"denied by masks of {name}", NO_ROW, tuple(denied), (), OWN)
        for number, (mask, people) in enumerate(alike.values(), 1):
            yield self._mask(id, f"mask of {name} #{number}", mask, tuple(people), ())
        yield self._mask(id, f"mask of {name} for others", None, (), tuple(self.all.users))

    @cached_property
    def verdicts(self) -> dict[Principal, LensVerdict]:
        """What each user sees of the table."""
        return {
            user: decide(self.policies, binding(self.policies, who, None, self.all.now), request)
            for user, (who, request) in self.all.users.items()
        }

    def _mask(self, id: int, name: str, mask: BoundMask | None, to: People, exempt: People) -> Mask:
        sql, typed = mask_text(mask, id, self.schema)
        object = Securable(ObjectType.COLUMN, (*self.at.path, *self.schema.by_id[id].path))
        return Mask(object, name, sql, to, exempt, OWN, typed)


def _by_name(pieces: Iterable[Piece]) -> dict[str, list[Piece]]:
    found: dict[str, list[Piece]] = defaultdict(list)
    for piece in pieces:
        if piece not in found[piece.name]:
            found[piece.name].append(piece)
    return found


def _piece(name: str, to: People, exempt: People, effect: ClauseEffect) -> Iterator[Piece]:
    if effect.deny is not None:
        yield Piece(name, to, exempt, None)
    elif effect.nothing is None:
        yield Piece(name, to, exempt, effect)


def _key(effect: ClauseEffect) -> object:
    """Equal for people to whom a policy says the same."""
    rows = tuple(text(canonical(expr)) for expr in effect.rows)
    return (
        rows,
        tuple(mask.text for mask in effect.masks),
        effect.hidden,
        effect.deny is None,
        effect.nothing is None,
    )


def _touched(effect: ClauseEffect | None, schema: Schema) -> set[int]:
    """The columns that are hidden or masked, wholly or in part."""
    if effect is None:
        return set()
    return {schema.by_id[id].ids[0] for id in (*effect.hidden, *(m.column.field_id for m in effect.masks))}


def _simply(effect: ClauseEffect | None, id: int) -> bool:
    """Whether a column is hidden or masked once, as a whole."""
    if effect is None:
        return False
    inside = [m for m in effect.masks if m.column.ids[0] == id]
    return (id in effect.hidden and not inside) or (len(inside) == 1 and inside[0].column.field_id == id)
