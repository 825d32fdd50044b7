"""Policies that wait: they do nothing to a table yet, because a tag, a column, a purpose or a day is still to come.

Two lenses are equal whether or not such a policy is there, so what it asks for is compared itself: whatever it would reach
before a change, it must reach after it, with every tag that may still be put on the table and its columns.
INVARIANT: what cannot be shown to reach as far counts as shed.
"""

import datetime as dt
import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from headgate.decide.authority import Authority, Caller, Node
from headgate.decide.changes.widening import answers
from headgate.decide.operations import Op
from headgate.decide.policies.clauses import (
    Clause,
    TableRules,
    TagItems,
    column_tags,
    policies_on_the_way,
    rules_of,
    tags_of,
)
from headgate.decide.policies.lens import may_bind
from headgate.decide.policies.people import Person, person
from headgate.decide.policies.rules import Parsed, Tags, readable, with_tags
from headgate.decide.policies.scopes import policies_below
from headgate.decide.policies.shape import Shape
from headgate.decide.policies.standing import standing_of
from headgate.decide.verdict import allowed
from headgate.language.ast import FALSE, TRUE, Call, Expr, Literal, Name, facts, walk
from headgate.language.fold import Request, fold
from headgate.model.schema import BOOLEAN

_OTHER: Final = "\0some other value"
_NO_REQUEST: Final = Request("")
MOST_WORLDS: Final = 512
"""A policy that asks for more combinations of tags is not compared: where they change at all, it counts as shed."""


@dataclass(frozen=True)
class WaitingTarget:
    """A table as policies find it, and the person, before or after a change."""

    authority: Authority
    table: Node
    shape: Shape
    who: Person

    @cached_property
    def policies(self) -> dict[int, Parsed | None]:
        return dict(policies_on_the_way(self.authority, self.table))

    @cached_property
    def rules(self) -> TableRules:
        return rules_of(self.authority, self.table, self.shape)

    @cached_property
    def waiting(self) -> frozenset[int]:
        """The policies that do nothing to the table as it is now, whoever asks."""
        idle = (clause.id for clause in self.rules.clauses if clause.problem is None and _idle(clause))
        return frozenset((*(skipped.id for skipped in self.rules.skipped), *idle))

    def tags(self, asked: frozenset[str]) -> TagItems:
        """Those of the tags of the table."""
        return _among(tags_of(self.authority, self.table)[0], asked)

    def columns(self, asked: frozenset[str]) -> dict[int, frozenset[TagItems]]:
        """By field, those of the tags that it, or a column around it, goes by."""
        own = dict(column_tags(self.shape, *tags_of(self.authority, self.table)))
        each = {
            way[-1]: frozenset(_among(held.items(), asked) for held in every) for way, every in own.items()
        }
        return {way[-1]: frozenset().union(*(each[id] for id in way)) for way in own}


def _idle(clause: Clause) -> bool:
    """Whether a policy does nothing to a table with the tags of now, whatever else it asks."""
    columns = ([_simple(asked) for _, asked in matching] for _, matching in clause.aliases)
    return _simple(clause.when) == FALSE or any(all(one == FALSE for one in every) for every in columns)


def _among(held: Iterable[tuple[str, str]], asked: frozenset[str]) -> TagItems:
    return tuple(sorted((tag, value) for tag, value in held if tag in asked))


def sheds(
    before: WaitingTarget,
    after: WaitingTarget,
    now: dt.datetime,
    changeable: frozenset[int] = frozenset(),
    *,
    in_doubt: bool = False,
) -> Iterator[int]:
    """The policies that bind the person before and, in some world that may still come, less so after.

    Those that they may change themselves do not count. `in_doubt`, their lenses do not tell everything either, so what
    they answer counts for every policy.
    """
    for id, policy in before.policies.items():
        if id in changeable or not binds(policy, before.who, now):
            continue
        later = after.policies.get(id)
        if policy is None or later is None:
            shed = id not in after.policies
        else:
            shed = (
                later.policy != policy.policy
                or not binds(later, after.who, now)
                or ((in_doubt or id in before.waiting) and slips(policy, before.who, after.who, now))
                or not reaches(policy, before, after)
            )
        if shed:
            yield id
    yield from _overruled(before, after, now, changeable)


def binds(policy: Parsed | None, who: Person, now: dt.datetime) -> bool:
    """Whether a policy is for somebody, now or later; which roles are active, and what purpose is stated, is theirs to say."""
    if policy is None:
        return True
    over = policy.policy.until is not None and policy.policy.until <= now
    return not over and may_bind(policy, who) and not policy.except_.has(who.user, who.groups, who.active)


def may_come_to_bind(authority: Authority, caller: Caller, node: Node, now: dt.datetime) -> bool:
    """Whether a policy above an object, on it or below it is for the caller, now or later, and not theirs to change.

    INVARIANT: says nothing of the tables that are there, so it holds for those too that nobody has seen yet.
    """
    who = person(authority, caller)
    above = dict(policies_on_the_way(authority, node))
    for id in {*above, *policies_below(authority, node)}:
        rule = authority.policies[id]
        if not rule.enabled or allowed(authority, caller, Op.ALTER_POLICY, authority.objects[id]):
            continue
        if binds(readable(rule.document), who, now):
            return True
    return False


def _answers(policy: Parsed, who: Person) -> tuple[object, ...]:
    return answers((fact for fact in policy.facts if fact.kind != "tag"), who)


