"""Whether a change would show somebody more of a table than they see now.

Purposes, engines, addresses and hours are the caller's choice or pass by themselves, so two views are compared over
all of them: every purpose that a policy names, none and another one; every moment at which a policy begins or ends; and
policies that ask for other circumstances both where they apply and where they do not.
INVARIANT: what cannot be shown to be no more counts as more.
"""

import datetime as dt
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from headgate.decide.policies.clauses import Clause, TableRules
from headgate.decide.policies.lens import Lens, LensVerdict, binding, decide, doubtful, is_for
from headgate.decide.policies.people import Person
from headgate.language.ast import FALSE, TRUE, Call, Expr, Fact, Literal, columns
from headgate.language.canonical import text
from headgate.language.fold import Request
from headgate.language.masks.mask import ColumnMask
from headgate.model.schema import BOOLEAN, Schema

_OTHER: Final = "\0some other purpose"

MOST_TOGGLES: Final = 24
"""With more policies that ask for circumstances on one table, a change is not compared but taken for more."""


@dataclass(frozen=True)
class Side:
    """The policies on a table and the person, before or after a change."""

    rules: TableRules
    who: Person


@dataclass(frozen=True)
class More:
    """What somebody would see more of a table, and the policies that keep it from them now and that they may not change."""

    unmasked: tuple[int, ...] = ()
    """Fields that are there and masked now."""
    unhidden: bool = False
    rows: bool = False
    table: bool = False
    """Whether the table cannot be read at all now."""
    restricting: frozenset[int] = frozenset()


def wider(
    before: Side, after: Side, now: dt.datetime, changeable: frozenset[int] = frozenset()
) -> Iterator[More]:
    """What `after` shows more than `before`, once for every circumstance in which it does.

    What the person would see without the policies that they may change themselves is no more either; but that must not
    become more: else a change could hide behind such a policy until it is lifted again.
    """
    old, new = _signatures(before), _signatures(after)
    if old == new:
        return
    asking = {
        clause.id for side in (before, after) for clause in side.rules.clauses if circumstantial(clause)
    }
    if len(asking) > MOST_TOGGLES:
        if not changeable.issuperset(old):
            yield More(table=True, restricting=frozenset(old) - changeable)
        return
    same = sorted(id for id in asking if old.get(id) == new.get(id))
    changed = frozenset(asking.difference(same))
    for on in (frozenset[int](), *(frozenset({id}) for id in same), frozenset(same)):
        # Of a policy that changes, nothing is known about when it applied and when it will.
        for was, will in {(changed, frozenset[int]()), (frozenset[int](), changed)}:
            one, other = _forced(before, on | was), _forced(after, on | will)
            yield from _compared(one, other, now, changeable)


def circumstantial(clause: Clause) -> bool:
    """Whether a policy asks for circumstances that the caller chooses or that pass: all but the person."""
    return any(fact.kind in ("context", "date") for fact in clause.facts())


def answers(asked: Iterable[Fact], who: Person) -> tuple[object, ...]:
    """What a person answers to these facts, circumstances left out."""
    return tuple(_answer(fact, who) for fact in sorted(asked, key=lambda fact: (fact.kind, fact.key)))


def _answer(fact: Fact, who: Person) -> object:
    match fact.kind:
        case "attribute":
            return who.attributes.get(fact.key)
        case "user":
            return who.user
        case "member":
            unknown = who.kept is not None and fact.key not in who.kept
            return None if unknown else fact.key in who.groups
    return None


def _signatures(side: Side) -> dict[int, object]:
    """Of each policy that can bind the person, all that its effect on them rests on besides circumstances."""
    found: dict[int, object] = {}
    who = side.who
    for clause in side.rules.clauses:
        policy = clause.parsed
        if not is_for(clause, who):
            continue
        own = (
            policy.policy,
            clause.when,
            clause.aliases,
            tuple(tag for tag in clause.tags if tag[0] in policy.tags),
            clause.problem,
            clause.stray,
            clause.standing,
            policy.except_.has(who.user, who.groups, who.active),
            answers(clause.facts(), who),
        )
        found[clause.id] = (found.get(clause.id), own)
    return found


