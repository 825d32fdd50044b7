"""The lens: what one sees of a table, after everything about the person and the request has been folded in.

Policies only restrict. Those that bind a caller are put together: row filters all hold, what is hidden is not there,
masks of the highest priority stand; whatever cannot be evaluated, or does not fit together, denies and names the policy.
"""

import datetime as dt
import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final

from headgate.decide.authority import Authority, Caller, Node
from headgate.decide.policies.clauses import Bound, Chosen, Clause, TableRules, rules_of
from headgate.decide.policies.mask_keys import fills
from headgate.decide.policies.people import Person, person, request_of
from headgate.decide.policies.rules import Parsed, decided
from headgate.decide.policies.shape import Shape, without
from headgate.language.ast import TRUE, Call, Column, Expr, walk
from headgate.language.canonical import canonical, text
from headgate.language.errors import LanguageError
from headgate.language.fold import Request, fold
from headgate.language.masks.mask import ColumnMask, fold_mask
from headgate.model.principals import Identity
from headgate.model.schema import BOOLEAN, Schema

_FAILURES: Final = (LanguageError, ValueError, ArithmeticError, RecursionError, TypeError, KeyError)


@dataclass(frozen=True)
class Lens:
    """What one sees of a table, by field ids. Two people with the same view have equal lenses."""

    hidden: frozenset[int] = frozenset()
    """The columns and fields that are not there; what is inside of one is not either."""
    masks: tuple[ColumnMask, ...] = ()
    rows: Expr = TRUE
    """The canonical row filter; TRUE shows every row."""

    @cached_property
    def id(self) -> str:
        """The hash of the canonical form: the same for the same view, whoever has it and however it was written."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    @cached_property
    def text(self) -> str:
        """The canonical form."""
        lines = [f"hide #{id}" for id in sorted(self.hidden)]
        lines += [f"mask {mask.text}" for mask in self.masks]
        return "\n".join(("lens 1", *lines, f"rows {text(self.rows)}"))

    @property
    def whole(self) -> bool:
        """Whether it shows the table as it is."""
        return not self.hidden and not self.masks and self.rows == TRUE

    @property
    def masked(self) -> frozenset[int]:
        return frozenset(mask.column.field_id for mask in self.masks)

    @property
    def blind(self) -> frozenset[int]:
        """The fields whose values must show nowhere."""
        return self.hidden | self.masked

    def visible(self, schema: Schema) -> tuple[int, ...]:
        """The field ids of a schema that are there, at every depth."""
        return tuple(self.shown(schema).by_id)

    def shown(self, schema: Schema) -> Schema:
        """The schema as it is seen."""
        return without(schema, self.hidden)


WHOLE: Final = Lens()


@dataclass(frozen=True)
class LensPart:
    """What one policy contributed."""

    policy: str
    id: int
    on: int
    rows: tuple[Expr, ...] = ()
    masks: tuple[ColumnMask, ...] = ()
    hidden: tuple[int, ...] = ()
    overruled: tuple[int, ...] = ()
    """The fields whose mask gave way to a hidden column or to one of higher priority."""


@dataclass(frozen=True)
class Denial:
    """Why a table cannot be read, and the policies that say so."""

    policies: tuple[str, ...]
    why: str
    probing: bool = False
    """Whether the policy would show its author something of a column that they do not see."""
    quotes: bool = False
    """Whether `why` may quote the policy or name columns, which the reader need not see."""

    def to_reader(self) -> "Denial":
        """As the reader may hear it. INVARIANT: names policies, and no column that one of them may hide."""
        if not self.quotes:
            return self
        return replace(self, why="it cannot be evaluated on this table; ask who writes it")

    def __str__(self) -> str:
        named = " and ".join(f"'{name}'" for name in self.policies)
        return f"policy {named}: {self.why}" if len(self.policies) == 1 else f"policies {named}: {self.why}"


@dataclass(frozen=True)
class LensVerdict:
    """A lens with the policies that made it, or the denials instead."""

    lens: Lens | None
    parts: tuple[LensPart, ...] = ()
    denials: tuple[Denial, ...] = ()


@dataclass(frozen=True)
class _Timed:
    verdict: LensVerdict
    since: dt.datetime
    until: dt.datetime


ALWAYS: Final = (dt.datetime.min.replace(tzinfo=dt.UTC), dt.datetime.max.replace(tzinfo=dt.UTC))


def lens(authority: Authority, caller: Caller, table: Node, shape: Shape, now: dt.datetime) -> LensVerdict:
    """What this caller sees of this table now.

    INVARIANT: of one authority the answer depends on the identity, the table, its columns and the time alone, and it
    changes with time only where a policy begins or ends, at the turn of an hour, or of a day.
    """
    key = ("lens", caller.identity, table.id, shape.key)
    kept: _Timed | None = authority.recall(key)
    if kept is not None and kept.since <= now < kept.until:
        return kept.verdict
    rules = rules_of(authority, table, shape)
    who = person(authority, caller)
    verdict = _unguessed(authority, caller, table, _by_answers(rules, who, caller.identity, now))
    authority.remember(key, _Timed(verdict, *_constant(rules, now)))
    return verdict


def fresh(authority: Authority, caller: Caller, table: Node, shape: Shape, now: dt.datetime) -> LensVerdict:
    """As `lens`, worked out anew from rules that were kept."""
    rules = rules_of(authority, table, shape)
    who = person(authority, caller)
    bits, request = binding(rules, who, caller.identity.purpose, now), request_of(who, caller.identity, now)
    return _unguessed(authority, caller, table, decide(rules, bits, request, doubtful(rules, who)))


def _unguessed(authority: Authority, caller: Caller, table: Node, verdict: LensVerdict) -> LensVerdict:
    """INVARIANT: nobody is shown what a keyed mask makes of a table that they may write or ever wrote, their own included,
    nor of one that shares its tokens with it.

    Such a mask gives equal values for equal plain text: guesses in the table itself, or elsewhere under the same key,
    would tell what it hides.
    """
    keyed = (
        ()
        if verdict.lens is None
        else [
            mask
            for mask in verdict.lens.masks
            if mask.kind.keyed_by is not None and fills(authority, caller, table, mask.key)
        ]
    )
    if not keyed:
        return verdict
    fields = {mask.column.field_id for mask in keyed}
    named = tuple(
        part.policy
        for part in verdict.parts
        if any(mask.column.field_id in fields and mask.kind.keyed_by is not None for mask in part.masks)
    )
    why = (
        "you may write this table, or once wrote it or one that shares its tokens, so what it shows instead of values "
        "would tell what it hides"
    )
    return LensVerdict(None, (), (Denial(named, why),))


def binding(rules: TableRules, who: Person, purpose: str | None, now: dt.datetime) -> int:
    """The clauses that bind this person for this purpose now, as bits."""
    bits = 0
    for number, clause in enumerate(rules.clauses):
        if why_not(clause, who, purpose, now) is None:
            bits |= 1 << number
    return bits


def why_not(clause: Clause, who: Person, purpose: str | None, now: dt.datetime) -> str | None:
    """Why a policy does not bind a person, or None if it does.

    INVARIANT: a role that is held binds although it is not active, and exempts only if it is. Who states no purpose is
    bound by the policies of every purpose. Whose groups are not known is bound by the policies for any group.
    """
    policy = clause.parsed
    if not is_for(clause, who):
        return "it is not for them"
    if policy.except_.has(who.user, who.groups, who.active):
        return "they are excepted"
    if not policy.policy.in_force(now):
        return "it is not in force at this time"
    if policy.policy.purpose and purpose is not None and purpose not in policy.policy.purpose:
        return f"it is for another purpose than '{purpose}'"
    return None


def is_for(clause: Clause, who: Person) -> bool:
    """Whether a policy is for a person, exceptions aside. Whose groups are not known may be in any of them."""
    to = clause.parsed.to
    named = to.has(who.user, who.claimed, who.roles)
    if clause.stray:
        return not named
    return named or (not who.groups_known and bool(to.groups))


def may_bind(policy: Parsed | None, who: Person) -> bool:
    """Whether a policy can bind a person, whatever columns a table has; one that cannot be read may bind anybody."""
    if policy is None or policy.to.has(who.user, who.claimed, who.roles):
        return True
    if not who.groups_known and policy.to.groups:
        return True
    return who.kept is None or not policy.to.groups <= who.kept


def doubtful(rules: TableRules, who: Person) -> int:
    """The clauses of which it depends on groups that are not known whether they bind this person, as bits."""
    if who.groups_known:
        return 0
    bits = 0
    surely_held = who.roles - who.possible
    for number, clause in enumerate(rules.clauses):
        to, except_ = clause.parsed.to, clause.parsed.except_
        exempts = bool(except_.groups) or not except_.roles.isdisjoint(who.possible)
        if exempts or not to.has(who.user, who.claimed, surely_held):
            bits |= 1 << number
    return bits


def _by_answers(rules: TableRules, who: Person, identity: Identity, now: dt.datetime) -> LensVerdict:
    """The verdict, shared by all who are bound by the same clauses and give the same answers to what these ask."""
    bits = binding(rules, who, identity.purpose, now)
    request = request_of(who, identity, now)
    doubts = doubtful(rules, who)
    if any(bits >> n & 1 and may_have_written(c, request) for n, c in enumerate(rules.clauses)):
        # What a policy says to its own author is nobody else's answer.
        return decide(rules, bits, request, doubts)
    key = (bits, doubts, tuple(_answer(fact.kind, fact.key, request) for fact in rules.facts(bits)))
    found = rules.verdicts.get(key)
    if found is None:
        found = decide(rules, bits, request, doubts)
        # What denies may tell the user's own name, so it is nobody else's answer.
        if found.lens is not None:
            if len(rules.verdicts) > 10_000:
                rules.verdicts.clear()
            rules.verdicts[key] = found
    assert isinstance(found, LensVerdict)
    return found


def _answer(kind: str, key: str, request: Request) -> Any:
    match kind:
        case "attribute":
            return request.attributes.get(key)
        case "user":
            return request.user
        case "member":
            return request.member(key)
        case "context":
            return getattr(request, key)
    return request.date


def _constant(rules: TableRules, now: dt.datetime) -> tuple[dt.datetime, dt.datetime]:
    """The span around now in which time changes no answer."""
    since = max((moment for moment in rules.moments if moment <= now), default=ALWAYS[0])
    until = min((moment for moment in rules.moments if moment > now), default=ALWAYS[1])
    if rules.clock is None:
        return since, until
    first = now.astimezone(dt.UTC).replace(minute=0, second=0, microsecond=0)
    if rules.clock == "hour":
        return max(since, first), min(until, first + dt.timedelta(hours=1))
    first = first.replace(hour=0)
    return max(since, first), min(until, first + dt.timedelta(days=1))


# -- putting clauses together -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ClauseEffect:
    """What a clause that binds says of the table to this request."""

    clause: Clause
    rows: tuple[Expr, ...] = ()
    masks: tuple[ColumnMask, ...] = ()
    hidden: tuple[int, ...] = ()
    deny: str | None = None
    quotes: bool = False
    """Whether `deny` may quote the policy or name columns."""
    nothing: str | None = None
    """Why it does nothing after all."""


@dataclass
class _LensDraft:
    hidden: set[int] = field(default_factory=set)
    masks: dict[int, list[tuple[ColumnMask, Clause]]] = field(default_factory=dict)
    denials: list[Denial] = field(default_factory=list)
    doubtful: frozenset[Clause] = frozenset()


def decide(rules: TableRules, bits: int, request: Request, doubts: int = 0) -> LensVerdict:
    """The verdict of the clauses that bind, for one request; of the `doubts` it is not known whether they do."""
    applied = [apply_clause(c, request) for n, c in enumerate(rules.clauses) if bits >> n & 1]
    draft = _LensDraft(doubtful=frozenset(c for n, c in enumerate(rules.clauses) if doubts >> n & 1))
    for one in applied:
        if one.deny is not None:
            draft.denials.append(Denial((one.clause.name,), one.deny, quotes=one.quotes))
        draft.hidden.update(one.hidden)
        for mask in one.masks:
            draft.masks.setdefault(mask.column.field_id, []).append((mask, one.clause))
    hidden = _outermost(draft.hidden, rules.shape.schema)
    chosen = _choose(draft, hidden)
    filters = tuple(e for one in applied for e in one.rows)
    draft.denials += probing(applied, rules.shape.schema, request)
    if draft.denials:
        return LensVerdict(None, (), tuple(draft.denials))
    try:
        rows = _all_hold(filters)
    except _FAILURES as error:
        named = tuple(one.clause.name for one in applied if one.rows)
        why = f"the row filters cannot be put together: {error}"
        return LensVerdict(None, (), (Denial(named, why, quotes=True),))
    masks = tuple(_narrowed(mask, rules.shape.schema, hidden) for _, (mask, _) in sorted(chosen.items()))
    standing = {id: mask.text for id, (mask, _) in chosen.items()}
    parts = tuple(_part(one, standing) for one in applied if one.nothing is None)
    return LensVerdict(Lens(hidden, masks, rows), parts)


def _all_hold(filters: tuple[Expr, ...]) -> Expr:
    """The filters as one, in canonical form."""
    if not filters:
        return TRUE
    return canonical(filters[0] if len(filters) == 1 else Call("and", filters, BOOLEAN))


def apply_clause(clause: Clause, request: Request) -> ClauseEffect:
    """What a clause that binds says to this request; whatever goes wrong denies."""
    if clause.problem is not None:
        return ClauseEffect(clause, deny=clause.problem)
    try:
        if clause.when is not TRUE and not decided(clause.when, request):
            return ClauseEffect(clause, nothing="its condition does not hold for this request")
        bound = clause.bound(_chosen(clause, request))
        if bound.problem is not None:
            return ClauseEffect(clause, deny=bound.problem, quotes=True)
        if bound.deny:
            return ClauseEffect(clause, deny="it denies access")
        if bound.empty:
            return ClauseEffect(clause, nothing="none of its columns is in the table")
        return _folded(clause, bound, request)
    except _FAILURES as error:
        return ClauseEffect(clause, deny=str(error), quotes=True)


def _chosen(clause: Clause, request: Request) -> Chosen:
    return tuple(
        (alias, tuple(id for id, asked in columns if asked is TRUE or decided(asked, request)))
        for alias, columns in clause.aliases
    )


def _folded(clause: Clause, bound: Bound, request: Request) -> ClauseEffect:
    rows = []
    for expr in bound.rows:
        folded = fold(expr, request)
        if folded.problems:
            return ClauseEffect(clause, deny=folded.problems[0])
        rows.append(folded.expr)
    masks = []
    for mask in bound.masks:
        done, folded = fold_mask(mask, request)
        if folded.problems:
            return ClauseEffect(clause, deny=folded.problems[0])
        masks.append(done)
    return ClauseEffect(clause, tuple(rows), tuple(masks), bound.hidden)


def _choose(draft: _LensDraft, hidden: frozenset[int]) -> dict[int, tuple[ColumnMask, Clause]]:
    """The mask of each column; hiding beats masking, the highest priority wins, and a tie denies."""
    chosen: dict[int, tuple[ColumnMask, Clause]] = {}
    for id, offers in sorted(draft.masks.items()):
        if not hidden.isdisjoint(offers[0][0].column.ids):
            continue
        top = max(clause.parsed.policy.priority for _, clause in offers)
        best = [(m, c) for m, c in offers if c.parsed.policy.priority == top]
        sure = [(m, c) for m, c in best if c not in draft.doubtful] or best
        draft.denials += _unlifted(sure, [(m, c) for m, c in offers if (m, c) not in best])
        if len({mask.text for mask, _ in best}) > 1:
            draft.denials.append(
                Denial(
                    _named(best),
                    f"different masks of equal priority {top} on field {id}; give one a higher priority",
                )
            )
        best.sort(key=lambda offer: offer[1] in draft.doubtful)
        if best[0][1] in draft.doubtful and len({mask.text for mask, _ in offers}) > 1:
            # INVARIANT: a mask takes the place of another only where it surely stands; else it might show more.
            draft.denials.append(Denial(_named(offers), _DOUBT.format(id)))
        chosen[id] = best[0]
    for id, (mask, clause) in list(chosen.items()):
        outer = next((i for i in mask.column.ids[:-1] if i in chosen), None)
        if outer is None:
            continue
        around = chosen[outer][1]
        if around in draft.doubtful:
            draft.denials.append(Denial(_named([(mask, around), (mask, clause)]), _DOUBT.format(id)))
        elif around.parsed.policy.priority > clause.parsed.policy.priority:
            draft.denials += _unlifted([chosen[outer]], [(mask, clause)])
            del chosen[id]
        else:
            why = f"field {id} lies inside field {outer}, which is masked itself; give the outer mask a higher priority"
            draft.denials.append(Denial(_named([(mask, around), (mask, clause)]), why))
    return chosen


_DOUBT: Final = "which mask stands on field {} depends on groups that the token does not tell"


def _named(offers: Iterable[tuple[ColumnMask, Clause]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(clause.name for _, clause in offers))


def _unlifted(best: list[tuple[ColumnMask, Clause]], others: list[tuple[ColumnMask, Clause]]) -> list[Denial]:
    """INVARIANT: a mask yields to a higher priority only if both the owner of that policy and whoever wrote it may change
    the one that yields."""
    return [
        Denial(
            (best[0][1].name, other.name),
            "the owner of the first, or whoever wrote it, may not change the second, so neither mask yields",
        )
        for mask, other in others
        if mask.text != best[0][0].text and not any(c.standing.lifts(other.standing) for _, c in best)
    ]


def wrote(clause: Clause, request: Request) -> bool:
    """Whether the caller has written a policy, or owns it."""
    return clause.standing.authors.has(request.user, request.groups, frozenset())


def may_have_written(clause: Clause, request: Request) -> bool:
    """As `wrote`, or perhaps: whose groups are not known may be in one that owns the policy."""
    in_doubt = not request.groups_known and bool(clause.standing.authors.groups)
    return in_doubt or wrote(clause, request)


def probing(applied: list[ClauseEffect], schema: Schema, request: Request) -> list[Denial]:
    """The policies that would show the caller something of what other policies keep from them and from who wrote them.

    INVARIANT: what a policy does to a view depends on values that its reader or its writer sees, and for its authors on
    values that they see themselves. So nobody finds a hidden value by writing filters and looking at which rows remain,
    neither alone nor with the help of somebody else.
    """
    found: list[Denial] = []
    for one in applied:
        hiding = _hiding(one, applied, schema)
        if not hiding:
            continue
        if may_have_written(one.clause, request) and any(_not_theirs(other, request) for other in hiding):
            found.append(Denial((one.clause.name,), _FROM_AUTHOR, probing=True))
        elif not wrote(one.clause, request) and any(_from_writer(one, other) for other in hiding):
            found.append(Denial((one.clause.name,), _FROM_WRITER, probing=True))
    return found


_FROM_AUTHOR: Final = "it uses what another policy keeps from its author"
_FROM_WRITER: Final = (
    "it uses what another policy keeps from you and from who wrote it, who may have left; let somebody who sees it "
    "write it"
)


def _hiding(one: ClauseEffect, applied: list[ClauseEffect], schema: Schema) -> list[ClauseEffect]:
    """The other policies that hide values on which it depends what this one does."""
    used = [column.ids for rows in one.rows for column in walk(rows) if isinstance(column, Column)]
    counts = any(mask.needs_other_rows for mask in one.masks)
    if not used and not counts:
        return []
    return [
        other
        for other in applied
        if other.clause.id != one.clause.id
        and ((counts and other.rows) or (used and _keeps_any(other, used, schema)))
    ]


def _keeps_any(one: ClauseEffect, used: list[tuple[int, ...]], schema: Schema) -> bool:
    """Whether a policy hides or masks one of these columns, or something around or inside of it."""
    kept = {*one.hidden, *(mask.column.field_id for mask in one.masks)}
    return any(
        not kept.isdisjoint(ids) or any(ids[-1] in schema.by_id[field].ids for field in kept) for ids in used
    )


def _not_theirs(one: ClauseEffect, request: Request) -> bool:
    """Whether the caller may not change a policy."""
    return not one.clause.standing.changers.has(request.user, request.groups, frozenset())


def _from_writer(one: ClauseEffect, other: ClauseEffect) -> bool:
    """Whether another policy may keep something from who wrote this one."""
    hides = other.clause
    return one.clause.standing.may_be_kept_from(hides.standing, hides.parsed.to, hides.parsed.except_)


def _outermost(hidden: set[int], schema: Schema) -> frozenset[int]:
    """The hidden fields without those inside of others; a struct that nothing is left of is hidden itself."""
    if all(len(schema.by_id[id].ids) == 1 for id in hidden):
        return frozenset(hidden)
    left = without(schema, frozenset(hidden)).by_id
    return frozenset(
        id
        for id, located in schema.by_id.items()
        if id not in left and all(outer in left for outer in located.ids[:-1])
    )


def _narrowed(mask: ColumnMask, schema: Schema, hidden: frozenset[int]) -> ColumnMask:
    """A mask of a struct, for what is seen of the struct."""
    own = mask.column.field_id
    if not any(own in schema.by_id[id].ids for id in hidden):
        return mask
    shown = without(schema, hidden).by_id[own]
    return replace(mask, column=Column(mask.column.ids, shown.field.type, mask.column.nullable))


def _part(one: ClauseEffect, standing: dict[int, str]) -> LensPart:
    masks = tuple(m for m in one.masks if standing.get(m.column.field_id) == m.text)
    gone = tuple(m.column.field_id for m in one.masks if standing.get(m.column.field_id) != m.text)
    return LensPart(one.clause.name, one.clause.id, one.clause.on, one.rows, masks, one.hidden, gone)