def slips(policy: Parsed | None, was: Person, will: Person, now: dt.datetime) -> bool:
    """Whether a policy that bound somebody binds them no more, or is answered otherwise than before."""
    if policy is None or not binds(policy, was, now):
        return False
    return not binds(policy, will, now) or _answers(policy, was) != _answers(policy, will)


def _overruled(
    before: WaitingTarget, after: WaitingTarget, now: dt.datetime, changeable: frozenset[int]
) -> Iterator[int]:
    """The masks that would yield to another one once both apply, and would not have before."""
    masks = [
        (id, policy)
        for id, policy in before.policies.items()
        if policy is not None and policy.mask and id not in changeable and binds(policy, before.who, now)
    ]
    for upper, above in after.policies.items() if masks else ():
        if above is None or not above.mask or not binds(above, after.who, now):
            continue
        was = before.policies.get(upper)
        as_far = was is not None and was.policy == above.policy and reaches(above, after, before)
        for lower, below in masks:
            # Where both apply now, the lenses tell.
            apart = upper in after.waiting or lower in before.waiting
            if not apart or above.policy.priority <= below.policy.priority:
                continue
            if _lifts(after, upper, lower) and not (as_far and _lifts(before, upper, lower)):
                yield lower


def _lifts(target: WaitingTarget, upper: int, lower: int) -> bool:
    rules = target.authority.policies
    if upper not in rules or lower not in rules:
        return True
    standing = standing_of(target.authority, rules[upper])
    return standing.lifts(standing_of(target.authority, rules[lower]))


# -- how far one policy reaches -----------------------------------------------------------------------------------


def reaches(policy: Parsed, before: WaitingTarget, after: WaitingTarget) -> bool:
    """Whether a policy does to the table after a change all that it does before it, whatever tags are still put on it."""
    asked = policy.tags
    table = before.tags(asked), after.tags(asked)
    pairs: set[tuple[frozenset[TagItems], frozenset[TagItems]]] = set()
    if policy.columns:
        was, will = before.columns(asked), after.columns(asked)
        pairs = {
            (held, will.get(id, frozenset())) for id, held in was.items() if id in after.shape.schema.by_id
        }
    pairs = {pair for pair in pairs if pair[0] != pair[1]}
    if table[0] == table[1] and not pairs:
        return True
    worlds = _worlds(policy)
    if worlds is None:
        return False
    for world in worlds:
        if not _table_reached(policy, {**dict(table[0]), **world}, {**dict(table[1]), **world}):
            return False
        for _, condition in policy.columns:
            for held, later in pairs:
                left = {_residue(condition, {**dict(tags), **world}) for tags in later}
                wanted = {_residue(condition, {**dict(tags), **world}) for tags in held} - {FALSE}
                if TRUE not in left and not wanted <= left:
                    return False
    return True


def _worlds(policy: Parsed) -> list[dict[str, str]] | None:
    """Every choice of tags that may still be put on something, as far as the policy tells them apart."""
    values: dict[str, set[str]] = {}
    for fact in policy.facts:
        if fact.kind == "tag":
            values.setdefault(fact.key, set()).update(() if fact.value is None else (fact.value,))
    options: list[list[tuple[str, str] | None]] = [
        [None, *((tag, value) for value in (*sorted(asked), _OTHER))] for tag, asked in sorted(values.items())
    ]
    count = 1
    for each in options:
        count *= len(each)
    if count > MOST_WORLDS:
        return None
    return [dict(item for item in world if item is not None) for world in itertools.product(*options)]


def _table_reached(policy: Parsed, was: Tags, will: Tags) -> bool:
    """Whether conditions about the table, and what the policy then does, let through no more than before."""
    if policy.when is not None:
        left = _residue(policy.when, will)
        if _residue(policy.when, was) not in (FALSE, left) and left != TRUE:
            return False
    if policy.rows is not None:
        kept, keeps = _parts(_residue(policy.rows, was)), _parts(_residue(policy.rows, will))
        if not kept <= keeps and FALSE not in keeps:
            return False
    return all(with_tags(mask, was) == with_tags(mask, will) for _, mask in policy.mask)


def _parts(expr: Expr) -> frozenset[Expr]:
    """What must all hold; nothing for TRUE."""
    if expr == TRUE:
        return frozenset()
    return frozenset(expr.args) if isinstance(expr, Call) and expr.op == "and" else frozenset({expr})


def _residue(expr: Expr, tags: Mapping[str, str]) -> Expr:
    """What is left to be asked once the tags are known; TRUE or FALSE if nothing is."""
    return _simple(with_tags(expr, tags))


def _simple(expr: Expr) -> Expr:
    match expr:
        case Call(op="and" | "or" as op, args=args):
            decisive, neutral = (FALSE, TRUE) if op == "and" else (TRUE, FALSE)
            parts = [part for part in dict.fromkeys(map(_simple, args)) if part != neutral]
            if decisive in parts:
                return decisive
            return neutral if not parts else parts[0] if len(parts) == 1 else Call(op, tuple(parts), BOOLEAN)
        case Call(op="not", args=(inner,)):
            simple = _simple(inner)
            return FALSE if simple == TRUE else TRUE if simple == FALSE else Call("not", (simple,), BOOLEAN)
    if facts(expr) or any(isinstance(node, Name) for node in walk(expr)):
        return expr
    folded = fold(expr, _NO_REQUEST)
    known = isinstance(folded.expr, Literal) and folded.expr.value is not None and not folded.problems
    return folded.expr if known else expr