def _forced(side: Side, on: frozenset[int]) -> Side:
    """The side with the policies that ask for circumstances applying, if they are among these, or else not at all."""
    kept = []
    for clause in side.rules.clauses:
        if not circumstantial(clause):
            kept.append(clause)
        elif clause.id in on:
            aliases = tuple((a, tuple((id, TRUE) for id, _ in matching)) for a, matching in clause.aliases)
            kept.append(replace(clause, when=TRUE, aliases=aliases))
    return Side(TableRules(side.rules.shape, tuple(kept), ()), side.who)


def _compared(before: Side, after: Side, now: dt.datetime, changeable: frozenset[int]) -> Iterator[More]:
    schema = before.rules.shape.schema
    clauses = (*before.rules.clauses, *after.rules.clauses)
    named = {purpose for clause in clauses for purpose in clause.parsed.policy.purpose}
    moments = {moment for side in (before, after) for moment in side.rules.moments if moment > now}
    seen: set[tuple[int, int]] = set()
    for moment in sorted({now, *moments}):
        for purpose in (None, *sorted(named), _OTHER):
            bits = (
                binding(before.rules, before.who, purpose, moment),
                binding(after.rules, after.who, purpose, moment),
            )
            if bits in seen:
                continue
            seen.add(bits)
            was, will = _Asked(before, bits[0], purpose, now), _Asked(after, bits[1], purpose, now)
            free = was.without(changeable), will.without(changeable)
            found = compare(was.verdict, will.verdict, schema)
            if found is not None and compare(free[0].verdict, will.verdict, schema) is None:
                found = None
            found = found or _loosened(*free, schema)
            if found is not None:
                yield replace(found, restricting=free[0].ids)


@dataclass(frozen=True)
class _Asked:
    """Some of the policies on a table, as bits, for a purpose."""

    side: Side
    bits: int
    purpose: str | None
    now: dt.datetime

    @cached_property
    def verdict(self) -> LensVerdict:
        rules, who = self.side.rules, self.side.who
        return decide(rules, self.bits, _request(who, self.purpose, self.now), doubtful(rules, who))

    @property
    def ids(self) -> frozenset[int]:
        return frozenset(c.id for n, c in enumerate(self.side.rules.clauses) if self.bits >> n & 1)

    def without(self, ids: frozenset[int]) -> "_Asked":
        return replace(self, bits=self._bits(self.ids - ids))

    def only(self, id: int) -> "_Asked":
        return replace(self, bits=self._bits(frozenset({id})))

    def _bits(self, ids: frozenset[int]) -> int:
        return sum(
            1 << n for n, c in enumerate(self.side.rules.clauses) if self.bits >> n & 1 and c.id in ids
        )


def _loosened(was: _Asked, will: _Asked, schema: Schema) -> More | None:
    """What policies that the person may not change would keep less from them.

    Where these deny the table, each is looked at by itself: what one of them denies, its owner may show again.
    """
    if was.verdict.lens is not None or will.verdict.lens is not None:
        return compare(was.verdict, will.verdict, schema)
    each = (compare(was.only(id).verdict, will.only(id).verdict, schema) for id in sorted(was.ids))
    return next((more for more in each if more is not None), None)


def _request(who: Person, purpose: str | None, now: dt.datetime) -> Request:
    """A request of which every circumstance is known, so that none of them denies for being missing."""
    return Request(
        who.user,
        who.groups,
        who.attributes,
        purpose or _OTHER,
        "192.0.2.1",
        now.hour,
        "engine",
        now.date(),
        groups_known=who.groups_known,
        kept=who.kept,
    )


def probes(side: Side, policies: frozenset[int], now: dt.datetime) -> bool:
    """Whether one of these policies would tell of what others keep from the person, who wrote it, whoever it is for."""
    asking = frozenset(clause.id for clause in side.rules.clauses if circumstantial(clause))
    forced = _forced(side, asking)
    names = {clause.name for clause in forced.rules.clauses if clause.id in policies}
    named = {purpose for clause in forced.rules.clauses for purpose in clause.parsed.policy.purpose}
    # Also where they are for somebody else: who is shown the rows that remain could tell the author.
    written = sum(1 << n for n, clause in enumerate(forced.rules.clauses) if clause.id in policies)
    for moment in sorted({now, *(moment for moment in forced.rules.moments if moment > now)}):
        for purpose in (None, *sorted(named), _OTHER):
            bits = binding(forced.rules, forced.who, purpose, moment) | written
            request = _request(forced.who, purpose, now)
            verdict = decide(forced.rules, bits, request, doubtful(forced.rules, forced.who))
            if any(d.probing and not names.isdisjoint(d.policies) for d in verdict.denials):
                return True
    return False


# -- two lenses -------------------------------------------------------------------------------------------------------


def compare(before: LensVerdict, after: LensVerdict, schema: Schema) -> More | None:
    """What the second verdict shows more than the first; None if that is provably nothing."""
    if after.lens is None:
        return None
    if before.lens is None:
        return More(table=True)
    more = More(
        tuple(sorted(_unmasked(before.lens, after.lens, schema))),
        not set(before.lens.visible(schema)).issuperset(after.lens.visible(schema)),
        not narrower(after.lens.rows, before.lens.rows),
    )
    return more if more.unmasked or more.unhidden or more.rows else None


def _unmasked(before: Lens, after: Lens, schema: Schema) -> set[int]:
    shown = frozenset(after.visible(schema))
    will = {mask.column.field_id: mask for mask in after.masks}
    was = {mask.column.field_id: mask for mask in before.masks}
    found = {id for id, mask in was.items() if id in shown and not _covered(mask, will)}
    if before.rows != TRUE:
        # Such a mask counts rows that the filter keeps away.
        found |= {id for id, mask in will.items() if mask.needs_other_rows and was.get(id) != mask}
    return found


def _covered(mask: ColumnMask, will: dict[int, ColumnMask]) -> bool:
    """Whether a masked field is masked at least as much, by itself or with a column around it."""
    for id in mask.column.ids:
        other = will.get(id)
        if other is None:
            continue
        if other.kind.shows_nothing or (other.expr is not None and not columns(other.expr)):
            return True
        if id == mask.column.field_id and other.text == mask.text:
            return True
    return False


def narrower(rows: Expr, than: Expr) -> bool:
    """Whether a filter in canonical form provably keeps no row that another drops."""
    mine = [_choices(part) for part in _parts(rows, "and")]
    return all(any(own <= choice for own in mine) for choice in map(_choices, _parts(than, "and")))


def _parts(expr: Expr, op: str) -> list[Expr]:
    """What must hold, or one of which must hold, each by itself; lists of values are taken apart."""
    if expr == (TRUE if op == "and" else FALSE):
        return []
    if isinstance(expr, Call) and expr.op == op:
        return [part for arg in expr.args for part in _parts(arg, op)]
    if op == "or" and isinstance(expr, Call) and expr.op == "in" and _constants(expr):
        return [Call("=", (expr.args[0], value), BOOLEAN) for value in expr.args[1:]]
    if op == "and" and isinstance(expr, Call) and expr.op == "not":
        inner = expr.args[0]
        if isinstance(inner, Call) and inner.op == "in" and _constants(inner):
            return [Call("<>", (inner.args[0], value), BOOLEAN) for value in inner.args[1:]]
    return [expr]


def _constants(call: Call) -> bool:
    return all(isinstance(arg, Literal) for arg in call.args[1:])


def _choices(expr: Expr) -> frozenset[str]:
    return frozenset(text(part) for part in _parts(expr, "or"))
